"""What an episode used, by role: calls and tokens (input, cached, reasoning and output apart), seconds, and replies
that could not be read.

A role is who asks: the assistant, its memory while it is written or read, an exam, a probe, the simulated user, the
upper bound, evolution, each stage of a generation. What an endpoint does not tell is not known, and never 0: cached
and reasoning tokens are None until a call told of them, and then the sum over the calls that did, whose number stands
beside.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from amemgym.llm.place import Place
from amemgym.llm.provider import Completion, Usage
from amemgym.tasks import Status

#: seconds are counted in as many whole parts, as in the journal, so that their sum depends on no order
TICKS = 10_000

#: whoever holds a memory's model asks under this role; counted is whether it is written or read meanwhile
MEMORY = "memory"
MEMORY_WRITE, MEMORY_READ = "memory write", "memory read"
EVOLVE = "evolve"


def role_at(role: str, place: Place) -> str:
    """Under which role a call is counted that is made at this place.

    A probe is no cost of the agent's, whoever asks in it; an exam's own calls are counted apart from the
    conversation's.
    What a memory asks when it is not read belongs to its writing.
    """
    if place.examines == "probe" or (place.examines and role == "assistant"):
        return place.examines
    if role == MEMORY:
        return MEMORY_READ if place.memory == "read" else MEMORY_WRITE
    return role


@dataclass
class RoleCount:
    """What one role used in an episode. Tokens cached are part of the input, those of reasoning part of the output;
    `cached_calls` and `reasoning_calls` are how many calls told of them."""

    calls: int = 0
    input: int = 0
    output: int = 0
    estimated: int = 0
    ticks: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    cached: int | None = None
    cached_calls: int = 0
    reasoning: int | None = None
    reasoning_calls: int = 0

    def add(self, completion: Completion, status: Status) -> None:
        """Add what one call used, which is counted in `calls` already, as a call without a reply is one too."""
        self.add_tokens(completion.usage)
        self.ticks += round(completion.seconds * TICKS)
        self.statuses[status] += 1

    def add_tokens(self, usage: Usage) -> None:
        """Add one call's tokens alone."""
        self.input += usage.input
        self.output += usage.output
        self.estimated += usage.estimated
        if usage.cached is not None:
            self.cached = (self.cached or 0) + usage.cached
            self.cached_calls += 1
        if usage.reasoning is not None:
            self.reasoning = (self.reasoning or 0) + usage.reasoning
            self.reasoning_calls += 1

    def add_all(self, other: RoleCount) -> None:
        """Add what another count has."""
        self.calls += other.calls
        self.input += other.input
        self.output += other.output
        self.estimated += other.estimated
        self.ticks += other.ticks
        self.statuses.update(other.statuses)
        if other.cached is not None:
            self.cached = (self.cached or 0) + other.cached
        if other.reasoning is not None:
            self.reasoning = (self.reasoning or 0) + other.reasoning
        self.cached_calls += other.cached_calls
        self.reasoning_calls += other.reasoning_calls

    def as_dict(self) -> dict[str, Any]:
        unusable = {s: n for s, n in sorted(self.statuses.items()) if s not in (Status.OK, Status.REPAIRED)}
        return {
            "calls": self.calls,
            "input": self.input,
            "cached": self.cached,
            "cached_calls": self.cached_calls,
            "output": self.output,
            "reasoning": self.reasoning,
            "reasoning_calls": self.reasoning_calls,
            "estimated": self.estimated,
            "seconds": self.ticks / TICKS,
            "unreadable": unusable,
        }
