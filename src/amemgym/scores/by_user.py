"""One user's numbers, as people look them up who have printed results of a single user before them.

No interval belongs to them: how users differ is all an interval here knows of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amemgym.evaluate import EpisodeResult
from amemgym.scores.metrics import Cell, accuracy, failure_shares, random_accuracy, upper_bound_accuracy


def by_user(episodes: Sequence[EpisodeResult], cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """The scores of each user that an agent has counted answers of, users in order.

    Accuracy, random and upper bound over n exams; `diagnosis` as shares of these (None where the user was not
    probed), and how many wrong answers no probe explains.
    """
    ids = {episode.user: episode.user_id for episode in episodes}
    probed = {episode.user for episode in episodes if episode.probes}
    return [
        _scores(user, ids[user], [cell for cell in cells if cell.user == user], user in probed)
        for user in sorted({cell.user for cell in cells})
    ]


def _scores(user: int, user_id: str, cells: Sequence[Cell], probed: bool) -> dict[str, Any]:
    bound = upper_bound_accuracy(cells)
    return {
        "user": user,
        "user_id": user_id,
        "overall": accuracy(cells).value,
        "n": len(cells),
        "random": random_accuracy(cells),
        "upper_bound": bound.value,
        "upper_bound_n": bound.n,
        "diagnosis": {name: share.value for name, share in failure_shares(cells).items()} if probed else None,
        "undiagnosed": sum(not cell.exam.correct and cell.failure is None for cell in cells),
    }
