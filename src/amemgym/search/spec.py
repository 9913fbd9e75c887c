"""Everything a search can be told beside the run's own settings: the agent, the choices, and how much is tried.

A list of choices that is not given leaves that setting as the agent has it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from amemgym.errors import UnknownName, UsageError
from amemgym.evaluate import SHARED_SETTINGS, RunSpec, make_spec
from amemgym.settings import said_of

#: in a list of policies or rooms: the agent's own policy, a room without limit
NONE = "none"
#: largest number that an agent's name can hold
MOST = 9999


class TuneSpec(BaseModel):
    """One search. The text of each field is what the command line's help says."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    agent: str = Field("awe", description="the agent whose settings are searched; as named, it is where it starts")
    freq: tuple[int, ...] | None = Field(None, description="choices of freq, messages between memory writes: 2,4,8")
    n_s: tuple[int, ...] | None = Field(None, description="choices of n_s, recent messages kept verbatim: 0,4")
    topk: tuple[int, ...] | None = Field(None, description="choices of topk, items retrieved: 5,10,30")
    policies: tuple[str | None, ...] | None = Field(
        None, description="files with what awi and awe should remember, or how rag searches; 'none' is its own"
    )
    rooms: tuple[int | None, ...] | None = Field(
        None, description="choices of the most lines of awi's record, or facts of awe's store; 'none' is no limit"
    )
    trials: int = Field(12, ge=2, description="configurations that are tried (all, if there are fewer)")
    training: int | float = Field(0.5, description="training users: their share, or from 1 on their number")
    rungs: int = Field(3, ge=1, le=8, description="budgets of users and periods, up to all; the best go on to the next")
    eta: int = Field(3, ge=2, le=16, description="one in so many goes on to the next rung")

    @field_validator("freq", "n_s", "topk", "policies", "rooms", mode="before")
    @classmethod
    def _listed(cls, value: Any, info: ValidationInfo) -> Any:
        """A list, from text separated by commas or from one value; in policies and rooms, 'none' is None."""
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        elif isinstance(value, int | os.PathLike):
            value = [value]
        if info.field_name not in ("policies", "rooms") or not isinstance(value, list | tuple):
            return value
        paths = [os.fspath(one) if isinstance(one, os.PathLike) else one for one in value]
        return [None if isinstance(one, str) and one.lower() == NONE else one for one in paths]

    @field_validator("freq", "topk", "n_s", "rooms")
    @classmethod
    def _in_range(cls, values: tuple[int | None, ...] | None, info: ValidationInfo) -> Any:
        least = 0 if info.field_name == "n_s" else 1
        for value in values or ():
            if value is not None and not least <= value <= MOST:
                raise ValueError(f"holds {value}; each is from {least} to {MOST}")
        return values

    @field_validator("freq", "n_s", "topk", "policies", "rooms")
    @classmethod
    def _distinct(cls, values: tuple[Any, ...] | None) -> Any:
        if values is None:
            return None
        if not values:
            raise ValueError("is an empty list; give choices separated by commas, or leave it out")
        twice = [NONE if value is None else str(value) for value in values if values.count(value) > 1]
        if twice:
            raise ValueError(f"names {twice[0]} twice")
        return values

    @field_validator("training")
    @classmethod
    def _share_or_number(cls, value: int | float) -> int | float:
        if value <= 0 or (value >= 1 and value != int(value)):
            raise ValueError("should be a share between 0 and 1, or a whole number of users")
        return int(value) if value >= 1 else value


def make_tune_spec(settings: Mapping[str, Any], place: str = "the settings") -> tuple[TuneSpec, RunSpec]:
    """The search and the run's settings from names and values. Raises UsageError or UnknownName."""
    known = (*TuneSpec.model_fields, *SHARED_SETTINGS)
    for name in settings:
        if name not in known:
            raise UnknownName("setting of a tuning", str(name), known)
    own = {name: value for name, value in settings.items() if name in TuneSpec.model_fields}
    try:
        spec = TuneSpec.model_validate(own)
    except ValidationError as error:
        raise UsageError(f"{place}: {said_of(error)}") from None
    return spec, make_spec({name: value for name, value in settings.items() if name not in own}, place)
