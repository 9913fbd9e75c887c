"""A stand-in for a model in a rehearsal: it replies in the right form and at usual length, and asks nobody.

So a run can be counted before it is made: the same prompts, the same schedule, no endpoint. What is said only has to be
as long as what a model says, and as near to what is searched for: a reply is the user's own words, over and over. Where
a sample of the model's own replies was taken (`llm/sampling.py`), lengths and tokens are that model's.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from amemgym.llm.models import BOXES, LOCAL, ModelSettings
from amemgym.llm.offline import OfflineModel
from amemgym.llm.offline.chat import reply_plainly
from amemgym.llm.provider import CHARACTERS_PER_TOKEN, Completion, Request, Usage, estimate_usage
from amemgym.llm.rotate import BEGUN, MOST_OPTIONS, rotations
from amemgym.llm.tokens import tokenizer
from amemgym.messages import Message
from amemgym.tasks import (
    Act,
    Ask,
    Chat,
    ChooseKnowing,
    ChooseOption,
    ExtractFacts,
    FollowUp,
    Listen,
    ProbeStates,
    Reply,
    Task,
    ToolCall,
    UpdateRecord,
)

# Usual lengths in characters, measured in the published runs of a 14-billion-parameter model over two users of 34 and
# 78 sessions: 408 replies (2,495 on average by native, 3,399 by awi), 184 follow-ups. Its records are known by the
# input tokens of awi's exams, less the window and the question: 1,200 characters after 34 sessions, 2,000 after 78.
REPLY, FOLLOW_UP = 2900, 246
RECORD_LINE, RECORD = 35, 2000
#: tokens of a choice, in the same runs: 14 in exams, 9 in the upper bound
CHOICE = 12
#: facts have no recording: a session of v1.base reveals 1.3 states in 217 characters, each of which is a short sentence
FACT, CHARACTERS_A_FACT = 60, 160

_FIRST = f"{BEGUN}1}}"
_TIME = re.compile(r"^\s*\[Current Time:[^\]]*\]\s*")


@dataclass(frozen=True)
class Habit:
    """How a model does one kind of task; what is None is as usual.

    `length` is a reply's characters (of a record: the first one's), `growth` what a session adds to a record, `facts`
    are found each time, `fact` is one's length. Tokens: `input` and `output` are real ones for each that we count,
    `reasoning` come on top of each reply.
    """

    length: float | None = None
    growth: float | None = None
    facts: float | None = None
    fact: float | None = None
    input: float = 1.0
    output: float = 1.0
    reasoning: float = 0.0


USUAL = Habit()
#: by kind of task (its name)
Habits = Mapping[str, Habit]


class StandIn:
    """Plays the model of these settings.

    Args:
        settings: whose place it takes; what it says is no longer than they allow.
        embedder: what the offline model, which does the rest, goes by.
        habits: how that model does each kind of task, as far as it is known.
    """

    def __init__(self, settings: ModelSettings, offline: OfflineModel, habits: Habits | None = None) -> None:
        self.settings = settings
        self._offline = offline
        self._habits = habits or {}
        self._is_box = settings.model.partition(":")[0] in BOXES
        self._rotates = settings.choice == "rotate" and settings.model.startswith(f"{LOCAL}:")
        self._most = math.inf if settings.max_tokens is None else settings.max_tokens * CHARACTERS_PER_TOKEN
        #: by kind of task, the part of a fact that is still owed
        self._owed: dict[str, float] = defaultdict(float)

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0)  # so that an interrupt need not wait for an episode's end
        said = await self.reply(request)
        if self._is_box:
            return Completion(said, _box_usage(request, said)) if isinstance(said, str) else Completion("", Usage())
        usage = self._usage(request, said)
        return Completion(said, usage) if isinstance(said, str) else Completion("", usage, "tool_calls", calls=said)

    async def aclose(self) -> None:
        return None

    def _habit(self, task: Task[Any]) -> Habit:
        return self._habits.get(task.name, USUAL)

    def _usage(self, request: Request, said: str | tuple[ToolCall, ...]) -> Usage:
        task, habit = request.task, self._habit(request.task)
        times, output = 1, text_of(said)
        if self._rotates and isinstance(task, ChooseOption | ChooseKnowing) and len(task.options) <= MOST_OPTIONS:
            times, output = len(rotations(task)), ""  # scored, so next to nothing is generated
        asked = times * tokens(message.content for message in request.messages)
        counted = tokens([output])
        if habit is USUAL and isinstance(task, ChooseOption | ChooseKnowing):
            counted = CHOICE
        replied = times if times > 1 else counted * habit.output + habit.reasoning
        return Usage(round(asked * habit.input), round(replied), estimated=True)

    async def reply(self, request: Request) -> str | tuple[ToolCall, ...]:
        """What it says: text, or the tools it wants called."""
        task, habit = request.task, self._habit(request.task)
        if isinstance(task, Ask):
            return await self.reply(Request(task.question, request.messages, None, request.prompts))
        if isinstance(task, Chat):
            return await self._chat(task, request)
        if isinstance(task, Listen):
            return ""
        if isinstance(task, Reply | FollowUp):
            conversation = task.context.conversation if isinstance(task, Reply) else task.conversation
            usual = REPLY if isinstance(task, Reply) else FOLLOW_UP
            return self._about(_said(conversation)[-1:], habit.length or usual)
        if isinstance(task, Act):
            return self._about(_said([task.message]), habit.length or REPLY)
        if isinstance(task, UpdateRecord):
            return self._about_user(task, habit)
        if isinstance(task, ExtractFacts):
            return json.dumps({"facts": self._facts(task, _said(task.conversation))}, ensure_ascii=False)
        if isinstance(task, ChooseOption | ChooseKnowing):
            return _FIRST
        if isinstance(task, ProbeStates):
            first = {name: values[0] if values else None for name, values in task.variables.items()}
            return json.dumps(first, ensure_ascii=False)
        completion = await self._offline.complete(request)
        return completion.calls or completion.text

    async def _chat(self, task: Chat, request: Request) -> str | tuple[ToolCall, ...]:
        """A memory system's own request: the task that is meant, as it is worded there."""
        if task.stand_in is None:
            return reply_plainly(task, self._facts(task, [task.last_said()]))
        meant = task.stand_in.task
        said = await self.reply(Request(meant, request.messages, None, request.prompts))
        return task.stand_in.word(meant.parse(said if isinstance(said, str) else None).value)

    def _about(self, words: Sequence[str], length: float) -> str:
        """A text of that length about what was said."""
        return filled(" ".join(words), round(min(length, self._most)))

    def _about_user(self, task: UpdateRecord, habit: Habit) -> str:
        """The record, grown by what a model adds to it."""
        said, opened = _said(task.conversation), openings(task)
        if task.record:
            wanted = len(task.record) + opened * (RECORD_LINE if habit.growth is None else habit.growth)
        else:
            wanted = habit.length or RECORD_LINE * max(1, opened)
        wanted = min(wanted, max(RECORD, habit.length or 0), self._most)
        lines = task.record.splitlines()
        new = wanted - len(task.record)
        if new > 0:
            line = filled(" ".join(said) or "user", max(1, round(new) - bool(lines)))
            lines.append(" ".join(line.split("\n")))
        if task.room is not None:
            lines = lines[-task.room :]
        return "\n".join(lines)

    def _facts(self, task: Task[Any], said: Sequence[str]) -> list[str]:
        """What is found worth remembering: as many pieces of what was said as there usually are facts."""
        habit, text = self._habit(task), " ".join(said)
        if not text:
            return []
        often = len(text) / CHARACTERS_A_FACT if habit.facts is None else habit.facts
        owed = self._owed[task.name] + often
        count, length = int(owed), habit.fact or FACT
        self._owed[task.name] = owed - count
        step = len(text) // max(1, count)
        return [filled(text[place * step :], round(length)) for place in range(count)]


