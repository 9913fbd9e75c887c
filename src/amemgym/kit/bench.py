"""The bench: where a rule gets its memories from, each made as a run makes it, and hears what they ask.

A `Subject` is one memory under trial with everything it sent to its model and its embedder. What needs an endpoint is
lent one by a gateway of the bench's own.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Awaitable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

from anyio.to_thread import run_sync

from amemgym.errors import AMemGymError, EndpointUnavailable
from amemgym.kit.talk import Fact
from amemgym.kit.verdicts import DoesNotFit
from amemgym.llm import (
    Completion,
    Door,
    Gateway,
    Journal,
    Line,
    Model,
    Provider,
    Request,
    Usage,
    embedder,
)
from amemgym.llm.embed import Vectors
from amemgym.memory import (
    Item,
    Memory,
    Tools,
    clear_all,
    close_memory,
    find_memory,
    held_by,
    new_memory,
    read_from,
    restore_to,
    snapshot_of,
    write_to,
)
from amemgym.messages import Message
from amemgym.tasks import prompts_for

Kept = dict[str, object]
#: items asked for where all that was told should come back: the default of an agent
ENOUGH = 30


@dataclass
class Hearing:
    """What one memory sent: to its model, and to be embedded.

    The model fails from its call `model_fails` on (from 1), the embedder from `embedder_fails` on; `failures` counts
    how often. `reply` is what the model says in place of the offline model's reply.
    """

    asked: list[str] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    embeddings: int = 0
    model_fails: int | None = None
    embedder_fails: int | None = None
    failures: int = 0
    reply: str | None = None

    def texts(self) -> list[str]:
        return [*self.asked, *self.embedded]


class HeardModel:
    """The offline model, which notes what it is asked."""

    def __init__(self, hearing: Hearing, inner: Provider) -> None:
        self._hearing = hearing
        self._inner = inner

    async def complete(self, request: Request) -> Completion:
        body = getattr(request.task, "body", None)  # of a request at an endpoint: tools and all
        self._hearing.asked.append("\n".join([*(m.content for m in request.messages), *([repr(body)] if body else [])]))
        if self._hearing.model_fails is not None and len(self._hearing.asked) >= self._hearing.model_fails:
            self._hearing.failures += 1
            raise EndpointUnavailable("the kit lets the model fail here")
        completion = await self._inner.complete(request)
        return completion if self._hearing.reply is None else Completion(self._hearing.reply, completion.usage)

    async def aclose(self) -> None:
        await self._inner.aclose()


class HeardEmbedder:
    """The default embedder, loaded when it is first needed, which notes what it embeds."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._hearing.embedded += texts
        self._hearing.embeddings += 1
        if self._hearing.embedder_fails is not None and self._hearing.embeddings >= self._hearing.embedder_fails:
            self._hearing.failures += 1
            raise RuntimeError("the kit lets the embedder fail here")
        return embedder().embed(texts)


