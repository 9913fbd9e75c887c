"""A fake of Zep's interface v4 as far as the adapter uses it, with the shapes of zep-cloud 4.0.

Each message becomes one fact with the message's reference time as `valid_at`. Work is a task that has ended after
`slow` looks at it, or at once.
"""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.support.fake_server import Call, FakeServer, Reply, overlap

BASE = "/api/v4"
#: its own limits
LONGEST_MESSAGE, LONGEST_QUERY, MESSAGES = 2500, 400, 30


class FakeZep(FakeServer):
    def __init__(self) -> None:
        super().__init__()
        self.users: dict[str, dict[str, Any]] = {}
        self.graphs: dict[str, dict[str, Any]] = {}
        self.edges: dict[str, list[dict[str, Any]]] = {}
        self.threads: dict[str, str] = {}
        #: the key it wants, if any; looks until a task has ended; how tasks end
        self.key: str | None = None
        self.slow = 0
        self.outcome: dict[str, Any] = {"status": "succeeded"}
        self._tasks: dict[str, tuple[int, Callable[[], None]]] = {}

    def route(self, call: Call) -> Reply:
        given = call.headers.get("authorization", "")
        if self.key is not None and given != f"Api-Key {self.key}":
            return error(401, f"unauthorized: {given}")  # servers do echo keys
        path = call.path.removeprefix(BASE)
        for method, pattern, answer in self._routes():
            if method == call.method and (found := re.fullmatch(pattern, path)):
                return answer(call, *found.groups())
        return error(404, "no such route")

    def _routes(self) -> list[tuple[str, str, Callable[..., Reply]]]:
        return [
            ("POST", "/users", self._new_user),
            ("POST", "/users/list", lambda call: paged(list(self.users.values()), call)),
            ("POST", "/users/lookup", self._look_up),
            ("DELETE", "/users/([^/]+)", self._delete_user),
            ("POST", "/threads", self._new_thread),
            ("POST", "/threads/([^/]+)/messages", self._add),
            ("GET", "/tasks/([^/]+)", self._task_state),
            ("POST", "/graphs/list", self._list_graphs),
            ("POST", "/graphs/([^/]+)/clone", self._clone),
            ("PATCH", "/graphs/([^/]+)", self._update),
            ("DELETE", "/graphs/([^/]+)", self._delete_graph),
            ("POST", "/graphs/([^/]+)/search/edges", self._search),
            ("POST", "/graphs/([^/]+)/edges/list", self._list_edges),
        ]

    def _new_user(self, call: Call) -> Reply:
        name = call.body.get("user_id")
        if any(user["user_id"] == name for user in self.users.values()):
            return error(409, "this user_id is taken")
        user, graph = str(uuid.uuid4()), str(uuid.uuid4())
        self.users[user] = {"uuid": user, "user_id": name, "graph_uuid": graph, "created_at": clock()}
        self.graphs[graph] = {"uuid": graph, "type": "user", "user_uuid": user, "created_at": clock()}
        self.edges[graph] = []
        return Reply(201, self.users[user])

    def _look_up(self, call: Call) -> Reply:
        found = [user for user in self.users.values() if user["user_id"] == call.body["user_id"]]
        return Reply(200, found[0]) if found else error(404, "no such user")

    def _delete_user(self, call: Call, user: str) -> Reply:
        if user not in self.users:
            return error(404, "no such user")

        def done() -> None:
            graph = self.users.pop(user)["graph_uuid"]
            del self.graphs[graph], self.edges[graph]

        return Reply(202, {"task": self._task(done)})

    def _new_thread(self, call: Call) -> Reply:
        thread = str(uuid.uuid4())
        self.threads[thread] = self.users[call.body["user_uuid"]]["graph_uuid"]
        return Reply(201, {"uuid": thread, "user_uuid": call.body["user_uuid"]})

    def _add(self, call: Call, thread: str) -> Reply:
        messages = call.body["messages"]
        if len(messages) > MESSAGES or any(len(m["content"]) > LONGEST_MESSAGE for m in messages):
            return error(400, "too many messages, or too long ones")
        graph = self.threads[thread]

        def done() -> None:
            self.edges[graph] += [self.edge(graph, m["content"], m.get("reference_time")) for m in messages]

        return Reply(202, {"messages": [{"uuid": str(uuid.uuid4())} for _ in messages], "task": self._task(done)})

    def edge(self, graph: str, fact: str, valid_at: str | None, **more: Any) -> dict[str, Any]:
        return {
            "uuid": str(uuid.uuid4()),
            "graph_uuid": graph,
            "fact": fact,
            "name": "SAID",
            "valid_at": valid_at,
            "created_at": clock(),
            "episode_uuids": [],
        } | more

    def _task(self, done: Callable[[], None]) -> dict[str, Any]:
        task = str(uuid.uuid4())
        if self.slow == 0 and self.outcome["status"] == "succeeded":
            done()
            done = _nothing
        self._tasks[task] = (self.slow, done)
        return {"uuid": task, "status": "pending", "created_at": clock()}

    def _task_state(self, call: Call, task: str) -> Reply:
        if task not in self._tasks:
            return error(404, "no such task")
        left, done = self._tasks[task]
        if left > 0:
            self._tasks[task] = (left - 1, done)
            return Reply(200, {"uuid": task, "status": "processing"})
        if self.outcome["status"] == "succeeded":
            done()
        self._tasks[task] = (0, _nothing)
        return Reply(200, {"uuid": task} | self.outcome)

    def _list_graphs(self, call: Call) -> Reply:
        asked = (call.body or {}).get("search", "")
        return paged([graph for graph in self.graphs.values() if asked in graph.get("name", "")], call)

    def _clone(self, call: Call, graph: str) -> Reply:
        clone, source = str(uuid.uuid4()), copy.deepcopy(self.edges[graph])
        self.graphs[clone] = {"uuid": clone, "type": "standard", "name": "", "created_at": clock()}
        self.edges[clone] = []

        def done() -> None:
            self.edges[clone] = [edge | {"graph_uuid": clone} for edge in source]

        return Reply(202, {"graph": self.graphs[clone], "task": self._task(done)})

    def _update(self, call: Call, graph: str) -> Reply:
        self.graphs[graph] |= call.body
        return Reply(200, self.graphs[graph])

    def _delete_graph(self, call: Call, graph: str) -> Reply:
        if self.graphs.pop(graph, None) is None:
            return error(404, "no such graph")
        del self.edges[graph]
        return Reply(202, {"task": self._task(_nothing)})

    def _search(self, call: Call, graph: str) -> Reply:
        query = call.body["query"]
        if not 0 < len(query) <= LONGEST_QUERY or not 1 <= int(call.query.get("page_size", 50)) <= 50:
            return error(400, "a query of up to 400 characters, a page of up to 50")
        if graph not in self.graphs:
            return error(404, "no such graph")
        return paged(sorted(self.edges[graph], key=lambda edge: -overlap(edge["fact"], query)), call)

    def _list_edges(self, call: Call, graph: str) -> Reply:
        return paged(self.edges[graph], call)


def paged(items: list[dict[str, Any]], call: Call) -> Reply:
    begin, size = int(call.query.get("cursor", 0)), int(call.query.get("page_size", 50))
    more = {"next_cursor": str(begin + size)} if len(items) > begin + size else {}
    return Reply(200, {"items": items[begin : begin + size]} | more)


def error(status: int, message: str) -> Reply:
    return Reply(status, {"error": {"code": "error", "message": message}})


def _nothing() -> None:
    return


def clock() -> str:
    return datetime.now(UTC).isoformat()
