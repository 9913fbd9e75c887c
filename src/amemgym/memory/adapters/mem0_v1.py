"""mem0 1.x: a model extracts facts and adds, updates or deletes stored ones by them; found by nearness to the query."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from amemgym.memory.adapters.mem0_shared import Mem0, conversation_in, package
from amemgym.tasks import Chat, ExtractFacts, Operation, ReconcileFacts, StandIn

_EXTRACTION, _UPDATE = "You are a Personal Information Organizer", "You are a smart memory manager"
_TODAY = re.compile(r"(?<=Today's date is )\d{4}-\d\d-\d\d")
#: both lists are written as Python writes them, each on one line
_ASKED = re.compile(
    r"(?:\n    ```\n    (?P<stored>\[.*\])\n    ```|Current memory is empty\.)\s+The new retrieved facts are mentioned"
    r" in the triple backticks\..*\n\s+```\n    (?P<facts>\[.*\])\n    ```\s+You must return your response"
)
EVENTS = {"add": "ADD", "update": "UPDATE", "delete": "DELETE", "keep": "NONE"}


class Mem0V1Memory(Mem0):
    """mem0 1.x: a model extracts facts and adds, updates or deletes stored ones by them; found by nearness.

    As `pip install 'mem0ai<2'` has it: no graph, no reranker, no threshold."""

    packages: ClassVar[Mapping[str, str]] = {"mem0ai": ">=1.0.9,<2"}
    extra: ClassVar[str] = "mem0-v1"

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        first, *rest = [str(message.get("content")) for message in chat.body["messages"]] or [""]
        if rest and _EXTRACTION in first and (today := _TODAY.search(first)):
            return StandIn(ExtractFacts(conversation_in(rest[-1]), datetime.fromisoformat(today[0])), _as_facts)
        # the facts come last, so nothing that is remembered can be taken for them
        asked = list(_ASKED.finditer(first))[-1:] if _UPDATE in first else []
        return _reconciling(asked[0]["stored"] or "[]", asked[0]["facts"]) if asked else None

    def _prepare(self, now: datetime) -> None:
        # the package's own prompt has the day it was imported on
        prompt = package().prompts.USER_MEMORY_EXTRACTION_PROMPT
        self._mem0.config.custom_fact_extraction_prompt = _TODAY.sub(now.date().isoformat(), prompt)

    def _search(self, query: str, k: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._mem0.search(query, user_id=self._owner, limit=k)["results"]
        return found


def _reconciling(stored: str, facts: str) -> StandIn[list[Operation]] | None:
    try:  # literals alone: nothing in them is called or looked up
        old = {int(entry["id"]): str(entry["text"]) for entry in ast.literal_eval(stored)}
        new = tuple(str(fact) for fact in ast.literal_eval(facts))
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None

    def word(operations: list[Operation] | None) -> str:
        entries = []
        for number, operation in enumerate(operations or [], len(old)):
            entry = {"id": str(number if operation.id is None else operation.id), "event": EVENTS[operation.kind]}
            before = "" if operation.id is None else old[operation.id]
            entry |= {"text": operation.text or before}
            entries.append(entry | ({"old_memory": before} if operation.kind == "update" else {}))
        return json.dumps({"memory": entries}, ensure_ascii=False)

    # the time is not in this prompt
    return StandIn(ReconcileFacts(tuple(old.items()), new, datetime.min), word)


def _as_facts(facts: list[str] | None) -> str:
    return json.dumps({"facts": facts or []}, ensure_ascii=False)
