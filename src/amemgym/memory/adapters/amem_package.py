"""A-MEM by its package (`a-mem`), run in this process: its memory system over a store of this memory alone.

Each message is a note. A model finds its keywords, context and tags, then decides whether the note shall be linked to
its nearest ones, and whether theirs shall change. Notes have names that are the same in every run, and simulated times.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, cast

from amemgym.memory.adapters.amem_source import NOW, Row, memory_system
from amemgym.memory.adapters.endpoint_client import EndpointClient
from amemgym.memory.protocol import Item, Memory
from amemgym.messages import Message, Role
from amemgym.tasks import Chat, ExtractFacts, Operation, ReconcileFacts, StandIn

#: how A-MEM writes a time
TIME = "%Y%m%d%H%M"
#: its word for a note without context
NO_CONTEXT = "General"


@dataclass(frozen=True)
class Content:
    """A snapshot: the store's rows in its order, and when each note was written, in that order."""

    rows: dict[str, Row]
    times: dict[str, datetime]


class AMemPackageMemory(Memory):
    """A-MEM by its package: every message a note, which a model describes and links to others; found by nearness."""

    blocking = True
    needs_endpoint = True
    packages = {"a-mem": ">=0.2.6,<0.3", "openai": ">=1.60"}
    extra = "amem-package"

    def __init__(self) -> None:
        #: note → when it was written, in that order
        self._times: dict[str, datetime] = {}
        self._system: Any = None
        self._client: EndpointClient | None = None

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        system = self._opened()
        for message in messages:
            time = message.time or now
            # in the form of those that it would draw at random; the model is shown them
            key = str(uuid.uuid5(uuid.NAMESPACE_OID, str(len(self._times))))
            with _at(time):
                system.add_note(f"{message.role}: {message.content}", time=time.strftime(TIME), id=key)
            self._times[key] = time

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        with _at(now):
            return [self._item(found["id"]) for found in self._opened().search_agentic(query, k)]

    def export(self) -> list[Item]:
        return [self._item(key) for key in self._times]

    def snapshot(self) -> Content:
        return Content(dict(self._opened().retriever.collection.rows), dict(self._times))

    def restore(self, snapshot: Content) -> None:
        self.clear()
        self._opened().retriever.collection.rows.update(snapshot.rows)
        self._times.update(snapshot.times)

    def clear(self) -> None:
        self.close()
        super().clear()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        """A note is described by what it tells, and linked to the notes that it repeats or changes."""
        return _stand_in(chat)

    def _opened(self) -> Any:
        """The memory system, made when first needed."""
        if self._system is None:
            assert self.tools.endpoint is not None
            self._client = EndpointClient(self.tools.endpoint)
            # without its cache the store is all there is, and a snapshot of it whole
            self._system = _forgiving(memory_system().AgenticMemorySystem)(
                llm_model=self.tools.endpoint.model, api_key=self.tools.endpoint.api_key, enable_cache=False
            )
            self._system.retriever.collection.embed = self._client.embed
            self._system.llm_controller.llm.client = self._client
        return self._system

    def _item(self, key: str) -> Item:
        metadata = self._opened().retriever.collection.rows[key].metadata
        return Item(_shown(metadata), self._times[key])


@lru_cache
def _forgiving(base: Any) -> Any:
    """A-MEM's memory system, which takes JSON of another form than it asked for as it takes what is no JSON: the note
    stays as it was. By itself it would raise, or find nothing any more."""

    class ForgivingSystem(base):  # type: ignore[misc]
        def analyze_content(self, content: str) -> dict[str, Any]:
            found = super().analyze_content(content)
            found = found if isinstance(found, dict) else {}
            context = found.get("context")
            described = {name: found[name] if _are_texts(found.get(name)) else [] for name in ("keywords", "tags")}
            return described | {"context": context if isinstance(context, str) else NO_CONTEXT}

        def process_memory(self, note: Any) -> tuple[bool, Any]:
            tags = note.tags
            evolved, note = super().process_memory(note)
            note.tags = note.tags if _are_texts(note.tags) else tags
            note.links = [link for link in note.links if isinstance(link, str)]
            return evolved, note

    return ForgivingSystem


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


@contextmanager
def _at(now: datetime) -> Iterator[None]:
    token = NOW.set(now)
    try:
        yield
    finally:
        NOW.reset(token)


def _shown(metadata: Mapping[str, str]) -> str:
    """A note as A-MEM shows it to a model: what was said, and how it is described."""
    context = metadata["context"]
    described = {
        "context": "" if context == NO_CONTEXT else context,
        "keywords": _joined(metadata["keywords"]),
        "tags": _joined(metadata["tags"]),
    }
    notes = "; ".join(f"{name}: {text}" for name, text in described.items() if text)
    return metadata["content"] + (f"\n({notes})" if notes else "")


def _joined(written: str) -> str:
    """A list as the store keeps it; a model may have given something else."""
    try:
        listed = json.loads(written)
    except ValueError:
        return written
    return ", ".join(map(str, listed)) if isinstance(listed, list) else written


_ANALYSIS = re.compile(
    r"\AGenerate a structured analysis of the following content.*?Content for analysis:\n *(.*)\Z", re.S
)
_EVOLUTION = re.compile(
    r"\A\n* *You are an AI memory evolution agent.*?\n *content: (.*?)\n *keywords: [^\n]*\n *\n"
    r" *The nearest neighbors memories \(each line starts with memory_id\):\n(.*)\n *\n"
    r" *Based on this information, determine:",
    re.S,
)
_NEIGHBOUR = re.compile(r"^ *memory_id:([0-9a-f-]{36})\ttalk start time:\d*\tmemory content: ", re.M)
_ROLE = re.compile(r"\A(user|assistant|system): ")


def _stand_in(chat: Chat) -> StandIn[Any] | None:
    prompt = str(chat.body["messages"][-1].get("content"))
    if (analysed := _ANALYSIS.match(prompt)) is not None:
        return StandIn(ExtractFacts((_said(analysed[1]),), datetime.min), _described)
    if (evolving := _EVOLUTION.match(prompt)) is None:
        return None
    _, *parts = _NEIGHBOUR.split(evolving[2])
    keys = parts[::2]
    stored = tuple((number, _said(_content(part)).content) for number, part in enumerate(parts[1::2]))
    new = _said(evolving[1])
    facts = (new.content,) if new.role == "user" else ()
    return StandIn(ReconcileFacts(stored, facts, datetime.min), lambda done: _evolved(done or (), keys))


def _said(content: str) -> Message:
    """A note's content as the message it was."""
    role = _ROLE.match(content)
    return Message(cast("Role", role[1]) if role else "user", _ROLE.sub("", content))


def _content(neighbour: str) -> str:
    """What a neighbour says: what stands before the last of what it is described by."""
    return (
        neighbour.rpartition("\tmemory tags: ")[0]
        .rpartition("\tmemory keywords: ")[0]
        .rpartition("\tmemory context: ")[0]
    )


def _described(facts: list[str] | None) -> str:
    return _json({"keywords": [], "context": " ".join(facts or ()) or NO_CONTEXT, "tags": []})


def _evolved(done: Sequence[Operation], keys: Sequence[str]) -> str:
    """Linked to what it repeats or changes; A-MEM replaces no note."""
    linked = [keys[operation.id] for operation in done if operation.id is not None]
    return _json(
        {
            "should_evolve": bool(linked),
            "actions": ["strengthen"] if linked else [],
            "suggested_connections": linked,
            "tags_to_update": [],
            "new_context_neighborhood": [],
            "new_tags_neighborhood": [],
        }
    )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
