"""What the adapters of mem0 1.x and 2.x share: mem0 as its package brings it, standing on what is ours.

mem0's own registries of providers are told of a model and an embedder behind this memory's endpoint (its own client
obeys variables of the environment that lead elsewhere), and of a vector store that is a list of this memory alone.
Its clock tells the simulated time. It reports nothing to its makers, and no folder of the user's home is touched.
Its random ids are never shown to a model, and nothing is ordered by them.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest.mock import patch

from amemgym.clean import clean
from amemgym.errors import UsageError
from amemgym.memory.adapters.endpoint_client import EndpointClient
from amemgym.memory.adapters.mem0_store import Row, Rows
from amemgym.memory.protocol import Item, Memory
from amemgym.memory.store import message_time
from amemgym.messages import Message

#: our providers' name in mem0's registries, and the key of an item's simulated time in its metadata
PROVIDER, TIME = "amemgym", "time"
_ROLE = re.compile(r"^(system|user|assistant): ", re.MULTILINE)

_now: ContextVar[datetime] = ContextVar("amemgym_mem0_now")
_importing = threading.Lock()


@dataclass(frozen=True)
class Content:
    """All that an instance of mem0 holds: whose it is, its rows, its history and last messages, its last time."""

    owner: str
    rows: tuple[Row, ...]
    history: bytes
    time: datetime | None


class Mem0(Memory):
    """mem0 of any version. Subclasses say how it is written to and searched."""

    blocking: ClassVar[bool] = True
    needs_endpoint: ClassVar[bool] = True

    def __init__(self) -> None:
        self._mem0: Any = None
        self._owner = ""
        self._time: datetime | None = None

    @abstractmethod
    def _search(self, query: str, k: int) -> list[dict[str, Any]]:
        """What mem0 finds for this query, best first."""

    def _prepare(self, now: datetime) -> None:
        """Before each write: what of the prompts has to be told the simulated time. Default: nothing."""

    def _readable(self, reply: str) -> str:
        """A model's reply, less what mem0 would break down on. Default: as it is."""
        return reply

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        mem0 = self._opened()
        # as with a real clock no two writes are of the same instant: mem0 orders what was said by it
        self._time = now if self._time is None else max(now, self._time + timedelta(microseconds=1))
        self._prepare(now)
        said = [{"role": message.role, "content": clean(message.content)} for message in messages]
        time = message_time([message.time for message in messages], now)
        mem0.add(said, user_id=self._owner, metadata={TIME: time.isoformat()})
        mem0.vector_store.raise_failure()

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        mem0 = self._opened()
        found = self._search(clean(query), k) if query.strip() else []  # mem0 2 refuses a blank query
        mem0.vector_store.raise_failure()
        return [self._item(entry["memory"], entry["metadata"][TIME], entry["user_id"]) for entry in found]

    def export(self) -> list[Item]:
        rows = self._opened().vector_store.rows()
        return [self._item(row.payload["data"], row.payload[TIME], row.payload["user_id"]) for row in rows]

    def snapshot(self) -> Content:
        mem0 = self._opened()
        return Content(self._owner, mem0.vector_store.rows(), mem0.db.connection.serialize(), self._time)

    def restore(self, snapshot: Content) -> None:
        self.clear()
        mem0 = self._opened()
        mem0.vector_store.put(snapshot.rows)
        mem0.db.connection.deserialize(snapshot.history)
        # a copy for an exam has another name than the memory it is a copy of
        self._owner, self._time = snapshot.owner, snapshot.time

    def clear(self) -> None:
        self.close()
        self._time = None

    def close(self) -> None:
        if self._mem0 is not None:
            self._mem0.db.close()
            self._client.close()
        self._mem0 = None

    def _opened(self) -> Any:
        """mem0, empty when it is first asked for."""
        if self._mem0 is None:
            self._client = EndpointClient(endpoint := self.tools.endpoint)
            assert endpoint is not None
            self._mem0 = package().made(
                {"model": endpoint.model},
                {"model": endpoint.embedding_model, "embedding_dims": endpoint.dimensions},
            )
            self._mem0.llm.client = self._mem0.embedding_model.client = self._client
            self._mem0.llm.readable = self._readable
            # mem0 1 adds in a thread of its own, which knows nothing of this one's context
            self._mem0._add_to_vector_store = _at(lambda: self._time, self._mem0._add_to_vector_store)
            self._owner = re.sub(r"\s+", "-", self.tools.name)  # mem0 2 refuses a name with a blank in it
        return self._mem0

    def _item(self, text: str, time: str, owner: str) -> Item:
        if owner != self._owner:
            raise RuntimeError(f"mem0 gave an item of '{owner}' to '{self._owner}'")
        return Item(text, datetime.fromisoformat(time))


