"""One user's numbers, as people look them up who have printed results of a single user before them.

No interval belongs to them: how users differ is all an interval here knows of.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from amemgym.scores.answers import FAILURES, Answers
from amemgym.scores.groups import Groups


def by_user(answers: Answers, ids: Mapping[int, str], probed: Collection[int]) -> list[dict[str, Any]]:
    """The scores of each user that an agent has counted answers of, users in order.

    Accuracy, random and upper bound over n exams; `diagnosis` as shares of these (None where the user is not among
    those that were probed), and how many wrong answers no probe explains. `ids` are those of users by number.
    """
    users = Groups(answers.user)
    counts = users.sizes.tolist()
    numbers = answers.user[users.first].tolist()
    bounded = answers.bounded
    with_bound = Groups(bounded.user)
    bounds = dict(
        zip(
            bounded.user[with_bound.first].tolist(),
            zip(with_bound.sums(bounded.bound), with_bound.sizes.tolist(), strict=True),
            strict=True,
        )
    )
    rights, chances = users.sums(answers.correct), users.sums(answers.random)
    failures = {str(kind): users.sums(answers.failure == place) for place, kind in enumerate(FAILURES)}
    undiagnosed = users.sums(answers.is_undiagnosed)
    found = []
    for at, (user, n) in enumerate(zip(numbers, counts, strict=True)):
        bound, bound_n = bounds.get(user, (None, 0))
        found.append(
            {
                "user": user,
                "user_id": ids[user],
                "overall": rights[at] / n,
                "n": n,
                "random": chances[at] / n,
                "upper_bound": None if bound is None else bound / bound_n,
                "upper_bound_n": bound_n,
                "diagnosis": {name: sums[at] / n for name, sums in failures.items()} if user in probed else None,
                "undiagnosed": int(undiagnosed[at]),
            }
        )
    return found
