"""What an episode leaves behind: plain records, written to the run directory and read by the scores.

A wrong answer, no answer and an error are three things: `status` is the parser's word for the reply, or `error` where
the call ended without one (then `error` says why, and the exam counts in no score).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

#: periods → sessions → messages {role, content, time}; times are simulated
Conversation = list[list[list[dict[str, Any]]]]


@dataclass(frozen=True)
class ExamResult:
    """One exam answer. Options are counted from 1 in the order shown; `order[i]` is the data's index (from 0) of the
    option at place i + 1. `variant` is the true one; `items` point into the episode's texts: what memory gave
    back. `dropped` messages did not fit the model's context."""

    period: int
    question: int
    order: tuple[int, ...]
    gold: int
    variant: tuple[str, ...]
    option: int | None
    status: str
    correct: bool
    guessed: bool = False
    error: str | None = None
    reply: str = ""
    items: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def counts(self) -> bool:
        """Whether it counts in a score: any reply does, readable or not; an error does not."""
        return self.error is None

    @property
    def is_invalid(self) -> bool:
        """Whether there was a reply that could not be read as a choice."""
        return self.counts and self.status not in ("ok", "repaired")


@dataclass(frozen=True)
class ProbeResult:
    """What an agent said of a question's required info after a period: variable → value, or None where it gave none
    that is possible. `error` where the call ended without a reply; then it tells nothing. `items` as in an exam."""

    period: int
    question: int
    values: dict[str, str | None]
    status: str
    error: str | None = None
    reply: str = ""
    items: tuple[int, ...] = ()
    dropped: int = 0

    @property
    def is_readable(self) -> bool:
        """Whether there was a reply that gives a value to at least one variable."""
        return self.error is None and self.status in ("ok", "repaired")


@dataclass(frozen=True)
class EpisodeResult:
    """One user's months with one agent.

    `conversation` is periods → sessions → messages {role, content, time}; `holdings` is what the memory held after
    each period, as places in `texts` (None where it cannot tell), and `held` how many items that were; `spoken` is
    the number of messages of the conversation up to then; `ledger` is role → counts; `dropped` messages fell out of a
    full context.
    """

    agent: str
    user: int
    user_id: str
    trial: int
    exams: tuple[ExamResult, ...]
    probes: tuple[ProbeResult, ...] = ()
    conversation: Conversation = field(default_factory=list)
    holdings: list[list[int] | None] = field(default_factory=list)
    texts: tuple[str, ...] = ()
    held: tuple[int | None, ...] = ()
    spoken: tuple[int, ...] = ()
    ledger: dict[str, dict[str, Any]] = field(default_factory=dict)
    dropped: int = 0

    def as_dict(self) -> dict[str, Any]:
        results = {"exams": [vars(exam) for exam in self.exams], "probes": [vars(probe) for probe in self.probes]}
        return {**vars(self), **results}

    def without_texts(self) -> EpisodeResult:
        """What scores are made from: the exams, probes and counts alone."""
        exams = tuple(replace(exam, reply="", items=()) for exam in self.exams)
        probes = tuple(replace(probe, reply="", items=()) for probe in self.probes)
        return replace(self, exams=exams, probes=probes, conversation=[], holdings=[], texts=())

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> EpisodeResult:
        """Raises KeyError, TypeError or ValueError where it is no such record."""
        fields = dict(value)
        fields["exams"] = tuple(_exam(exam) for exam in fields["exams"])
        fields["probes"] = tuple(ProbeResult(**{**probe, "items": tuple(probe["items"])}) for probe in fields["probes"])
        fields |= {name: tuple(fields[name]) for name in ("texts", "held", "spoken")}
        return cls(**fields)


@dataclass(frozen=True)
class UpperBoundResult:
    """One model's answers for one user when told the required states: (question, variant) → right or wrong.

    `correct` is None where the call ended in an error.
    """

    model: str
    user: int
    user_id: str
    answers: tuple[UpperBoundAnswer, ...]
    ledger: dict[str, dict[str, Any]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "answers": [vars(answer) for answer in self.answers]}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> UpperBoundResult:
        """Raises KeyError, TypeError or ValueError where it is no such record."""
        fields = dict(value)
        fields["answers"] = tuple(
            UpperBoundAnswer(**{**answer, "variant": tuple(answer["variant"]), "order": tuple(answer["order"])})
            for answer in fields["answers"]
        )
        return cls(**fields)


@dataclass(frozen=True)
class UpperBoundAnswer:
    """One question asked with one variant given."""

    question: int
    variant: tuple[str, ...]
    order: tuple[int, ...]
    gold: int
    option: int | None
    status: str
    correct: bool | None
    reply: str = ""


def _exam(value: Mapping[str, Any]) -> ExamResult:
    lists = {name: tuple(value[name]) for name in ("order", "variant", "items")}
    return ExamResult(**{**value, **lists})
