"""What an episode leaves behind: plain records, written to the run directory and read by the scores.

A wrong answer, no answer and an error are three things: `status` is the parser's word for the reply, or `error` where
the call ended without one (then `error` says why, and the exam counts in no score).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from amemgym.scenario import Scenario

T = TypeVar("T")
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
        """Raises ValueError where it is no such record."""
        found = validated(_EPISODE, value)
        validated(_TALK, found.conversation)
        validated(_LEDGER, found.ledger)
        told: list[ExamResult | ProbeResult] = [*found.exams, *found.probes]
        placed = [*(entry.items for entry in told), *(held for held in found.holdings if held is not None)]
        if not all(0 <= item < len(found.texts) for items in placed for item in items):
            raise ValueError(f"it points to more texts than its {len(found.texts)}")
        if len(found.spoken) not in (0, len(found.held)):
            raise ValueError(f"held has {len(found.held)} periods, spoken {len(found.spoken)}")
        return found


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
        """Raises ValueError where it is no such record."""
        found = validated(_UPPER_BOUND, value)
        validated(_LEDGER, found.ledger)
        return found


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


class _Message(BaseModel):
    role: str
    content: str
    time: str | None = None


class _Count(BaseModel):
    """What a role used, as it stands in a ledger."""

    calls: int
    input: int
    output: int
    estimated: int
    seconds: float
    unreadable: dict[str, int]
    #: earlier versions did not tell; None where no endpoint did
    cached: int | None = None
    cached_calls: int = 0
    reasoning: int | None = None
    reasoning_calls: int = 0


_EPISODE = TypeAdapter(EpisodeResult)
_UPPER_BOUND = TypeAdapter(UpperBoundResult)
_TALK = TypeAdapter(list[list[list[_Message]]])
_LEDGER = TypeAdapter(dict[str, _Count])


def validated(form: TypeAdapter[T], value: Any) -> T:
    """The value in that form. Raises ValueError, which names the first place that has another."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        said = first["msg"]
        raise ValueError(f"{place}: {said[:1].lower()}{said[1:]}" if place else said) from None


def check_against(result: EpisodeResult | UpperBoundResult, scenario: Scenario) -> None:
    """Raises ValueError where a result is about a period, question or option that its user does not have."""
    told: Sequence[ExamResult | ProbeResult | UpperBoundAnswer] = (
        result.answers if isinstance(result, UpperBoundResult) else (*result.exams, *result.probes)
    )
    for entry in told:
        period = 0 if isinstance(entry, UpperBoundAnswer) else entry.period
        if not 0 <= period < len(scenario.periods):
            raise ValueError(f"the user has {len(scenario.periods)} periods, and it has results of period {period}")
        if not 0 <= entry.question < len(scenario.qas):
            raise ValueError(f"the user has {len(scenario.qas)} questions, and it has results of {entry.question}")
        if isinstance(entry, ProbeResult):
            continue
        asked, place = scenario.qas[entry.question], f"period {period}, question {entry.question}"
        options = len(asked.answer_choices)
        numbers = {entry.gold} if entry.option is None else {entry.gold, entry.option}
        if sorted(entry.order) != list(range(options)) or not all(1 <= number <= options for number in numbers):
            raise ValueError(f"{place}: order, gold or option is out of the range of its {options} options")
        if len(entry.variant) != len(asked.required_info):
            raise ValueError(f"{place}: its variant has not one value for each of {', '.join(asked.required_info)}")
