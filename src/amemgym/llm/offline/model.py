"""The offline model: solves each task directly from its fields, with word embeddings and plain rules.

It talks in stock phrases, keeps what the user said nearly word for word, and answers exams by inferring each variable's
value from the remembered lines (`reader`); as a judge of what a text tells it goes by its words too (`judge`). It is
deterministic and quick. It lets memories be compared with each other; it says nothing about how a language model would
do, and every table that shows its scores says so.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from functools import singledispatchmethod
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from amemgym.llm.embed import Embedder
from amemgym.llm.offline import notes
from amemgym.llm.offline.chat import reply_plainly
from amemgym.llm.offline.judge import Judge
from amemgym.llm.offline.policy import Keeper, revised
from amemgym.llm.offline.reader import Reader
from amemgym.llm.provider import Completion, Request, estimate_usage
from amemgym.messages import Message
from amemgym.seeds import generator
from amemgym.tasks import (
    Chat,
    ChooseKnowing,
    ChooseOption,
    Context,
    DescribeNote,
    EvolveNotes,
    ExtractFacts,
    FollowUp,
    Labels,
    ProbeStates,
    ReconcileFacts,
    RecoverVariant,
    Reply,
    RevealedStates,
    RevisePolicy,
    Task,
    ToolCall,
    UpdateRecord,
)

#: cosine of two facts from which one repeats the other, and from which one replaces the other
SAME_FACT, SAME_TOPIC = 0.95, 0.80
RECORD_LINES = 60
FACT_LENGTH = 600

_REPLIES = (
    "Happy to help. I would start small: pick one idea, try it for a week, and see how it feels before you add more.",
    "Good question. Begin with what you already have at hand, write down two or three options, then compare them.",
    "Here is a simple plan: decide what matters most to you, set a date, and prepare the rest step by step.",
    "There are a few ways to go about it. The easiest is usually the best first try, and you can adjust as you go.",
    "That sounds worth doing. Let us keep it practical: one thing to do today, one for this week, one for later.",
)
_FOLLOW_UPS = (
    "Thanks, that helps. Which of these would you begin with?",
    "That makes sense. Is there anything people tend to overlook here?",
    "I like that. How would I know after a while whether it is working?",
    "Good point. What would be a sensible first step this week?",
    "Thank you. Could you put that into a short checklist for me?",
    "Interesting, I had not thought of it that way. What would you do if the first try does not work out?",
    "All right. Are there common mistakes I should steer clear of?",
    "That is useful. Can you say a little more about the second idea?",
)
#: a user may write such a tag; in a reply it would mean reasoning
_THINKING = re.compile(r"<(?=\s*/?\s*(?:think|thinking|reasoning)\s*>)", re.IGNORECASE)
_TIME = re.compile(r"^\s*\[Current Time:[^\]]*\]\s*")
_SPEAKER = re.compile(r"(?:\[[^\]]*\]\s*)?(user|assistant):", re.IGNORECASE)
#: what a note of a message is found by (`memory.notes`); its words are no statement
_FOUND_BY = re.compile(r"(?:keywords|tags):")
_MEMORY_HEAD = re.compile(r"^(\[\d{4}-\d\d-\d\d\]\s*)?(user:\s*)?(\[Current Time:[^\]]*\]\s*)?", re.IGNORECASE)


class OfflineModel:
    """The default model.

    Args:
        embedder: gives the vectors everything here is judged by.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        # threads only get in each other's way on matrices this small, and could change the last digit
        self._threads = ThreadpoolController()
        self._reader = Reader(embedder.embed)
        self._judge = Judge(embedder.embed)
        self._keeper = Keeper(embedder.embed)

    @property
    def identity(self) -> str:
        return "offline"

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0)  # nothing here waits, so without this an interrupt would wait for the episode's end
        with self._threads.limit(limits=1, user_api="blas"):
            solved = self._solve(request.task, request.labels)
        if isinstance(solved, str):
            return Completion(solved, estimate_usage(request.messages, solved))
        usage = estimate_usage(request.messages, "".join(call.name + call.arguments for call in solved))
        return Completion("", usage, "tool_calls", calls=tuple(solved))

    async def aclose(self) -> None:
        return None

    @singledispatchmethod
    def _solve(self, task: Task[Any], labels: Labels | None) -> str | tuple[ToolCall, ...]:
        raise TypeError(f"the offline model does not know the task '{task.name}'; use a language model for it")

    @_solve.register
    def _(self, task: Reply, labels: Labels | None) -> str:
        return _pick(_REPLIES, _said_by_user(task.context.conversation))

    @_solve.register
    def _(self, task: FollowUp, labels: Labels | None) -> str:
        said = {message.content for message in task.conversation}
        fresh = [line for line in _FOLLOW_UPS if line not in said]
        return _pick(fresh or _FOLLOW_UPS, _said_by_user(task.conversation))

    @_solve.register
    def _(self, task: ChooseOption, labels: Labels | None) -> str:
        return self._choose(task.question, _known_lines(task.context), labels or _unlabelled(task.options))

    @_solve.register
    def _(self, task: ProbeStates, labels: Labels | None) -> str:
        lines = _known_lines(task.context)
        found = {name: self._reader.most_likely(lines, name, values) for name, values in task.variables.items()}
        return json.dumps(found, ensure_ascii=False)

    @_solve.register
    def _(self, task: ChooseKnowing, labels: Labels | None) -> str:
        lines = [f"{name}: {value}" for name, value in task.known]
        return self._choose(task.question, lines, labels or _unlabelled(task.options))

    def _choose(self, question: str, lines: Sequence[str], labels: Labels) -> str:
        return json.dumps({"answer": self._reader.choose(question, lines, labels) + 1})

    @_solve.register
    def _(self, task: ExtractFacts, labels: Labels | None) -> str:
        return json.dumps({"facts": _facts(task.conversation)}, ensure_ascii=False)

    @_solve.register
    def _(self, task: ReconcileFacts, labels: Labels | None) -> str:
        operations: list[dict[str, Any]] = []
        stored = self._embedder.embed([text for _, text in task.stored])
        taken: set[int] = set()
        # a memory system that extracts and reconciles at once has left in what tells nothing
        facts = _facts(Message("user", fact) for fact in task.facts)
        for fact, vector in zip(facts, self._embedder.embed(facts), strict=True):
            nearness = stored @ vector if len(stored) else np.zeros(0)
            best = int(np.argmax(nearness)) if len(nearness) else -1
            if best < 0 or nearness[best] < SAME_TOPIC or best in taken:
                operations.append({"event": "add", "text": fact})
                continue
            taken.add(best)
            number = task.stored[best][0]
            if nearness[best] >= SAME_FACT:
                operations.append({"event": "keep", "id": number})
            else:
                operations.append({"event": "update", "id": number, "text": fact})
        if task.room is not None:
            operations = self._keeper.within_room(operations, task)
        return json.dumps({"operations": operations}, ensure_ascii=False)

    @_solve.register
    def _(self, task: UpdateRecord, labels: Labels | None) -> str:
        lines = task.record.splitlines()
        for fact in _facts(task.conversation):
            vectors = self._embedder.embed([fact, *lines])
            nearness = vectors[1:] @ vectors[0]
            if len(lines) and float(nearness.max()) >= SAME_TOPIC:
                del lines[int(np.argmax(nearness))]
            lines.append(fact)
        kept = self._keeper.kept(lines, min(task.room or RECORD_LINES, RECORD_LINES), task.policy)
        return _THINKING.sub("‹", "\n".join(lines[place] for place in kept)) or "(nothing known yet)"

    @_solve.register
    def _(self, task: RevisePolicy, labels: Labels | None) -> str:
        return json.dumps({"policy": revised(task)}, ensure_ascii=False)

    @_solve.register
    def _(self, task: DescribeNote, labels: Labels | None) -> str:
        return json.dumps(notes.described(task, self._embedder.embed), ensure_ascii=False)

    @_solve.register
    def _(self, task: EvolveNotes, labels: Labels | None) -> str:
        return json.dumps(notes.evolved(task, self._embedder.embed), ensure_ascii=False)

    @_solve.register
    def _(self, task: RevealedStates, labels: Labels | None) -> str:
        return json.dumps({"revealed": self._judge.revealed(task.message, task.variables)}, ensure_ascii=False)

    @_solve.register
    def _(self, task: RecoverVariant, labels: Labels | None) -> str:
        # what it cannot tell is null: a draw would be found fault with
        return json.dumps(self._judge.variant(task.answer, task.variables), ensure_ascii=False)

    @_solve.register
    def _(self, task: Chat, labels: Labels | None) -> str | tuple[ToolCall, ...]:
        if task.stand_in is None:
            return reply_plainly(task, _facts(Message("user", line) for line in task.last_said().splitlines()))
        solved = self._solve(task.stand_in.task, None)
        found = task.stand_in.task.parse(solved if isinstance(solved, str) else None)
        return task.stand_in.word(found.value)


