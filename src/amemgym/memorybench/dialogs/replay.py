"""MemoryBench's off-policy setting for our agents: one memory hears all recorded dialogs, then copies answer prompts.

Each prompt is put to a copy of the agent as it was after the last dialog, so no prompt changes the memory or another
answer. A prompt begins a new conversation: what the last dialogs left in the agent's window was written to its memory
before, and the window is empty. Only native and recent keep theirs, which is the memory they have; `wo_memory` is the
model without any, and hears nothing. Every model call goes through the door, so whoever plays again takes what the
journal has. A prompt whose call ends in an error has no response, and the error is kept in its place; nothing is made
up that could be scored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from amemgym.agents import Agent, AgentSpec, Examinee, OpenReply
from amemgym.errors import (
    ContentFiltered,
    ContextOverflow,
    FatalModelError,
    RequestRefused,
    RunDirectoryError,
    StorageError,
    UsageError,
)
from amemgym.evaluate import Players, RunSpec, RunWatcher, in_play, needs_endpoint, put_to_copy
from amemgym.evaluate.failed import said
from amemgym.llm import Doors, Gateway, Journal, Line, at, question_name, reach, round_name
from amemgym.memorybench.dialogs.points import DataPoint
from amemgym.memorybench.dialogs.sessions import STEP, Session
from amemgym.memorybench.entry import WITHOUT_MEMORY
from amemgym.messages import Message
from amemgym.tasks import Prompts
from amemgym.together import side_by_side, wait_for

#: the role that answers are counted under
ROLE = "predict"


@dataclass(frozen=True)
class Prediction:
    """What an agent replied to a test prompt: `response`, or why there is none, and what its memory had given back.

    `dropped` messages that it had heard were left out of the request, since its context had no room for them.
    """

    point: DataPoint
    response: str | None
    error: str | None = None
    memories: tuple[str, ...] = ()
    dropped: int = 0

    def as_dict(self) -> dict[str, Any]:
        """An element of predict.json. Where there is no response it is null, and `error` says why; `dropped` is there
        where it is not 0."""
        told = {
            "test_idx": self.point.test_idx,
            "messages": [message.as_chat() for message in self.point.prompt],
            "response": self.response,
            "retrieved_memories": list(self.memories),
            "dataset": self.point.dataset,
        }
        more = {"error": self.error, "dropped": self.dropped or None}
        return told | {name: value for name, value in more.items() if value is not None}


@dataclass
class Outcome:
    """Finished agents' predictions in the order of the prompts, messages that their contexts had no room for, a
    sentence for each agent that did not finish, and what stopped all."""

    predictions: dict[str, list[Prediction]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    stopped: Exception | None = None


async def remember(agent: Agent, sessions: Sequence[Session], heard: Callable[[], None] = lambda: None) -> None:
    """Have an agent take in the sessions, turn by turn, and then conclude: what is left in its window is written to its
    memory (native and recent keep it). `heard` is called after each turn. Raises ModelError or MemoryFailed."""
    for number, session in enumerate(sessions):
        for round_, turn in enumerate(session.turns):
            with at(round_name(0, number, round_)):
                await agent.listen(turn)
            heard()
    with at(round_name(0, len(sessions), 0)):
        await agent.conclude()


def is_without_memory(agent: AgentSpec) -> bool:
    """Whether it is MemoryBench's baseline, the model alone; in a run of ours the same name has the last messages."""
    return agent.memory == "none" and agent.name.partition("-")[0] == WITHOUT_MEMORY


def asked(point: DataPoint, now: datetime) -> tuple[Message, ...]:
    """A test prompt as an agent is asked it, at a simulated time.

    The agent's own system prompt tells it what it remembers, and many endpoints take one alone. So a system message of
    the data opens the first message of the user that follows it, after which comes an empty line.
    """
    said: list[Message] = []
    instructions: list[str] = []
    for message in point.prompt:
        if message.role == "system":
            instructions.append(message.content)
        else:
            content = "\n\n".join([*instructions, message.content]) if message.role == "user" else message.content
            said.append(replace(message, content=content, time=now))
            if message.role == "user":
                instructions = []
    return tuple(said)


