"""What LangMem's prompt means to the offline model: facts to extract from a session, or to reconcile with old ones."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from amemgym.messages import Message, Role
from amemgym.tasks import Chat, ExtractFacts, Operation, ReconcileFacts, StandIn, ToolCall

_WHOLE_SESSION = re.compile(r"<session_([0-9a-f-]{36})>\n(.*)\n</session_\1>", re.DOTALL)
_TURN = re.compile(r"^={20,} (Human|Ai) Message ={20,}$\n\n", re.MULTILINE)
_SHOWN = re.compile(r"^<instance id=(\S+) schema_type=\"Memory\">\n(.*)\n</instance>$", re.MULTILINE)
_ROLES: dict[str, Role] = {"Human": "user", "Ai": "assistant"}


def meant_by(chat: Chat) -> StandIn[Any] | None:
    texts = [str(message.get("content")) for message in chat.body["messages"]]
    names = {tool.get("function", {}).get("name") for tool in chat.body.get("tools") or ()}
    session = _WHOLE_SESSION.search(texts[-1])
    if not texts[0].startswith("You are a memory subroutine for an AI.") or session is None or "Memory" not in names:
        return None
    _, *turns = _TURN.split(session[2])
    conversation = tuple(
        Message(_ROLES[role], text.removesuffix("\n\n")) for role, text in zip(turns[::2], turns[1::2], strict=True)
    )
    shown = [(found[1], _read(found[2])) for found in _SHOWN.finditer(texts[0])]
    if not shown:
        return StandIn(ExtractFacts(conversation, datetime.min), lambda facts: _calls(map(_made, facts or ())))
    stored = tuple((number, text) for number, (_, text) in enumerate(shown))
    facts = tuple(message.content for message in conversation if message.role == "user")

    def word(operations: list[Operation] | None) -> tuple[ToolCall, ...]:
        return _calls(_changed(done, shown) for done in operations or () if done.kind in ("add", "update"))

    return StandIn(ReconcileFacts(stored, facts, datetime.min), word)


def _read(literal: str) -> str:
    """The text of a memory as it is shown: the literal of a dictionary on one line."""
    try:
        return str(ast.literal_eval(literal)["content"])
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError, KeyError):
        return literal


def _made(text: str) -> tuple[str, dict[str, Any]]:
    return "Memory", {"content": text}


def _changed(done: Operation, shown: Sequence[tuple[str, str]]) -> tuple[str, dict[str, Any]]:
    if done.id is None:
        return _made(done.text)
    patch = {"op": "replace", "path": "/content", "value": done.text}
    return "PatchDoc", {"json_doc_id": shown[done.id][0], "planned_edits": "replace", "patches": [patch]}


def _calls(calls: Iterable[tuple[str, dict[str, Any]]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(f"call_{number}", name, json.dumps(arguments, ensure_ascii=False))
        for number, (name, arguments) in enumerate(calls)
    )
