"""What is wrong with an archive and where, where that stops nothing: it is kept beside the results, never swallowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: of how many places a line about several names
_NAMED = 3
#: what may differ in texts that say the same: numbers, and names with a digit
_VARYING = re.compile(r"[^\s,;:()']*\d[^\s,;:()']*")


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
        """Keep a problem, unless it is known. Where its text names the place again, that is left out."""
        problem = Problem(place, text.replace(f"{place}: ", ""))
        if problem not in self._known:
            self._known.add(problem)
            self.append(problem)


def together(problems: Iterable[Problem]) -> list[str]:
    """The problems as lines. What is said of several places, but for numbers and names with a digit in it, is one line
    with how many there are and the first few."""
    found: dict[str, list[Problem]] = {}
    for problem in problems:
        found.setdefault(_VARYING.sub("#", problem.text), []).append(problem)
    return [str(of[0]) if len(of) == 1 else _line(of) for of in found.values()]


def _line(of: Sequence[Problem]) -> str:
    places = list(dict.fromkeys(problem.place for problem in of))
    such = "" if len({problem.text for problem in of}) == 1 else ", such as"
    if len(places) == 1:
        return f"{places[0]}, {len(of)} times{such}: {of[0].text}"
    folders = {place.rpartition("/")[0] for place in places}
    where = f" in {folder}" if len(folders) == 1 and (folder := folders.pop()) else ""
    names = [place.rpartition("/")[2] for place in places] if where else places
    return f"{len(of)} times{where} ({some(names, _NAMED)}){such}: {of[0].text}"


def some(names: Sequence[str], most: int) -> str:
    """The first of the names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def counted(count: int, name: str) -> str:
    """`1 dialog`, `2 dialogs`."""
    return f"{count} {name}{'' if count == 1 else 's'}"
