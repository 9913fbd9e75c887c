"""LangMem (`langmem`), run in this process: its memory store manager over a LangGraph store of this memory alone.

A write is one request in which the model makes and patches memories by tool calls; the manager shows it the nearest
ones. LangMem knows no times, so those of the writes are kept here beside its store. What it would draw at random and
show to the model (its names for memories and sessions) is counted instead, so that a run can be replayed.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemgym.llm import Endpoint
from amemgym.memory.adapters.endpoint_client import LOOPBACK, EndpointClient
from amemgym.memory.adapters.langmem_prompt import meant_by
from amemgym.memory.protocol import Item, Memory
from amemgym.memory.store import message_time
from amemgym.messages import Message
from amemgym.tasks import Chat, StandIn

NAMESPACE = ("memories",)
#: langgraph would go on for 10,000 steps where a model cannot be reached; a write takes under 10
MOST_STEPS = 25
#: more than any store holds
EVERYTHING = 10**9
_SESSION = re.compile(r"<session_([0-9a-f-]{36})>\n")
#: for what the packages say of a reply, which is the model's affair and would go to the terminal
_UNHEARD = logging.NullHandler()


@dataclass(frozen=True)
class Held:
    """One entry of the store: its key, its value as LangMem wrote it, when, and its vector."""

    key: str
    value: dict[str, Any]
    time: datetime
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class Content:
    """A snapshot: all entries, and how many names were given so far."""

    held: tuple[Held, ...]
    named: int


class LangMemMemory(Memory):
    """LangMem: a model makes and patches memories by tool calls; found by nearness."""

    blocking = True
    needs_endpoint = True
    packages = {"langmem": ">=0.0.30,<0.1", "langchain-openai": ">=1,<2", "langgraph": ">=1,<2"}
    extra = "langmem"

    def __init__(self) -> None:
        self._times: dict[str, datetime] = {}
        self._named = 0
        self._vectors: _Vectors | None = None
        self._store: Any = None
        self._manager: Any = None
        self._client: EndpointClient | None = None

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        if not messages:
            return
        store, vectors = self._opened()
        if self._manager is None:
            self._manager = self._new_manager(store)
        said = [message.as_chat() for message in messages]
        with _quietly():
            # one thread at a time, or what it writes would be in no certain order
            config = {"max_concurrency": 1, "recursion_limit": MOST_STEPS}
            puts = self._manager.invoke({"messages": said}, config=config)
        entries = {entry.key: entry for entry in self._entries()}
        for put in puts:  # which it does not look after
            if put["key"] not in entries or entries[put["key"]].value != put["value"]:
                raise RuntimeError(f"LangMem could not store {put['value']}")
        time = message_time([message.time for message in messages], now)
        times = self._times | {put["key"]: time for put in puts}
        self._times = {key: times[key] for key in entries}
        vectors.keep({_text(entry.value) for entry in entries.values()})

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        store, _ = self._opened()
        with _quietly():
            return [self._item(entry) for entry in store.search(NAMESPACE, query=query, limit=k)]

    def export(self) -> list[Item]:
        return [self._item(entry) for entry in self._entries()]

    def snapshot(self) -> Content:
        _, vectors = self._opened()
        texts = [(entry, _text(entry.value)) for entry in self._entries()]
        held = (Held(e.key, _plain(e.value), self._times[e.key], vectors.of(text)) for e, text in texts)
        return Content(tuple(held), self._named)

    def restore(self, snapshot: Content) -> None:
        self.clear()
        store, vectors = self._opened()
        self._named = snapshot.named
        for held in snapshot.held:
            vectors.known[_text(held.value)] = held.vector
            store.put(NAMESPACE, held.key, _plain(held.value))
            self._times[held.key] = held.time

    def clear(self) -> None:
        self.close()
        super().clear()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        """Extraction where nothing is shown to the model yet, else reconciling with what is shown."""
        return meant_by(chat)

    def _entries(self) -> list[Any]:
        """Everything in the store, in the order it was first written. An entry's own times are today's: not used."""
        store, _ = self._opened()
        return list(store.search(NAMESPACE, limit=EVERYTHING))

    def _item(self, entry: Any) -> Item:
        return Item(_text(entry.value), self._times[entry.key])

    def _opened(self) -> tuple[Any, _Vectors]:
        """The store and its vectors, made when first needed."""
        if self._vectors is None:
            from langgraph.store.memory import InMemoryStore

            self._client = EndpointClient(self.tools.endpoint)
            self._vectors = _Vectors(self._client)
            # the text alone: the default would embed the names of the fields too
            self._store = InMemoryStore(index={"embed": self._vectors.embed, "fields": ["content.content"]})
        return self._store, self._vectors

    def _new_manager(self, store: Any) -> Any:
        assert self.tools.endpoint is not None and self._client is not None
        with _quietly():
            from langmem import create_memory_store_manager

        for name in ("extraction", "trustcall", "langmem", "langchain", "langgraph"):
            logging.getLogger(name).addHandler(_UNHEARD)
        model = _chat_model(self.tools.endpoint, self._client.http)
        manager = create_memory_store_manager(model, namespace=NAMESPACE, store=store)
        inner = manager.memory_manager
        manager.memory_manager = _counting_manager()(
            self._name,
            model,
            schemas=inner.schemas,
            instructions=inner.instructions,
            enable_inserts=inner.enable_inserts,
            enable_updates=inner.enable_updates,
            enable_deletes=inner.enable_deletes,
        )
        return manager

    def _name(self) -> str:
        """A name that this memory has not given yet, in the form of those drawn at random."""
        self._named += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, str(self._named)))


class _Vectors:
    """The run's embedder as the store asks for it: a text that is held is embedded once."""

    def __init__(self, client: EndpointClient) -> None:
        self._client = client
        self.known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        return [self.of(text) for text in texts]

    def of(self, text: str) -> NDArray[np.float32]:
        if text not in self.known:
            self.known[text] = self._client.embed([text])[0]
        return self.known[text]

    def keep(self, texts: set[str]) -> None:
        """Forget the vectors of all other texts."""
        self.known = {text: vector for text, vector in self.known.items() if text in texts}


