"""The one conversational agent: a window of recent messages, a memory, and a model.

Every assistant of the paper is this agent with another memory. Messages stay in the window until there are
freq + n_s of them; then the oldest freq are written to memory and leave it. So at least the last n_s messages (once
there are so many) are kept verbatim, and nothing is in neither place. When the model's context is full, the oldest
turns leave the window early: into the memory or, where nothing is ever written (Native), for good. When a conversation
is concluded, the whole window goes to the memory, and the next begins with an empty one.

A write that takes time goes on while the user thinks of what to say next: `reply` begins it, and whatever is asked of
the agent after that waits for it first. So it is done before anything could see that it was not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from amemgym.agents.protocol import Examinee, ExamQuestion, ExamReply, OpenReply, ProbeQuestion, ProbeReply
from amemgym.errors import AMemGymError, ContextOverflow
from amemgym.llm import Answer, Model, estimate_tokens, tokens_in
from amemgym.memory import (
    Item,
    MemoryMaker,
    NoMemory,
    Tools,
    close_memory,
    held_by,
    is_quick_to_write,
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
        #: characters in the window, counted as messages come and go
        self._size = 0
        #: messages lost because they did not fit the model's context
        self.dropped = 0
        self._early: list[Message] = []
        #: the write under way, if there is one
        self._writing: asyncio.Task[None] | None = None
        #: what it is told to remember once that is done
        self._adopted: str | None = None

    @property
    def waits_for_exams(self) -> bool:
        return type(self._memory).snapshot_is_view

    def adopt(self, policy: str) -> None:
        self._tools = replace(self._tools, policy=policy)
        if self._writing is None:
            self._tell_memory(policy)
        else:
            self._adopted = policy  # what is being written was said before

    async def reply(self, message: Message) -> Message:
        await self.written()
        now = message.time or datetime.min
        # what does not fit any more is written before it is asked for
        self._make_room(estimate_tokens([message.content]))
        await self._write(self._left_early(), now)
        items = await self._recall(message.content, now)
        lines = _lines(items)
        answer = await self._ask_within_context(
            lambda window: Reply(Context(lines, (*window, message))),
            beside=estimate_tokens([*lines, message.content]),
        )
        early = self._left_early()
        reply = Message("assistant", answer.value or NO_REPLY, now)
        self._take_in([message, reply])
        writes = [*early, *self._due()]
        if is_quick_to_write(self._memory):
            await self._write(writes, now)
        elif writes:
            self._writing = asyncio.create_task(self._write(writes, now))
        return reply

    async def listen(self, messages: Sequence[Message]) -> None:
        await self.written()
        now = messages[0].time or datetime.min if messages else datetime.min
        self._make_room(estimate_tokens(message.content for message in messages[:1]))
        await self._write(self._left_early(), now)
        self._take_in(messages)
        await self._write(self._due(), now)

    async def conclude(self) -> None:
        await self.written()
        freq = self._habits.freq
        if freq is None or isinstance(self._memory, NoMemory):
            return
        while self._window:
            due = self._take_out(freq)
            await write_to(self._memory, due, due[-1].time or datetime.min)

    async def freeze(self) -> Callable[[], Awaitable[Examinee]]:
        await self.written()
        window, size, tools = tuple(self._window), self._size, self._tools
        snapshot = await snapshot_of(self._memory)

        async def examinee() -> Examinee:
            copy = ConversationalAgent(self._habits, self._make_memory, tools, self._model)
            try:
                await restore_to(copy._memory, snapshot)
            except BaseException:
                with suppress(AMemGymError):  # why it failed is told, not what came of it
                    await copy.aclose()
                raise
            copy._window, copy._size = list(window), size
            return copy

        return examinee

    async def answer(self, question: ExamQuestion) -> ExamReply:
        """Answer an exam question. Only ever called on a copy made by `freeze`."""
        items = await self._recall(question.query, question.now)
        lines = _lines(items)
        answer = await self._ask_within_context(
            lambda window: ChooseOption(question.query, question.options, Context(lines, tuple(window)), question.now),
            beside=estimate_tokens([*lines, question.query, *question.options]),
        )
        return ExamReply(answer.value, answer.status, answer.text, items, self.dropped)

    async def probe(self, question: ProbeQuestion) -> ProbeReply:
        """Say what values variables have now. Only ever called on a copy made by `freeze`."""
        items = await self._recall(question.query, question.now)
        lines = _lines(items)
        answer = await self._ask_within_context(
            lambda window: ProbeStates(question.variables, Context(lines, tuple(window)), question.now),
            beside=estimate_tokens([*lines, *(text for v in question.variables.values() for text in v)]),
        )
        values = answer.value or dict.fromkeys(question.variables)
        return ProbeReply(values, answer.status, answer.text, items, self.dropped)

    async def respond(self, prompt: Sequence[Message], query: str | None = None) -> OpenReply:
        """Reply to a prompt. Only ever called on a copy made by `freeze`, which is then let go of."""
        last = prompt[-1]
        items = await self._recall(last.content if query is None else query, last.time or datetime.min)
        lines = _lines(items)
        answer = await self._ask_within_context(
            lambda window: Reply(Context(lines, (*window, *prompt))),
            beside=estimate_tokens([*lines, *(message.content for message in prompt)]),
        )
        return OpenReply(answer.value, answer.status, items, self.dropped)

    async def holdings(self) -> list[Item] | None:
        await self.written()
        return await held_by(self._memory)

    async def written(self) -> None:
        """Wait until what was said is in the memory, as all else here does. Raises what the write raised, once."""
        writing = self._writing
        if writing is None:
            return
        try:
            await asyncio.shield(writing)  # who is cancelled here leaves it to `aclose`
        finally:
            if writing.done() and self._writing is writing:  # others may have waited for it too
                self._writing = None
        if self._adopted is not None:
            policy, self._adopted = self._adopted, None
            self._tell_memory(policy)

    async def aclose(self) -> None:
        """What is still being written is given up, since nobody can ask for it any more."""
        writing, self._writing = self._writing, None
        try:
            if writing is not None:
                writing.cancel()
                await asyncio.wait([writing])
                if not writing.cancelled():
                    writing.result()  # it had ended, and nobody was told how
        finally:
            await close_memory(self._memory)

    async def _recall(self, query: str, now: datetime) -> tuple[Item, ...]:
        return await read_from(self._memory, query, now, self._habits.topk)

    async def _write(self, writes: Sequence[Sequence[Message]], now: datetime) -> None:
        for messages in writes:
            await write_to(self._memory, messages, now)

    def _due(self) -> list[list[Message]]:
        """What is to be written now, which leaves the window: freq messages each."""
        due: list[list[Message]] = []
        freq = self._habits.freq
        while freq is not None and len(self._window) >= freq + self._habits.n_s:
            due.append(self._take_out(freq))
        return due

    def _left_early(self) -> list[list[Message]]:
        """What did not fit the context goes to the memory; an agent that never writes has lost it."""
        early, self._early = self._early, []
        if not early or self._habits.freq is None:
            return []
        self.dropped -= len(early)
        return [early]

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
        while self._window and tokens_in(self._size) > room:
            self._drop(2)

    def _drop(self, messages: int) -> None:
        left = self._take_out(messages)
        self._early += left
        self.dropped += len(left)

    def _take_in(self, messages: Sequence[Message]) -> None:
        self._window += messages
        self._size += sum(len(message.content) for message in messages)

    def _take_out(self, messages: int) -> list[Message]:
        """The oldest messages, which leave the window."""
        left = self._window[:messages]
        del self._window[:messages]
        self._size -= sum(len(message.content) for message in left)
        return left

    def _tell_memory(self, policy: str) -> None:
        # the memory's own tools have its endpoint beside
        self._memory.tools = replace(self._memory.tools, policy=policy)


def _lines(items: tuple[Item, ...]) -> tuple[str, ...]:
    return tuple(item.line() for item in items)
