"""Everything an evolution can be told: what is its own, and the settings of a run, under the same names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from amemgym.errors import UnknownName, UsageError
from amemgym.evaluate import SHARED_SETTINGS, RunSpec, make_spec
from amemgym.evolution.arms import NONE
from amemgym.settings import said_of

KINDS = (NONE, "question", "complete")
#: settings of a run that an evolution has too
RUN_SETTINGS = (*SHARED_SETTINGS, "policy", "probe", "upper_bound", "episode_timeout", "budget", "prices", "out")


class EvolveSpec(BaseModel):
    """What an evolution has beside a run's settings. The text of each field is what the command line's help says."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    agent: str = Field(
        "awi", description="the agent that evolves: awi, awe or rag, also with -freq-n_s-topk, or a v1 file"
    )
    feedback: tuple[str, ...] = Field(
        ("question", "complete"),
        description="what it is told of its exams: none, question, complete, or several separated by commas",
    )
    training: float = Field(0.5, gt=0, description="training users: their share (below 1) or number")
    room: int = Field(16, ge=0, description="most lines of awi's record, most facts of awe's store; 0 for no limit")
    run: RunSpec = Field(default_factory=lambda: make_spec({}))

    @field_validator("feedback", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("feedback")
    @classmethod
    def _known(cls, kinds: tuple[str, ...]) -> tuple[str, ...]:
        for kind in kinds:
            if kind not in KINDS:
                raise UnknownName("kind of feedback", kind, KINDS)
        if not kinds:
            raise ValueError(f"names no kind; give one or more of {', '.join(KINDS)}")
        return tuple(kind for kind in KINDS if kind in kinds)

    @field_validator("training")
    @classmethod
    def _share_or_number(cls, training: float) -> float:
        if training > 1 and training != int(training):
            raise ValueError("is neither a share below 1 nor a whole number of users")
        return training

    @property
    def training_users(self) -> float | int:
        """As `split_users` takes it."""
        return self.training if self.training < 1 else int(self.training)


def make_evolve_spec(settings: Mapping[str, Any], place: str = "the settings") -> EvolveSpec:
    """An EvolveSpec from names and values, a run's settings among them. Raises UsageError or UnknownName."""
    own = [name for name in EvolveSpec.model_fields if name != "run"]
    for name in settings:
        if name not in own and name not in RUN_SETTINGS:
            raise UnknownName("setting of an evolution", name, [*own, *RUN_SETTINGS])
    run = make_spec({name: value for name, value in settings.items() if name in RUN_SETTINGS}, place)
    try:
        return EvolveSpec.model_validate({**{n: v for n, v in settings.items() if n in own}, "run": run})
    except ValidationError as error:
        raise UsageError(f"{place}: {said_of(error)}") from None
