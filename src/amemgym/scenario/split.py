"""Training users and held-out users: who something is learned from, and who it is measured on."""

from __future__ import annotations

from dataclasses import dataclass

from amemgym.errors import UsageError
from amemgym.scenario.dataset import Dataset
from amemgym.seeds import permutation


@dataclass(frozen=True)
class Split:
    """Ids of users, in the data set's order; no user is in both."""

    training: tuple[str, ...]
    held_out: tuple[str, ...]


def split_users(dataset: Dataset, training: float | int = 0.5, seed: int = 0) -> Split:
    """Draw the training users by seed; the others are held out.

    `training` is their share (between 0 and 1), or their number (1 and more). Raises UsageError where one side would
    be empty.
    """
    ids = [scenario.id for scenario in dataset]
    if len(ids) < 2:
        raise UsageError(f"data set '{dataset.name}' has 1 user; to learn from some and measure on others takes 2")
    count = round(training * len(ids)) if isinstance(training, float) and training < 1 else int(training)
    count = max(1, min(count, len(ids) - 1)) if isinstance(training, float) and 0 < training < 1 else count
    if not 1 <= count < len(ids):
        raise UsageError(
            f"{training} training users of the {len(ids)} in '{dataset.name}' leave none to learn from or measure on;"
            f" give a share between 0 and 1, or a number from 1 to {len(ids) - 1}"
        )
    chosen = set(permutation(len(ids), seed, "training users")[:count])
    return Split(
        tuple(name for place, name in enumerate(ids) if place in chosen),
        tuple(name for place, name in enumerate(ids) if place not in chosen),
    )
