"""Graphiti: facts with times in a graph that a Graphiti REST server builds from what was said.

The adapter speaks to the server of Graphiti's own repository (`server/`, image `zepai/graphiti`) over six routes, with
what Python brings. The package `graphiti-core` is not used: it would need a graph database's driver, telemetry and its
own models here, where the server has all of them. The server's model calls are its own and are not counted.

- Messages go to `POST /messages` with their simulated times as reference times. The server answers before it has
  worked; a write waits until `GET /episodes/{group}` lists every message. No uuid is sent, since the server takes one
  for an episode that exists. The route lists nothing later than the clock, so a later time is refused before.
- Known faults of that server (getzep/graphiti issue 566, pull request 1230): after a failed message, or with a newer
  neo4j driver, it accepts messages and works on none. Then the write ends with an error.
- A fact's time is `valid_at`, which the server's model reads out of the text and the reference time; it may be missing.
  `created_at` and `expired_at` are the server's clock and never used as times.
- The server cannot copy a group, nor list its facts (so nothing is exported), nor take facts without extracting them. A
  snapshot is therefore a view of the owner's group, right only until the owner writes again: `snapshot_is_view`. Each
  reading looks whether the group still has the messages that it had, and raises where it has not.
- Facts carry no group; that users are apart rests on the group asked for, and on every episode of it being this
  memory's own: messages have names that no other instance gives, and one with another name raises.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from http.client import HTTPException, HTTPMessage
from socket import gaierror
from typing import IO, Any, ClassVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from pydantic import BaseModel, ValidationError

from amemgym.errors import MemoryFailed
from amemgym.memory.adapters.servers import (
    Fault,
    Server,
    ServerMemory,
    as_utc,
    fact_text,
    from_utc,
    server_address,
    server_name,
    wait_until,
)
from amemgym.memory.protocol import Item
from amemgym.messages import Message

URL, LOCAL = "GRAPHITI_URL", "http://localhost:8000"


class _Fact(BaseModel):
    fact: str
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    expired_at: datetime | None = None

    def item(self) -> Item:
        return Item(
            fact_text(self.fact, from_utc(self.invalid_at), self.expired_at is not None), from_utc(self.valid_at)
        )


class _Found(BaseModel):
    facts: list[_Fact]


class _Episode(BaseModel):
    name: str
    group_id: str


class GraphitiMemory(ServerMemory):
    """Graphiti: facts with times, found in a graph that a Graphiti server builds (set GRAPHITI_URL)."""

    environment = (URL,)
    #: a copy reads what it was copied from, so it is right only until that is written to again
    snapshot_is_view: ClassVar[bool] = True
    #: seconds that the server may take for what is written at once
    patience: ClassVar[float] = 600.0

    def __init__(self) -> None:
        #: begins the names of this instance's messages
        self._mark = uuid.uuid4().hex[:12]
        #: the group that is read, once there is one, and how many messages it has
        self._group: str | None = None
        self._written = 0
        #: the group that this memory made (a copy makes none)
        self._made: str | None = None
        self._owns = True

    @classmethod
    def check(cls) -> None:
        server = _server()
        server.check(lambda: _healthy(server))

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        if not self._owns:
            raise MemoryFailed("a copy of a Graphiti memory is a view of the original and cannot be written to")
        server = _server()
        times = [message.time or now for message in messages]
        if times and max(times) > datetime.now(UTC).replace(tzinfo=None):
            raise MemoryFailed(
                f"Graphiti's server lists nothing that is later than its own clock, and {max(times)} is; a data set"
                " with times in the past is needed"
            )
        if self._group is None:
            group = server_name(self.tools.name)
            self._delete(server, group)  # what a killed run left under this name
            self._group = self._made = group
        sent = [
            {
                "content": message.content,
                "name": f"{self._mark}-{self._written + place}",
                "role_type": message.role,
                "role": message.role,
                "timestamp": as_utc(time),
                "source_description": "conversation",
            }
            for place, (message, time) in enumerate(zip(messages, times, strict=True))
        ]
        body = {"group_id": self._group, "messages": sent}
        server.ask("given messages", lambda: _call(server, "POST", "/messages", body), repeatable=False)
        self._written += len(sent)
        wait_until(self._is_complete, f"Graphiti's work on messages at {server.address}", self.patience)

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        if self._group is None:
            return []
        server = _server()
        body = {"group_ids": [self._group], "query": query, "max_facts": k}
        answer = server.ask("searched", lambda: _call(server, "POST", "/search", body))
        try:
            facts = _Found.model_validate(answer).facts[:k]
        except ValidationError as error:
            raise server.unexpected("searched", f"it answered no facts ({error.error_count()} faults)") from None
        if not self._is_complete():
            raise MemoryFailed(
                f"the Graphiti group {self._group} has other messages than it had when it was copied or last written"
            )
        return [fact.item() for fact in facts]

    def snapshot(self) -> object:
        return {"group": self._group, "mark": self._mark, "written": self._written}

    def restore(self, snapshot: Any) -> None:
        self._group, self._mark, self._written = snapshot["group"], snapshot["mark"], snapshot["written"]
        self._owns = False

    def _let_go(self, once: bool) -> None:
        if self._made is not None:
            self._delete(_server(), self._made, once)

    def _is_complete(self) -> bool:
        """Whether the group's episodes are all the messages written. Raises MemoryFailed where there are others."""
        server = _server()
        assert self._group is not None
        path = f"/episodes/{quote(self._group)}?last_n={self._written + 1}"
        answer = server.ask("asked for episodes", lambda: _call(server, "GET", path))
        if not isinstance(answer, list):
            raise server.unexpected("asked for episodes", f"it answered {type(answer).__name__}, not a list")
        try:
            episodes = [_Episode.model_validate(episode) for episode in answer]
        except ValidationError:
            raise server.unexpected("asked for episodes", "it answered no episodes") from None
        own = {f"{self._mark}-{number}" for number in range(self._written)}
        for episode in episodes:
            if episode.group_id != self._group:
                raise MemoryFailed(f"Graphiti answered with an episode of the group {episode.group_id}, another's")
            if episode.name not in own:
                raise MemoryFailed(
                    f"the Graphiti group {self._group} holds messages that this memory has not written there: it was"
                    " written to since, or another run uses the same name or was killed and is still worked on"
                )
        return {episode.name for episode in episodes} == own

    def _delete(self, server: Server, group: str, once: bool = False) -> None:
        path = f"/group/{quote(group)}"
        server.ask("asked to delete a group", lambda: _call(server, "DELETE", path), gone=object(), once=once)