class ChatModel:
    """The model behind the endpoint, as mem0 calls one. How it is sampled is the run's affair, not mem0's."""

    client: EndpointClient
    readable: Callable[[str], str]

    def __init__(self, config: Any) -> None:
        self.config = config

    def generate_response(self, messages: Any, response_format: Any = None, **_: Any) -> str:
        asked = {"response_format": response_format} if response_format else {}
        reply = self.client.chat.completions.create(model=self.config.model, messages=messages, **asked)
        return self.readable(reply.choices[0].message.content or "")


class EmbeddingModel:
    """The embedder behind the endpoint, as mem0 calls one."""

    client: EndpointClient

    def __init__(self, config: Any) -> None:
        self.config = config

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        asked = [clean(text).replace("\n", " ") for text in texts]  # as mem0's own does
        reply = self.client.openai.embeddings.create(model=self.config.model, input=asked, encoding_format="float")
        return [entry.embedding for entry in sorted(reply.data, key=lambda entry: entry.index)]


@dataclass(frozen=True)
class Package:
    """The modules of mem0 that are needed."""

    main: Any
    prompts: Any
    base: Any
    llms: Any
    embeddings: Any
    stores: Any

    def made(self, model: dict[str, Any], embedder: dict[str, Any]) -> Any:
        """A new, empty instance of mem0."""
        # not validated, as mem0's lists of known providers stand apart from its registries
        config = self.base.MemoryConfig.model_construct(
            llm=self.llms.LlmConfig.model_construct(provider=PROVIDER, config=model),
            embedder=self.embeddings.EmbedderConfig.model_construct(provider=PROVIDER, config=embedder),
            vector_store=self.stores.VectorStoreConfig.model_construct(provider=PROVIDER, config=_StoreConfig()),
            history_db_path=":memory:",
        )
        return self.main.Memory(config)


def package() -> Package:
    """mem0, imported once, silent and set up as said above. Raises UsageError where its telemetry runs already."""
    with _importing:
        return _package()


def conversation_in(text: str) -> tuple[Message, ...]:
    """The messages that mem0 wrote into a prompt, each behind its role at the start of a line."""
    starts = list(_ROLE.finditer(text))
    ends = [*(start.start() for start in starts), len(text)][1:]
    said = [(start[1], text[start.end() : end].removesuffix("\n")) for start, end in zip(starts, ends, strict=False)]
    return tuple(Message("user" if role == "user" else "assistant", content) for role, content in said)


@lru_cache(maxsize=1)
def _package() -> Package:
    # both are read while it is imported; it writes a random identity of the user into the folder. The environment is
    # replaced, not written to: where another thread's C code is looking up a variable meanwhile, that would crash
    with (
        TemporaryDirectory(prefix="amemgym-mem0-") as folder,
        patch.object(os, "environ", {**os.environ, "MEM0_TELEMETRY": "False", "MEM0_DIR": folder}),
    ):
        from mem0.configs import base, prompts
        from mem0.configs.llms.openai import OpenAIConfig
        from mem0.embeddings import configs as embeddings
        from mem0.llms import configs as llms
        from mem0.memory import main, storage, telemetry
        from mem0.utils import factory
        from mem0.vector_stores import configs as stores
    if telemetry.MEM0_TELEMETRY:
        raise UsageError(
            "mem0 was imported before with its telemetry on; set MEM0_TELEMETRY=False in the environment first"
        )
    logging.getLogger("mem0").addHandler(logging.NullHandler())
    logging.getLogger("mem0").propagate = False
    factory.LlmFactory.provider_to_class[PROVIDER] = (f"{__name__}.{ChatModel.__name__}", OpenAIConfig)
    factory.EmbedderFactory.provider_to_class[PROVIDER] = f"{__name__}.{EmbeddingModel.__name__}"
    factory.VectorStoreFactory.provider_to_class[PROVIDER] = f"{Rows.__module__}.{Rows.__name__}"
    for module in (main, storage, prompts):
        if hasattr(module, "datetime"):
            module.datetime = _SimulatedTime  # there is no parameter for the time of a write
    try:
        from mem0.utils import spacy_models
    except ImportError:  # mem0 1
        pass
    else:  # where spaCy happens to be installed it would download a model and find other things
        spacy_models.get_nlp_full = spacy_models.get_nlp_lemma = lambda: None
    return Package(main, prompts, base, llms, embeddings, stores)


@dataclass(frozen=True)
class _StoreConfig:
    """The settings of our vector store: none."""

    collection_name: str = "mem0"

    def model_dump(self) -> dict[str, Any]:
        return {}


class _SimulatedTime(datetime):
    """In place of `datetime` in mem0's modules: the time of the write that is going on, taken as UTC."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # a plain one is all that is asked
        now = _now.get(None)
        if now is None:  # mem0 used by others in this process
            return datetime.now(tz)
        return now if tz is None else now.replace(tzinfo=UTC).astimezone(tz)


def _at(time: Callable[[], datetime | None], method: Callable[..., Any]) -> Callable[..., Any]:
    def method_at(*arguments: Any, **more: Any) -> Any:
        now = time()
        token = _now.set(now) if now is not None else None
        try:
            return method(*arguments, **more)
        finally:
            if token is not None:
                _now.reset(token)

    return method_at
