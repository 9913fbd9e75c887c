"""Letta: the archival memory of a Letta server, which keeps passages of text and finds them by their embeddings.

The adapter uses the server's archives through the package `letta-client` (5 MB): each memory has an archive of its own,
every message is one passage, and a search is a search of that archive. No Letta agent is made and no language model is
called; what Letta's agents do with their memory beyond that is not measured. The server embeds each passage and query
itself, with the embedding model of the archive, and those calls are not counted. LETTA_EMBEDDING names the model (a
handle such as `openai/text-embedding-3-small`) where the server has no default; without one it would only find literal
substrings, so that is refused.

- Times: a passage's `created_at` is its message's simulated time, made later by microseconds where it would not be
  after the passage before. An item's time is that, in whole seconds.
- Copies: passages are only ever added and no two have one time. So what the archive was at a snapshot is what it has up
  to the time of its last passage, and a copy reads the owner's archive up to there, also while the owner writes on.
- Letta Cloud keeps archives in a vector database that is not told `created_at`; there nothing of this holds, so only
  archives in the server's own database are accepted (`vector_db_provider` native).
- A search gives at most 100 passages. The server takes null characters out of texts.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from amemgym.errors import MemoryFailed, UsageError
from amemgym.memory.adapters.servers import (
    Fault,
    Server,
    ServerMemory,
    as_utc,
    from_utc,
    seconds,
    server_address,
    server_key,
    server_name,
)
from amemgym.memory.packages import check_packages
from amemgym.memory.protocol import Item
from amemgym.messages import Message

URL, LOCAL, KEY, EMBEDDING = "LETTA_BASE_URL", "http://localhost:8283", "LETTA_API_KEY", "LETTA_EMBEDDING"
#: passages that one search may give
MOST = 100
_TICK = timedelta(microseconds=1)


class LettaMemory(ServerMemory):
    """Letta: passages in the archival memory of a Letta server (LETTA_BASE_URL, LETTA_API_KEY, LETTA_EMBEDDING)."""

    packages = {"letta-client": ">=1.7.6,<2"}
    extra = "letta"
    environment = (URL, EMBEDDING)

    def __init__(self) -> None:
        #: the archive that is read, and the one that this memory made (a copy makes none)
        self._archive: str | None = None
        self._made: str | None = None
        #: the time of the last passage, and that a copy reads up to
        self._last: datetime | None = None
        self._owns = True

    @classmethod
    def check(cls) -> None:
        check_packages(cls.packages, cls.extra)
        _Connection().check()

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        if not self._owns:
            raise MemoryFailed("a copy of a Letta memory reads the original's archive and cannot be written to")
        connection = _Connection()
        if self._archive is None:
            name = server_name(self.tools.name)
            connection.delete_archives(name)  # what a killed run left under this name
            self._archive = self._made = connection.new_archive(name)
        passages, last = [], self._last
        for message in messages:
            time = message.time or now
            last = time if last is None or time > last else last + _TICK
            passages.append((f"{message.role}: {message.content}", last))
        if passages:
            connection.add(self._archive, passages)
            self._last = last

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        if self._archive is None or self._last is None:
            return []
        # a search for nothing is a list of passages by time, not a search
        found = _Connection().found(self._archive, min(k, MOST), self._last, query=query.strip() or ".")
        return [item for item, _ in found[:k]]

    def snapshot(self) -> object:
        return {"archive": self._archive, "last": self._last}

    def restore(self, snapshot: Any) -> None:
        self._archive, self._last = snapshot["archive"], snapshot["last"]
        self._owns = False

    def export(self) -> list[Item]:
        found: list[Item] = []
        if self._archive is None or self._last is None:
            return found
        connection, start = _Connection(), None
        while True:
            page = connection.found(self._archive, MOST, self._last, start=start)
            found += [item for item, _ in page]
            if len(page) < MOST:
                return found
            start = page[-1][1] + _TICK

    def _let_go(self, once: bool) -> None:
        if self._made is not None:
            _Connection().delete_archive(self._made, once)


class _Connection:
    """What the adapter asks of a Letta server, over its client."""

    def __init__(self) -> None:
        self._server = _server()
        self._client = _client(self._server.address, server_key(KEY))

    def check(self) -> None:
        """Raises UsageError where there is no server, or none that can keep and find passages."""
        self._server.check(lambda: self._list_archives(limit=1))
        try:
            self.delete_archive(self.new_archive(f"amemgym-check-{uuid.uuid4()}"))
        except MemoryFailed as error:
            raise UsageError(str(error)) from None

    def new_archive(self, name: str) -> str:
        """A new archive's id. Raises UsageError where its passages could not be found by meaning or by time."""
        embedding = os.environ.get(EMBEDDING, "").strip()
        how = {"embedding": embedding} if embedding else {}
        doing = f"asked for an archive with the embedding model '{embedding or 'of the server'}'"
        archive = self._server.ask(doing, lambda: self._client.archives.create(name=name, **how), repeatable=False)
        made = str(_part(self._server, doing, archive, "id", str))
        if getattr(archive, "embedding_config", None) is None:
            self.delete_archive(made)
            raise UsageError(
                f"letta: the server at {self._server.address} has no default embedding model; set {EMBEDDING} to a"
                " handle of it, such as openai/text-embedding-3-small"
            )
        if (kept := getattr(archive, "vector_db_provider", None)) not in (None, "native"):
            self.delete_archive(made)
            raise UsageError(
                f"letta: the server at {self._server.address} keeps archives in {kept}, which is not told the times of"
                " passages; use a Letta server with a database of its own"
            )
        return made

    def delete_archives(self, name: str) -> None:
        for archive in self._server.ask("asked for archives", lambda: self._list_archives(name=name, limit=MOST)):
            if getattr(archive, "name", None) == name:
                self.delete_archive(archive.id)

    def delete_archive(self, archive: str, once: bool = False) -> None:
        self._server.ask(
            "asked to delete an archive",
            lambda: self._client.archives.delete(archive) or object(),
            gone=object(),
            once=once,
        )

    def add(self, archive: str, passages: list[tuple[str, datetime]]) -> None:
        """Add passages (text, time). Raises MemoryFailed where the server does not say that it has them as given."""
        doing = "given passages"
        sent = [{"text": text, "created_at": as_utc(time)} for text, time in passages]
        made = self._server.ask(
            doing, lambda: self._client.archives.passages.create_many(archive, passages=sent), repeatable=False
        )
        if not isinstance(made, list) or len(made) != len(sent):
            raise self._server.unexpected(doing, f"it did not answer with the {len(sent)} passages it was given")
        kept = [self._item(doing, passage, archive)[1] for passage in made]
        if sorted(kept) != [time for _, time in passages]:
            raise self._server.unexpected(doing, "it did not keep the passages' times")

    def found(
        self, archive: str, limit: int, until: datetime, *, query: str = "", start: datetime | None = None
    ) -> list[tuple[Item, datetime]]:
        """Passages of this archive as items, with their times to the microsecond: the nearest to a query, best first,
        or without one the first ones in order of time."""
        asked: dict[str, Any] = {"archive_id": archive, "limit": limit, "end_date": as_utc(until)}
        if query:
            asked["query"] = query
        if start is not None:
            asked["start_date"] = as_utc(start)
        doing = "searched"
        answer = self._server.ask(doing, lambda: self._client.passages.search(**asked))
        if not isinstance(answer, list):
            raise self._server.unexpected(doing, f"it answered {type(answer).__name__}, not a list")
        return [self._item(doing, getattr(result, "passage", None), archive) for result in answer]

    def _item(self, doing: str, passage: object, archive: str) -> tuple[Item, datetime]:
        if (owner := getattr(passage, "archive_id", None)) != archive:
            raise MemoryFailed(f"Letta, {doing}: it answered with a passage of the archive {owner}, another's")
        text = str(_part(self._server, doing, passage, "text", str))
        time = from_utc(_part(self._server, doing, passage, "created_at", datetime))
        assert time is not None
        return Item(text, time.replace(microsecond=0)), time

    def _list_archives(self, **which: Any) -> list[Any]:
        page = self._client.archives.list(**which)
        archives = getattr(page, "items", None)
        if not isinstance(archives, list):
            raise _NoLetta("it answered something that is no list of archives")
        return archives


