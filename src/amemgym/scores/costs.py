"""What a run used and what that costs: sums over its finished episodes, by role, and US dollars where prices are known.

A cost is a sum, not a score: it has no interval, and says over how many episodes it is. Where the price of anything
that was asked is not known, the whole has none, and a reason in its place; what is known of its parts stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amemgym.evaluate import EpisodeResult, UpperBoundResult, place_of_model
from amemgym.llm import MEMORY, MEMORY_READ, MEMORY_WRITE
from amemgym.llm.prices import FREE, PriceList, Rate

#: a memory's roles; earlier versions did not tell its writing from its reading
MEMORY_ROLES = (MEMORY, MEMORY_WRITE, MEMORY_READ)
#: roles whose calls are the assistant's own
OWN_ROLES = ("assistant", *MEMORY_ROLES, "exam")
#: every role of an episode, in the order it is told
ROLES = ("assistant", MEMORY_WRITE, MEMORY_READ, MEMORY, "exam", "probe", "user", "embedding", "probe embedding")
#: what is counted together in scores.json, by the beginning of its name there
_TOGETHER = {
    "": OWN_ROLES,
    "agent_": ("assistant", "exam"),
    "memory_": MEMORY_ROLES,
    "memory_write_": (MEMORY_WRITE,),
    "memory_read_": (MEMORY_READ,),
    "embedding_": ("embedding",),
    "probe_": ("probe",),
    "user_": ("user",),
}
#: the embedder that ships in a package
_SHIPPED = "wordllama"
#: decimals of US dollars that are kept: a token may cost a hundred millionth
DECIMALS = 10
NOT_RECORDED = "an import has no record of what conversations cost"

Ledger = Mapping[str, Mapping[str, Any]]


class Costs:
    """The costs of one run. `prices` of the manifest are the rates that it counts by."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._manifest = manifest
        self._compared = manifest["compared"]
        self._prices = PriceList.recorded(manifest.get("prices"))

    def of_agent(self, agent: Mapping[str, Any], episodes: Sequence[EpisodeResult]) -> dict[str, Any]:
        """Tokens and calls as `_TOGETHER` has them, and `cost`; None where there is no record of them."""
        ledgers = [episode.ledger for episode in episodes]
        found: dict[str, Any] = {}
        for prefix, roles in _TOGETHER.items():
            used = _used(ledgers, roles)
            known = used["calls"] > 0 or not agent.get("imported")
            if prefix in ("memory_write_", "memory_read_") and any(MEMORY in ledger for ledger in ledgers):
                known = False  # an earlier version's run, which has only the sum of both
            tokens = {name: used[name] for name in ("input", "cached", "output", "reasoning", "estimated")}
            found |= {f"{prefix}tokens": tokens if known else None, f"{prefix}calls": used["calls"] if known else None}
        return found | {"cost": self._agent_cost(agent, ledgers)}

    def of_run(self, agents: Iterable[Mapping[str, Any]], upper_bounds: Sequence[UpperBoundResult]) -> dict[str, Any]:
        """All agents (by their scores) and the upper bounds, each model's apart; and the prices it is counted by."""
        names = dict.fromkeys(result.model for result in upper_bounds)
        bounds = {name: self._bound_cost(name, [r for r in upper_bounds if r.model == name]) for name in names}
        parts = [*(agent["cost"] for agent in agents), *bounds.values()]
        reasons = dict.fromkeys(part["why_unknown"] for part in parts if part["why_unknown"])
        return {
            **_sum(parts),
            "why_unknown": "; ".join(reasons) or None,
            "upper_bound": bounds,
            "prices": self._manifest.get("prices"),
        }

    def _agent_cost(self, agent: Mapping[str, Any], ledgers: Sequence[Ledger]) -> dict[str, Any]:
        asked = {role for ledger in ledgers for role in ledger}
        roles = [role for role in (*ROLES, *sorted(asked.difference(ROLES))) if role in asked]
        parts, unknown = {}, []
        for role in roles:
            rate, name = self._rate(role, agent)
            parts[role] = _priced(_used(ledgers, [role]), rate)
            if parts[role]["usd"] is None:
                unknown.append(name)
        whole, count = _sum(parts.values()), len(ledgers)
        why = _why(unknown)
        if agent.get("imported"):
            whole["usd"], why = None, NOT_RECORDED
        for part in (whole, *parts.values()):
            part["usd_per_user"] = _per(part["usd"], count)
        return {**whole, "why_unknown": why, "episodes": count, "by_role": parts}

    def _bound_cost(self, name: str, results: Sequence[UpperBoundResult]) -> dict[str, Any]:
        rate, model = self._bound_rate(name)
        used = _used([result.ledger for result in results], {role for r in results for role in r.ledger})
        part = _priced(used, rate)
        why = _why([model] if part["usd"] is None else [])
        usd_per_user = _per(part["usd"], len(results))
        return {**part, "usd_per_user": usd_per_user, "why_unknown": why, "users": len(results)}

    def _rate(self, role: str, agent: Mapping[str, Any]) -> tuple[Rate | None, str]:
        """What a role is asked at, and what of."""
        if "embedding" in role:
            embedder = str(self._compared.get("embedder"))
            return (FREE if embedder.startswith(_SHIPPED) else self._prices.of(embedder, None)), embedder
        return self._model(self._compared["user_model"] if role == "user" else agent.get("model"))

    def _bound_rate(self, bound: str) -> tuple[Rate | None, str]:
        """The bound of a model is known by the agents it counts for."""
        wanted = self._manifest["upper_bound"]
        agents = (agent for agent in self._compared["agents"] if wanted["agents"].get(agent["name"]) == bound)
        return self._model(None if wanted["run"] == bound else next((a.get("model") for a in agents), None))

    def _model(self, described: Mapping[str, Any] | None) -> tuple[Rate | None, str]:
        """The rate of a model, by default the run's, and how it is called."""
        name, address = place_of_model(described or self._compared["model"])
        return self._prices.of(name, address), f"{name} at {address}" if address and address != name else name


