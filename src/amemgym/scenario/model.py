"""The data model: one simulated user, the states of their life over time, what they say and what they ask.

The classes follow the published v1 format (SPEC section 5) name for name. Fields this package does not know are kept,
and so is the order of the fields, so that reading and writing a data set gives the same JSON again. Gold is derived
from the states, never stored.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, lru_cache
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)


@lru_cache(maxsize=4096)  # a period's end is asked for with each of its questions
def parse_time(text: str) -> datetime:
    """A v1 time (`2020-10-01` or `2020-09-22 20:15:06`) as a naive datetime; raises ValueError."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=None)


def _is_time(text: str) -> str:
    try:
        parse_time(text)
    except ValueError:
        raise ValueError(f"'{text}' is no time; write it like 2020-09-22 20:15:06") from None
    return text


TimeText = Annotated[str, AfterValidator(_is_time)]


class V1Model(BaseModel):
    """Strict types, unknown fields kept, fields written in the order they were read."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)
    _order: tuple[str, ...] = PrivateAttr(default=())

    @model_validator(mode="wrap")
    @classmethod
    def _remember_order(cls, data: Any, handler: ModelWrapValidatorHandler[V1Model]) -> V1Model:
        model = handler(data)
        if isinstance(data, dict):
            model._order = tuple(data)
        return model

    @model_serializer(mode="wrap")
    def _write_in_order(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = handler(self)
        given = self.model_fields_set | set(self.model_extra or {})
        order = [*self._order, *(name for name in fields if name not in self._order)]
        return {name: fields[name] for name in order if name in fields and name in given}


class UserProfile(V1Model):
    """The persona p. Fields beyond these (hobbies, occupation, …) are kept as they are."""

    name: str = ""
    formatted_str: str = ""

    @property
    def text(self) -> str:
        """The profile as the lines a simulated user is told."""
        if self.formatted_str:
            return self.formatted_str
        fields = self.model_dump(exclude={"formatted_str"})
        return "\n".join(f"{name}: {value}" for name, value in fields.items())


class Session(V1Model):
    """One conversation: its time, its fixed opening utterance, and the states that utterance exposes.

    Beyond v1, where data was made with difficulties: `kind` says what the session is for (`update`, `mistake`,
    `correction`, `contradiction`, `distractor`, `other`), `retracted_states` what its utterance tells of the user that
    is not so and that a later session of the same period tells otherwise.
    """

    query: str
    session_time: TimeText
    event: str | None = None
    exposed_states: dict[str, str] = {}
    messages: list[Any] = []
    kind: str | None = None
    retracted_states: dict[str, str] = {}

    @property
    def time(self) -> datetime:
        return parse_time(self.session_time)


class Update(V1Model):
    """A change of one state variable; `old` is null in period 0."""

    new: str
    old: str | None = None


class Period(V1Model):
    """A stretch of months: its sessions and the user's whole state at its end."""

    period_end: TimeText
    sessions: list[Session]
    state: dict[str, str]
    period_start: TimeText | None = None
    period_summary: str | None = None
    updates: dict[str, Update] = {}
    update_cnts: dict[str, int] = {}

    @property
    def end(self) -> datetime:
        """The simulated time of the period's exam: its end, or its last session where that is later."""
        return max([parse_time(self.period_end), *(session.time for session in self.sessions)])


class AnswerOption(V1Model):
    """One written answer and the variant (values of the required info, in order) it is right for."""

    state: list[str]
    answer: str
    type: str | None = None


class Question(V1Model):
    """An advice question whose right answer depends on a few state variables."""

    query: str
    required_info: list[str]
    answer_choices: list[AnswerOption]


class Scenario(V1Model):
    """Everything one episode is grounded on. `generation` says how it was made, where this package made it."""

    id: str
    user_profile: UserProfile
    state_schema: dict[str, list[str]]
    periods: list[Period]
    qas: list[Question]
    start_time: TimeText | None = None
    generation: dict[str, Any] | None = None

    def variant(self, period: int, question: int) -> tuple[str, ...]:
        """The values of the question's required info after that period (both count from 0)."""
        state = self.periods[period].state
        return tuple(state[name] for name in self.qas[question].required_info)

    def gold(self, period: int, question: int) -> int:
        """The index (from 0, in the data's order) of the option that is right after that period."""
        return self._index_of_variant[question][self.variant(period, question)]

    @cached_property
    def _index_of_variant(self) -> list[dict[tuple[str, ...], int]]:
        return [{tuple(o.state): i for i, o in enumerate(q.answer_choices)} for q in self.qas]

    def limited(self, periods: int | None) -> Scenario:
        """The same user with only the first periods."""
        if periods is None or periods >= len(self.periods):
            return self
        return self.model_copy(update={"periods": self.periods[:periods]})
