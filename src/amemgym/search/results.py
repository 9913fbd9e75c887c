"""What came of a search, as tune.json holds it.

Which configuration is best is decided on training users, and the best of many looks better there than it is: part of
why it won is luck (the winner's curse). So its result is what it does on the held-out users, beside the agent as it was
named, on the same exams: a difference paired by user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amemgym.scores import Pair, compare_agents
from amemgym.scores.comparison import Played
from amemgym.scores.intervals import ONE_USER
from amemgym.scores.verdict import verdict
from amemgym.search.grid import Configuration
from amemgym.search.halving import Rung
from amemgym.search.place import trial_name


#: what the held-out difference shows: its interval lies above 0, below, holds it, or there is none; or the best
#: configuration is the one that it started from
@dataclass(frozen=True)
class AtRung:
    """An accuracy at one rung, over n exams of so many users and periods."""

    users: int
    periods: int
    accuracy: float | None
    n: int
    interval: tuple[float, float] | None


@dataclass
class Trial:
    """A configuration that was tried, and how it did at each rung it reached."""

    number: int
    configuration: Configuration
    results: list[AtRung] = field(default_factory=list)

    @property
    def order(self) -> tuple[float, int]:
        """The better first; of equals, the one that was tried first."""
        accuracy = self.results[-1].accuracy
        return (2.0 if accuracy is None else -accuracy, self.number)


def promoted(trials: Sequence[Trial], count: int) -> list[Trial]:
    """The best of those that reached the same rung, in the order they were tried."""
    return sorted(sorted(trials, key=lambda trial: trial.order)[:count], key=lambda trial: trial.number)


def compare_held_out(start: Played, best: Played) -> Pair:
    """The best configuration − the agent as named, over the exams both have an answer to, paired by user."""
    cells = {}
    for name, run in (("best", best), ("start", start)):
        cells[name] = run.results.answers()  # of its only agent
    return compare_agents(cells)[0]


def verdict_of(pair: Pair | None) -> str:
    """What a difference shows; None is that of a configuration with itself."""
    if pair is None:
        return "unchanged"
    if pair.interval is None:
        return "no interval"
    return verdict(pair.interval, pair.p)


def described(agent: str, trial: Trial) -> dict[str, Any]:
    """A trial in tune.json."""
    return {
        "trial": trial.number,
        "agent": trial.configuration.agent(agent),
        **trial.configuration.as_dict(),
        "rungs": [
            {
                "users": result.users,
                "periods": result.periods,
                "accuracy": result.accuracy,
                "n": result.n,
                "interval": list(result.interval) if result.interval else None,
                "directory": f"{trial_name(trial.number)}/r{rung}",
            }
            for rung, result in enumerate(trial.results)
        ],
    }


def held_out_side(scores: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """One of the two agents on the held-out users, from its scores.json."""
    ((agent, own),) = scores["agents"].items()
    score = own["memory_score"]
    return {
        "agent": agent,
        "directory": directory,
        "accuracy": own["overall"],
        "n": own["n"],
        "interval": own["interval"],
        "memory_score": score["ratio_of_means"],
        "memory_score_interval": score["interval"],
        "why_undefined": score["why_undefined"],
    }


def described_pair(pair: Pair | None) -> dict[str, Any] | None:
    """The held-out difference in tune.json."""
    if pair is None:
        return None
    names = ("difference", "interval", "p", "smallest_p", "n", "users", "only_a", "only_b")
    told = pair.as_dict()
    own = {name: told[name] for name in (*names, "memory_score_difference", "memory_score_interval")}
    return {
        **{{"only_a": "only_best", "only_b": "only_start"}.get(name, name): value for name, value in own.items()},
        "why_no_interval": ONE_USER if pair.users == 1 else None,
        "users_needed": told["users_needed"],
    }


def described_rungs(rungs: Sequence[Rung]) -> list[dict[str, Any]]:
    """The rungs in tune.json."""
    return [{"configurations": r.configurations, "users": len(r.users), "periods": r.periods} for r in rungs]
