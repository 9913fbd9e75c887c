"""Reports: the terminal table."""

from amemgym.report.evolution import print_evolution, write_evolution
from amemgym.report.sparkline import sparkline
from amemgym.report.table import notes, print_scores

__all__ = ["notes", "print_evolution", "print_scores", "sparkline", "write_evolution"]
