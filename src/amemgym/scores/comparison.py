"""Two runs over the same exams, ON and OFF, agent by agent: what changes, and whether the order of the agents does.

With a run of its own conversations (on-policy) and one in which all agents were given the same recorded conversations
(off-policy), that is what a benchmark of reused conversations would get wrong; with two runs of two models, what a
release changes. Everything is over the exams that both runs have an answer to, each counted once however many trials
of it are finished, and a change's interval is paired by user, since what makes a user hard does so in both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from amemgym.errors import UsageError
from amemgym.evaluate import played_users
from amemgym.scores.answers import Answers
from amemgym.scores.groups import Column
from amemgym.scores.intervals import ONE_USER, clipped
from amemgym.scores.metrics import Mean, memory_score, ratio
from amemgym.scores.pairs import adjusted_ps, compare_agents
from amemgym.scores.results import Results

#: settings that two runs may differ in without a word: what is shown anyway, and what is counted
_SHOWN = {"agents", "off_policy", "model", "trials", "upper_bound", "seed", "data"}
#: digits of a score that decide a rank; the rest is what rounding leaves
_DIGITS = 9


@dataclass(frozen=True)
class Played:
    """What a run left: its manifest and what is finished of it."""

    manifest: Mapping[str, Any]
    results: Results


@dataclass(frozen=True)
class Standing:
    """An agent in one of the runs. `score` is the ratio of means, without a value where `why_undefined` says so. Equal
    agents share a rank; reference agents have none."""

    overall: Mean
    score: Mean
    why_undefined: str | None
    rank: int | None
    #: of its episodes in that run
    finished: int
    planned: int


@dataclass(frozen=True)
class Change:
    """OFF − ON. `p` is two-sided, by sign flips over users, and `p_adjusted` that for the number of agents (Benjamini
    and Hochberg); only of the overall."""

    value: float | None
    interval: tuple[float, float] | None
    p: float | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class AgentComparison:
    """One agent in both runs, over the `n` exams of `users` users that both have an answer to."""

    name: str
    is_reference: bool
    on: Standing
    off: Standing
    overall: Change
    score: Change
    n: int
    users: int
    #: whether it has other settings in OFF than in ON
    is_other: bool

    @property
    def rank_change(self) -> int | None:
        """How many places it falls (above 0) or rises (below 0) from ON to OFF."""
        return None if self.on.rank is None or self.off.rank is None else self.off.rank - self.on.rank


@dataclass(frozen=True)
class RunSide:
    """One of the runs: what tells it from the other, and the agents that only it has."""

    #: those of the agents that both have, in their order
    models: tuple[str, ...]
    user_model: str
    #: whose conversations all agents were given; None where each had its own
    off_policy: str | None
    fingerprint: str
    trials: int
    alone: tuple[str, ...]
    #: whether the agents that both have are finished in it
    is_finished: bool

    @property
    def title(self) -> str:
        """What it is, in a few words."""
        policy = "on-policy" if self.off_policy is None else f"off-policy, conversations of {self.off_policy}"
        return f"{', '.join(self.models)}, {policy}"


@dataclass(frozen=True)
class Comparison:
    """ON beside OFF. `tau` is Kendall's τ-b of the two orders of the agents by `ranked_by`, None with fewer than two or
    where one order is a tie of all."""

    data: Mapping[str, Any]
    protocol: Mapping[str, Any]
    seed: int
    on: RunSide
    off: RunSide
    agents: tuple[AgentComparison, ...]
    ranked_by: str
    tau: float | None
    #: whether the ranked agents were all examined on the same exams
    is_even: bool
    why_no_interval: str | None
    #: settings besides the shown ones that are not the same
    differs: tuple[str, ...]

    @property
    def is_finished(self) -> bool:
        return self.on.is_finished and self.off.is_finished


def compare_runs(on: Played, off: Played) -> Comparison:
    """Every agent that both runs have, in the order of ON. Raises UsageError where the runs are not over the same
    exams, or have no agent in common."""
    _check_alike(on.manifest, off.manifest)
    there, here = _agents(on.manifest), _agents(off.manifest)
    names = [name for name in there if name in here]
    if not names:
        raise UsageError(f"no agent is in both runs: ON has {', '.join(there)}, OFF has {', '.join(here)}")
    cells = {name: _common(*(run.results.answers(name) for run in (on, off))) for name in names}
    overalls = {name: tuple(map(_overall, both)) for name, both in cells.items()}
    scores = {name: tuple(map(_score, _bounded(*both))) for name, both in cells.items()}
    pairs = {
        name: compare_agents({"OFF": off_cells, "ON": on_cells})[0] for name, (on_cells, off_cells) in cells.items()
    }
    ranked = [name for name in names if not there[name].get("reference") and len(cells[name][0])]
    by_score = all(score.value is not None for name in ranked for score, _ in scores[name])
    orders = [
        {name: scores[name][i][0].value if by_score else overalls[name][i].value for name in ranked} for i in (0, 1)
    ]
    # of reference agents there is nothing to find out
    ps = [pairs[name].p if name in ranked else None for name in names]
    compared = tuple(
        AgentComparison(
            name=name,
            is_reference=bool(there[name].get("reference")),
            on=Standing(overalls[name][0], *scores[name][0], _rank(name, orders[0]), *_episodes(on, name)),
            off=Standing(overalls[name][1], *scores[name][1], _rank(name, orders[1]), *_episodes(off, name)),
            overall=Change(pairs[name].difference, pairs[name].interval, p, p_adjusted),
            score=Change(pairs[name].memory_score_difference, pairs[name].memory_score_interval),
            n=len(np.unique(cells[name][0].places)),
            users=len(np.unique(cells[name][0].user)),
            is_other=there[name] != here[name],
        )
        for name, p, p_adjusted in zip(names, ps, adjusted_ps(ps), strict=True)
    )
    return Comparison(
        data=on.manifest["data"],
        protocol=on.manifest["compared"]["protocol"],
        seed=on.manifest["compared"]["seed"],
        on=_side(on, names, [agent.on for agent in compared]),
        off=_side(off, names, [agent.off for agent in compared]),
        agents=compared,
        ranked_by="memory score" if by_score else "overall",
        tau=_tau(*orders),
        is_even=len({np.unique(cells[name][0].places).tobytes() for name in ranked}) < 2,
        why_no_interval=ONE_USER if max(agent.users for agent in compared) == 1 else None,
        differs=_differing(on.manifest["compared"], off.manifest["compared"]),
    )


def _check_alike(on: Mapping[str, Any], off: Mapping[str, Any]) -> None:
    """Raises UsageError where the exams of two runs are not the same."""
    a, b = on["compared"], off["compared"]
    if a["data"] != b["data"]:
        raise UsageError(
            f"mixed data: ON plays {_data(on)}, OFF plays {_data(off)}; compare runs over the same users and periods of"
            " the same data"
        )
    played = [manifest["data"]["played"] for manifest in (on, off)]
    if played[0] != played[1]:
        raise UsageError(
            f"mixed data: ON and OFF play other users of {on['data']['name']} (sha256 of what is played: {played[0]}"
            f" and {played[1]}); compare runs over the same users and periods of the same data"
        )
    protocols = [f"{c['protocol']['name']} (version {c['protocol']['version']})" for c in (a, b)]
    if protocols[0] != protocols[1]:
        raise UsageError(
            f"mixed protocols: ON was played by {protocols[0]}, OFF by {protocols[1]}; compare runs of the same one"
        )
    if a["seed"] != b["seed"]:
        raise UsageError(
            f"mixed seeds: ON has seed {a['seed']}, OFF has seed {b['seed']}, which shuffles the options otherwise;"
            " compare runs of the same --seed"
        )


def _data(manifest: Mapping[str, Any]) -> str:
    played = manifest["compared"]["data"]
    return (
        f"{played['users']} users and {played['periods']} periods of {manifest['data']['name']}"
        f" (sha256 {played['sha256']})"
    )


def _agents(manifest: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {agent["name"]: agent for agent in manifest["compared"]["agents"]}


def _common(a: Answers, b: Answers) -> tuple[Answers, Answers]:
    """The answers to the exams that have one in both, each with its upper bound."""
    return a.only(np.isin(a.places, b.places)), b.only(np.isin(b.places, a.places))


def _bounded(a: Answers, b: Answers) -> tuple[Answers, Answers]:
    """Those with an upper bound in both, where both runs measured any; else what there is."""
    with_a, with_b = a.bounded, b.bounded
    return _common(with_a, with_b) if len(with_a) and len(with_b) else (with_a, with_b)


def _episodes(run: Played, name: str) -> tuple[int, int]:
    """An agent's finished and planned episodes."""
    planned = len(played_users(run.manifest)) * run.manifest["compared"]["trials"]
    return sum(episode.agent == name for episode in run.results.episodes), planned


