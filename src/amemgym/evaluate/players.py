"""Who plays: an agent made from its spec, with the door, tools and name that are its episode's alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from amemgym import files
from amemgym.agents import Agent, AgentSpec, BoxAgent, ConversationalAgent
from amemgym.errors import AMemGymError
from amemgym.evaluate.spec import RunSpec
from amemgym.llm import Doors, Gateway, Lender, Line, ModelSettings, Refused, embedder
from amemgym.memory import Tools
from amemgym.scenario import Scenario


@asynccontextmanager
async def in_play(player: Agent, line: Line) -> AsyncIterator[None]:
    """While the player plays; then it is let go of and its journal closed, however that ended.

    Raises Refused where it played to the end but wrote on after it was copied, for then it was examined on less than it
    was told.
    """
    finished = False
    try:
        yield
        finished = True
    finally:
        try:
            await player.aclose()
        except Refused:
            if finished:
                raise
        except AMemGymError:  # what is finished is not lost by what cannot be let go of
            pass
        finally:  # letting go may be cancelled
            line.journal.close()


class Players:
    """Makes the agents of a run. `model` is that of agents without one of their own; `run_name` tells its episodes
    from another's."""

    def __init__(self, spec: RunSpec, model: ModelSettings, doors: Doors) -> None:
        self._spec = spec
        self._model = model
        self._doors = doors
        self._gateway = Gateway()
        self.run_name = ""  # until it is known which run it is

    async def seat(self, agent: AgentSpec, scenario: Scenario, trial: int, line: Line) -> Agent:
        """The agent of one episode, which remembers nothing yet. Its scenario gives it nothing but a name."""
        return await self.agent(agent, _episode(scenario, trial), line, _told(agent, scenario))

    async def agent(self, agent: AgentSpec, episode: str, line: Line, variables: tuple[str, ...] = ()) -> Agent:
        """The same for an episode of that name, which may have no scenario. `variables` are what it is told there."""
        door = self._doors.to(agent.model or self._model)
        if agent.is_box:
            return BoxAgent(line.model(door, "assistant"), self._name(agent, episode))
        tools = await self._tools(agent, episode, line, variables)
        return ConversationalAgent(agent.habits, agent.memory_type(), tools, line.model(door, "assistant"))

    async def tools(self, agent: AgentSpec, scenario: Scenario, trial: int, line: Line) -> Tools:
        """What the memory of an agent that has one may use in an episode."""
        return await self._tools(agent, _episode(scenario, trial), line, _told(agent, scenario))

    async def _tools(self, agent: AgentSpec, episode: str, line: Line, variables: tuple[str, ...]) -> Tools:
        door = self._doors.to(agent.model or self._model)
        lender: Lender | None = None
        if needs_endpoint(agent):
            await self._gateway.start()
            lender = self._gateway.for_episode(line, door, embedder(self._spec.embedder))
        return Tools(
            line.model(door, "memory"),
            embedder(self._spec.embedder),
            variables,
            self._name(agent, episode),
            policy=agent.policies[0] if agent.policies else "",
            room=agent.room,
            lender=lender,
        )

    def _name(self, agent: AgentSpec, episode: str) -> str:
        return f"{self.run_name}-{files.slug(agent.name)}-{episode}"

    async def aclose(self) -> None:
        await self._gateway.aclose()


def needs_endpoint(agent: AgentSpec) -> bool:
    """Whether the agent's memory calls a model by itself."""
    return not agent.is_reference and not agent.is_box and agent.memory_type().needs_endpoint


def _episode(scenario: Scenario, trial: int) -> str:
    return f"{files.slug(scenario.id)}-t{trial}"


def _told(agent: AgentSpec, scenario: Scenario) -> tuple[str, ...]:
    """Names of variables alone, and only for the ablation that is defined by being told them."""
    return tuple(scenario.state_schema) if agent.told_variables else ()
