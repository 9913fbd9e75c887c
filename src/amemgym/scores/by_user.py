"""One user's numbers, as people look them up who have printed results of a single user before them.

No interval belongs to them: how users differ is all an interval here knows of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amemgym.scores.metrics import Cell, accuracy, failure_shares


@dataclass(frozen=True)
class UserScores:
    """Overall accuracy over n exams, the share of all exams with each failure, and of wrong ones that no probe
    explains. Accuracy and shares add up to 1."""

    overall: float
    n: int
    failures: dict[str, float]
    undiagnosed: float


def by_user(cells: Sequence[Cell]) -> dict[int, UserScores]:
    """The scores of each user that has cells, users in order."""
    found = {}
    for user in sorted({cell.user for cell in cells}):
        own = [cell for cell in cells if cell.user == user]
        unknown = sum(not cell.exam.correct and cell.failure is None for cell in own)
        shares = {name: share.value or 0.0 for name, share in failure_shares(own).items()}
        found[user] = UserScores(accuracy(own).value or 0.0, len(own), shares, unknown / len(own))
    return found