def _used(ledgers: Iterable[Ledger], roles: Iterable[str]) -> dict[str, Any]:
    """The sums of some roles. Cached and reasoning tokens are None where no call told of them."""
    counts = [ledger[role] for ledger in ledgers for role in roles if role in ledger]
    sums: dict[str, Any] = {name: sum(count[name] for count in counts) for name in ("calls", "input", "output")}
    for name in ("cached", "reasoning"):
        told = [count[name] for count in counts if count.get(name) is not None]
        sums[name] = sum(told) if told else None
        sums[f"{name}_calls"] = sum(count.get(f"{name}_calls", 0) for count in counts)
    return sums | {"estimated": any(count["estimated"] for count in counts)}


def _priced(used: Mapping[str, Any], rate: Rate | None) -> dict[str, Any]:
    """With US dollars; what was asked nothing costs nothing, whatever its price."""
    tokens = used["input"] + used["output"]
    usd = None if tokens else 0.0
    if rate is not None:
        usd = round(rate.of(used["input"], used["output"], used["cached"] or 0), DECIMALS)
    return {
        **used,
        "usd": usd,
        "usd_known": usd or 0.0,
        "free": rate is not None and rate.free,
        "priced_tokens": 0 if usd is None else tokens,
    }


def _sum(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The parts as one. Where the price of one is not known, that of the whole is not."""
    parts = list(parts)
    whole: dict[str, Any] = {name: sum(part[name] for part in parts) for name in ("calls", "input", "output")}
    for name in ("cached", "reasoning"):
        told = [part[name] for part in parts if part[name] is not None]
        whole[name] = sum(told) if told else None
        whole[f"{name}_calls"] = sum(part[f"{name}_calls"] for part in parts)
    dollars = [part["usd"] for part in parts]
    return {
        **whole,
        "estimated": any(part["estimated"] for part in parts),
        "usd": None if None in dollars else round(sum(dollars, 0.0), DECIMALS),
        # of the parts whose price is known, and how many of the tokens those are
        "usd_known": round(sum((part["usd_known"] for part in parts), 0.0), DECIMALS),
        "free": all(part["free"] for part in parts),
        "priced_tokens": sum(part["priced_tokens"] for part in parts),
    }


def _per(usd: float | None, episodes: int) -> float | None:
    return None if usd is None or not episodes else round(usd / episodes, DECIMALS)


def _why(models: Iterable[str]) -> str | None:
    names = list(dict.fromkeys(models))
    if not names:
        return None
    return f"the price of {', '.join(names)} is not known; give it in a file with --prices"
