"""What is wrong with an archive, told on standard error, so that standard output holds results alone."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from amemgym.memorybench import MemoryBenchResults

#: lines that are told
LISTED = 10


def show_problems(results: MemoryBenchResults, told: Collection[str] = ()) -> None:
    """The first of them as notes, those of many places together, and where all can be seen; without what is told."""
    from amemgym.memorybench.problems import together
    from amemgym.report.archive.layout import one_line

    console = Console(stderr=True, highlight=False)
    all_of = together(results.problems)
    lines = [line for line in all_of if line not in told]
    for line in lines[:LISTED]:
        console.print(f"note: {one_line(line)}", markup=False, soft_wrap=True)
    if len(lines) > LISTED or len(all_of) < len(results.problems):
        console.print(f"note: {_where(len(results.problems))}", markup=False, soft_wrap=True)


def _where(n: int) -> str:
    return f"{n} problems in all; amemgym memorybench show lists them (those of items: of one cell)"
