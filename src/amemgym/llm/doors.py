"""The doors of one undertaking (a run, a generation, an audit): one to each model, and one limiter to each endpoint.

A door is opened when it is first needed, so what is finished needs no model. Models that are asked at one address with
one key share its limiter; the offline model and each model on this machine have one of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from amemgym.errors import UsageError
from amemgym.llm.budget import Budget
from amemgym.llm.clock import Clock
from amemgym.llm.door import Door, Watcher
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from amemgym.llm.models import (
    BOXES,
    DEFAULT_URL,
    ModelSettings,
    Say,
    asks_endpoint,
    door_name,
    find_key,
    model_title,
    open_model,
)
from amemgym.llm.prices import Rate, rate_of
from amemgym.llm.provider import Provider

OpenModel = Callable[[ModelSettings, Say], Provider]
Rates = Callable[[ModelSettings], Rate | None]


class Doors:
    """The doors to all models of an undertaking.

    Args:
        limits: how much is asked at once, and how often.
        watcher: is told of calls, retries and remarks.
        open_by: makes the provider for a model's settings, where it is not the model itself that is asked.
        budget: what may be spent, over all of them.
        rates: what a model's tokens cost.
        clock: what limits and waits go by.
    """

    def __init__(
        self,
        limits: Limits,
        watcher: Watcher,
        open_by: OpenModel | None = None,
        *,
        budget: Budget | None = None,
        rates: Rates = rate_of,
        clock: Clock | None = None,
    ) -> None:
        self._limits = limits
        self._open_by = open_by
        self._watcher = watcher
        self._budget = budget
        self._rates = rates
        self._clock = clock or Clock()
        self._doors: dict[tuple[str, str], Door] = {}
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._providers: list[Provider] = []
        self._answered = False

    def to(self, settings: ModelSettings) -> Door:
        """The door to a model. Raises UnknownName or UsageError where it cannot be called."""
        name = door_name(settings)
        if name not in self._doors:
            rate = self.rate(settings)
            provider = (self._open_by or open_model)(settings, self._watcher.said)
            self._providers.append(provider)
            self._doors[name] = Door(
                provider,
                self._limiter(settings),
                watcher=self._watcher,
                budget=self._budget,
                rate=rate,
                max_tokens=settings.max_tokens,
                again_if_empty=asks_endpoint(settings.model) and settings.model.partition(":")[0] not in BOXES,
            )
            self._doors[name].answered = self._answered
        return self._doors[name]

    def rate(self, settings: ModelSettings) -> Rate | None:
        """What a model's tokens cost. Raises UsageError where that has to be known, for a budget in US dollars, and is
        not."""
        if self._budget is None or not self._budget.dollars:
            return None
        if not asks_endpoint(settings.model):
            return Rate(0.0, 0.0)
        rate = self._rates(settings)
        if rate is None:
            url = settings.resolved_url()
            at = f" at {url}" if url else ""
            raise UsageError(
                f"the price of {model_title(settings.model)}{at} is not known, so a budget in US dollars cannot be"
                " kept; give its price in a file with --prices, or a --budget in tokens (2M)"
            )
        return rate

    def had_replies(self) -> None:
        """What was finished before shows that the models answer."""
        self._answered = True
        for door in self._doors.values():
            door.answered = True

    async def aclose(self) -> None:
        for provider in self._providers:
            await provider.aclose()

    def _limiter(self, settings: ModelSettings) -> Limiter:
        place = endpoint_of(settings)
        if place not in self._limiters:
            # what is in this process has no minutes
            limits = self._limits if asks_endpoint(settings.model) else replace(self._limits, rpm=None, tpm=None)
            self._limiters[place] = Limiter(limits, name=place[0], say=self._watcher.said, clock=self._clock)
        return self._limiters[place]


def endpoint_of(settings: ModelSettings) -> tuple[str, str]:
    """What calls must share to count against the same limits: the address and the key. The key is not to be written."""
    if not asks_endpoint(settings.model):
        return model_title(settings.model), ""
    kind = settings.model.partition(":")[0]
    key, _ = find_key(settings)
    address = settings.resolved_url() or settings.base_url or (DEFAULT_URL if kind == "openai" else f"{kind}:")
    return address.rstrip("/"), key.get_secret_value() if key else ""