class Replay:
    """Plays the agents side by side.

    Args:
        spec: how models are called.
        agents: who plays.
        sessions: what they remember.
        prompts: what they answer then.
        language: the prompts of ours.
        journal: an agent's journal, by its name.
        watcher: is told what happens (dialogs' turns as turns, answers as exams).
        name: tells this undertaking from another to what memories keep elsewhere.
    """

    def __init__(
        self,
        spec: RunSpec,
        agents: Sequence[AgentSpec],
        sessions: Sequence[Session],
        prompts: Sequence[DataPoint],
        language: Prompts,
        journal: Callable[[str], Journal],
        watcher: RunWatcher,
        name: str,
    ) -> None:
        self._agents = agents
        self._sessions = sessions
        self._asked = [(point, asked(point, sessions[-1].time + STEP)) for point in prompts]
        self._language = language
        self._journal = journal
        self._watcher = watcher
        self._doors = Doors(spec.limits(), watcher)
        self._players = Players(spec, spec.model_settings(), self._doors)
        self._players.run_name = name
        self._concurrency = spec.concurrency
        self._model = spec.model_settings()
        self._outcome = Outcome()

    async def play(self) -> Outcome:
        """Play every agent. What stopped it early, and which failed, is in the outcome."""
        turns = sum(len(session.turns) for agent in self._agents for session in self._heard(agent))
        count = len(self._agents)
        self._watcher.planned(users=1, episodes=count, turns=turns, exams=len(self._asked) * count)
        # a copy holds a whole memory, so only as many are made as can be asked at once
        copies = asyncio.Semaphore(self._concurrency)
        try:
            await side_by_side(self._guarded(agent, copies) for agent in self._agents)
        except Exception as error:
            self._outcome.stopped = error
        finally:
            await self._players.aclose()
            await self._doors.aclose()
        self._outcome.failures.sort()
        return self._outcome

    def _heard(self, agent: AgentSpec) -> Sequence[Session]:
        return () if is_without_memory(agent) else self._sessions

    async def _guarded(self, agent: AgentSpec, copies: asyncio.Semaphore) -> None:
        """Play an agent; what ends it alone is noted, what would end every other one too is raised."""
        try:
            await self._play(agent, copies)
        except (FatalModelError, StorageError, UsageError, RunDirectoryError):
            raise
        except Exception as error:  # also code from elsewhere: a memory's
            self._outcome.failures.append(f"agent '{agent.name}': {said(error)}")

    async def _play(self, agent: AgentSpec, copies: asyncio.Semaphore) -> None:
        line = Line(self._journal(agent.name), self._language)
        player = await self._players.agent(agent, "memorybench", line)
        async with in_play(player, line):
            await remember(player, self._heard(agent), self._watcher.turned)
            copy = await player.freeze()
            texts: dict[str, str] = {}
            found = await side_by_side(
                self._answer(copy, copies, number, point, messages, texts)
                for number, (point, messages) in enumerate(self._asked)
            )
        self._outcome.predictions[agent.name] = found
        self._outcome.dropped[agent.name] = player.dropped
        self._watcher.finished(agent.name, "memorybench")

    async def _answer(
        self,
        copy: Callable[[], Awaitable[Examinee]],
        copies: asyncio.Semaphore,
        number: int,
        point: DataPoint,
        messages: Sequence[Message],
        texts: dict[str, str],
    ) -> Prediction:
        """`texts` holds each text of the memory once."""
        async with copies:
            try:
                with at(question_name(0, number), ROLE):
                    # the memory is searched by the user's words, not by what the data's system message adds to them
                    query = point.prompt[-1].content
                    reply = await put_to_copy(copy, lambda examinee: examinee.respond(messages, query))
            except (ContentFiltered, ContextOverflow, RequestRefused) as failure:
                prediction = Prediction(point, None, str(failure))
            else:
                prediction = _prediction(point, reply, texts)
        self._watcher.examined()
        return prediction


def _prediction(point: DataPoint, reply: OpenReply, texts: dict[str, str]) -> Prediction:
    memories = tuple(texts.setdefault(line, line) for line in (item.line() for item in reply.items))
    if reply.text is None:
        why = f"the model's reply has no text to take ({reply.status})"
        return Prediction(point, None, why, memories, reply.dropped)
    return Prediction(point, reply.text, None, memories, reply.dropped)


def check_agents(agents: Sequence[AgentSpec]) -> None:
    """Raises UsageError where an agent has nothing to say to a prompt, or needs what only a scenario has."""
    for agent in agents:
        if agent.is_reference:
            raise UsageError(
                f"agent '{agent.name}' only chooses among an exam's options, and these prompts have none; name"
                " assistants such as rag,bm25_dialog"
            )
        if agent.told_variables:
            raise UsageError(
                f"agent '{agent.name}' is told the names of a scenario's state variables, and there is no scenario;"
                " take awi"
            )


def check_reachable(spec: RunSpec, agents: Sequence[AgentSpec]) -> None:
    """Raises UsageError or UnknownName where a model that is needed cannot be called, a ModelError where an
    assistant does not answer at its address."""
    doors = Doors(spec.limits(), RunWatcher())  # what is to be said is said where they play
    try:
        for agent in agents:
            doors.to(agent.model or spec.model_settings())
    finally:
        wait_for(doors.aclose)
    if any(needs_endpoint(agent) for agent in agents):
        Gateway.check()
    boxes = [agent.model for agent in agents if agent.is_box and agent.model]
    if boxes:
        wait_for(lambda: side_by_side(reach(box) for box in boxes))
