"""What is wrong with an archive and where, where that stops nothing: it is kept beside the results, never swallowed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """`place` is a file and line, a folder or a cell; `text` says what is wrong there and what was done about it."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


class Problems(list[Problem]):
    """Problems in the order in which they were met, each once however often its file is read."""

    def __init__(self, problems: Iterable[Problem] = ()) -> None:
        super().__init__()
        self._known: set[Problem] = set()
        for problem in problems:
            self.tell(problem.place, problem.text)

    def tell(self, place: str, text: str) -> None:
        """Keep a problem, unless it is known."""
        problem = Problem(place, text)
        if problem not in self._known:
            self._known.add(problem)
            self.append(problem)
