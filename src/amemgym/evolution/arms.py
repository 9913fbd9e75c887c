"""The arms of an evolution: the agent as it is, and one that learns for each kind of feedback.

On the training users an arm learns. On the held-out users it plays twice: told what it learned a period later than it
was learned, as the training users were (`awi+complete`), and told the last of it from the beginning
(`awi+complete:last`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from amemgym.agents import AgentSpec
from amemgym.tasks import FeedbackKind

NONE = "none"


@dataclass(frozen=True)
class Arm:
    """An agent that learns from one kind of feedback."""

    agent: AgentSpec
    feedback: FeedbackKind

    @property
    def name(self) -> str:
        return f"{self.agent.name}+{self.feedback}"

    def training(self) -> AgentSpec:
        return replace(self.agent, name=self.name)

    def held_out(self, policies: Sequence[str]) -> list[AgentSpec]:
        """`policies` are those of each period, and the last that came of it, which is that of any later period."""
        following = replace(self.agent, name=self.name, policies=tuple(policies))
        return [following, replace(self.agent, name=self.last, policies=(policies[-1],))]

    @property
    def last(self) -> str:
        return f"{self.name}:last"


def arms_of(agent: AgentSpec, kinds: Sequence[str]) -> list[Arm]:
    """The arms that learn; `none` is the agent itself."""
    return [Arm(agent, kind) for kind in ("question", "complete") if kind in kinds]
