"""The report of an evolution: what was gained on held-out users, both curves, and the policies with their changes."""

from amemgym.report.evolution.page import evolution_page
from amemgym.report.evolution.table import print_evolution
from amemgym.report.evolution.write import write_evolution, write_evolution_report

__all__ = ["evolution_page", "print_evolution", "write_evolution", "write_evolution_report"]
