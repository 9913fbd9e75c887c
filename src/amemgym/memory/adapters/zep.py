"""Zep: facts with times in a graph that Zep's service builds from a conversation.

The adapter uses Zep's interface v4 through the package `zep-cloud` (11 MB), at Zep's cloud or at an address of your own
(ZEP_API_URL, whole, as in https://api.getzep.com/api/v4). Each memory is a Zep user of its own with one thread; a
search is a search of the facts (edges) of that user's graph. The models that Zep calls are its own and are not counted,
but the account pays for them.

- Messages are added with their simulated times as reference times. A write waits until Zep's task for it has
  succeeded. A message longer than 2,500 characters (a free account's limit) is added in parts; a query is cut at 400.
- A fact's time is `valid_at`, which Zep reads out of the text and the reference time; it may be missing. `created_at`
  and `expired_at` are Zep's clock and never used as times.
- Copies: a snapshot has Zep clone the graph, without extracting anything again, and waits for it; all copies of a
  snapshot only read that clone. Clones are deleted when the memory is closed; each is named after the memory, so that
  those of a killed run are found and deleted too.
- A search gives at most what Zep ranks (50 facts a page).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, ClassVar

from amemgym.errors import MemoryFailed, UsageError
from amemgym.memory.adapters.servers import (
    Fault,
    Server,
    ServerMemory,
    as_utc,
    fact_text,
    from_utc,
    seconds,
    server_address,
    server_key,
    server_name,
    wait_until,
)
from amemgym.memory.packages import check_packages
from amemgym.memory.protocol import Item
from amemgym.messages import Message

URL, CLOUD, KEY = "ZEP_API_URL", "https://api.getzep.com/api/v4", "ZEP_API_KEY"
#: Zep's limits: characters of a message and of a query, messages in a call, facts in a page
LONGEST_MESSAGE, LONGEST_QUERY, MESSAGES, PAGE = 2500, 400, 30, 50


class ZepMemory(ServerMemory):
    """Zep: facts with times, found in a graph that Zep's service builds (set ZEP_API_KEY, and ZEP_API_URL)."""

    packages = {"zep-cloud": ">=4,<5"}
    extra = "zep"
    environment = (URL,)
    #: seconds that Zep may take for what is written at once, for a clone, and for a deletion
    patience: ClassVar[float] = 600.0

    def __init__(self) -> None:
        self._user: str | None = None
        self._thread = ""
        #: the graph that is read, once there is one
        self._graph: str | None = None
        self._owns = True
        #: the clones made, and whether the last one is the graph as it is
        self._clones: list[str] = []
        self._cloned = False

    @classmethod
    def check(cls) -> None:
        check_packages(cls.packages, cls.extra)
        zep = _Connection(cls.patience)
        zep.server.check(lambda: zep.client.user.list(page_size=1))

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        if not self._owns:
            raise MemoryFailed("a copy of a Zep memory reads a clone of the original and cannot be written to")
        zep = _Connection(self.patience)
        if self._user is None:
            name = server_name(self.tools.name)
            zep.delete_named(name)  # what a killed run left under this name
            self._user, self._graph = zep.new_user(name)
            self._thread = zep.new_thread(self._user)
        parts = [(message.role, part, message.time or now) for message in messages for part in _parts(message.content)]
        self._cloned = False
        for begin in range(0, len(parts), MESSAGES):
            zep.add(self._thread, parts[begin : begin + MESSAGES])

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        if self._graph is None or not query.strip():
            return []
        return _Connection(self.patience).search(self._graph, query[:LONGEST_QUERY], k)

    def snapshot(self) -> object:
        if self._owns and self._graph is not None and not self._cloned:
            zep, name = _Connection(self.patience), server_name(self.tools.name)
            clone, task = zep.begin_clone(self._graph)
            self._clones.append(clone)
            zep.finish_clone(clone, task, name)
            self._cloned = True
        return {"graph": self._clones[-1] if self._cloned else self._graph}

    def restore(self, snapshot: Any) -> None:
        self._graph, self._owns = snapshot["graph"], False

    def export(self) -> list[Item]:
        return [] if self._graph is None else _Connection(self.patience).facts(self._graph)

    def _let_go(self, once: bool) -> None:
        if self._user is None:
            return
        zep = _Connection(self.patience)
        for clone in self._clones:
            zep.delete_graph(clone, once)
        zep.delete_user(self._user, once, wait=not once)


