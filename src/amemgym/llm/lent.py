"""An address that is lent to one memory: what arrives there is asked at the place where that memory is in use.

A memory system may swallow what its model's endpoint says, and go on with less than it thinks it has. So the first
error of a use is kept, and raised at that use's end whatever became of it. A call that is made when the memory is not
in use (by a thread of its own, after `write` returned) has no place in the run and is refused, for what it does would
depend on how quick the machine is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from amemgym.errors import AMemGymError, FatalModelError, MemoryFailed, StorageError
from amemgym.llm.door import Line, Model
from amemgym.llm.embed import Embedder, Vectors
from amemgym.llm.endpoint import FindStandIn
from amemgym.llm.ledger import RoleCount
from amemgym.llm.place import Place, at, here
from amemgym.llm.provider import Completion, estimate_tokens
from amemgym.tasks import Chat

#: what the model and the embedder are called at every address, so that no request depends on which they are
MODEL, EMBEDDING_MODEL = "amemgym-chat", "amemgym-embedding"
#: the roles under which embeddings are counted: no model's tokens, without a price; a probe's are no cost of the agent
EMBEDDING, PROBE_EMBEDDING = "embedding", "probe embedding"
#: after these nothing else of the run can pass
STOPPING = (FatalModelError, StorageError)


class Refused(MemoryFailed):
    """A request that cannot be served, with the HTTP status that says so."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(f"its memory called its model wrongly: {sentence}")
        self.status = status


@dataclass
class _Use:
    """One time that the memory is in use."""

    place: Place
    failure: Exception | None = None
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)


class LentEndpoint:
    """See `amemgym.llm.Endpoint`.

    Args:
        base_url, api_key: where and with what it is reached.
        model: the model as this memory's role sees it.
        line: the episode's, where embeddings are counted.
        embedder: gives the embeddings.
        stand_in: what an offline model does in place of reading the memory system's prompts.
        released: is called once, when nothing is served here any more.
    """

    model = MODEL
    embedding_model = EMBEDDING_MODEL

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: Model,
        line: Line,
        embedder: Embedder,
        stand_in: FindStandIn,
        released: Callable[[], None],
    ) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self._model = model
        self._line = line
        self._embedder = embedder
        self._stand_in = stand_in
        self._released = released
        self._use: _Use | None = None
        self._late: Refused | None = None

    @cached_property
    def dimensions(self) -> int:
        return int(self._embedder.embed(["dimensions"]).shape[1])

    @contextmanager
    def in_use(self) -> Iterator[None]:
        if self._use is not None:
            raise MemoryFailed(
                "a memory with an endpoint is used twice at once; use one after the other, or two memories"
            )
        use = self._use = _Use(here(), self._late)
        self._late = None
        try:
            yield
        except Exception as error:
            named = isinstance(error, AMemGymError)
            # a memory may say in its own words what failed, but not that the run goes on where it cannot
            if use.failure not in (None, error) and (not named or isinstance(use.failure, STOPPING)):
                raise use.failure from error
            raise
        else:
            if use.failure is not None:
                raise use.failure
            if use.under_way:
                raise Refused(409, "it returned while a call was still under way; wait for every call it makes")
        finally:
            self._use = None
            for task in use.under_way:
                task.cancel()

    def release(self) -> None:
        self._released()
        for task in self._use.under_way if self._use else ():
            task.cancel()

    def refused(self, why: Refused) -> None:
        """A request came to this address and is not served: the use fails by it, or the next one."""
        if self._use is None:
            self._late = self._late or why
        else:
            self._use.failure = self._use.failure or why

    @contextmanager
    def serving(self) -> Iterator[None]:
        """One request is served in here, at the place of the use. Raises Refused where there is none; nothing more is
        asked, nor paid for, once a request of the same use has failed."""
        if (use := self._use) is None:
            late = Refused(
                409,
                "a call came when it was not in use, after write, read or another of its methods had returned;"
                " wait for every call it makes",
            )
            self.refused(late)
            raise late
        if use.failure is not None:
            raise use.failure
        task = asyncio.current_task()
        assert task is not None
        use.under_way.add(task)
        try:
            with at(use.place.name, use.place.examines, memory=use.place.memory):
                yield
        except Exception as error:
            use.failure = use.failure or error
            raise
        finally:
            use.under_way.discard(task)

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        """The model's reply to a chat completion's body. Raises as `Model.ask`."""
        return await self._model.complete(Chat(body, self._stand_in))

    def embed(self, texts: Sequence[str]) -> tuple[Vectors, int]:
        """The texts' vectors, and how many tokens they have, by estimate.

        Embeddings are not kept in the journal: the embedder is part of what the run is and gives the same vectors
        again, so a resumed run computes and counts them anew. It is asked in the event loop, one call at a time, since
        it need not stand several threads.
        """
        tokens = estimate_tokens(texts)
        role = PROBE_EMBEDDING if here().examines == "probe" else EMBEDDING
        count = self._line.ledger.setdefault(role, RoleCount())
        count.calls += 1
        count.input += tokens
        count.estimated += 1
        return self._embedder.embed(texts), tokens