class QuickOffline:
    """The offline model, whose every choice is the first option: whichever it is has as many characters."""

    def __init__(self, offline: OfflineModel) -> None:
        self._offline = offline

    async def complete(self, request: Request) -> Completion:
        if not isinstance(request.task, ChooseOption | ChooseKnowing):
            return await self._offline.complete(request)
        await asyncio.sleep(0)
        return Completion(_FIRST, estimate_usage(request.messages, _FIRST))

    async def aclose(self) -> None:
        return None


def openings(task: UpdateRecord) -> int:
    """Sessions that begin in what a record is told: their first messages say the time."""
    return sum(bool(_TIME.match(message.content)) for message in task.conversation if message.role == "user")


def text_of(said: str | tuple[ToolCall, ...]) -> str:
    """What is counted of a reply."""
    return said if isinstance(said, str) else "".join(call.name + call.arguments for call in said)


def filled(text: str, length: int) -> str:
    """The text over and over, up to a length."""
    text = " ".join(text.split()) or "-"
    return (f"{text} " * (length // (len(text) + 1) + 1))[:length].strip() or "-"


def tokens(texts: Iterable[str]) -> int:
    """Tokens of texts: by the tokenizer where one is installed, else characters / 4."""
    counting = tokenizer()
    if counting.estimates:
        return math.ceil(sum(map(len, texts)) / CHARACTERS_PER_TOKEN)
    return sum(_count(line) for text in texts for line in text.splitlines(keepends=True))


@lru_cache(maxsize=65536)
def _count(line: str) -> int:
    """A line (of a message, of what is remembered) is in many requests and is counted once."""
    return tokenizer().count(line)


def _box_usage(request: Request, said: str) -> Usage:
    """What is told of a black box that says nothing of its tokens: the words that go there and come back."""
    heard: Sequence[Message] = request.task.heard if isinstance(request.task, Listen) else request.messages[-1:]
    return estimate_usage(heard, said)


def _said(conversation: Iterable[Message]) -> list[str]:
    """What the user said, without the time before it."""
    return [_TIME.sub("", message.content) for message in conversation if message.role == "user"]
