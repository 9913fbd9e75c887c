"""The task of self-evolution: rewrite what a memory is told to remember, from how exams went that were taken with it.

There are two kinds of feedback, and each is a type of its own, so that the smaller one has no place for what it must
not tell: *question* (what was asked, and what the memory gave back) and *complete* (also the options, the assistant's
choice, the right answer, and the states that the period's sessions exposed).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from amemgym.messages import Message
from amemgym.tasks.base import Task
from amemgym.tasks.parse import Parsed, Status, parse_object
from amemgym.tasks.prompts import Prompts
from amemgym.tasks.schema import TEXT, Schema, an_object

FeedbackKind = Literal["question", "complete"]

#: what a policy stands between where it is shown in its prompt
MARKS = ("<part>", "</part>")


@dataclass(frozen=True)
class AskedQuestion:
    """A question of an exam, and what the memory gave back for it."""

    query: str
    memories: tuple[str, ...]


@dataclass(frozen=True)
class AnsweredQuestion:
    """The same with all options in the order shown, and what was chosen (None where nothing readable was) and right,
    counted from 1. It is no kind of `AskedQuestion`, so that it cannot stand in for one."""

    query: str
    memories: tuple[str, ...]
    options: tuple[str, ...]
    choice: int | None
    right: int

    @property
    def is_right(self) -> bool:
        return self.choice == self.right


@dataclass(frozen=True)
class QuestionFeedback:
    """One user's exam after one period, as *question* feedback tells it."""

    asked: tuple[AskedQuestion, ...]


@dataclass(frozen=True)
class CompleteFeedback:
    """One user's exam after one period, as *complete* feedback tells it; `exposed` are (variable, value)."""

    asked: tuple[AnsweredQuestion, ...]
    exposed: tuple[tuple[str, str], ...]


Feedback = QuestionFeedback | CompleteFeedback


@dataclass(frozen=True)
class RevisePolicy(Task[str]):
    """Rewrite a policy: what to keep in a record, as facts, or how to search (`purpose`).

    `room` is the most that is kept, `longest` the characters that a policy may have, `refused` why the last attempt
    could not be used ("" at the first).
    """

    name: ClassVar[str] = "revise_policy"
    wants_json: ClassVar[bool] = True
    purpose: Literal["record", "facts", "query"]
    policy: str
    exams: tuple[Feedback, ...]
    longest: int
    room: int | None = None
    refused: str = ""

    def messages(self, prompts: Prompts) -> list[Message]:
        text = prompts.fill(
            "revise_query" if self.purpose == "query" else "revise_policy",
            prompt=self._prompt(prompts),
            exams="\n\n".join(_told(number, exam, prompts) for number, exam in enumerate(self.exams, 1)),
            longest=self.longest,
            refused=prompts.fill("revise_refused", reason=self.refused) if self.refused else "",
        )
        return [Message("user", text)]

    def parse(self, reply: str | None) -> Parsed[str]:
        parsed = parse_object(reply)
        if parsed.value is None:
            return Parsed(None, parsed.status)
        policy = parsed.value.get("policy")
        if not isinstance(policy, str) or not policy.strip():
            return Parsed(None, Status.INVALID)
        # as a file of it would be read again
        policy = policy.replace("\r\n", "\n").replace("\r", "\n").strip()
        opening, closing = MARKS
        if not (policy.startswith(opening) and policy.endswith(closing)):
            return Parsed(policy, parsed.status)
        inner = policy.removeprefix(opening).removesuffix(closing).strip()
        return Parsed(inner, Status.REPAIRED) if inner else Parsed(None, Status.INVALID)

    def reply_schema(self) -> Schema:
        return an_object({"policy": TEXT})

    def _prompt(self, prompts: Prompts) -> str:
        """The whole prompt that the policy is a part of, the part between marks."""
        part = self.policy.join(MARKS)
        if self.purpose == "query":
            return part
        if self.purpose == "facts":
            return prompts.fill("extract_facts", policy=part, conversation="(…)", now="(…)")
        room = "" if self.room is None else prompts.fill("record_room", lines=self.room)
        return prompts.fill("update_record", policy=part, record="(…)", conversation="(…)", now="(…)", room=room)


def _told(number: int, exam: Feedback, prompts: Prompts) -> str:
    """One user's exam as text. What a memory gave back for every question alike stands once."""
    shared = {question.memories for question in exam.asked}
    memories = _listed(next(iter(shared))) if len(shared) == 1 else None
    lines = [prompts.fill("feedback_user", number=number)]
    if isinstance(exam, CompleteFeedback) and exam.exposed:
        told = _listed([f"{variable}: {value}" for variable, value in exam.exposed])
        lines.append(prompts.fill("feedback_exposed", states=told))
    if memories is not None:
        lines.append(prompts.fill("feedback_memories", memories=memories))
    for question in exam.asked:
        lines.append(prompts.fill("feedback_question", query=question.query))
        if memories is None:
            lines.append(prompts.fill("feedback_memories", memories=_listed(question.memories)))
        if isinstance(question, AnsweredQuestion):
            options = "\n".join(f"{place}. {option}" for place, option in enumerate(question.options, 1))
            choice = "–" if question.choice is None else question.choice
            lines.append(prompts.fill("feedback_answer", options=options, choice=choice, right=question.right))
    return "\n".join(lines)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "–"
