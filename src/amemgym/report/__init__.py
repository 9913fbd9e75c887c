"""Reports: the terminal table."""

from amemgym.report.sparkline import sparkline
from amemgym.report.table import notes, print_scores

__all__ = ["notes", "print_scores", "sparkline"]
