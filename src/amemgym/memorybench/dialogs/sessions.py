"""Training dialogs as the sessions of one user: in an order drawn by seed, one a day, at times that are simulated.

All dialogs feed one memory, whatever their data sets; that is MemoryBench's setting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.dialogs.points import DataPoint
from amemgym.memorybench.items import ItemKey
from amemgym.seeds import permutation
from amemgym.tasks import Turn

#: the original's seed (its draw is another, so the order is)
SEED = 42
#: when the first session is
START = datetime(2024, 1, 1, 9)
STEP = timedelta(days=1)


@dataclass(frozen=True)
class Session:
    """One recorded dialog at its simulated time, which every message of it carries: all that an agent is told of it."""

    key: ItemKey
    time: datetime
    turns: tuple[Turn, ...]


def sessions(
    points: Iterable[DataPoint],
    seed: int = SEED,
    *,
    actions: Iterable[str] | None = None,
    start: datetime = START,
    step: timedelta = STEP,
) -> list[Session]:
    """The points' dialogs, shuffled over all data sets. The order depends on the seed and on which points there are,
    not on the order they come in.

    Args:
        points: training points, as `load_points` gives them or in any iterable; those without a dialog are left out.
        seed: of the order.
        actions: only dialogs whose user gave one of these (like, copy, dislike …) after any round.
        start, step: the time of the first session, and from each to the next.

    Raises:
        UnknownName: for an action that no point has.
        DataError: where no dialog is left, or none has an action to choose by.
    """
    held = sorted((p for p in points if p.dialog), key=lambda p: (p.dataset, isinstance(p.test_idx, str), p.test_idx))
    if not held:
        raise DataError("no data point has a dialog, so there is nothing to remember; give training data")
    if actions is not None:
        wanted, known = set(actions), sorted({action for point in held for action in point.actions})
        if wanted and not known:
            raise DataError("no dialog has an action, so none can be chosen by its actions; leave out --with")
        for action in sorted(wanted - set(known)):
            raise UnknownName("action", action, known, "These are the actions that the dialogs' users gave.")
        held = [point for point in held if wanted & point.actions]
        if not held:
            raise DataError("no action is named, so no dialog is left; name some, such as like,copy")
    try:
        times = [start + step * number for number in range(len(held))]
    except OverflowError:
        raise DataError(f"{len(held)} sessions from {start} on end after the last year there is") from None
    order = permutation(len(held), seed, "memorybench", "dialogs")
    return [
        Session(held[place].key, time, tuple(tuple(replace(said, time=time) for said in t) for t in held[place].dialog))
        for place, time in zip(order, times, strict=True)
    ]
