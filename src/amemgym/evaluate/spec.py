"""Everything a run can be told, once: the same names in a file, on the command line and in Python.

A `RunSpec` is read from YAML, TOML or JSON; an unknown key is an error that names the nearest known one. An
environment configuration of the original benchmark (v1) is understood too.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from amemgym import secrets
from amemgym.agents import AgentSpec, is_agent_file, parse_agent, read_agent_file
from amemgym.errors import UsageError
from amemgym.llm import (
    AGENT_KEY,
    KEY,
    LIMIT_SETTINGS,
    USER_KEY,
    USER_URL,
    Limits,
    ModelSettings,
    asks_endpoint,
    read_llm_config,
    same_address,
)
from amemgym.settings import read_settings, said_of

DEFAULT_AGENTS = ("native", "rag", "awe", "awi", "uniform", "frozen", "lag-1", "oracle")


#: fields of `RunSpec` that whatever is made of several runs has too, under the same names
SHARED_SETTINGS = (
    "data",
    "model",
    "base_url",
    "user_model",
    "user_base_url",
    "users",
    "periods",
    "seed",
    "protocol",
    "rounds_initial",
    "rounds_later",
    "temperature",
    "max_tokens",
    "user_temperature",
    "user_max_tokens",
    "context_tokens",
    "choice",
    "embedder",
    "language",
    *LIMIT_SETTINGS,
)

#: fields of `RunSpec` that change how a run goes, not what comes out: a resume may be given others
FREE_SETTINGS = (*LIMIT_SETTINGS, "episode_timeout", "budget", "prices", "executor", "workers")


class RunSpec(BaseModel):
    """One run. The text of each field is what the command line's help says."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    data: str = Field("starter", description="data set: a name (starter, v1.base) or the path of a v1 JSON file")
    agents: tuple[str, ...] = Field(DEFAULT_AGENTS, description="agents, separated by commas")
    model: str = Field("offline", description="the assistants' model: offline, openai:<name>, or local:<file.gguf>")
    base_url: str | None = Field(None, description="the model's endpoint, if not OPENAI_BASE_URL")
    user_model: str | None = Field(None, description="the simulated user's model, if another")
    user_base_url: str | None = Field(None, description="the simulated user's endpoint, if another")
    users: int | None = Field(None, ge=1, description="only the first users")
    periods: int | None = Field(None, ge=1, description="only the first periods")
    only: tuple[str, ...] | None = Field(None, description="only the users with these ids, separated by commas")
    trials: int = Field(1, ge=1, description="independent repetitions of every episode")
    seed: int = Field(0, description="seed of option order and reference agents")
    protocol: str = Field("amemgym", description="amemgym, or v1 for what changes published numbers")
    rounds_initial: int = Field(1, ge=1, description="rounds of a session in period 0")
    rounds_later: int = Field(2, ge=1, description="rounds of a session in later periods")
    temperature: float | None = Field(0.0, ge=0, description="sampling temperature")
    max_tokens: int | None = Field(2048, ge=1, description="longest reply, in tokens")
    user_temperature: float | None = Field(None, ge=0, description="the simulated user's, if another")
    user_max_tokens: int | None = Field(None, ge=1, description="the simulated user's, if another")
    context_tokens: int = Field(128_000, ge=8_192, description="the model's context, in tokens")
    choice: Literal["generate", "rotate"] = Field(
        "generate", description="how exams are answered: generate, or rotate (scores over rotated options; local: only)"
    )
    embedder: str = Field("wordllama", description="what memories embed with")
    policy: str | None = Field(
        None, description="text file with what awi and awe should remember, or how rag should search"
    )
    room: int | None = Field(None, ge=1, description="most lines of awi's record, most facts of awe's store")
    language: str = Field("en", description="language of the prompts")
    probe: bool = Field(True, description="ask for the required states too, to tell why answers are wrong")
    off_policy: str | None = Field(
        None, description="run directory whose recorded conversations the agents are given, instead of having their own"
    )
    off_policy_agent: str | None = Field(
        None, description="whose conversations those are (default: the first that has)"
    )
    upper_bound: bool = Field(True, description="measure the upper bound (memory scores need it)")
    shard: str | None = Field(None, description="play only the i-th of n parts of the users, as i/n (see merge)")
    # what follows changes how a run goes, not what comes out
    concurrency: int = Field(8, ge=1, description="calls under way at once")
    timeout: float = Field(120.0, gt=0, description="seconds without an answer after which a call failed")
    attempts: int = Field(6, ge=1, description="tries of a call where trying again can help")
    rpm: int | None = Field(None, ge=1, description="most requests a minute to each endpoint")
    tpm: int | None = Field(None, ge=1, description="most tokens a minute to each endpoint")
    episode_timeout: float | None = Field(None, gt=0, description="seconds after which an episode counts as failed")
    budget: str | None = Field(None, description="stop before more is spent: US dollars (5usd) or tokens (2000000)")
    prices: str | None = Field(None, description="file with prices (.yaml, .toml, .json) that go before the known ones")
    executor: Literal["local", "ray"] = Field("local", description="where episodes are played: local, ray (a cluster)")
    workers: int | None = Field(None, ge=1, description="processes that play with --executor ray [one a CPU]")
    out: str | None = Field(None, description="run directory (default: runs/<data>-<model>-<fingerprint>)")

    @field_validator("data", "off_policy", "out", "policy", "prices", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else value

    @field_validator("off_policy")
    @classmethod
    def _names_a_place(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("names no directory; give that of the run whose conversations are wanted")
        return value

    @field_validator("budget", mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    @field_validator("agents", "only", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("only")
    @classmethod
    def _some(cls, ids: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if ids is not None and not ids:
            raise ValueError("names no user; give ids separated by commas")
        return ids

    @field_validator("agents")
    @classmethod
    def _distinct(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names:
            raise ValueError("names no agent; give names separated by commas, such as native,rag")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"names {', '.join(twice)} twice")
        return names

    def model_settings(self, api_key: SecretStr | None = None) -> ModelSettings:
        """How the assistants' model is reached."""
        return ModelSettings(
            model=self.model,
            base_url=self.base_url,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            timeout=self.timeout,
            embedder=self.embedder,
            context_tokens=self.context_tokens,
            choice=self.choice,
            api_key=api_key,
        )

    def user_settings(self, api_key: SecretStr | None = None) -> ModelSettings:
        """How the simulated user's model is reached: the assistants' way, but for what is given for it.

        An address of its own is sent its own key (AMEMGYM_USER_API_KEY), never the assistants'.
        """
        settings = replace(
            self.model_settings(api_key),
            model=self.user_model or self.model,
            temperature=self.temperature if self.user_temperature is None else self.user_temperature,
            max_tokens=self.max_tokens if self.user_max_tokens is None else self.user_max_tokens,
            choice="generate",  # a user is examined in nothing
        )
        own_url = self.user_base_url or os.environ.get(USER_URL) or None
        same = own_url is None or same_address(own_url, self.model_settings().address())
        keys = (USER_KEY, KEY) if same else (USER_KEY,)
        return replace(settings, base_url=own_url or self.base_url, key_variables=keys)

    def limits(self) -> Limits:
        """How much is asked at once, and how often."""
        return Limits(self.concurrency, self.attempts, self.rpm, self.tpm)

    def agent_specs(self, say: Callable[[str], None]) -> list[AgentSpec]:
        """The agents by name or v1 file. Raises UnknownName or UsageError."""
        return [self._agent(name, say) for name in self.agents]

    def _agent(self, name: str, say: Callable[[str], None]) -> AgentSpec:
        if is_agent_file(name):
            return read_agent_file(Path(name), self.model_settings(), self.context_tokens, say)
        return parse_agent(name, self.context_tokens, self.timeout)


def make_spec(settings: Mapping[str, Any], place: str = "the settings") -> RunSpec:
    """A RunSpec from names and values. Raises UsageError, which names the key."""
    known = list(RunSpec.model_fields)
    for name in settings:
        if "key" in str(name):
            raise UsageError(
                f"{place}: '{name}': keys are read from the environment alone ({KEY}, {USER_KEY}, {AGENT_KEY})"
            )
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
            raise UsageError(
                f"{place}: unknown key '{name}'; the nearest known one is '{near[0] if near else known[0]}'"
            )
    try:
        return RunSpec.model_validate(dict(settings))
    except ValidationError as error:
        raise UsageError(f"{place}: {said_of(error)}") from None


def check_addresses(spec: RunSpec, models: Sequence[ModelSettings]) -> None:
    """Raises UsageError where an address is given that nothing would ask."""
    if not any(asks_endpoint(settings.model) for settings in models):
        where = "offline" if all(settings.model == "offline" for settings in models) else "on this machine"
        for flag, url in (("--base-url", spec.base_url), ("--user-base-url", spec.user_base_url)):
            if url:
                raise UsageError(f"{flag} {url}: nothing is asked there, the model is {where}; add --model openai:NAME")


def read_config(path: Path) -> tuple[dict[str, Any], SecretStr | None, list[str]]:
    """The settings in a configuration file, a key that a v1 file holds, and remarks. Raises UsageError."""
    value = read_settings(path, "agents: [native, rag]")
    if _is_v1_environment(value):
        return _from_v1_environment(value, path)
    value = {str(name).replace("-", "_"): setting for name, setting in value.items()}
    make_spec(value, f"configuration {path}")
    return value, None, []


def _is_v1_environment(value: Mapping[str, Any]) -> bool:
    return any(name in value for name in ("num_rounds_init", "num_rounds_update", "llm_config_low_temp"))


def _from_v1_environment(value: Mapping[str, Any], path: Path) -> tuple[dict[str, Any], SecretStr | None, list[str]]:
    """A v1 environment configuration: rounds, language and the simulated user's model (its low-temperature one).

    Its other numbers describe how data was generated; the data itself decides them here.
    """
    names = {
        "num_rounds_init": "rounds_initial",
        "num_rounds_update": "rounds_later",
        "lang": "language",
        "seed": "seed",
    }
    settings: dict[str, Any] = {new: value[old] for old, new in names.items() if value.get(old) is not None}
    config = read_llm_config(value.get("llm_config_low_temp"), f"configuration {path}: 'llm_config_low_temp")
    if config.llm_model:
        settings |= {"user_model": f"openai:{config.llm_model}", "user_base_url": config.base_url}
        settings |= {"user_temperature": config.temperature, "user_max_tokens": config.max_tokens}
        settings = {name: setting for name, setting in settings.items() if setting is not None}
    taken = ", ".join(f"{name} {setting}" for name, setting in sorted(settings.items()))
    remark = f"{path} is a v1 environment configuration; taken from it: {taken}"
    make_spec(settings, f"configuration {path}")
    return settings, secrets.remember(config.api_key) if config.api_key else None, [remark]