class LazyEmbedder:
    """The default embedder, loaded when it is first needed."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        return embedder().embed(texts)


@dataclass
class Subject:
    """A memory under trial, called as a run calls it."""

    memory: Memory
    hearing: Hearing
    closed: bool = False

    async def tell(self, fact: Fact) -> None:
        await self.write(fact.messages(), fact.time)

    async def write(self, messages: Sequence[Message], now: datetime) -> None:
        await write_to(self.memory, messages, now)

    async def read(self, query: str, now: datetime, k: int = ENOUGH) -> list[Item]:
        return list(await read_from(self.memory, query, now, k))

    async def read_all(self, facts: Sequence[Fact], now: datetime) -> list[list[Item]]:
        """What is read for the question to each fact."""
        return [await self.read(fact.asked, now) for fact in facts]

    async def held(self) -> list[Item] | None:
        return await held_by(self.memory)

    async def snapshot(self) -> object:
        return await snapshot_of(self.memory)

    async def restore(self, snapshot: object) -> None:
        await restore_to(self.memory, snapshot)

    async def clear(self) -> None:
        await clear_all(self.memory)

    async def close(self) -> None:
        """Closing again does nothing."""
        if not self.closed:
            self.closed = True
            await close_memory(self.memory)

    async def directly(self, what: str, *arguments: object) -> Any:
        """A method of the memory, called with nothing between: the place as it is, the result as it is."""
        method = getattr(self.memory, what)
        endpoint = self.memory.tools.endpoint
        waits = self.memory.blocking or self.memory.needs_endpoint
        with endpoint.in_use() if endpoint is not None else nullcontext():
            if waits and not inspect.iscoroutinefunction(method):
                result = await run_sync(lambda: method(*arguments))
            else:
                result = method(*arguments)
            return await result if isinstance(result, Awaitable) or inspect.isawaitable(result) else result


class Bench:
    """Makes the memories that one rule needs, and closes them.

    Args:
        cls: the memory's class.
        name: how it is found: a registered name, `file.py:Class` or `module:Class`, or the class's own name.
        seconds: how long the rule may take.
        kept: what the rules of one check need do only once.
        token: what its memories' names begin with, so that what a server keeps for one check is not another's.
    """

    def __init__(
        self, cls: type[Memory], name: str, seconds: float = 60.0, token: str = "", kept: Kept | None = None
    ) -> None:
        self.cls = cls
        self.name = name
        self.seconds = seconds
        self._subjects: list[Subject] = []
        self.token = token or f"kit-{uuid.uuid4().hex[:8]}"
        self.kept = {} if kept is None else kept
        self._numbers = 0
        self._gateway = Gateway()

    @property
    def is_view(self) -> bool:
        """Whether its snapshot is a window on what it holds, and no copy."""
        return bool(getattr(self.cls, "snapshot_is_view", False))

    @property
    def keeps_nothing(self) -> bool:
        """Whether it is the memory that is there to keep nothing."""
        return self.cls is find_memory("none")

    def needs_keeping(self) -> None:
        """Raises DoesNotFit for the memory that is there to keep nothing."""
        if self.keeps_nothing:
            raise DoesNotFit("it keeps nothing, by design")

    def needs_copies(self) -> None:
        """Raises DoesNotFit where a snapshot is no copy."""
        if self.is_view:
            raise DoesNotFit("its snapshot is a view of what it holds, not a copy (snapshot_is_view)")

    def tools(self, hearing: Hearing, name: str = "") -> Tools:
        """Tools as a run gives them, over the offline model; `hearing` hears what is asked."""
        self._numbers += 1
        line = Line(Journal(None), prompts_for("en"))
        door = Door(HeardModel(hearing, _offline()), 4, attempts=1)
        embeds = HeardEmbedder(hearing)
        lender = self._gateway.for_episode(line, door, embeds) if self.cls.needs_endpoint else None
        return Tools(line.model(door, "memory"), embeds, name=f"{self.token}-{name or self._numbers}", lender=lender)

    def make(self, name: str = "") -> Subject:
        """A new, empty memory; with the name of an earlier one, one that comes after it."""
        hearing = Hearing()
        return self.sit(new_memory(self.cls, self.tools(hearing, name)), hearing)

    def sit(self, memory: Memory, hearing: Hearing) -> Subject:
        """A memory that was made elsewhere, to be closed with the others."""
        subject = Subject(memory, hearing)
        self._subjects.append(subject)
        return subject

    async def copy_of(self, snapshot: object) -> Subject:
        """A new memory with a snapshot's content."""
        subject = self.make()
        await subject.restore(snapshot)
        return subject

    async def __aenter__(self) -> Self:
        if self.cls.needs_endpoint:
            await self._gateway.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for subject in self._subjects:
            with suppress(AMemGymError):  # a rule of its own looks at close
                await subject.close()
        await self._gateway.aclose()


class Nodding:
    """A model for whoever is no memory: what they say is not looked at, so it may as well be quick."""

    async def complete(self, request: Request) -> Completion:
        return Completion("Very well.", Usage())

    async def aclose(self) -> None:
        return None


def nodding_model(role: str) -> Model:
    """A model that says the same to everything. Call inside a running event loop."""
    line = Line(Journal(None), prompts_for("en"))
    return line.model(Door(Nodding(), 4, attempts=1), role)


@lru_cache
def _offline() -> Provider:
    from amemgym.llm.offline import OfflineModel

    return OfflineModel(LazyEmbedder())
