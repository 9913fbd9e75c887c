"""What is wrong with an archive, told on standard error, so that standard output holds results alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from amemgym.memorybench import MemoryBenchResults

#: that are told one by one
LISTED = 10


def show_problems(results: MemoryBenchResults) -> None:
    """The first of them as notes, how many more there are, and where they are listed."""
    from amemgym.report.archive.layout import one_line

    console = Console(stderr=True, highlight=False)
    problems = results.problems
    for problem in problems[:LISTED]:
        console.print(f"note: {one_line(problem)}", markup=False, soft_wrap=True)
    if len(problems) > LISTED:
        more = (
            f"{len(problems) - LISTED} more problems; amemgym memorybench show lists those of the archive and summaries"
        )
        console.print(f"note: {more}", markup=False, soft_wrap=True)
