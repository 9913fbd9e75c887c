"""mem0 2.x: a model extracts facts, which are only ever added; found by nearness to the query."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from amemgym.clean import clean
from amemgym.memory.adapters.mem0_shared import Mem0, conversation_in
from amemgym.tasks import Chat, ExtractFacts, StandIn

_EXTRACTION = "You are a Memory Extractor"
_ASKED = re.compile(
    r"\n\n## Existing Memories\n\[[^\n]*\]\n\n## New Messages\n(?P<said>.*)\n\n## Observation Date\n"
    r"(?P<date>\d{4}-\d\d-\d\d)\n\n## Current Date\n[^\n]*\n\n# Output:\Z",
    re.DOTALL,
)


class Mem0Memory(Mem0):
    """mem0 2.x: a model extracts facts, which are only ever added; found by nearness to the query.

    As `pip install mem0ai` has it: no search by words or entities (extras that download models), and nothing below
    mem0's threshold of 0.1 for the cosine is found."""

    packages: ClassVar[Mapping[str, str]] = {"mem0ai": ">=2,<3"}
    extra: ClassVar[str] = "mem0"

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        system, *rest = [str(message.get("content")) for message in chat.body["messages"]] or [""]
        asked = _ASKED.search(rest[-1]) if rest and _EXTRACTION in system else None
        if asked is None:
            return None
        now = datetime.fromisoformat(asked["date"])
        return StandIn(ExtractFacts(conversation_in(asked["said"]), now), _as_memories)

    def _search(self, query: str, k: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._mem0.search(query, filters={"user_id": self._owner}, top_k=k)["results"]
        return found

    def _readable(self, reply: str) -> str:
        """Less the entries that are no object with a text, which mem0 2 does not survive."""
        from mem0.memory.utils import extract_json, remove_code_blocks

        plain = remove_code_blocks(reply)
        try:
            try:
                value = json.loads(plain, strict=False)
            except json.JSONDecodeError:
                value = json.loads(extract_json(plain), strict=False)
        except (ValueError, RecursionError):
            return ""
        entries = value.get("memory") if isinstance(value, dict) else None
        kept = [entry for entry in entries if _has_text(entry)] if isinstance(entries, list) else []
        return json.dumps(clean({"memory": kept}), ensure_ascii=False)


def _has_text(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("text"), str)


def _as_memories(facts: list[str] | None) -> str:
    memories = [{"id": str(i), "text": fact, "attributed_to": "user"} for i, fact in enumerate(facts or [])]
    return json.dumps({"memory": memories}, ensure_ascii=False)
