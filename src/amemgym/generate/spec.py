"""Everything a generation can be told beside the shape of what it makes; and the files both can be read from.

A file holds any of these names and the shape's (YAML, TOML, JSON). An environment configuration of the original
benchmark (v1) is understood too: its numbers, and its models with their keys.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from amemgym import files, secrets
from amemgym.errors import UnknownName, UsageError
from amemgym.generate.shape import CONFIGURATIONS, Shape, make_shape
from amemgym.llm import KEY, Limits, ModelSettings, read_llm_config
from amemgym.settings import read_settings, said_of


class GenerationSpec(BaseModel):
    """How to make it. The text of each field is what the command line's help says."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    source: str = Field("model", description="what makes the scenarios: model, or bank:<set> (which needs no model)")
    model: str | None = Field(None, description="the language model: openai:<name>")
    base_url: str | None = Field(None, description="its endpoint, if not OPENAI_BASE_URL")
    judge_model: str | None = Field(None, description="the model that checks what was written, if another")
    temperature: float | None = Field(0.7, ge=0, description="the model's sampling temperature (the judge's is 0)")
    max_tokens: int | None = Field(8192, ge=1, description="longest reply, in tokens")
    personas: str = Field(
        "bank", description="who the users are: bank, or a file (.jsonl, .json, .csv, .parquet) with a column 'persona'"
    )
    language: str = Field("en", description="language of the prompts, and so of the texts")
    repairs: int = Field(3, ge=0, description="how often a stage is asked again for what was wrong with it")
    # what follows changes how it goes, not what comes out
    concurrency: int = Field(8, ge=1, description="calls under way at once")
    timeout: float = Field(120.0, gt=0, description="seconds without an answer after which a call failed")
    attempts: int = Field(6, ge=1, description="tries of a call where trying again can help")
    rpm: int | None = Field(None, ge=1, description="most requests a minute to each endpoint")
    tpm: int | None = Field(None, ge=1, description="most tokens a minute to each endpoint")
    prices: str | None = Field(None, description="file with prices (.yaml, .toml, .json) that go before the known ones")

    def limits(self) -> Limits:
        """How much is asked at once, and how often."""
        return Limits(self.concurrency, self.attempts, self.rpm, self.tpm)

    @field_validator("personas", "prices", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else value

    def model_settings(self, api_key: SecretStr | None = None) -> ModelSettings:
        """How the model is reached."""
        return ModelSettings(
            model=self.model or "",
            base_url=self.base_url,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout=self.timeout,
            api_key=api_key,
        )

    def judge_settings(self, api_key: SecretStr | None = None) -> ModelSettings:
        """How the judge is reached: at the model's address."""
        return replace(self.model_settings(api_key), model=self.judge_model or self.model or "", temperature=0.0)


@dataclass(frozen=True)
class Settings:
    """What a configuration and the flags say together: names of `Shape`, names of `GenerationSpec`, a v1 file's key."""

    shape: dict[str, Any]
    spec: dict[str, Any]
    key: SecretStr | None = field(default=None, repr=False)
    remarks: tuple[str, ...] = ()

    def over(self, other: Settings) -> Settings:
        """These, and the other's where these say nothing. A file's key is for the file's address."""
        spec = {**other.spec, **self.spec}
        key = other.key if spec.get("base_url") == other.spec.get("base_url") else None
        return Settings({**other.shape, **self.shape}, spec, key, (*other.remarks, *self.remarks))


def split_settings(settings: Mapping[str, Any], place: str) -> Settings:
    """Names and values by whose they are. Raises UsageError, which names the nearest known name."""
    known = [*Shape.model_fields, *GenerationSpec.model_fields]
    for name in settings:
        if "key" in str(name):
            raise UsageError(f"{place}: '{name}': keys are read from the environment alone ({KEY})")
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
            raise UsageError(f"{place}: unknown key '{name}'; the nearest known one is '{(near or known)[0]}'")
    shape = {name: value for name, value in settings.items() if name in Shape.model_fields}
    return Settings(shape, {name: value for name, value in settings.items() if name not in shape})


def make_generation_spec(settings: Mapping[str, Any], place: str = "the settings") -> GenerationSpec:
    """A GenerationSpec from names and values. Raises UsageError, which names the key."""
    try:
        return GenerationSpec.model_validate(dict(settings))
    except ValidationError as error:
        raise UsageError(f"{place}: {said_of(error)}") from None


def read_configuration(config: str | None) -> Settings:
    """A published configuration by name, or a file. Raises UnknownName or UsageError."""
    if config is None:
        return Settings({}, {})
    if config in CONFIGURATIONS:
        return Settings(dict(CONFIGURATIONS[config]), {})
    if Path(config).suffix not in (".yaml", ".yml", ".toml", ".json"):
        raise UnknownName("configuration", config, CONFIGURATIONS, "Or give a file (.yaml, .toml, .json).")
    path = files.at_home(config)
    value = read_settings(path, "periods: 11")
    place = f"configuration {path}"
    if any(name in value for name in _V1):
        found = _from_v1(value, path)
    else:
        found = split_settings({str(name).replace("-", "_"): said for name, said in value.items()}, place)
    make_shape(found.shape, place)
    make_generation_spec(found.spec, place)
    return found


#: names of a v1 environment configuration → ours; periods are counted there without the initial one
_V1 = {
    "start_date": "start",
    "num_user_profiles": "users",
    "num_questions": "questions",
    "num_periods": "periods",
    "num_months_per_period": "months",
    "num_states_per_question": "states",
    "num_choices_per_state": "values",
    "num_changes_per_period": "changes",
    "max_changes_per_state": "max_changes",
    "min_state_variants": "options",
}
_V1_ELSEWHERE = {"lang", "seed", "llm_config_high_temp", "llm_config_low_temp", "num_rounds_init", "num_rounds_update"}


def _from_v1(value: Mapping[str, Any], path: Path) -> Settings:
    """The numbers, the model of high temperature that writes, and that of low temperature as the judge."""
    shape = {ours: value[theirs] for theirs, ours in _V1.items() if value.get(theirs) is not None}
    counted = shape.get("periods")
    if isinstance(counted, str) and counted.isdecimal() and len(counted) < 9:  # as a number is read everywhere else
        counted = int(counted)
    if isinstance(counted, int | float):
        shape["periods"] = counted + 1
    if value.get("seed") is not None:
        shape["seed"] = value["seed"]
    spec: dict[str, Any] = {"language": value["lang"]} if value.get("lang") else {}
    writer = read_llm_config(value.get("llm_config_high_temp"), f"configuration {path}: 'llm_config_high_temp")
    judge = read_llm_config(value.get("llm_config_low_temp"), f"configuration {path}: 'llm_config_low_temp")
    if writer.llm_model:
        spec |= {"model": f"openai:{writer.llm_model}", "base_url": writer.base_url}
        spec |= {"temperature": writer.temperature, "max_tokens": writer.max_tokens}
    left = [name for name, said in value.items() if name not in _V1 and name not in _V1_ELSEWHERE and said]
    if judge.llm_model and judge.base_url != writer.base_url:
        left.append("llm_config_low_temp (a judge is asked at the model's address)")
    elif judge.llm_model and judge.llm_model != writer.llm_model:
        spec["judge_model"] = f"openai:{judge.llm_model}"
    spec = {name: said for name, said in spec.items() if said is not None}
    taken = ", ".join(f"{name} {said}" for name, said in sorted({**shape, **spec}.items()))
    remarks = [f"{path} is a v1 environment configuration; taken from it: {taken}"]
    if left:
        remarks.append(f"{path}: not used: {', '.join(sorted(left))}")
    if judge.api_key:
        secrets.remember(judge.api_key)  # never sent, and never to be written either
    key = secrets.remember(writer.api_key) if writer.api_key else None
    return Settings(shape, spec, key, tuple(remarks))
