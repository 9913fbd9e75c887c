"""What an evolution came to, as it stands in evolution.json: both curves, the history of policies, and the gain.

Curves and gains are those of the two runs' own scores, with their n and their intervals clustered by user. The gain
that counts is on held-out users: an arm minus the agent that learned nothing, paired by user, question and period.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym.agents import AgentSpec
from amemgym.evolution.arms import Arm
from amemgym.evolution.coach import Evolution
from amemgym.evolution.directory import history
from amemgym.llm import RoleCount
from amemgym.llm.prices import Rate
from amemgym.scores.costs import DECIMALS
from amemgym.scores.pairs import adjusted_ps

#: of an agent's scores, what a curve is made of
_CURVE = (
    "overall",
    "n",
    "users",
    "interval",
    "why_no_interval",
    "by_period",
    "by_period_n",
    "by_period_intervals",
    "memory_score",
    "calls",
    "tokens",
)


def summarise_evolution(
    manifest: Mapping[str, Any],
    agent: AgentSpec,
    arms: Sequence[Arm],
    evolutions: Mapping[str, Evolution],
    training: Mapping[str, Any],
    held_out: Mapping[str, Any],
    rate: Rate | None,
) -> dict[str, Any]:
    """`training` and `held_out` are the runs' scores, `evolutions` are by arm; `rate` is what revisions cost, None
    where that is not known."""
    return {
        "what": "evolution",
        "fingerprint": manifest["fingerprint"],
        "amemgym": held_out["amemgym"],
        "protocol": held_out["protocol"],
        "seed": held_out["seed"],
        "agent": agent.name,
        "about": manifest["compared"]["agent"],
        "purpose": agent.purpose,
        "room": agent.room,
        "model": held_out["model"],
        "user_model": held_out["user_model"],
        "settings": manifest["compared"]["run"],
        "data": {
            "name": held_out["data"]["name"],
            "sha256": held_out["data"]["sha256"],
            "training_users": manifest["compared"]["training_users"],
            "held_out_users": manifest["compared"]["held_out_users"],
        },
        "first_score": held_out["first_score"],
        "random": {"training": training["random"], "held_out": held_out["random"]},
        "none": {"training": _curve(training, agent.name), "held_out": _curve(held_out, agent.name)},
        "arms": {arm.name: _arm(arm, evolutions[arm.name], training, held_out, rate) for arm in arms},
        "gains": _gains(held_out, agent.name, arms),
        "warnings": list(dict.fromkeys([*_warnings(held_out, "held-out"), *_warnings(training, "training")])),
    }


def _warnings(scores: Mapping[str, Any], users: str) -> list[str]:
    """Of the run, then of its agents, which may be warned of on some users alone."""
    of_agents = [f"{name}, {users} users: {said}" for name, a in scores["agents"].items() for said in a["warnings"]]
    return [*scores["warnings"], *of_agents]


def _arm(
    arm: Arm, evolution: Evolution, training: Mapping[str, Any], held_out: Mapping[str, Any], rate: Rate | None
) -> dict[str, Any]:
    learned = _curve(training, arm.name)
    return {
        "feedback": arm.feedback,
        "training": learned,
        "held_out": _curve(held_out, arm.name),
        "last": _curve(held_out, arm.last),
        **history(evolution),
        "used": {role: _used(count, rate) for role, count in sorted(evolution.line.ledger.items())},
    }


def _used(count: RoleCount, rate: Rate | None) -> dict[str, Any]:
    """With US dollars, and without the seconds, which no two evolutions have alike."""
    usd = None if rate is None else round(rate.of(count.input, count.output, count.cached or 0), DECIMALS)
    return {name: value for name, value in count.as_dict().items() if name != "seconds"} | {"usd": usd}


def _curve(scores: Mapping[str, Any], agent: str) -> dict[str, Any]:
    found = scores["agents"][agent]
    return {name: found[name] for name in _CURVE if name in found}


def _gains(held_out: Mapping[str, Any], none: str, arms: Sequence[Arm]) -> list[dict[str, Any]]:
    """Every gain, and its p after Benjamini and Hochberg over all of them."""
    gains = [
        _gain(held_out, none, name, how)
        for arm in arms
        for name, how in ((arm.name, "period by period"), (arm.last, "last policy from the beginning"))
    ]
    adjusted = adjusted_ps([gain["p"] for gain in gains])
    return [gain | {"p_adjusted": p} for gain, p in zip(gains, adjusted, strict=True)]


def _gain(held_out: Mapping[str, Any], none: str, arm: str, how: str) -> dict[str, Any]:
    """An arm's accuracy minus that of the agent that learned nothing, on the held-out users."""
    pair = next(pair for pair in held_out["pairs"] if {pair["a"], pair["b"]} == {none, arm})
    sign = 1 if pair["a"] == arm else -1

    def signed(value: float | None) -> float | None:
        # + 0.0, here and below: a zero that is turned around is no −0
        return None if value is None else sign * value + 0.0

    def turned(interval: Sequence[float] | None) -> list[float] | None:
        return None if interval is None else sorted(sign * end + 0.0 for end in interval)

    return {
        "agent": arm,
        "against": none,
        "how": how,
        "n": pair["n"],
        "users": pair["users"],
        "difference": signed(pair["difference"]),
        "interval": turned(pair["interval"]),
        "p": pair["p"],
        "smallest_p": pair["smallest_p"],
        "memory_score_difference": signed(pair["memory_score_difference"]),
        "memory_score_interval": turned(pair["memory_score_interval"]),
    }
