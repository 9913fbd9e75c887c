"""The lent endpoint as a memory system's own code is given it: OpenAI's client, and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from amemgym.llm import Endpoint
from amemgym.llm.embed import Vectors

#: how this machine is reached: by no proxy that the environment names, and without certificates to load
LOOPBACK: dict[str, Any] = {"trust_env": False, "verify": False}


def new_http() -> Any:
    """What connections are made by."""
    from openai import DefaultHttpxClient

    return DefaultHttpxClient(**LOOPBACK)


def openai_client(base_url: str, api_key: str, http: Any) -> Any:
    """OpenAI's client, with neither a time-out nor another try: both are the door's."""
    from openai import OpenAI

    return OpenAI(base_url=base_url, api_key=api_key, http_client=http, max_retries=0, timeout=None)


class EndpointClient:
    """OpenAI's client is made when it is first used: an exam's copy of a memory may never need it."""

    def __init__(self, endpoint: Endpoint | None) -> None:
        assert endpoint is not None, "a class with needs_endpoint is given one"
        self._endpoint = endpoint

    @cached_property
    def http(self) -> Any:
        return new_http()

    @cached_property
    def openai(self) -> Any:
        return openai_client(self._endpoint.base_url, self._endpoint.api_key, self.http)

    @property
    def chat(self) -> Any:
        """For a memory system that expects OpenAI's client."""
        return self.openai.chat

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        made = self.openai.embeddings.create(model=self._endpoint.embedding_model, input=list(texts)).data
        return np.asarray([vector.embedding for vector in made], dtype=np.float32)

    def close(self) -> None:
        if "http" in vars(self):
            self.http.close()
