"""`amemgym/Memory-v0`: the policy is an assistant, or the part of one that the environment does not play.

What the environment plays is the agent of a run with the policy in place of its model, so what the policy is shown is
what that model would be shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from amemgym.agents import Agent, AgentSpec, ConversationalAgent, Habits, parse_agent
from amemgym.env import Episode, ExamTurn, Observation, UserTurn
from amemgym.errors import UsageError
from amemgym.evaluate import Seat, blaming, put_to_copy
from amemgym.gym.base import OBSERVED_CHARS, PlayedEnv, checked_chars, checked_text, observed_text
from amemgym.gym.play import Policy
from amemgym.gym.spaces import AnyText
from amemgym.gym.world import World, agent_with_memory
from amemgym.llm import Answer, Line, Model, at, question_name, round_name
from amemgym.memory import Memory
from amemgym.messages import TIME_FORMAT, Message
from amemgym.scenario import Dataset, Scenario
from amemgym.tasks import Reply, Task

T = TypeVar("T")

#: parts of an assistant that the environment can play
AGENT_PARTS = ("memory", "reply")
#: remembers nothing and has no window: the policy is the whole assistant
BARE = AgentSpec("bare", "none", Habits(freq=1, n_s=0))

Asked = tuple[Message, ...]


class MemoryEnv(PlayedEnv[str, str]):
    """A user's months as text: the observation is what the user says, or an exam's question with its options.

    The reward is 1.0 for an exam's question answered right and 0.0 for everything else. An episode ends after the last
    period's exam; it is never truncated by itself (`max_episode_steps` of `gymnasium.make` does that). The last
    observation is empty. `info` says what is observed: `kind` ("message", "exam" or "end"), `user`, `period`, `session`
    and `round` or `question`, and the simulated `time`; after a question was answered also how the reply was read
    (`status`), the `option` chosen (its number; no key where there is none) and the right one, `gold`. `gold` is the
    trainer's: a policy that reads it has not earned its reward by remembering. Nothing of a question's right answer,
    nor of the user's states, is told before.

    Args:
        data: a name or path that `amemgym.load_dataset` knows, or a data set.
        agent_parts: what of the assistant the environment plays. `()`: nothing; the policy must remember by itself.
            `("memory",)`: window and memory of `agent`; observations are its model's requests, with what memory gave
            back, as text and in `info["messages"]`. `("memory", "reply")`: `agent` converses as well, with `model`, and
            only exams are observed.
        agent: whose memory that is; freq, n_s and topk are those of its name (`rag-2-4-10`). A memory class will do.
        model: answers for the agent's memory, and replies; `user_model`: role-plays the user after each opening.
        users: ids, or how many of the first; periods: how many of the first.
        protocol, rounds_initial, rounds_later, language, embedder: as in a run.
        max_chars: of the longest action; a longer one is refused, and nothing is cut off.
        render_mode: "ansi", or None.

    Raises:
        UsageError, UnknownName, DataError: where one of these is wrong.
    """

    def __init__(
        self,
        data: str | Path | Dataset = "starter",
        agent_parts: Sequence[str] = (),
        agent: str | type[Memory] = "rag",
        model: str = "offline",
        user_model: str = "offline",
        users: Sequence[str] | int | None = None,
        periods: int | None = None,
        protocol: str = "amemgym",
        rounds_initial: int = 1,
        rounds_later: int = 2,
        language: str = "en",
        embedder: str = "wordllama",
        max_chars: int = 20_000,
        render_mode: str | None = None,
    ) -> None:
        parts = _checked_parts(agent_parts)
        self.action_space = AnyText(checked_chars(max_chars))
        self.observation_space = AnyText(OBSERVED_CHARS)
        world = World(
            data,
            users,
            periods,
            model=model,
            user_model=user_model,
            protocol=protocol,
            rounds_initial=rounds_initial,
            rounds_later=rounds_later,
            language=language,
            embedder=embedder,
        )
        spec = replace(BARE, model=world.spec.user_settings())  # it asks none, so no other is opened
        if parts:
            spec = agent_with_memory(agent, world.spec.context_tokens)
        elif isinstance(agent, str):
            parse_agent(agent)  # it is not used, but a name that is wrong is still wrong
        super().__init__(world, _MemoryGame(world, spec, parts), render_mode)

    def _checked(self, action: object) -> str:
        return checked_text(action, self.action_space)  # type: ignore[arg-type]

    def _observation(self, shown: Any) -> str:
        return observed_text(self._told(shown))

    def _told(self, shown: Any) -> str:
        asked: Asked = shown
        if len(asked) == 1:
            return asked[0].content
        return "\n\n".join(f"{message.role.upper()}: {message.content}" for message in asked)


def _checked_parts(parts: Sequence[str]) -> tuple[str, ...]:
    known = ", ".join(map(repr, AGENT_PARTS))
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise UsageError(f"agent_parts={parts!r}: give a tuple of parts; there are {known}")
    for part in parts:
        if part not in AGENT_PARTS:
            raise UsageError(f"agent_parts: the environment plays no {part!r}; it plays {known}")
    if "reply" in parts and "memory" not in parts:
        raise UsageError("agent_parts: 'reply' needs 'memory' too, as who replies decides what there is to remember")
    return tuple(part for part in AGENT_PARTS if part in parts)


class _MemoryGame:
    """Plays the agent, or asks the policy in place of its model."""

    def __init__(self, world: World, agent: AgentSpec, parts: tuple[str, ...]) -> None:
        self._world = world
        self._agent = agent
        self._parts = parts
        self._door = world.door(agent)

    async def play(self, scenario: Scenario, seed: int, trial: int, policy: Policy[Asked, str]) -> None:
        seat = Seat(self._agent.name, self._world.number(scenario), trial)
        line = self._world.line()
        episode = self._world.episode(line)
        replying = line.model(self._door, "assistant") if "reply" in self._parts else None
        asking = _PolicyAsModel(line, replying, policy, scenario.id, bare=not self._parts)
        with blaming(seat, 0):
            agent = await self._seated(scenario, trial, line, asking)
        try:
            await self._converse(seat, scenario, seed, episode, agent, asking)
        finally:
            await agent.aclose()
        policy.end((Message("user", ""),), kind="end", user=scenario.id, period=len(scenario.periods) - 1)

    async def _seated(self, scenario: Scenario, trial: int, line: Line, asking: _PolicyAsModel) -> Agent:
        tools = await self._world.players.tools(self._agent, scenario, trial, line)
        return ConversationalAgent(self._agent.habits, self._agent.memory_type(), tools, asking)

    async def _converse(
        self, seat: Seat, scenario: Scenario, seed: int, episode: Episode, agent: Agent, asking: _PolicyAsModel
    ) -> None:
        step = await episode.reset(scenario, seed)
        while (seen := step.observation) is not None:
            asking.seen = seen
            if isinstance(seen, UserTurn):
                with at(round_name(seen.period, seen.session, seen.round)), blaming(seat, seen.period):
                    reply = await agent.reply(seen.message)
                step = await episode.step(reply.content)
                continue
            if seen.index == 0:
                with blaming(seat, seen.period):
                    copy = await agent.freeze()
            place, question = question_name(seen.period, seen.index), seen.question
            # no labels: it is the policy that answers, and no memory is told them
            with at(place, "exam"), blaming(seat, seen.period, place):
                answer = await put_to_copy(copy, lambda examinee: examinee.answer(question))  # noqa: B023
            step = await episode.step(answer.text)
            read = {name: step.info[name] for name in ("status", "option", "guessed", "gold")}
            asking.policy.earn(step.reward or 0.0, **{name: value for name, value in read.items() if value is not None})


class _PolicyAsModel(Model):
    """Asks the policy what an agent asks its model; the model itself replies where the environment plays that."""

    def __init__(
        self, line: Line, replying: Model | None, policy: Policy[Asked, str], user: str, *, bare: bool
    ) -> None:
        self._prompts = line.prompts
        self._replying = replying
        self.policy = policy
        self._user = user
        self._bare = bare
        #: what the agent is asked now
        self.seen: Observation | None = None

    def say_once(self, sentence: str) -> None:
        """There is nobody to tell."""

    async def ask(self, task: Task[T]) -> Answer[T]:
        if self._replying is not None and task.name == Reply.name:
            return await self._replying.ask(task)
        messages = tuple(task.messages(self._prompts))
        shown = messages[-1:] if self._bare else messages
        told: dict[str, Any] = {} if self._bare else {"messages": tuple(m.as_chat() for m in messages)}
        text = await self.policy.act(shown, **self._place(), **told)
        parsed = task.parse(text)
        return Answer(parsed.value, parsed.status, text)

    def _place(self) -> dict[str, Any]:
        seen = self.seen
        if isinstance(seen, ExamTurn):
            place = {"question": seen.index, "time": seen.question.now.strftime(TIME_FORMAT)}
            return {"kind": "exam", "user": self._user, "period": seen.period, **place}
        assert isinstance(seen, UserTurn)
        time = seen.message.time.strftime(TIME_FORMAT) if seen.message.time else ""
        place = {"session": seen.session, "round": seen.round, "time": time}
        return {"kind": "message", "user": self._user, "period": seen.period, **place}
