"""What a run costs, as its table, its page and its Markdown say it: by agent, by role, and by which prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amemgym.report.wording import NONE, count, dollars, percent
from amemgym.scores.costs import ROLES

Scores = Mapping[str, Any]
Agents = Sequence[tuple[str, Mapping[str, Any]]]

#: how the roles are called where US dollars stand below
ROLE_NAMES = {
    "assistant": "replies",
    "memory write": "memory writes",
    "memory read": "memory reads",
    "memory": "memory",
    "exam": "exams",
    "probe": "probes",
    "user": "simulated user",
    "embedding": "embeddings",
    "probe embedding": "probes' embeddings",
}


@dataclass(frozen=True)
class RoleRow:
    """What one role of an agent used, or all of them (then `role` is None), or the upper bound of a model."""

    name: str
    role: str | None
    used: Mapping[str, Any]

    @property
    def cells(self) -> tuple[str, ...]:
        """Calls, input, cached, output, reasoning, US dollars, and those of one user."""
        mark = "~" if self.used["estimated"] else ""
        tokens = (self._tokens(name, mark) for name in ("input", "cached", "output", "reasoning"))
        dollars_ = (dollars(self.used[name], self.used["estimated"]) for name in ("usd", "usd_per_user"))
        return (count(self.used["calls"]), *tokens, *dollars_)

    def _tokens(self, name: str, mark: str) -> str:
        value = self.used[name]
        if value is None:
            return NONE
        told = self.used.get(f"{name}_calls", self.used["calls"])
        return f"{'≥ ' if told < self.used['calls'] else mark}{count(value)}"


ROW_HEADER = ("calls", "input", "cached", "output", "reasoning", "US$", "US$ a user")


def costs_something(scores: Scores) -> bool:
    """Whether anything that was asked has a price, or one that is not known: what runs on this machine has none."""
    return not scores["cost"]["free"]


def roles_of(agents: Agents) -> list[str]:
    """Every role that some agent has, in their order."""
    return [role for role in ROLES if any(role in agent["cost"]["by_role"] for _, agent in agents)]


def rows(scores: Scores, agents: Agents) -> Iterator[RoleRow]:
    """Each agent's roles and their sum, then the upper bounds."""
    for name, agent in agents:
        if agent["cost"]["by_role"]:
            for role, used in agent["cost"]["by_role"].items():
                yield RoleRow(name, ROLE_NAMES.get(role, role), used)
            yield RoleRow(name, None, agent["cost"])
    for model, used in scores["cost"]["upper_bound"].items():
        yield RoleRow("upper bound", model, used)


def sentences(scores: Scores) -> list[str]:
    """The sum of everything, what of it has no price and why, and what the numbers are over."""
    whole = scores["cost"]
    about = "about " if whole["estimated"] else ""
    episodes = sum(agent["cost"]["episodes"] for agent in scores["agents"].values() if agent["cost"]["by_role"])
    over = f"over {count(episodes)} finished episode{'' if episodes == 1 else 's'} and the upper bound"
    if whole["usd"] is not None:
        return [f"All agents {over}: {about}US$ {dollars(whole['usd'])}"]
    tokens = whole["input"] + whole["output"]
    share = percent(whole["priced_tokens"] / tokens) if tokens else NONE
    known = f"{about}US$ {dollars(whole['usd_known'])} for the {share} of tokens that have a price"
    return [f"All agents {over}: not known; {known}", f"Not known: {whole['why_unknown']}"]


def price_rows(scores: Scores) -> list[tuple[str, ...]]:
    """Model, endpoint, US dollars per million tokens of input, cached input and output, and where that is from."""
    found: list[tuple[str, ...]] = []
    for entry in (scores["cost"]["prices"] or {}).get("models", ()):
        rate = entry["rate"]
        asked = "" if entry["base_url"] is None else entry["base_url"]
        if rate is None:
            found.append((entry["model"], asked, NONE, NONE, NONE, "not known"))
            continue
        numbers = (NONE if rate[name] is None else f"{rate[name]:,g}" for name in ("input", "cached", "output"))
        source = rate["source"] + (f", {rate['date']}" if rate["date"] else "")
        found.append((entry["model"], asked, *numbers, source))
    return found


PRICE_HEADER = ("model", "endpoint", "input", "cached", "output", "price from")
