"""How often guesses that need no memory are right, in the data's own order of options, counted from the data alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from amemgym.scenario import Scenario


def accuracies(users: Iterable[Scenario]) -> dict[str, float]:
    """The share of exam cells (user, period, question) that each guess gets right."""
    right: Counter[str] = Counter()
    cells = 0
    for user in users:
        for period in range(len(user.periods)):
            for number, question in enumerate(user.qas):
                gold = user.gold(period, number)
                lengths = [len(option.answer) for option in question.answer_choices]
                guesses = {
                    "longest": lengths.index(max(lengths)),
                    "shortest": lengths.index(min(lengths)),
                    "last": len(lengths) - 1,
                    "frozen": user.gold(0, number),
                    **{f"always-{k}": min(k, len(lengths)) - 1 for k in range(1, 9)},
                    **{f"lag-{lag}": user.gold(max(0, period - lag), number) for lag in (1, 2, 3)},
                }
                right.update({"random": 1 / len(lengths)})
                right.update({guess: int(option == gold) for guess, option in guesses.items()})
                cells += 1
    return {guess: count / cells for guess, count in right.items()}
