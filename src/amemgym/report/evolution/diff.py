"""What changed between two policies, line by line: the whole of the new one and of the old one can be read from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

KEPT, ADDED, REMOVED, FOLDED = " ", "+", "−", "…"
#: unchanged lines that are shown around a change
AROUND = 2


@dataclass(frozen=True)
class Line:
    """A line that is in both, or in one of them alone."""

    sign: str
    text: str


@dataclass(frozen=True)
class Fold:
    """So many unchanged lines that are not shown."""

    lines: int
    sign: str = FOLDED


def diff(old: str, new: str) -> list[Line | Fold]:
    """The change from one text to another; without a change, one fold. Lines end at line feeds alone."""
    before, after = old.split("\n"), new.split("\n")
    found: list[Line | Fold] = []
    steps = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for place, (what, i1, i2, j1, j2) in enumerate(steps):
        if what == "equal":
            found += _folded(before[i1:i2], place == 0, place + 1 == len(steps))
        else:
            found += [Line(REMOVED, line) for line in before[i1:i2]]
            found += [Line(ADDED, line) for line in after[j1:j2]]
    return found


def counts(lines: Sequence[Line | Fold]) -> tuple[int, int]:
    """Lines added, and lines removed."""
    signs = [line.sign for line in lines if isinstance(line, Line)]
    return signs.count(ADDED), signs.count(REMOVED)


def _folded(lines: Sequence[str], first: bool, last: bool) -> list[Line | Fold]:
    """Unchanged lines, those far from a change counted only. One line is never folded: it takes no more room itself."""
    head, tail = 0 if first else AROUND, 0 if last else AROUND
    hidden = len(lines) - head - tail
    if hidden < 2:
        return [Line(KEPT, line) for line in lines]
    shown = [Line(KEPT, line) for line in lines]
    return [*shown[:head], Fold(hidden), *shown[head + hidden :]]
