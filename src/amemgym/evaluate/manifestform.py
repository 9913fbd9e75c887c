"""What of a manifest is read, whichever version wrote it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field, TypeAdapter

from amemgym.llm.prices import DescribedPrices


class _Model(BaseModel):
    model: str


class _Agent(BaseModel):
    name: str
    model: _Model | None = None
    freq: int | None = None
    n_s: int | None = None


class _Protocol(BaseModel):
    name: str
    version: int
    first_score: Literal["ratio_of_means", "mean_of_ratios"]


class _Part(BaseModel):
    sha256: str
    users: int
    periods: int


class _OffPolicy(BaseModel):
    agent: str


class _Shard(BaseModel):
    number: int = Field(ge=1)
    of: int = Field(ge=1)


class _Compared(BaseModel):
    amemgym: str
    protocol: _Protocol
    data: _Part
    agents: list[_Agent] = Field(min_length=1)
    model: _Model
    user_model: _Model
    seed: int
    trials: int = Field(ge=1)
    off_policy: _OffPolicy | None = None
    shard: _Shard | None = None


class _Data(BaseModel):
    name: str
    sha256: str
    played: str
    users: int
    questions: int
    exams: int


class _Bounds(BaseModel):
    run: str | None
    agents: dict[str, str | None]


class _Manifest(BaseModel):
    fingerprint: str
    data: _Data
    compared: _Compared
    upper_bound: _Bounds
    settings: dict[str, Any]
    #: earlier versions wrote none
    prices: DescribedPrices | None = None


MANIFEST = TypeAdapter(_Manifest)
