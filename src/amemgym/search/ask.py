"""Which configuration is tried next: Optuna's TPE over the places in the lists of choices, told what each one scored.

The agent as it is named comes first, where it is among the choices. Nothing is tried twice: where TPE says the same
again, an untried one is drawn instead. Seeded, and told the same scores, it asks for the same; nothing is kept on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from amemgym.memory.packages import check_packages
from amemgym.search.grid import Configuration, Grid
from amemgym.seeds import generator

#: the package and the versions that work, and the extra that brings it
PACKAGES, EXTRA = {"optuna": ">=4"}, "tune"
#: settings whose choices have an order
ORDERED = ("freq", "n_s", "topk", "room")
#: how often TPE may say what was tried before an untried one is drawn
PATIENCE = 8


def check_optuna() -> None:
    """Raises UsageError where Optuna is not installed."""
    check_packages(PACKAGES, EXTRA)


class Asker:
    """Asks for configurations of a grid, one after the other.

    Args:
        grid: the choices.
        start: the agent as it is named.
        trials: how many will be asked for; a third of them, from 4 to 10, are drawn at random before TPE begins.
        seed: of everything drawn.
    """

    def __init__(self, grid: Grid, start: Configuration, trials: int, seed: int) -> None:
        import optuna

        self._grid = grid
        self._failed = optuna.trial.TrialState.FAIL
        self._random = generator(seed, "configurations")
        with _quiet():
            sampler = optuna.samplers.TPESampler(
                seed=self._random.randrange(2**32), n_startup_trials=max(4, min(10, trials // 3))
            )
            self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._untried = grid.all()
        self._current: Any = None
        first = grid.places(start)
        if first is not None:
            self._study.enqueue_trial(first)

    def ask(self) -> Configuration:
        """The next configuration; there is one as long as fewer than the grid's size were asked for."""
        with _quiet():
            for attempt in range(PATIENCE + 1):
                if attempt == PATIENCE:
                    self._study.enqueue_trial(self._random.choice(self._untried))
                self._current = self._study.ask()
                places = {name: self._suggested(name, len(values)) for name, values in self._grid.choices.items()}
                if places in self._untried:
                    break
                self._study.tell(self._current, state=self._failed)
        self._untried.remove(places)
        return self._grid.at(places)

    def tell(self, value: float | None) -> None:
        """What the configuration asked for last scored; None where that cannot be told."""
        with _quiet():
            if value is None:
                self._study.tell(self._current, state=self._failed)
            else:
                self._study.tell(self._current, value)

    def _suggested(self, name: str, choices: int) -> int:
        if name in ORDERED:
            return int(self._current.suggest_int(name, 0, choices - 1))
        return int(self._current.suggest_categorical(name, tuple(range(choices))))


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna says each step aloud; here it is the watcher that is told."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
