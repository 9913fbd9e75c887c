"""When failures are an outage: a model that ends several jobs in a row without one reply between them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from amemgym.llm.door import Door

#: so many jobs in a row without any reply are an outage, fewer may be a bad request
OUTAGE = 3


class Outages:
    """Counts jobs that ended because a model could not be reached.

    Args:
        doors: the doors by any name; one that is opened later may be added to it.
    """

    def __init__(self, doors: Mapping[Any, Door]) -> None:
        self._doors = doors
        #: by door: the replies it had given when a job failed by it, and how many jobs failed since without another
        self._failed: dict[Hashable, tuple[int, int]] = {}

    def another(self) -> bool:
        """A job failed: whether that makes an outage."""
        for name, door in self._doors.items():
            if door.failing:
                replies, jobs = self._failed.get(name, (door.replies, 0))
                self._failed[name] = door.replies, jobs + 1 if replies == door.replies else 1
        return any(jobs >= OUTAGE for _, jobs in self._failed.values())