class _NoLetta(Exception):
    pass


@lru_cache(maxsize=4)
def _client(address: str, key: str | None) -> Any:
    """One client for all memories of a run: it can be used by many threads, and is slow to make."""
    from letta_client import DefaultHttpxClient, Letta

    return Letta(
        base_url=address,
        api_key=key,
        max_retries=0,  # `Server.ask` tries again
        timeout=120.0,
        http_client=DefaultHttpxClient(follow_redirects=False),  # the key goes to this address alone
    )


def _server() -> Server:
    return Server(
        "Letta",
        server_address(URL, LOCAL, KEY),
        URL,
        KEY,
        "start one (docker run -p 8283:8283 letta/letta:latest)",
        _fault_of,
    )


def _part(server: Server, doing: str, thing: object, name: str, kind: type) -> Any:
    """What the client does not check: that an answer has this part."""
    value = getattr(thing, name, None)
    if not isinstance(value, kind):
        raise server.unexpected(doing, f"it answered without '{name}'")
    return value


def _fault_of(error: Exception) -> Fault | None:
    import httpx
    from letta_client import APIConnectionError, APIError, APIStatusError, APITimeoutError

    if isinstance(error, _NoLetta):
        return Fault(str(error))
    if isinstance(error, APITimeoutError):
        return Fault("no answer in time", lost=True)
    if isinstance(error, APIConnectionError):
        cause = error.__cause__
        return Fault(str(cause or error), unsent=isinstance(cause, httpx.ConnectError), lost=True)
    if isinstance(error, APIStatusError):
        body = error.body
        said = str(body.get("detail", body)) if isinstance(body, dict) else error.message
        return Fault(said, error.status_code, wait=seconds(error.response.headers.get("retry-after")))
    if isinstance(error, APIError | ValueError | AttributeError | TypeError):  # from reading an answer
        return Fault(f"it answered something that its client cannot read ({type(error).__name__})")
    return None