def _known_lines(context: Context) -> list[str]:
    """What the user is known to have said: remembered, then in the window."""
    return [*_remembered(context.memories), *_said_by_user(context.conversation)]


def _facts(conversation: Iterable[Message]) -> list[str]:
    """What the user said, less the stock phrases of a follow-up: one line a message."""
    facts = (" ".join(text.split())[:FACT_LENGTH] for text in _said_by_user(conversation))
    return [fact for fact in facts if fact and fact not in _FOLLOW_UPS]


def _said_by_user(conversation: Iterable[Message]) -> list[str]:
    return [_TIME.sub("", message.content) for message in conversation if message.role == "user"]


def _remembered(memories: Iterable[str]) -> list[str]:
    """Each line of a record or of a conversation by itself, without dates and roles before them; none of the
    assistant's: `assistant:` before a line opens what it said, `user:` closes it."""
    lines: list[str] = []
    for memory in memories:
        speaker = ""
        for line in memory.splitlines():
            if opened := _SPEAKER.match(line):
                speaker = opened[1].lower()
            if speaker == "assistant" or (speaker and _FOUND_BY.match(line)):
                continue
            if (said := _MEMORY_HEAD.sub("", line)).strip():
                lines.append(said)
    return lines


def _unlabelled(options: Sequence[str]) -> Labels:
    """Without labels, an option's only value is its text."""
    return tuple({"the answer": option} for option in options)


def _pick(lines: Sequence[str], said: Sequence[str]) -> str:
    return generator(0, "offline", *said).choice(lines)
