"""`amemgym/MemoryPolicy-v0`: what to keep of a session is the action; replying and answering are left to a fixed model.

One step is one session, which the environment's assistant has with the simulated user. The policy then says what to
keep of it in a store with little room, and earns the accuracy of the exam that the fixed model takes, from the store
alone, at the end of the period.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from gymnasium.spaces import Box, MultiBinary
from numpy.typing import NDArray

from amemgym.agents import AgentSpec, ConversationalAgent, ExamReply, Habits
from amemgym.env import Episode, ExamItem, Step, UserTurn
from amemgym.errors import ContentFiltered, ContextOverflow, UsageError
from amemgym.evaluate import Seat, blaming, put_to_copy
from amemgym.gym.base import OBSERVED_CHARS, PlayedEnv, checked_chars, checked_text, observed_text
from amemgym.gym.features import FEATURES, features_of
from amemgym.gym.keeping import SETTINGS, Kept, KeptMemory, Session, keep_by_settings, keep_text
from amemgym.gym.play import Policy
from amemgym.gym.spaces import AnyText
from amemgym.gym.world import World
from amemgym.llm import Line, at, embedder, question_name, round_name
from amemgym.memory import Item
from amemgym.messages import TIME_FORMAT
from amemgym.scenario import Dataset, Scenario
from amemgym.together import side_by_side

#: who replies and is examined; the memory is the policy's
FIXED = "fixed"


@dataclass(frozen=True)
class Seen:
    """What the policy is shown: the session to keep something of (None after the last), and the store before it."""

    session: Session | None
    items: tuple[Item, ...]
    room: int
    features: NDArray[np.float32] | None

    def told(self) -> str:
        lines = [f"- {item.line()}" for item in self.items]
        store = "\n".join([f"Kept so far ({len(lines)} of {self.room} items, oldest first):", *(lines or ["-"])])
        if self.session is None:
            return store
        said = "\n\n".join(f"{message.role.upper()}: {message.content}" for message in self.session.messages)
        return f"Session of {self.session.time.strftime(TIME_FORMAT)}\n\n{said}\n\n{store}"


class MemoryPolicyEnv(PlayedEnv[Any, Any]):
    """One step is one session: the observation shows it with the store, the action says what to keep of it.

    The reward is the share (0 to 1) of a period's questions that the fixed model answers right, at the step that ends
    the period; else 0.0. The model sees the store (what `topk` gives of it) and nothing else: no window. While it
    converses it sees the store and the session so far. An episode ends with the last period's exam. `info` tells `kind`
    ("session", or "end"), `user`, `period`, `session`, the simulated `time` and the `items` in the store; after a
    period also how many `questions` there were, how many were `right`, which (`correct`, in the data's order), and the
    `errors`, questions that the model could not be asked, which count in nothing (if it is all of them, there is no
    reward, and the step raises why). No option, right answer or state of
    the user is ever observed.

    Args:
        data, users, periods, protocol, rounds_initial, rounds_later, language, embedder: as for `MemoryEnv`.
        actions: "text": the text to keep, each line an item, blank ones none (so "" keeps nothing); or "settings": a
            bit for each of `amemgym.gym.SETTINGS`.
        observations: "text" (transcript, time and store), or "features": the numbers of `amemgym.gym.FEATURES`, float32
            in [0, 1].
        room: items in the store; a new one makes the oldest go when it is full.
        topk: items that are read for a reply or a question, nearest first; None for all.
        model: replies, and answers exams; `user_model` role-plays the user after each opening.
        max_chars: of the longest text to keep of a session; a longer one is refused, and nothing is cut off.
        render_mode: "ansi", or None.

    Raises:
        UsageError, UnknownName, DataError: where one of these is wrong.
    """

    def __init__(
        self,
        data: str | Path | Dataset = "starter",
        actions: Literal["text", "settings"] = "text",
        observations: Literal["text", "features"] = "text",
        room: int = 16,
        topk: int | None = None,
        model: str = "offline",
        user_model: str = "offline",
        users: Sequence[str] | int | None = None,
        periods: int | None = None,
        protocol: str = "amemgym",
        rounds_initial: int = 1,
        rounds_later: int = 2,
        language: str = "en",
        embedder: str = "wordllama",
        max_chars: int = 4_000,
        render_mode: str | None = None,
    ) -> None:
        _check_word("actions", actions, ("text", "settings"))
        _check_word("observations", observations, ("text", "features"))
        _check_number("room", room)
        _check_number("topk", room if topk is None else topk)
        text = AnyText(checked_chars(max_chars))
        self.action_space = text if actions == "text" else MultiBinary(len(SETTINGS))
        featured = Box(0.0, 1.0, (len(FEATURES),), np.float32)
        self.observation_space = AnyText(OBSERVED_CHARS) if observations == "text" else featured
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
        game = _PolicyGame(world, room, room if topk is None else topk, observations == "features")
        super().__init__(world, game, render_mode)

    def _checked(self, action: object) -> str | tuple[bool, ...]:
        if isinstance(self.action_space, AnyText):
            return checked_text(action, self.action_space)
        bits = np.asarray(action) if isinstance(action, np.ndarray | list | tuple) else None
        if bits is None or bits.shape != (len(SETTINGS),) or not np.isin(bits, (0, 1)).all():
            raise UsageError(f"the action {action!r} is no setting; give {len(SETTINGS)} bits: {', '.join(SETTINGS)}")
        return tuple(bool(bit) for bit in bits)

    def _observation(self, shown: Any) -> Any:
        seen: Seen = shown
        return observed_text(seen.told()) if seen.features is None else seen.features.copy()

    def _told(self, shown: Any) -> str:
        seen: Seen = shown
        return seen.told()


def _check_word(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise UsageError(f"{name}={given!r} is not known; there is {', '.join(map(repr, known))}")


def _check_number(name: str, given: object) -> None:
    if not isinstance(given, int) or isinstance(given, bool) or given < 1:
        raise UsageError(f"{name}={given!r}: give a number of items ≥ 1")


class _PolicyGame:
    """Plays sessions and exams with an assistant that remembers what the policy keeps."""

    def __init__(self, world: World, room: int, topk: int, featured: bool) -> None:
        self._world = world
        self._room = room
        self._featured = featured
        self._agent = AgentSpec(FIXED, FIXED, Habits(freq=None, topk=topk), memory_class=KeptMemory)
        self._door = world.door(self._agent)

    async def play(
        self, scenario: Scenario, seed: int, trial: int, policy: Policy[Seen, str | tuple[bool, ...]]
    ) -> None:
        seat = Seat(FIXED, self._world.number(scenario), trial)
        line = self._world.line()
        episode = self._world.episode(line)
        kept = Kept(self._room, embedder(self._world.spec.embedder))
        step = await episode.reset(scenario, seed)
        while (seen := step.observation) is not None:
            if isinstance(seen, UserTurn):
                agent = await self._assistant(scenario, trial, line, kept)
                with blaming(seat, seen.period):
                    session, step = await self._converse(agent, episode, seen)
                told = {"session": session.number, "time": session.time.strftime(TIME_FORMAT), "items": len(kept.items)}
                place = {"kind": "session", "user": scenario.id, "period": session.period} | told
                action = await policy.act(self._shown(session, kept), **place)
                if isinstance(action, str):
                    keep_text(kept, session, action)
                else:
                    keep_by_settings(kept, session, action)
            else:
                items, step = episode.take_exam()
                agent = await self._assistant(scenario, trial, line, kept)
                await self._examine(seat, agent, episode, items, policy)
        last = {"period": len(scenario.periods) - 1, "items": len(kept.items)}
        policy.end(self._shown(None, kept), kind="end", user=scenario.id, **last)

    def _shown(self, session: Session | None, kept: Kept) -> Seen:
        features = features_of(session, kept) if self._featured else None
        return Seen(session, tuple(kept.items), kept.room, features)

    async def _assistant(self, scenario: Scenario, trial: int, line: Line, kept: Kept) -> ConversationalAgent:
        """The fixed model with what is kept, and an empty window."""
        tools = await self._world.players.tools(self._agent, scenario, trial, line)
        items = tuple(kept.items)
        return ConversationalAgent(
            self._agent.habits, lambda: KeptMemory(items), tools, line.model(self._door, "assistant")
        )

    async def _converse(self, agent: ConversationalAgent, episode: Episode, seen: UserTurn) -> tuple[Session, Step]:
        """A whole session, from its opening; and what comes after it."""
        period, number = seen.period, seen.session
        while True:
            with at(round_name(period, number, seen.round)):
                reply = await agent.reply(seen.message)
            step = await episode.step(reply.content)
            following = step.observation
            if not isinstance(following, UserTurn) or (following.period, following.session) != (period, number):
                break
            seen = following
        said = episode.conversation[period][number]
        time = said[0].time
        assert time is not None  # a session's opening has one
        return Session(period, number, time, tuple(said)), step

    async def _examine(
        self,
        seat: Seat,
        agent: ConversationalAgent,
        episode: Episode,
        items: Sequence[ExamItem],
        policy: Policy[Seen, str | tuple[bool, ...]],
    ) -> None:
        copy = await agent.freeze()

        failures: list[ContentFiltered | ContextOverflow] = []

        async def correct(item: ExamItem) -> bool | None:
            place = question_name(item.period, item.index)
            with at(place, "exam", item.labels), blaming(seat, item.period, place):
                try:
                    answer: ExamReply = await put_to_copy(copy, lambda examinee: examinee.answer(item.question))
                except (ContentFiltered, ContextOverflow) as failure:
                    failures.append(failure)
                    return None
            return episode.grade(item, answer.option, answer.status).correct

        found = await side_by_side(correct(item) for item in items)
        answered = [right for right in found if right is not None]
        if failures and not answered:
            raise failures[0]  # no reward is known, and a 0 would be learned from
        right = sum(answered)
        told = {"questions": len(answered), "right": right, "errors": len(found) - len(answered)}
        policy.earn(right / len(answered) if answered else 0.0, **told, correct=tuple(found))
