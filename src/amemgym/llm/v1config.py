"""How a model is reached in configurations of the original benchmark (v1): the object `llm_config`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from amemgym import secrets
from amemgym.errors import UsageError
from amemgym.llm.models import ModelSettings, same_address


class LLMConfig(BaseModel):
    """`llm_config` of a v1 file. Nulls mean: as the run says."""

    model_config = ConfigDict(extra="allow")
    llm_model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    def settings(self, run: ModelSettings) -> ModelSettings | None:
        """The model's settings, with the run's where the file is silent; None where it names no model."""
        if not self.llm_model:
            return None
        elsewhere = self.base_url is not None and not same_address(self.base_url, run.address())
        return replace(
            run,
            model=f"openai:{self.llm_model}",
            base_url=self.base_url or run.base_url,
            temperature=run.temperature if self.temperature is None else self.temperature,
            max_tokens=run.max_tokens if self.max_tokens is None else self.max_tokens,
            api_key=secrets.remember(self.api_key) if self.api_key else run.api_key,
            # another address is never sent the key in the environment, which is not for it
            key_variables=() if elsewhere else run.key_variables,
        )


def read_llm_config(value: Any, place: str) -> LLMConfig:
    """Such an object of a file, or none. Raises UsageError; `place` opens a quotation mark."""
    try:
        return LLMConfig.model_validate(value or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{place}.{name}': {first['msg']}") from None