def _server() -> Server:
    return Server(
        "Graphiti",
        server_address(URL, LOCAL),
        URL,
        "",
        "start one from getzep/graphiti's server folder, with its graph database (docker compose up)",
        _fault_of,
    )


class _NoRedirect(HTTPRedirectHandler):
    """What is remembered goes to the address given and to no other."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        return None


_OPENER: OpenerDirector = build_opener(_NoRedirect)
#: seconds for one request: deleting a large group takes long
_TIMEOUT = 120.0


def _call(server: Server, method: str, path: str, body: object = None) -> Any:
    """The JSON that the server answers. Raises what `_fault_of` knows."""
    data = None if body is None else json.dumps(body).encode("utf-8")
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    request = Request(server.address + path, data, headers, method=method)  # noqa: S310 - http(s), checked
    with _OPENER.open(request, timeout=_TIMEOUT) as response:
        return json.loads(response.read())


def _healthy(server: Server) -> None:
    answer = _call(server, "GET", "/healthcheck")
    if not isinstance(answer, dict) or answer.get("status") != "healthy":
        raise _Unhealthy(json.dumps(answer))


class _Unhealthy(Exception):
    pass


def _fault_of(error: Exception) -> Fault | None:
    if isinstance(error, HTTPError):
        with error:
            return Fault(error.read(2000).decode("utf-8", "replace") or str(error.reason), error.code)
    if isinstance(error, _Unhealthy):
        return Fault(f"it is not healthy: {error}", 200)
    if isinstance(error, ValueError):  # json, unicode
        return Fault("it answered something that is no JSON", 200)
    if isinstance(error, URLError) and isinstance(error.reason, TimeoutError):
        return Fault("no answer in time", lost=True)
    if isinstance(error, URLError):
        unsent = isinstance(error.reason, ConnectionRefusedError | gaierror)
        return Fault(str(error.reason), unsent=unsent, lost=True)
    if isinstance(error, TimeoutError):
        return Fault("no answer in time", lost=True)
    if isinstance(error, OSError | HTTPException):
        return Fault(f"the connection broke ({type(error).__name__})", lost=True)
    return None
