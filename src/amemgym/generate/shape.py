"""The shape of a data set: how many people, periods and changes, and how hard. The same names everywhere.

`base` and `extra` are the published configurations. Everything under *difficulty* is off by default and is recorded
with every user that was made so.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import MAXYEAR, date
from typing import Any, Literal
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from amemgym.errors import UsageError
from amemgym.generate.calendar import FIRST_YEAR, fits_calendar
from amemgym.scenario import parse_time
from amemgym.settings import said_of

Explicitness = Literal["explicit", "implicit", "subtle", "mixed"]


class Shape(BaseModel):
    """What to make. The text of each field is what the command line's help says."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    users: int = Field(20, ge=1, description="simulated users")
    seed: int = Field(0, description="seed of everything that is drawn")
    periods: int = Field(11, ge=1, description="periods, the initial one included")
    questions: int = Field(10, ge=1, description="exam questions a user")
    states: int = Field(2, ge=1, le=6, description="state variables a question depends on")
    values: int = Field(3, ge=2, le=10, description="values a variable can have")
    changes: int = Field(4, ge=0, description="about so many variables change in a period")
    max_changes: int = Field(3, ge=0, description="a variable changes at most so often")
    months: int = Field(3, ge=1, le=120, description="months of a period")
    start: str = Field("2020-10-01", description="date at which the initial period ends")
    options: int = Field(4, ge=2, description="options a question has at least, as far as there are variants")
    # difficulty
    explicitness: Explicitness = Field(
        "explicit", description="how plainly a state is told: explicit, implicit, subtle, or mixed"
    )
    distractors: int = Field(0, ge=0, le=100, description="sessions a period that tell nothing")
    others: int = Field(0, ge=0, le=100, description="sessions a period about another person's state")
    temporary: float = Field(0.0, ge=0, le=1, description="share of changes that hold for one period and revert")
    corrections: int = Field(0, ge=0, le=100, description="values a period first told wrongly and corrected later")
    contradictions: int = Field(0, ge=0, le=100, description="values a period told wrongly and later otherwise, unsaid")
    gaps: int = Field(0, ge=0, le=100, description="quiet periods, in which nothing changes, after each with changes")

    @field_validator("start", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return value.isoformat() if isinstance(value, date) else value  # as YAML and TOML read one without quotes

    @field_validator("start")
    @classmethod
    def _is_date(cls, value: str) -> str:
        return parse_time(value).date().isoformat()

    def described(self) -> dict[str, Any]:
        """Everything that shapes one user, whichever of how many it is."""
        return self.model_dump(exclude={"users"})


#: published configurations, by name: what differs from the fields' defaults (the rounds of a session belong to a run)
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "base": {},
    "extra": {"periods": 21, "states": 3, "max_changes": 6},
}
#: the rounds a session has in them: in period 0, and later
ROUNDS = {"base": (1, 2), "extra": (2, 5)}


def make_shape(settings: Mapping[str, Any], place: str = "the settings") -> Shape:
    """A Shape from names and values. Raises UsageError, which names the key."""
    known = list(Shape.model_fields)
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
            raise UsageError(f"{place}: unknown key '{name}'; the nearest known one is '{(near or known)[0]}'")
    try:
        shape = Shape.model_validate(dict(settings))
    except ValidationError as error:
        raise UsageError(f"{place}: {said_of(error)}") from None
    if not fits_calendar(date.fromisoformat(shape.start), shape.periods, shape.months):
        raise UsageError(
            f"{place}: {shape.periods} periods of {shape.months} months from {shape.start} on do not lie between the"
            f" years {FIRST_YEAR} and {MAXYEAR}; choose another start, or fewer or shorter periods"
        )
    return shape


def parse_query(text: str, place: str) -> dict[str, str]:
    """`users=1000&seed=7` as names and values. Raises UsageError."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text))
    except ValueError:
        raise UsageError(f"{place}: '{text}' should be names and values, such as users=1000&seed=7") from None
    names = [name.replace("-", "_") for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{place}: '{twice[0]}' is given twice")
    return dict(zip(names, (value for _, value in pairs), strict=True))
