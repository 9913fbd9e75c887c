"""What a run is estimated to take: calls, tokens and US dollars by agent and role, and the least time it needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

#: what stands in place of an agent's name beside the role of the same name
UPPER_BOUND = "upper bound"
#: roles that ask the run's embedder, which is on this machine; as in scores.json, they are in no sum
EMBEDDING = ("embedding", "probe embedding")


@dataclass(frozen=True)
class RoleEstimate:
    """What one role of one agent takes over all users and trials. `usd` is None where no price is known, `model` the
    name of whoever is asked."""

    agent: str
    role: str
    model: str
    calls: int
    input: int
    output: int
    usd: float | None


@dataclass(frozen=True)
class RunEstimate:
    """What a run is estimated to take.

    Args:
        roles: by agent and role; what is unknown has none.
        users, trials: how many are played; the figures are of all of them.
        rehearsed: of how many users the figures are scaled up.
        exact: whether the run will take just this (every user was rehearsed by the run's own model).
        chain: calls in the longest chain, each of which needs the one before; `chain_of` is whose episode that is.
        latency: seconds that a call is taken to last, None where no model is waited for.
        seconds: the least time the run needs at that latency, at its limits.
        tokens: how tokens are counted.
        unknown: agents that could not be rehearsed, and why.
        remarks: what must be known to read the figures.
    """

    roles: tuple[RoleEstimate, ...]
    users: int
    trials: int
    rehearsed: int
    exact: bool
    chain: int
    chain_of: str
    latency: float | None
    seconds: float | None
    tokens: str
    unknown: dict[str, str]
    remarks: tuple[str, ...]

    @property
    def calls(self) -> int:
        return sums(self.roles)[0]

    @property
    def input(self) -> int:
        return sums(self.roles)[1]

    @property
    def output(self) -> int:
        return sums(self.roles)[2]

    @property
    def usd(self) -> float | None:
        """US dollars in all; None where a price is missing, or an agent is unknown."""
        return None if self.unknown else dollars(self.roles)

    def of(self, agent: str) -> tuple[RoleEstimate, ...]:
        """One agent's roles; none for a reference agent, which asks no model."""
        return tuple(role for role in self.roles if role.agent == agent)

    def as_dict(self) -> dict[str, Any]:
        """As JSON: the fields, and the sums by agent, in all and for a user."""
        agents = dict.fromkeys(role.agent for role in self.roles)
        whole = _sum(self.roles)
        if self.unknown:
            whole["usd"] = None
        return asdict(self) | {
            "remarks": list(self.remarks),
            "roles": [asdict(role) for role in self.roles],
            "agents": {agent: _sum(self.of(agent)) for agent in agents},
            "total": whole,
            "per_user": {name: None if value is None else value / self.users for name, value in whole.items()},
        }


def dollars(roles: Iterable[RoleEstimate]) -> float | None:
    """What the roles cost together; None where a price is missing."""
    costs = [role.usd for role in roles]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def sums(roles: Iterable[RoleEstimate]) -> tuple[int, int, int]:
    """Calls of models, tokens in and out."""
    asked = [role for role in roles if role.role not in EMBEDDING]
    return sum(role.calls for role in asked), sum(role.input for role in asked), sum(role.output for role in asked)


def _sum(roles: Iterable[RoleEstimate]) -> dict[str, Any]:
    some = list(roles)
    calls, asked, said = sums(some)
    return {"calls": calls, "input": asked, "output": said, "usd": dollars(some)}