class _Connection:
    """What the adapter asks of Zep, over its client."""

    def __init__(self, patience: float) -> None:
        address = server_address(URL, CLOUD, KEY)
        key = server_key(KEY)
        if key is None:
            raise UsageError(f"zep: the server at {address} needs a key; set {KEY} to a project key of your account")
        start = "it is a service of getzep.com"
        self.server = Server("Zep", address, URL, KEY, start, _fault_of)
        self._patience = patience
        self.client = _client(address, key)

    def delete_named(self, name: str) -> None:
        """Delete the user of this name with all that is theirs, and the clones made for them."""
        doing = "asked for what a killed run left"
        nobody = object()
        user = self.server.ask(doing, lambda: self.client.user.lookup(user_id=name), gone=nobody)
        if user is not nobody:
            if getattr(user, "user_id", None) != name:
                raise MemoryFailed(f"Zep answered with another user than {name}")
            self.delete_user(self._id(doing, user), wait=True)
        for graph in list(self._all(doing, lambda: self.client.graph.list(search=name, page_size=PAGE))):
            if graph.name == name:
                self.delete_graph(self._id(doing, graph))

    def new_user(self, name: str) -> tuple[str, str]:
        """A new user: their uuid, and their graph's."""
        doing = "asked for a new user"
        user = self.server.ask(doing, lambda: self.client.user.create(user_id=name), repeatable=False)
        return self._id(doing, user), self._id(doing, user, "graph_uuid")

    def new_thread(self, user: str) -> str:
        doing = "asked for a new thread"
        return self._id(
            doing, self.server.ask(doing, lambda: self.client.thread.create(user_uuid=user), repeatable=False)
        )

    def add(self, thread: str, parts: Sequence[tuple[str, str, datetime]]) -> None:
        """Add messages (role, text, time), and wait until the graph has them."""
        from zep_cloud.types import AddMessage

        messages = [AddMessage(role=role, content=text, reference_time=as_utc(time)) for role, text, time in parts]
        doing = "given messages"
        added = self.server.ask(
            doing, lambda: self.client.thread.add_messages(thread, messages=messages), repeatable=False
        )
        self._finish(doing, added.task)

    def search(self, graph: str, query: str, k: int) -> list[Item]:
        """The first k facts found, best first."""
        doing, size = "searched", min(k, PAGE)
        pages = self._all(doing, lambda: self.client.graph.search_edges(graph, query=query, page_size=size))
        return [self._item(doing, edge, graph) for edge, _ in zip(pages, range(k), strict=False)]

    def facts(self, graph: str) -> list[Item]:
        """All facts of a graph."""
        doing = "asked for all facts"
        pages = self._all(doing, lambda: self.client.graph.edge.list(graph, page_size=PAGE))
        return [self._item(doing, edge, graph) for edge in pages]

    def begin_clone(self, graph: str) -> tuple[str, Any]:
        """The uuid of a clone that is being made, and the task that makes it."""
        doing = "asked to clone a graph"
        result = self.server.ask(doing, lambda: self.client.graph.clone(graph, request={}), repeatable=False)
        return self._id(doing, result.graph), result.task

    def finish_clone(self, clone: str, task: Any, name: str) -> None:
        self.server.ask("asked to name a clone", lambda: self.client.graph.update(clone, name=name))
        self._finish("asked to clone a graph", task)

    def delete_graph(self, graph: str, once: bool = False) -> None:
        self.server.ask(
            "asked to delete a graph", lambda: self.client.graph.delete(graph) or object(), gone=object(), once=once
        )

    def delete_user(self, user: str, once: bool = False, wait: bool = False) -> None:
        doing, nobody = "asked to delete a user", object()
        deleted: Any = self.server.ask(doing, lambda: self.client.user.delete(user), gone=nobody, once=once)
        if wait and deleted is not nobody:
            self._finish(doing, deleted.task)

    def _finish(self, doing: str, task: Any) -> None:
        """Wait for a task. Raises MemoryFailed where it does not succeed."""
        number = self._id(doing, task)

        def ended() -> bool:
            state = self.server.ask(f"{doing}, its task", lambda: self.client.task.get(number))
            if state.status in ("failed", "partial"):
                why = (state.error.message if state.error else None) or "it does not say why"
                raise self.server.unexpected(doing, f"the task has {state.status}: {why}")
            return bool(state.status == "succeeded")

        wait_until(ended, f"Zep, {doing}, at {self.server.address}: its task", self._patience)

    def _all(self, doing: str, first: Callable[[], Any]) -> Iterator[Any]:
        """What a listing has on all its pages; each page is asked for when the one before has been used up."""
        page = self.server.ask(doing, first)
        while page is not None:
            yield from page.items or ()
            page = self.server.ask(doing, page.get_next) if page.has_next and page.items else None

    def _item(self, doing: str, edge: Any, graph: str) -> Item:
        if edge.graph_uuid not in (None, graph):
            raise MemoryFailed(f"Zep answered with a fact of the graph {edge.graph_uuid}, another's")
        if edge.fact is None:
            raise self.server.unexpected(doing, "it answered with an edge that has no fact")
        try:
            return Item(
                fact_text(edge.fact, from_utc(edge.invalid_at), edge.expired_at is not None), from_utc(edge.valid_at)
            )
        except ValueError as error:
            raise self.server.unexpected(doing, f"a fact's time is none: {error}") from None

    def _id(self, doing: str, thing: Any, name: str = "uuid_") -> str:
        value = getattr(thing, name, None)
        if not isinstance(value, str) or not value:
            raise self.server.unexpected(doing, f"it answered without '{name.rstrip('_')}'")
        return value


