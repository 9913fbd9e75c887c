"""A fake of Graphiti's REST server (graph_service in getzep/graphiti), with its shapes.

Each message becomes an episode and one fact with the message's time as `valid_at`, after `slow` looks at the episodes.
"""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import Any

from tests.support.fake_server import Call, FakeServer, Reply, overlap

GROUP = re.compile(r"[a-zA-Z0-9_-]+")


class FakeGraphiti(FakeServer):
    def __init__(self) -> None:
        super().__init__()
        self.episodes: dict[str, list[dict[str, Any]]] = {}
        self.facts: dict[str, list[dict[str, Any]]] = {}
        #: looks at the episodes until messages are worked on; what it says of its health
        self.slow = 0
        self.status = "healthy"
        self._queue: list[tuple[str, dict[str, Any]]] = []

    def route(self, call: Call) -> Reply:
        if (call.method, call.path) == ("GET", "/healthcheck"):
            return Reply(200, {"status": self.status})
        if (call.method, call.path) == ("POST", "/messages"):
            assert GROUP.fullmatch(call.body["group_id"]) and not any(m.get("uuid") for m in call.body["messages"])
            self._queue += [(call.body["group_id"], message) for message in call.body["messages"]]
            return Reply(202, {"message": "Messages added to processing queue", "success": True})
        if (call.method, call.path) == ("POST", "/search"):
            found = [fact for group in call.body["group_ids"] for fact in self.facts.get(group, [])]
            found.sort(key=lambda fact: -overlap(fact["fact"], call.body["query"]))
            return Reply(200, {"facts": found[: call.body.get("max_facts", 10)]})
        kind, _, group = call.path.strip("/").partition("/")
        if (call.method, kind) == ("GET", "episodes"):
            self._work()
            now = datetime.now(UTC)
            held = [e for e in self.episodes.get(group, []) if datetime.fromisoformat(e["valid_at"]) <= now]
            return Reply(200, held[-int(call.query["last_n"]) :])
        if (call.method, kind) == ("DELETE", "group"):
            self.episodes.pop(group, None)
            self.facts.pop(group, None)
            return Reply(200, {"message": "Group deleted", "success": True})
        return Reply(404, {"detail": "Not Found"})

    def _work(self) -> None:
        if self.slow > 0:
            self.slow -= 1
            return
        while self._queue:
            group, message = self._queue.pop(0)
            content = f"{message['role'] or ''}({message['role_type']}): {message['content']}"
            self.episodes.setdefault(group, []).append(
                self.episode(group, message["name"], message["timestamp"], content)
            )
            self.facts.setdefault(group, []).append(self.fact(content, message["timestamp"]))

    def episode(self, group: str, name: str, valid_at: str, content: str) -> dict[str, Any]:
        return {
            "uuid": str(uuid.uuid4()),
            "name": name,
            "group_id": group,
            "labels": [],
            "created_at": datetime.now(UTC).isoformat(),
            "source": "message",
            "source_description": "",
            "content": content,
            "valid_at": valid_at,
            "entity_edges": [],
        }

    def fact(self, fact: str, valid_at: str | None, **more: Any) -> dict[str, Any]:
        return {
            "uuid": str(uuid.uuid4()),
            "name": "SAID",
            "fact": fact,
            "valid_at": valid_at,
            "invalid_at": None,
            "created_at": datetime.now(UTC).isoformat(),
            "expired_at": None,
        } | more