@lru_cache(maxsize=1)
def _counting_manager() -> Any:
    """LangMem's manager, but new memories and sessions have names that are the same in every run."""
    from langmem.knowledge.extraction import MemoryManager

    class CountingManager(MemoryManager):  # type: ignore[misc]
        def __init__(self, name: Callable[[], str], model: Any, **settings: Any) -> None:
            super().__init__(model, **settings)
            self._name = name

        def _prepare_messages(self, messages: Any, max_steps: int = 1) -> Any:
            prepared = super()._prepare_messages(messages, max_steps)
            text = prepared[-1]["content"]
            drawn = _SESSION.search(text)
            if drawn is not None:
                prepared[-1]["content"] = text.replace(drawn[1], self._name())
            return prepared

        def invoke(self, input: Any, config: Any = None, **more: Any) -> Any:
            shown = {entry[0] for entry in input.get("existing") or ()}
            found = super().invoke(input, config, **more)
            return [entry if entry.id in shown else entry._replace(id=self._name()) for entry in found]

    return CountingManager


@contextmanager
def _quietly() -> Iterator[None]:
    """Without LangSmith, which an environment variable may have turned on, and without numpy's warnings where a text
    has no known word."""
    from langsmith import tracing_context

    with tracing_context(enabled=False), np.errstate(invalid="ignore"):
        yield


def _chat_model(endpoint: Endpoint, http: Any) -> Any:
    import openai
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,  # the endpoint tries again by itself
        timeout=None,
        openai_proxy=None,
        http_client=http,
        http_async_client=openai.DefaultAsyncHttpxClient(**LOOPBACK),  # or it makes one that it never lets go
    )


def _text(value: dict[str, Any]) -> str:
    return str(value["content"]["content"])


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    return {"kind": value["kind"], "content": dict(value["content"])}
