"""The doors of one undertaking (a run, a generation, an audit): one to each model, with the same limits.

A door is opened when it is first needed, so what is finished needs no model. A model that ends several jobs in a row
without one reply between them is an outage, which no further job can pass.
"""

from __future__ import annotations

from collections.abc import Callable

from amemgym.llm.door import Door, Watcher
from amemgym.llm.limits import Limits
from amemgym.llm.models import ModelSettings, Say, door_name, open_model
from amemgym.llm.provider import Provider
from amemgym.llm.slots import Slots

#: so many jobs in a row without any reply are an outage, fewer may be a bad request
OUTAGE = 3

OpenModel = Callable[[ModelSettings, Say], Provider]


class Doors:
    """The doors to all models of an undertaking.

    Args:
        limits: how much is asked at once, and how often.
        watcher: is told of calls, retries and remarks.
        open_by: makes the provider for a model's settings, where it is not the model itself that is asked.
    """

    def __init__(self, limits: Limits, watcher: Watcher, open_by: OpenModel | None = None) -> None:
        self._slots = Slots(limits.concurrency)
        self._attempts = limits.attempts
        self._open_by = open_by
        self._watcher = watcher
        self._doors: dict[tuple[str, str], Door] = {}
        self._providers: list[Provider] = []
        self._answered = False
        #: by door: the replies it had given when a job failed by it, and how many jobs failed since without another
        self._failed: dict[tuple[str, str], tuple[int, int]] = {}

    def to(self, settings: ModelSettings) -> Door:
        """The door to a model. Raises UnknownName or UsageError where it cannot be called."""
        name = door_name(settings)
        if name not in self._doors:
            provider = (self._open_by or open_model)(settings, self._watcher.said)
            self._providers.append(provider)
            self._doors[name] = Door(provider, self._slots, attempts=self._attempts, watcher=self._watcher)
            self._doors[name].answered = self._answered
        return self._doors[name]

    def had_replies(self) -> None:
        """What was finished before shows that the models answer."""
        self._answered = True
        for door in self._doors.values():
            door.answered = True

    def is_outage(self) -> bool:
        """A job failed, as a model could not be reached: whether that makes an outage."""
        for name, door in self._doors.items():
            if door.failing:
                replies, jobs = self._failed.get(name, (door.replies, 0))
                self._failed[name] = door.replies, jobs + 1 if replies == door.replies else 1
        return any(jobs >= OUTAGE for _, jobs in self._failed.values())

    async def aclose(self) -> None:
        for provider in self._providers:
            await provider.aclose()