@lru_cache(maxsize=4)
def _client(address: str, key: str) -> Any:
    """One client for all memories of a run: it can be used by many threads, and is slow to make."""
    from zep_cloud.client import Zep

    return Zep(
        base_url=address,
        api_key=key,
        max_retries=0,  # `Server.ask` tries again
        timeout=120.0,
        follow_redirects=False,  # the key goes to this address alone
    )


def _parts(text: str) -> list[str]:
    """A text in parts that Zep takes; nothing where there is nothing to say."""
    parts = [text[begin : begin + LONGEST_MESSAGE] for begin in range(0, len(text), LONGEST_MESSAGE)]
    return [part for part in parts if part.strip()]


def _fault_of(error: Exception) -> Fault | None:
    import httpx
    from zep_cloud.core.api_error import ApiError
    from zep_cloud.core.parse_error import ParsingError

    if isinstance(error, httpx.TimeoutException):
        return Fault("no answer in time", unsent=isinstance(error, httpx.ConnectTimeout), lost=True)
    if isinstance(error, httpx.TransportError):
        return Fault(str(error) or type(error).__name__, unsent=isinstance(error, httpx.ConnectError), lost=True)
    if isinstance(error, ParsingError):
        return Fault("it answered something that its client cannot read")
    if isinstance(error, ApiError):
        status = error.status_code
        if status is not None and status < 300:
            return Fault("it answered something that is no JSON", status)
        wait = seconds({k.lower(): v for k, v in (error.headers or {}).items()}.get("retry-after"))
        return Fault(_words(error.body), status, wait=wait)
    return None


def _words(body: Any) -> str:
    """What Zep says of an error: {"message"} or {"error": {"message"}} or text."""
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message", body)
    return str(getattr(body, "message", None) or body)
