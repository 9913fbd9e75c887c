"""Who plays: an agent made from its spec, with the door, tools and name that are its episode's alone."""

from __future__ import annotations

from amemgym import files
from amemgym.agents import Agent, AgentSpec, BoxAgent, ConversationalAgent
from amemgym.evaluate.spec import RunSpec
from amemgym.llm import Doors, Gateway, Lender, Line, ModelSettings, embedder
from amemgym.memory import Tools
from amemgym.scenario import Scenario


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
        door = self._doors.to(agent.model or self._model)
        if agent.is_box:
            return BoxAgent(line.model(door, "assistant"), self._name(agent, scenario, trial))
        tools = await self.tools(agent, scenario, trial, line)
        return ConversationalAgent(agent.habits, agent.memory_type(), tools, line.model(door, "assistant"))

    async def tools(self, agent: AgentSpec, scenario: Scenario, trial: int, line: Line) -> Tools:
        """What the memory of an agent that has one may use in an episode."""
        door = self._doors.to(agent.model or self._model)
        lender: Lender | None = None
        if needs_endpoint(agent):
            await self._gateway.start()
            lender = self._gateway.for_episode(line, door, embedder(self._spec.embedder))
        # names of variables alone, and only for the ablation that is defined by being told them
        variables = tuple(scenario.state_schema) if agent.told_variables else ()
        return Tools(
            line.model(door, "memory"),
            embedder(self._spec.embedder),
            variables,
            self._name(agent, scenario, trial),
            policy=agent.policies[0] if agent.policies else "",
            room=agent.room,
            lender=lender,
        )

    def _name(self, agent: AgentSpec, scenario: Scenario, trial: int) -> str:
        return f"{self.run_name}-{files.slug(agent.name)}-{files.slug(scenario.id)}-t{trial}"

    async def aclose(self) -> None:
        await self._gateway.aclose()


def needs_endpoint(agent: AgentSpec) -> bool:
    """Whether the agent's memory calls a model by itself."""
    return not agent.is_reference and not agent.is_box and agent.memory_type().needs_endpoint
