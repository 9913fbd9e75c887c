"""The simulated user: opens each session with the scenario's utterance, and follows up by a model.

It knows who the user is, their state now (in a session that tells a state wrongly, the wrong one) and what this session
reveals. In protocol v1 it knows the profile only.
"""

from __future__ import annotations

from collections.abc import Sequence

from amemgym.env.rules import Rules
from amemgym.llm import Model
from amemgym.messages import Message, opening
from amemgym.scenario import Scenario
from amemgym.tasks import FollowUp


class SimulatedUser:
    """The user of one episode."""

    def __init__(self, scenario: Scenario, model: Model, rules: Rules) -> None:
        self._scenario = scenario
        self._model = model
        self._rules = rules

    def open(self, period: int, session: int) -> Message:
        """The fixed first message of a session."""
        said = self._scenario.periods[period].sessions[session]
        return Message("user", opening(said.query, said.time), said.time)

    async def follow_up(self, period: int, session: int, conversation: Sequence[Message]) -> Message | None:
        """The next message, or None where the model had nothing to say. Raises ModelError."""
        stretch = self._scenario.periods[period]
        said = stretch.sessions[session]
        mistaken = said.retracted_states  # which a later session puts right, so that this one must not
        answer = await self._model.ask(
            FollowUp(
                profile=self._scenario.user_profile.text,
                schema=self._scenario.state_schema,
                state={**stretch.state, **mistaken} if self._rules.user_knows_state else None,
                exposed={**said.exposed_states, **mistaken},
                conversation=tuple(conversation),
                now=said.time,
            )
        )
        return Message("user", answer.value, said.time) if answer.value else None
