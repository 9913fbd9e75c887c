"""What a run will take, before it is made: `estimate`, with the arguments of `run`.

A few users are rehearsed: the run's own code plays them, with stand-ins for the models. Each stands for the users of
about its size, and is scaled by what decides how much is asked: sessions and rounds, exams, variants. Nothing is asked
and nothing is written; only a `sample` is asked of the models, where one is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from amemgym.agents import AgentSpec
from amemgym.api import asked_for
from amemgym.errors import UsageError
from amemgym.evaluate import RunSpec, RunWatcher
from amemgym.evaluate.forecast import EMBEDDING, UPPER_BOUND, RoleEstimate, RunEstimate
from amemgym.evaluate.rehearse import Played, Rehearsal, try_agent
from amemgym.evaluate.shard import users_of
from amemgym.evaluate.strata import strata
from amemgym.evaluate.upperbound import bound_names, description
from amemgym.llm import BOXES, Doors, Limits, ModelSettings, asks_endpoint, embedder, model_title, open_model
from amemgym.llm.models import DEFAULT_URL, LOCAL, Say
from amemgym.llm.offline import OfflineModel
from amemgym.llm.prices import Rate
from amemgym.llm.provider import Provider
from amemgym.llm.rehearsal import FOLLOW_UP, REPLY, Habits, QuickOffline, StandIn
from amemgym.llm.sampling import Sample, Sampling
from amemgym.llm.tokens import tokenizer
from amemgym.memory import Memory
from amemgym.planning import RunPlan, plan_run
from amemgym.scenario import Dataset, Scenario
from amemgym.together import side_by_side, wait_for

#: users that are rehearsed where there are more
REHEARSED = 4
#: periods of one user that a sample is taken from: in the first nobody follows up
SAMPLED_PERIODS = 2
#: seconds that a call is taken to last where nothing is known
LATENCY = 2.0
#: roles in the order of the table; a memory's stand behind the assistant
ROLES = ("assistant", "memory", "embedding", "user", "exam", "probe", "probe embedding", UPPER_BOUND)


def estimate(
    data: str | Path | Dataset | None = None,
    agents: Sequence[str | type[Memory]] | str | type[Memory] | None = None,
    model: str = "offline",
    *,
    sample: int = 0,
    latency: float | None = None,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> RunEstimate:
    """What `run` with the same arguments will take. Asks no model (but for a sample) and writes nothing.

    Args:
        data, agents, model, settings: as `run` has them; `out` is not looked at.
        sample: so many calls of each kind of task are put to each model, so that lengths and tokens are its own.
        latency: seconds that a call is taken to last; None for the sample's mean, or 2.
        watcher: is told what a sample costs at most before it is taken, and remarks.

    Raises:
        AMemGymError: one of `amemgym.errors`, where the run could not begin, or a sample cannot be had.
    """
    spec, classes = asked_for(data, agents, model, settings)
    return estimate_spec(spec, sample=sample, latency=latency, watcher=watcher, classes=classes)


def estimate_spec(
    spec: RunSpec,
    *,
    sample: int = 0,
    latency: float | None = None,
    watcher: RunWatcher | None = None,
    classes: dict[str, type[Memory]] | None = None,
    user_key: SecretStr | None = None,
) -> RunEstimate:
    """The same from a RunSpec; `classes` and `user_key` as `api.run_spec` has them."""
    if sample < 0:
        raise UsageError(f"--sample {sample}: give how many calls of each kind are asked, 0 for none")
    if latency is not None and not latency > 0:
        raise UsageError(f"--latency {latency:g}: give the seconds that a call lasts, more than 0")
    watcher = watcher or RunWatcher()
    estimator = _Estimator(spec, plan_run(spec, watcher, classes, user_key), watcher)
    return wait_for(lambda: estimator.estimate(sample, latency))


@dataclass(frozen=True)
class _Taken:
    """What was found out by asking: each model's habits by its description, and how long a call lasted."""

    habits: Mapping[str, Habits]
    seconds: float | None = None
    calls: int = 0


