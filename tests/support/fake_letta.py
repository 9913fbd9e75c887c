"""A fake of the Letta server's routes for archives and passages, with the shapes of letta 0.16 and letta-client 1.12.

python -m tests.support.fake_letta     # serves until it is stopped, and prints its address
"""

from __future__ import annotations

import re
import sys
import threading
import uuid
from datetime import UTC, datetime
from typing import Any

from tests.support.fake_server import Call, FakeServer, Reply, overlap

EMBEDDING = {
    "embedding_dim": 1536,
    "embedding_endpoint_type": "openai",
    "embedding_model": "text-embedding-3-small",
    "embedding_endpoint": "https://api.openai.com/v1",
    "embedding_chunk_size": 300,
    "handle": "openai/text-embedding-3-small",
    "batch_size": 32,
}
MISSING = Reply(404, {"detail": "not found"})


class FakeLetta(FakeServer):
    def __init__(self) -> None:
        super().__init__()
        self.archives: dict[str, dict[str, Any]] = {}
        self.passages: dict[str, list[dict[str, Any]]] = {}
        #: the key it wants, if any; the embedding of archives made without one; where archives are kept
        self.key: str | None = None
        self.default_embedding: dict[str, Any] | None = EMBEDDING
        self.kept_in = "native"

    def names(self) -> list[str]:
        return [archive["name"] for archive in self.archives.values()]

    def route(self, call: Call) -> Reply:
        given = call.headers.get("authorization", "")
        if self.key is not None and given != f"Bearer {self.key}":
            return Reply(401, {"detail": f"Unauthorized: {given}"})  # servers do echo keys
        if call.path == "/v1/archives/" and call.method == "POST":
            return Reply(200, self._create(call.body))
        if call.path == "/v1/archives/" and call.method == "GET":
            return Reply(200, self._list(call.query))
        if call.path == "/v1/passages/search" and call.method == "POST":
            return self._search(call.body)
        if found := re.fullmatch(r"/v1/archives/(archive-[^/]+)(/passages/batch)?", call.path):
            archive, batch = found.groups()
            if archive not in self.archives:
                return MISSING
            if call.method == "POST" and batch:
                return Reply(200, [self._add(archive, passage) for passage in call.body["passages"]])
            if call.method == "DELETE" and not batch:
                del self.archives[archive], self.passages[archive]
                return Reply(204)
        return MISSING

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        handle = body.get("embedding")
        made = {
            "id": f"archive-{uuid.uuid4()}",
            "name": body["name"],
            "description": body.get("description"),
            "created_at": datetime.now(UTC).isoformat(),
            "embedding_config": EMBEDDING | {"handle": handle} if handle else self.default_embedding,
            "vector_db_provider": self.kept_in,
            "metadata": None,
        }
        self.archives[made["id"]] = made
        self.passages[made["id"]] = []
        return made

    def _list(self, query: dict[str, str]) -> list[dict[str, Any]]:
        found = [a for a in self.archives.values() if query.get("name") in (None, a["name"])]
        if (after := query.get("after")) is not None:
            ids = [archive["id"] for archive in found]
            found = found[ids.index(after) + 1 :]
        return found[: int(query.get("limit", 50))]

    def _add(self, archive: str, passage: dict[str, Any]) -> dict[str, Any]:
        made = {
            "id": f"passage-{uuid.uuid4()}",
            "archive_id": archive,
            "text": passage["text"].replace("\x00", ""),
            "created_at": passage.get("created_at") or datetime.now(UTC).isoformat(),
            "tags": passage.get("tags"),
            "metadata": passage.get("metadata") or {},
            "embedding": None,
            "embedding_config": self.archives[archive]["embedding_config"],
            "is_deleted": False,
        }
        self.passages[archive].append(made)
        return made

    def _search(self, body: dict[str, Any]) -> Reply:
        if not 1 <= body.get("limit", 50) <= 100:
            return Reply(422, {"detail": [{"loc": ["body", "limit"], "msg": "between 1 and 100", "type": "value"}]})
        archive, query = body.get("archive_id"), body.get("query")
        if archive not in self.archives:
            return MISSING
        start, end = (datetime.fromisoformat(body[n]) if body.get(n) else None for n in ("start_date", "end_date"))
        found = [
            passage
            for passage in self.passages[archive]
            if (start is None or datetime.fromisoformat(passage["created_at"]) >= start)
            and (end is None or datetime.fromisoformat(passage["created_at"]) <= end)
        ]
        found.sort(key=lambda p: (-overlap(p["text"], query) if query else 0.0, p["created_at"], p["id"]))
        return Reply(200, [{"passage": p, "score": 0.0, "metadata": {}} for p in found[: body.get("limit", 50)]])


if __name__ == "__main__":
    with FakeLetta() as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        threading.Event().wait()
