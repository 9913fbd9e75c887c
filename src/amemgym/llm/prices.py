"""What tokens cost: by a file of the user's, which has a date, else by the list in the package `genai-prices`. Nothing
is ever fetched.

A model or an endpoint that neither knows has no price: unknown is said, not 0. What runs on this machine costs 0 by
nature. A run writes the rates that it counts by into its manifest when it begins, so that its bill can be made again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from amemgym import files
from amemgym.errors import UsageError
from amemgym.llm.address import checked_url
from amemgym.llm.models import DEFAULT_URL, LOCAL, ModelSettings, model_title, same_address
from amemgym.secrets import redact
from amemgym.settings import read_settings, said_of

#: what a rate is asked for: one request of ordinary length, as some models charge more for very long ones
_REQUEST = 1000
#: prices are written in US dollars per so many tokens
MILLION = 1_000_000
#: where the rates of what needs no endpoint are from
BY_NATURE = "runs on this machine"


@dataclass(frozen=True)
class Rate:
    """US dollars a token; `cached` for input that the endpoint had read before, None where that costs the same.

    `source` and `date` are those of the list it is from; `free` says that it is 0 by nature.
    """

    input: float
    output: float
    cached: float | None = None
    source: str = field(default="", compare=False)
    date: str | None = field(default=None, compare=False)
    free: bool = field(default=False, compare=False)

    def of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """US dollars for so many tokens; those cached are part of the input."""
        cached = self.input if self.cached is None else self.cached
        return self.input * (input_tokens - cached_tokens) + cached * cached_tokens + self.output * output_tokens

    def as_dict(self) -> dict[str, Any]:
        """US dollars per million tokens, as prices are written."""
        return {
            "input": _written(self.input),
            "cached": None if self.cached is None else _written(self.cached),
            "output": _written(self.output),
            "source": self.source,
            "date": self.date,
            "free": self.free,
        }


FREE = Rate(0.0, 0.0, source=BY_NATURE, free=True)

# ---- a file of prices


def _no_number(value: Any) -> Any:
    """A number is no date, though it could be read as seconds since 1970."""
    if isinstance(value, bool | int | float):
        raise ValueError("should be a date such as 2025-07-01")
    return value.date() if isinstance(value, datetime) else value


def _a_number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("should be a number of US dollars per million tokens")
    return value


Dollars = Annotated[float, BeforeValidator(_a_number), Field(ge=0)]


class _Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: Dollars
    output: Dollars
    cached: Dollars | None = None


class _Model(BaseModel):
    """The same for a model; `endpoints` are those where it costs something else."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: Dollars | None = None
    output: Dollars | None = None
    cached: Dollars | None = None
    endpoints: dict[str, _Price] = {}

    @model_validator(mode="after")
    def _has_a_price(self) -> Self:
        if (self.input is None) != (self.output is None) or (self.input is None and not self.endpoints):
            raise ValueError("needs both an input and an output price")
        if self.input is None and self.cached is not None:
            raise ValueError("has a cached price, but no input price")
        return self

    def at(self, base_url: str | None) -> _Price | None:
        for address, price in self.endpoints.items():
            if same_address(address, base_url):
                return price
        if self.input is None or self.output is None:
            return None
        return _Price(input=self.input, output=self.output, cached=self.cached)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    date: Annotated[date, BeforeValidator(_no_number)]
    models: dict[str, _Model] = Field(min_length=1)


# ---- rates as a manifest has them


class _DescribedRate(BaseModel):
    input: float
    cached: float | None
    output: float
    source: str
    date: str | None
    free: bool


class _DescribedModel(BaseModel):
    model: str
    base_url: str | None
    rate: _DescribedRate | None


class DescribedPrices(BaseModel):
    """What `PriceList.described` gives, to be read."""

    source: str
    date: str | None
    models: list[_DescribedModel]