class _Estimator:
    def __init__(self, spec: RunSpec, plan: RunPlan, watcher: RunWatcher) -> None:
        self._spec = spec
        self._plan = plan
        self._watcher = watcher
        self._users = [scenario for _, scenario in users_of(plan.dataset, spec.shard)]
        self._strata = strata(self._users, REHEARSED, plan.rules, plan.recorded)
        self._offline = OfflineModel(embedder(spec.embedder))
        self._playing = [agent for agent in plan.agents if not agent.is_reference]
        self._unknown = {agent.name: _SERVED for agent in self._playing if _is_served(agent)}
        self._bounds = list(bound_names(plan.agents, plan.model).values()) if spec.upper_bound else []

    async def estimate(self, sample: int, latency: float | None) -> RunEstimate:
        taken = await self._sample(sample) if sample else _Taken({})
        rehearsal = self._rehearsal(
            Doors(
                Limits(concurrency=1, attempts=1), RunWatcher(), lambda settings, say: self._stand_in(settings, taken)
            )
        )
        members = [stratum.member for stratum in self._strata]
        roles: list[RoleEstimate] = []
        chains: list[tuple[int, str]] = [(0, "")]
        try:
            for agent in self._rehearsable():
                played = await try_agent(rehearsal, agent, members)
                if isinstance(played, str):
                    self._unknown[agent.name] = played
                    continue
                models = {"user": self._plan.user_model}
                roles += self._scaled(agent.name, played, models, agent.model or self._plan.model, self._spec.trials)
                chains.append((self._chain(played), agent.name))
            for name, model in self._bounds:
                bounds = [await rehearsal.upper_bound(model, member) for member in members]
                title = UPPER_BOUND if len(self._bounds) == 1 else f"{UPPER_BOUND} of {name}"
                roles += self._scaled(title, bounds, {}, model, 1)
                chains.append((self._chain(bounds), title))
        finally:
            await rehearsal.aclose()
        chain, whose = max(chains, key=lambda one: one[0])
        waits = any(model != "offline" for model in self._models())
        latency = (latency or taken.seconds or LATENCY) if waits else None
        return RunEstimate(
            roles=tuple(roles),
            users=len(self._users),
            trials=self._spec.trials,
            rehearsed=len(members),
            exact=not waits and len(members) == len(self._users) and not self._unknown,
            chain=chain,
            chain_of=whose,
            latency=latency,
            seconds=None if latency is None else self._least(roles, chain, latency),
            tokens=tokenizer().name,
            unknown=dict(self._unknown),
            remarks=tuple(self._remarks(roles, taken, latency)),
        )

    # who replies

    def _rehearsal(self, doors: Doors) -> Rehearsal:
        plan = self._plan
        return Rehearsal(self._spec, plan.model, plan.user_model, plan.rules, doors, plan.recorded)

    def _stand_in(self, settings: ModelSettings, taken: _Taken) -> Provider:
        if settings.model == "offline":
            return QuickOffline(self._offline)
        return StandIn(settings, self._offline, taken.habits.get(description(settings)))

    def _rehearsable(self) -> list[AgentSpec]:
        return [agent for agent in self._playing if agent.name not in self._unknown]

    async def _sample(self, most: int) -> _Taken:
        """Ask each model a few calls of each kind, in the first periods of one user."""
        expected, _ = await self._asked(most, None)
        calls, asked, most_said = sum(s.count for s in expected.values()), 0, 0
        cost: float | None = 0.0
        for settings, found in self._by_model(expected):
            said = found.output if settings.max_tokens is None else found.count * settings.max_tokens
            asked, most_said = asked + found.input, most_said + said
            rate = self._rate(settings)
            cost = None if rate is None or cost is None else cost + rate.of(found.input, said)
        price = "price unknown" if cost is None else f"at most about US$ {cost:.4f}"
        if not calls:
            return _Taken({})
        told = f"{calls} calls, about {asked:,} tokens in and at most {most_said:,} out, {price}"
        self._watcher.said(f"a sample is asked first: {told}")
        samples, seconds = await self._asked(most, self._watcher.said)
        return _Taken(
            {name: s.habits() for name, s in samples.items()}, seconds, sum(s.count for s in samples.values())
        )

    def _by_model(self, samples: Mapping[str, Sample]) -> Iterator[tuple[ModelSettings, Sample]]:
        known = {description(settings): settings for settings in self._all_settings()}
        return ((known[name], sample) for name, sample in samples.items())

    async def _asked(self, most: int, say: Say | None) -> tuple[dict[str, Sample], float | None]:
        """What each model is asked by its description, and the mean seconds of a call; `say` None asks stand-ins."""
        samples: dict[str, Sample] = {}

        def open_by(settings: ModelSettings, tell: Say) -> Provider:
            stand_in = self._stand_in(settings, _Taken({}))
            if not isinstance(stand_in, StandIn) or _is_box(settings):
                return stand_in
            sample = samples.setdefault(description(settings), Sample())
            return Sampling(stand_in if say is None else open_model(settings, say), stand_in, most, sample)

        # so few calls need no rate, and it would hold up the stand-ins
        limits = Limits(self._spec.concurrency, self._spec.attempts)
        rehearsal = self._rehearsal(Doors(limits, self._watcher, open_by))
        user = self._strata[0].member.limited(SAMPLED_PERIODS)
        try:
            await side_by_side(
                [
                    *(try_agent(rehearsal, agent, [user]) for agent in self._rehearsable()),
                    *(_bound(rehearsal, model, user) for _, model in self._bounds),
                ]
            )
        finally:
            await rehearsal.aclose()
        lasted = [one.seconds for s in samples.values() for calls in s.calls.values() for one in calls]
        return samples, sum(lasted) / len(lasted) if lasted else None

    # what it comes to

    def _scaled(
        self,
        agent: str,
        played: Sequence[Played],
        models: Mapping[str, ModelSettings],
        model: ModelSettings,
        trials: int,
    ) -> list[RoleEstimate]:
        """All users' share of each role."""
        found = []
        for role in sorted({role for one in played for role in one.ledger}, key=_place):
            calls = asked = said = 0.0
            for stratum, one in zip(self._strata, played, strict=True):
                if (count := one.ledger.get(role)) is not None:
                    scale = trials * stratum.scale(role)
                    calls, asked, said = (
                        calls + scale * count.calls,
                        asked + scale * count.input,
                        said + scale * count.output,
                    )
            settings = models.get(role, model)
            rate = Rate(0.0, 0.0) if role in EMBEDDING else self._rate(settings)
            name = self._spec.embedder if role in EMBEDDING else model_title(settings.model)
            usd = None if rate is None else rate.of(round(asked), round(said))
            found.append(RoleEstimate(agent, role, name, round(calls), round(asked), round(said), usd))
        return found

    def _chain(self, played: Sequence[Played]) -> int:
        return max(round(one.chain * stratum.longest) for stratum, one in zip(self._strata, played, strict=True))

    def _least(self, roles: Sequence[RoleEstimate], chain: int, latency: float) -> float:
        """Seconds: of the longest chain, or of an endpoint that has all its calls under way that it may have."""
        limits, least = self._spec.limits(), chain * latency
        by_place: dict[str, list[RoleEstimate]] = {}
        places = {model_title(settings.model): _address(settings) for settings in self._all_settings()}
        for role in roles:
            if (place := places.get(role.model)) is not None and role.role not in EMBEDDING:
                by_place.setdefault(place, []).append(role)
        for place, some in by_place.items():
            calls = sum(role.calls for role in some)
            # a model on this machine answers one call after the other
            beside = 1 if place.startswith(f"{LOCAL}:") else limits.concurrency
            least = max(least, calls * latency / beside)
            if asks_endpoint(place):
                least = max(least, 60 * calls / limits.rpm if limits.rpm else 0.0)
                used = sum(role.input + role.output for role in some)
                least = max(least, 60 * used / limits.tpm if limits.tpm else 0.0)
        return least

    def _all_settings(self) -> list[ModelSettings]:
        own = [agent.model for agent in self._playing if agent.model is not None]
        return [self._plan.model, self._plan.user_model, *own, *(model for _, model in self._bounds)]

    def _models(self) -> set[str]:
        """The names of the models that are played by."""
        playing = {(agent.model or self._plan.model).model for agent in self._playing}
        users = {self._plan.user_model.model} if playing and self._plan.recorded is None else set()
        return playing | users | {model.model for _, model in self._bounds}

    def _rate(self, settings: ModelSettings) -> Rate | None:
        """What a model costs, None where that is not known."""
        return self._plan.prices.rate(settings)

    # what must be known to read it

    def _remarks(self, roles: Sequence[RoleEstimate], taken: _Taken, latency: float | None) -> Iterator[str]:
        users = len(self._users)
        stood = len(self._strata)
        whose = f"{stood} of {users} users were rehearsed, spread by size, and scaled" if stood < users else ""
        whose = whose or ("every user was rehearsed" if users > 1 else "the user was rehearsed")
        if latency is None:
            yield f"{whose}, by the offline model itself; tokens are characters / 4"
        else:
            yield f"{whose}, with stand-ins for the models"
            if taken.calls:
                yield f"lengths and tokens are those of a sample of {taken.calls} replies"
            else:
                yield (
                    f"tokens: {tokenizer().name}; replies are taken to be of usual length ({REPLY:,} characters, the"
                    f" simulated user's {FOLLOW_UP}). As the model replies and its endpoint counts: --sample 5"
                )
        for name, why in self._unknown.items():
            yield f"{name}: unknown ({why})"
        for agent in self._playing:
            if agent.is_box:
                yield f"{agent.name}: only the words that go there and come back; what it uses inside is unknown"
        unpriced = dict.fromkeys(role.model for role in roles if role.usd is None)
        if unpriced:
            yield f"no price is known of {', '.join(unpriced)}"


_SERVED = "its memory is kept on a server, which a rehearsal must not write to"


async def _bound(rehearsal: Rehearsal, model: ModelSettings, user: Scenario) -> None:
    await rehearsal.upper_bound(model, user)


def _is_box(settings: ModelSettings) -> bool:
    return settings.model.partition(":")[0] in BOXES


def _is_served(agent: AgentSpec) -> bool:
    """Whether the memory speaks to a server of its own."""
    return not agent.is_box and bool(agent.memory_type().environment)


def _address(settings: ModelSettings) -> str | None:
    """Whose limits count for a model; None where nobody is waited for."""
    if settings.model == "offline":
        return None
    if settings.model.startswith(f"{LOCAL}:"):
        return model_title(settings.model)
    return settings.base_url if _is_box(settings) else settings.resolved_url() or DEFAULT_URL


def _place(role: str) -> tuple[int, str]:
    kind = "memory" if role.startswith("memory") else role
    # what a memory writes comes before what it reads
    return ROLES.index(kind) if kind in ROLES else len(ROLES), "" if role.endswith("write") else role
