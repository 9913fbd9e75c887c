"""What a memory system that calls a model by itself is given: an OpenAI-compatible address of its own.

The gateway (`llm/gateway.py`) lends them. Each address belongs to one memory, so what arrives there is known to be its
call, at the place of the run where that memory is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from amemgym.tasks import Chat, StandIn

#: what an offline model does in place of reading a memory system's own prompt
FindStandIn = Callable[[Chat], StandIn[Any] | None]


class Endpoint(Protocol):
    """An address: `base_url` (ends in /v1) with `api_key`, serving chat completions of `model` and embeddings of
    `embedding_model`, whose vectors have `dimensions` numbers. The names are the same in every run."""

    @property
    def base_url(self) -> str: ...

    @property
    def api_key(self) -> str: ...

    @property
    def model(self) -> str: ...

    @property
    def embedding_model(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def in_use(self) -> AbstractContextManager[None]:
        """Requests that arrive inside are made at this place of the run. At the end the first error that one of them
        met is raised, whatever the memory system made of it; requests that arrive outside are refused."""
        ...

    def release(self) -> None:
        """No more requests are served at this address."""
        ...


class Lender(Protocol):
    """Lends addresses to the memories of one episode."""

    def lend(self, stand_in: FindStandIn) -> Endpoint: ...
