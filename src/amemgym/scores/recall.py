"""How well single states are remembered, from the probes: when new, now, and by how old and changeful they are.

Recall is corrected for guessing: with V possible values, a guess is right once in V, so what counts is
Σ(right − 1/V) / Σ(1 − 1/V), 0 for a guesser and 1 for all known (Cronbach's and Frary's formula score, pooled).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from amemgym.evaluate import EpisodeResult
from amemgym.scenario import Scenario
from amemgym.scores.diagnosis import last_update
from amemgym.scores.intervals import clipped
from amemgym.scores.metrics import Mean, ratio, share

#: ages, changes and lives beyond this are taken together, as too few to tell apart
MOST = 8


@dataclass(frozen=True)
class StateCell:
    """One state variable as one probe found it.

    `age` is the periods since it was last given a value, `changes` how often that happened after period 0, `life` the
    periods its present value lasts in all (its dwell time; to the end of the data where it does not change again).
    """

    user: int
    trial: int
    question: int
    variable: str
    period: int
    right: bool
    values: int
    age: int
    changes: int
    life: int

    @property
    def guess(self) -> float:
        """How often a guess is right: 1/V."""
        return 1 / self.values


def state_cells(episodes: Iterable[EpisodeResult], scenarios: Mapping[str, Scenario]) -> list[StateCell]:
    """Every state in every probe with a readable reply; what such a reply leaves out is not known."""
    updates = {
        (scenario.id, variable): [p for p in range(len(scenario.periods)) if last_update(scenario, p, variable) == p]
        for scenario in scenarios.values()
        for variable in scenario.state_schema
    }
    return [
        StateCell(
            episode.user,
            episode.trial,
            probe.question,
            variable,
            probe.period,
            probe.values.get(variable) == scenario.periods[probe.period].state[variable],
            len(scenario.state_schema[variable]),
            *_history(updates[scenario.id, variable], len(scenario.periods), probe.period),
        )
        for episode in episodes
        for scenario in [scenarios[episode.user_id]]
        for probe in episode.probes
        if probe.is_readable
        for variable in dict.fromkeys(scenario.qas[probe.question].required_info)
        if len(scenario.state_schema[variable]) > 1
    ]


def _history(updates: Sequence[int], periods: int, period: int) -> tuple[int, int, int]:
    """Age, changes so far and life of the value that holds after a period."""
    begun = max(p for p in updates if p <= period)
    ends = min((p for p in updates if p > period), default=periods)
    return period - begun, sum(0 < p <= period for p in updates), ends - begun


def recall(cells: Sequence[StateCell]) -> Mean:
    """Corrected recall over cells, with the interval clustered by user."""
    found = ratio(cells, lambda cell: cell.right - cell.guess, lambda cell: 1 - cell.guess)
    return replace(found, interval=clipped(found.interval, low=-1))  # of two values, none known is −1


def recall_by(cells: Sequence[StateCell], key: Callable[[StateCell], int]) -> list[Mean]:
    """Corrected recall by a number: entry i for cells whose number is i, the last for all from MOST on."""
    groups: dict[int, list[StateCell]] = {}
    for cell in cells:
        groups.setdefault(min(key(cell), MOST), []).append(cell)
    return [recall(groups.get(number, [])) for number in range(max(groups, default=-1) + 1)]


@dataclass(frozen=True)
class UpdateLag:
    """How soon changes are known.

    `known` is the share of changes that a probe ever found known while they held, `mean` the periods until then, over
    those that were. `by_lag[L]` is the share known within L periods, of the changes that held so long. A change that
    was not found counts only if it was probed after each of these periods. Not corrected for guessing.
    """

    known: Mean
    mean: Mean
    by_lag: list[Mean]


@dataclass(frozen=True)
class _Change:
    """`probed` is the number of periods, from the first on, that it was probed after without a gap."""

    user: int
    lag: int | None
    life: int
    probed: int


def update_lag(cells: Sequence[StateCell]) -> UpdateLag:
    """The lag of every change after period 0."""
    held: dict[tuple[int, int, int, str, int], list[StateCell]] = {}
    for cell in cells:
        if cell.changes:
            begun = cell.period - cell.age
            held.setdefault((cell.user, cell.trial, cell.question, cell.variable, begun), []).append(cell)
    changes = [
        _Change(
            group[0].user,
            min((cell.age for cell in group if cell.right), default=None),
            group[0].life,
            _without_gap({cell.age for cell in group}),
        )
        for group in held.values()
    ]
    changes = [change for change in changes if change.probed]  # so that the lag's beginning was seen
    longest = min(MOST, max((change.life for change in changes), default=0))
    # where a probe is missing before the one that found it, it may have been known earlier
    known = [change for change in changes if change.lag is not None and change.lag < change.probed]
    return UpdateLag(
        known=share([c for c in changes if c.lag is not None or c.probed == c.life], lambda c: c.lag is not None),
        mean=_not_below_zero(ratio(known, lambda change: float(change.lag or 0))),
        by_lag=[_known_within(lag, changes) for lag in range(longest)],
    )


def _not_below_zero(mean: Mean) -> Mean:
    return replace(mean, interval=clipped(mean.interval, high=math.inf))


def _known_within(lag: int, changes: Sequence[_Change]) -> Mean:
    """The share known within so many periods, of the changes that held so long."""
    held = [change for change in changes if change.life > lag]
    seen = [c for c in held if c.probed > lag or (c.lag is not None and c.lag <= lag)]
    return share(seen, lambda change: change.lag is not None and change.lag <= lag)


def _without_gap(ages: set[int]) -> int:
    return next(age for age in range(len(ages) + 1) if age not in ages)
