"""The one conversational agent: a window of recent messages, a memory, and a model.

Every assistant of the paper is this agent with another memory. Messages stay in the window until there are
freq + n_s of them; then the oldest freq are written to memory and leave it. So at least the last n_s messages (once
there are so many) are kept verbatim, and nothing is in neither place. When the model's context is full, the oldest
turns leave the window early: into the memory or, where nothing is ever written (Native), for good. When a conversation
is concluded, the whole window goes to the memory, and the next begins with an empty one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from amemgym.agents.protocol import Examinee, ExamQuestion, ExamReply, OpenReply, ProbeQuestion, ProbeReply
from amemgym.errors import AMemGymError, ContextOverflow
from amemgym.llm import Answer, Model, estimate_tokens
from amemgym.memory import (
    Item,
    MemoryMaker,
    NoMemory,
    Tools,
    close_memory,
    held_by,
    new_memory,
    read_from,
    restore_to,
    snapshot_of,
    write_to,
)
from amemgym.messages import Message
from amemgym.tasks import ChooseOption, Context, ProbeStates, Reply, Task

T = TypeVar("T")

#: what stands in the conversation where a model's reply had no text
NO_REPLY = "(no reply)"
#: tokens kept free for the prompt's own words and the reply
RESERVED_TOKENS = 4096


@dataclass(frozen=True)
class Habits:
    """The (freq, n_s, topk) of an agent: messages between memory writes, recent messages kept, items retrieved.

    `freq` None never writes and keeps everything. `context_tokens` is the model's context.
    """

    freq: int | None = 2
    n_s: int = 4
    topk: int = 30
    context_tokens: int = 128_000


class ConversationalAgent:
    """See the module's docstring. One instance plays one episode."""

    def __init__(self, habits: Habits, make_memory: MemoryMaker, tools: Tools, model: Model) -> None:
        self._habits = habits
        self._make_memory = make_memory
        self._tools = tools
        self._model = model
        self._memory = new_memory(make_memory, tools)
        self._window: list[Message] = []
        #: messages lost because they did not fit the model's context
        self.dropped = 0
        self._early: list[Message] = []

    @property
    def waits_for_exams(self) -> bool:
        return type(self._memory).snapshot_is_view

    def adopt(self, policy: str) -> None:
        self._tools = replace(self._tools, policy=policy)
        # the memory's own have its endpoint beside
        self._memory.tools = replace(self._memory.tools, policy=policy)

    async def reply(self, message: Message) -> Message:
        now = message.time or datetime.min
        # what does not fit any more is written before it is asked for
        self._make_room(estimate_tokens([message.content]))
        await self._write_what_left_early(now)
        items = await self._recall(message.content, now)
        answer = await self._ask_within_context(
            lambda window: Reply(Context(_lines(items), (*window, message))),
            beside=estimate_tokens([*_lines(items), message.content]),
        )
        await self._write_what_left_early(now)
        reply = Message("assistant", answer.value or NO_REPLY, now)
        self._window += [message, reply]
        await self._write_what_is_due(now)
        return reply

    async def listen(self, messages: Sequence[Message]) -> None:
        now = messages[0].time or datetime.min if messages else datetime.min
        self._make_room(estimate_tokens(message.content for message in messages[:1]))
        await self._write_what_left_early(now)
        self._window += messages
        await self._write_what_is_due(now)

    async def conclude(self) -> None:
        freq = self._habits.freq
        if freq is None or isinstance(self._memory, NoMemory):
            return
        while self._window:
            due, self._window = self._window[:freq], self._window[freq:]
            await write_to(self._memory, due, due[-1].time or datetime.min)

    async def freeze(self) -> Callable[[], Awaitable[Examinee]]:
        window, tools = tuple(self._window), self._tools
        snapshot = await snapshot_of(self._memory)

        async def examinee() -> Examinee:
            copy = ConversationalAgent(self._habits, self._make_memory, tools, self._model)
            try:
                await restore_to(copy._memory, snapshot)
            except BaseException:
                with suppress(AMemGymError):  # why it failed is told, not what came of it
                    await copy.aclose()
                raise
            copy._window = list(window)
            return copy

        return examinee

    async def answer(self, question: ExamQuestion) -> ExamReply:
        """Answer an exam question. Only ever called on a copy made by `freeze`."""
        items = await self._recall(question.query, question.now)
        answer = await self._ask_within_context(
            lambda window: ChooseOption(
                question.query, question.options, Context(_lines(items), tuple(window)), question.now
            ),
            beside=estimate_tokens([*_lines(items), question.query, *question.options]),
        )
        return ExamReply(answer.value, answer.status, answer.text, items, self.dropped)

    async def probe(self, question: ProbeQuestion) -> ProbeReply:
        """Say what values variables have now. Only ever called on a copy made by `freeze`."""
        items = await self._recall(question.query, question.now)
        answer = await self._ask_within_context(
            lambda window: ProbeStates(question.variables, Context(_lines(items), tuple(window)), question.now),
            beside=estimate_tokens([*_lines(items), *(text for v in question.variables.values() for text in v)]),
        )
        values = answer.value or dict.fromkeys(question.variables)
        return ProbeReply(values, answer.status, answer.text, items, self.dropped)

    async def respond(self, prompt: Sequence[Message], query: str | None = None) -> OpenReply:
        """Reply to a prompt. Only ever called on a copy made by `freeze`, which is then let go of."""
        last = prompt[-1]
        items = await self._recall(last.content if query is None else query, last.time or datetime.min)
        answer = await self._ask_within_context(
            lambda window: Reply(Context(_lines(items), (*window, *prompt))),
            beside=estimate_tokens([*_lines(items), *(message.content for message in prompt)]),
        )
        return OpenReply(answer.value, answer.status, items, self.dropped)

    async def holdings(self) -> list[Item] | None:
        return await held_by(self._memory)

    async def aclose(self) -> None:
        await close_memory(self._memory)

    async def _recall(self, query: str, now: datetime) -> tuple[Item, ...]:
        return await read_from(self._memory, query, now, self._habits.topk)

    async def _write_what_is_due(self, now: datetime) -> None:
        freq = self._habits.freq
        while freq is not None and len(self._window) >= freq + self._habits.n_s:
            due, self._window = self._window[:freq], self._window[freq:]
            await write_to(self._memory, due, now)

    async def _write_what_left_early(self, now: datetime) -> None:
        """What did not fit the context goes to the memory; an agent that never writes has lost it."""
        early, self._early = self._early, []
        if early and self._habits.freq is not None:
            await write_to(self._memory, early, now)
            self.dropped -= len(early)

    async def _ask_within_context(self, task: Callable[[list[Message]], Task[T]], beside: int) -> Answer[T]:
        """Ask with as much of the window as fits; what does not fit leaves it, oldest turns first."""
        self._make_room(beside)
        while True:
            try:
                return await self._model.ask(task(self._window))
            except ContextOverflow:
                if not self._window:
                    raise
                # the estimate was too low: make clear room at once, so that not every call overflows first
                self._drop(max(2, len(self._window) // 4 // 2 * 2))

    def _make_room(self, beside: int) -> None:
        """Let the oldest turns leave the window until it fits beside so many tokens, by estimate."""
        room = self._habits.context_tokens - RESERVED_TOKENS - beside
        while self._window and estimate_tokens(message.content for message in self._window) > room:
            self._drop(2)

    def _drop(self, messages: int) -> None:
        self._early += self._window[:messages]
        self.dropped += len(self._window[:messages])
        del self._window[:messages]


def _lines(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(item.line() for item in items)