@dataclass(frozen=True)
class PriceList:
    """What is known of prices.

    `date` and `source` are the file's; without one, `source` is the package with its version, and `date` None, as its
    list has none.
    """

    source: str
    date: str | None = None
    _named: Mapping[str, _Model] = field(default_factory=dict, repr=False)
    #: the rates that a run began with, by model and address: then nothing else is looked up
    _recorded: Mapping[tuple[str, str | None], Rate | None] | None = field(default=None, repr=False)

    @classmethod
    def read(cls, path: str | Path | None) -> PriceList:
        """The prices in a file (YAML, TOML, JSON), before those that are known without one. Raises UsageError."""
        if path is None:
            return cls(_package())
        place = files.at_home(path)
        value = read_settings(place, "date: 2025-07-01", what="price file")
        try:
            found = _File.model_validate(value)
            for model in found.models.values():
                for address in model.endpoints:
                    checked_url(address, "", "endpoint")
        except ValidationError as error:
            raise UsageError(f"price file {place}: {redact(_fault(error))}") from None
        except UsageError as error:
            raise UsageError(f"price file {place}: {error}") from None
        return cls(redact(place.name), found.date.isoformat(), found.models)

    @classmethod
    def recorded(cls, prices: Mapping[str, Any] | None) -> PriceList:
        """The rates that `described` gave, as they stand in a manifest; nothing beside them is known."""
        prices = prices or {}
        known = {(entry["model"], entry["base_url"]): _rate(entry["rate"]) for entry in prices.get("models", ())}
        return cls(prices.get("source", ""), prices.get("date"), {}, known)

    def rate(self, settings: ModelSettings) -> Rate | None:
        """What a model costs at its endpoint, or None where that is not known. Raises UsageError for a broken
        address."""
        return self.of(model_title(settings.model), settings.resolved_url())

    def of(self, model: str, base_url: str | None) -> Rate | None:
        """The same by a model's name and address, as a manifest has them."""
        if self._recorded is not None and (model, base_url) in self._recorded:
            return self._recorded[model, base_url]
        for name in (model, model.partition(":")[2]):
            if name in self._named and (price := self._named[name].at(base_url)) is not None:
                cached = None if price.cached is None else price.cached / MILLION
                return Rate(price.input / MILLION, price.output / MILLION, cached, self.source, self.date)
        if model == "offline" or model.startswith(f"{LOCAL}:"):
            return FREE
        return None if self._recorded is not None else _known(model, base_url)

    def described(self, models: Iterable[tuple[str, str | None]]) -> dict[str, Any]:
        """The rates of these models (name and address), for a manifest; None where a price is not known."""
        rates = {place: self.of(*place) for place in models}
        return {
            "source": self.source,
            "date": self.date,
            "models": [
                {"model": model, "base_url": base_url, "rate": rate.as_dict() if rate else None}
                for (model, base_url), rate in rates.items()
            ],
        }


def rate_of(settings: ModelSettings) -> Rate | None:
    """What a model costs by what is known without a file. Raises as `PriceList.rate`."""
    return PriceList.read(None).rate(settings)


def _fault(error: ValidationError) -> str:
    """The first thing that is wrong with a file, in its own words."""
    first = error.errors(include_url=False)[0]
    name, kind = ".".join(str(part) for part in first["loc"]), first["type"]
    if kind == "missing":
        return f"'{name}' is missing; it needs a date, and models with an input and an output price"
    if kind == "extra_forbidden":
        return f"'{name}' is unknown; a file has date and models, a model input, cached, output and endpoints"
    if kind.startswith("date"):
        return f"'{name}' should be a date such as 2025-07-01"
    if kind in ("model_type", "dict_type"):
        return f"'{name}' should hold names and values, such as input: 0.4"
    return said_of(error)


def _rate(value: Mapping[str, Any] | None) -> Rate | None:
    if value is None:
        return None
    cached = None if value["cached"] is None else value["cached"] / MILLION
    dollars = (value["input"] / MILLION, value["output"] / MILLION, cached)
    return Rate(*dollars, source=value["source"], date=value["date"], free=value["free"])


def _package() -> str:
    from importlib.metadata import version

    return f"genai-prices {version('genai-prices')}"


def _known(model: str, base_url: str | None) -> Rate | None:
    """The price in the package's list on the day of asking: it has prices that begin or end on a day."""
    from genai_prices import Usage, calc_price  # 3 MB of prices, so only where they are asked for
    from genai_prices.types import PriceCalculation

    kind, _, name = model.partition(":")
    if kind != "openai" or not name:
        return None
    # the one place that asks for the day; noon, so that discounts by the hour make no two rates of one day
    noon = datetime.combine(datetime.now(UTC).date(), time(12), UTC)

    def price_of(usage: Usage) -> PriceCalculation:
        return calc_price(usage, name, provider_api_url=base_url or DEFAULT_URL, genai_request_timestamp=noon)

    try:
        price = price_of(Usage(input_tokens=_REQUEST, output_tokens=_REQUEST))
        read_before = price_of(Usage(input_tokens=_REQUEST, cache_read_tokens=_REQUEST))
    except LookupError:
        return None
    told, said = float(price.input_price) / _REQUEST, float(price.output_price) / _REQUEST
    cached = float(read_before.input_price) / _REQUEST
    return Rate(told, said, None if math.isclose(cached, told) else cached, _package())


def _written(dollars: float) -> float:
    """Per million tokens, without the digits that the division left."""
    return round(dollars * MILLION, 9)