def _overall(cells: Answers) -> Mean:
    """The accuracy, each place's trials averaged."""
    mean = _averaged(cells, cells.correct, np.ones(len(cells)))
    return replace(mean, interval=clipped(mean.interval))


def _score(cells: Answers) -> tuple[Mean, str | None]:
    """The ratio of means, each place's trials averaged; why it is undefined, where it is. Of cells with an upper bound,
    which like random is the same in every trial, so that one of them tells whether there is a ratio."""
    of_one = memory_score(cells.only(_last_of_each(cells.places)))
    if of_one.ratio_of_means is None:
        return Mean(None, len(cells)), (of_one.why_undefined or "").partition("; mean of ratios")[0]
    return _averaged(cells, cells.gained, cells.possible), None


def _last_of_each(places: Column) -> Column:
    """The numbers of the rows that are the last of their place."""
    _, from_the_end = np.unique(places[::-1], return_index=True)
    return len(places) - 1 - from_the_end


def _averaged(cells: Answers, numerator: Column, denominator: Column) -> Mean:
    """The ratio of two sums over places, each place's trials averaged."""
    _, place, counts = np.unique(cells.places, return_inverse=True, return_counts=True)
    trials = counts[place]
    return ratio(cells.user, numerator / trials, denominator / trials)


def _rank(name: str, values: Mapping[str, float | None]) -> int | None:
    """1 for the best; equal values share a rank, and the ranks after them are left out."""
    rounded = {other: round(value, _DIGITS) for other, value in values.items() if value is not None}
    return 1 + sum(value > rounded[name] for value in rounded.values()) if name in rounded else None


def _tau(on: Mapping[str, float | None], off: Mapping[str, float | None]) -> float | None:
    """Kendall's tau-b of the two orders; None where an order has no two agents apart."""
    names = [name for name in on if on[name] is not None and off[name] is not None]
    if len(names) < 2:
        return None
    ranks = [[_rank(name, values) or 0 for name in names] for values in (on, off)]
    orders = [[(a > b) - (a < b) for a, b in combinations(some, 2)] for some in ranks]
    untied = [sum(map(abs, some)) for some in orders]
    if not all(untied):
        return None
    agreed: int = sum(a * b for a, b in zip(*orders, strict=True))
    return min(1.0, max(-1.0, agreed / math.sqrt(untied[0]) / math.sqrt(untied[1])))


def _side(run: Played, names: Sequence[str], standings: Sequence[Standing]) -> RunSide:
    """What a run is as to the agents of these names, which both have."""
    compared, agents = run.manifest["compared"], _agents(run.manifest)
    of_run = compared["model"]["model"]
    models = [(agents[n].get("model") or compared["model"])["model"] for n in names if not agents[n].get("reference")]
    off_policy = compared.get("off_policy")
    return RunSide(
        models=tuple(dict.fromkeys(models)) or (of_run,),
        user_model=compared["user_model"]["model"],
        off_policy=off_policy["agent"] if off_policy else None,
        fingerprint=run.manifest["fingerprint"],
        trials=compared["trials"],
        alone=tuple(name for name in agents if name not in names),
        is_finished=all(standing.finished == standing.planned for standing in standings),
    )


def _differing(on: Mapping[str, Any], off: Mapping[str, Any]) -> tuple[str, ...]:
    names = [*on, *(name for name in off if name not in on)]
    # off-policy, nobody plays the user: that is shown too
    silent = _SHOWN | ({"user_model"} if (on.get("off_policy") is None) != (off.get("off_policy") is None) else set())
    return tuple(name for name in names if name not in silent and on.get(name) != off.get(name))
