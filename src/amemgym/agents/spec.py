"""Agents by name: `native`, `rag`, `awe-2-4-30`, a reference agent, a v1 configuration file, or your own memory,
or an assistant behind an address (`http:URL`).

A name may end in -freq-n_s-topk. What a name says is an `AgentSpec`, which is what the manifest keeps and the
fingerprint covers; the agent itself is made from it, once for each episode.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from amemgym import files
from amemgym.agents.conversational import Habits
from amemgym.agents.reference import is_reference, reference_names
from amemgym.errors import UnknownName, UsageError
from amemgym.llm import BOXES, ModelSettings, box_settings, describe_model
from amemgym.memory import (
    Memory,
    checked_memory,
    find_memory,
    fingerprint,
    has_memory,
    import_memory,
    memory_version,
    outside_memories,
)

DEFAULT_HABITS = Habits()

#: agent name → (memory, what it is)
ASSISTANTS = {
    "native": ("none", "whole conversation in the context window, no memory"),
    "recent": ("none", "the last messages alone; what leaves the window is lost"),
    "rag": ("vector", "RAG: raw messages, found by nearness"),
    "awe": ("extract", "AWE: a model extracts facts and keeps them up to date; found by nearness"),
    "awi": ("in-context", "AWI: a model rewrites one record; the whole record is read"),
    "awi-schema": ("in-context", "AWI told the names of the state variables (ablation)"),
    "wo_memory": ("none", "MemoryBench's name for recent: the last messages alone"),
    "bm25_message": ("bm25-message", "MemoryBench: messages, found by their words"),
    "bm25_dialog": ("bm25-dialog", "MemoryBench: whole sessions, found by their words"),
    "embedder_message": ("vector", "MemoryBench's name for rag: messages, found by nearness"),
    "embedder_dialog": ("vector-dialog", "MemoryBench: whole sessions, found by nearness"),
    "a_mem": ("notes", "A-MEM: a model describes, links and rewrites notes of messages; found by nearness"),
}
#: names that v1 configurations use
ALIASES = {"awi-hack": "awi-schema"}
_NUMBERED = re.compile(r"(?P<name>.+?)-(?P<freq>\d{1,4})-(?P<n_s>\d{1,4})(?:-(?P<topk>\d{1,4}))?")


#: what an agent can be told in words of its own, by its memory: what to keep in a record or as facts, or how to search
Purpose = Literal["record", "facts", "query"]
PURPOSES: dict[str, Purpose] = {"in-context": "record", "extract": "facts", "vector": "query"}
#: memories whose room can be limited
ROOMS = ("in-context", "extract")


@dataclass(frozen=True)
class AgentSpec:
    """One agent of a run.

    `memory` names a registered memory or where its class was imported from; it is "" for reference agents and boxes.
    `memory_class` is set where it is no registered one. `model` is set where the agent has a model of its own.
    `policies` are what it is told to remember (or to search by), period by period, the last one for good. `room` is the
    most its memory may keep: lines of a record, or facts.
    """

    name: str
    memory: str = ""
    habits: Habits = DEFAULT_HABITS
    told_variables: bool = False
    model: ModelSettings | None = None
    memory_class: type[Memory] | None = None
    policies: tuple[str, ...] = ()
    room: int | None = None

    @property
    def purpose(self) -> Purpose | None:
        """What it can be told in words of its own; None where its memory has none."""
        return None if self.told_variables or self.memory_class is not None else PURPOSES.get(self.memory)

    @property
    def is_reference(self) -> bool:
        return not self.memory and not self.is_box

    @property
    def is_box(self) -> bool:
        """Whether it is an assistant behind an address, which is then its model's."""
        return self.model is not None and self.model.model.partition(":")[0] in BOXES

    def memory_type(self) -> type[Memory]:
        """The memory class. Raises UnknownName or UsageError."""
        if self.memory_class is not None:
            return self.memory_class
        return find_memory(self.memory)

    def described(self) -> dict[str, Any]:
        """What tells this agent from another, for the manifest and the fingerprint."""
        if self.is_reference:
            return {"name": self.name, "reference": True}
        if self.is_box and self.model is not None:
            return {"name": self.name, "model": describe_model(self.model)}
        described: dict[str, Any] = {
            "name": self.name,
            # a file's folder is no part of what it does
            "memory": self.memory.rpartition(":")[2],
            "freq": self.habits.freq,
            "n_s": self.habits.n_s if self.habits.freq is not None else None,
            "topk": self.habits.topk,
            "context_tokens": self.habits.context_tokens,
            "told_variables": self.told_variables,
        }
        if self.memory_class is not None:
            described["memory_source"] = fingerprint(self.memory_type())
        registered = "" if self.memory_class is not None else self.memory
        if (version := memory_version(registered, self.memory_type())) is not None:
            described["memory_version"] = version
        told = {name: os.environ[name] for name in self.memory_type().environment if os.environ.get(name)}
        if told:
            described["memory_environment"] = told
        if self.model is not None:
            described["model"] = describe_model(self.model)
        if self.policies:
            described["policies"] = files.sha256(files.canonical_json(self.policies).encode("utf-8", "surrogatepass"))
        if self.room is not None:
            described["room"] = self.room
        return described


def is_agent_file(name: str) -> bool:
    """Whether an agent's name is that of a v1 configuration file; an address may end like one."""
    return name.endswith(".json") and box_settings(name) is None


def agent_names() -> dict[str, str]:
    """Every agent known by name, with one line on each."""
    names = {name: text for name, (_, text) in ASSISTANTS.items()}
    names |= {"http:URL": "any assistant that answers at that address (docs/http-agents.md)"}
    return names | outside_memories() | reference_names()


def parse_agent(name: str, context_tokens: int = 128_000, timeout: float = 120.0) -> AgentSpec:
    """The agent of that name; `timeout` is a box's. Raises UnknownName or UsageError."""
    if not name.strip():
        raise UsageError("an agent's name is empty; give names separated by commas, such as native,rag")
    if is_reference(name):
        return AgentSpec(name)
    if (box := box_settings(name, timeout)) is not None:
        return AgentSpec(box.model, model=box)
    if ":" in name:
        return _of_reference(name, context_tokens)
    base, habits = name, Habits(context_tokens=context_tokens)
    if not _is_assistant(name):
        base, habits = _with_numbers(name, habits)
    base = ALIASES.get(base, base)
    if not _is_assistant(base):
        hint = "A name may end in -freq-n_s-topk, as in awe-2-4-30; your own memory is file.py:Class."
        raise UnknownName("agent", name, agent_names(), hint)
    if base == "native":
        if base != name:
            raise UsageError(f"agent '{name}': native has no memory to write, so no freq, n_s or topk")
        return AgentSpec(name, "none", replace(habits, freq=None))
    memory = ASSISTANTS[base][0] if base in ASSISTANTS else base
    return AgentSpec(name, memory, habits, told_variables=base == "awi-schema")


def with_numbers(name: str, freq: int, n_s: int, topk: int) -> str:
    """The name of the same agent with other numbers. Raises UsageError where those in its name are out of range."""
    base = name if _is_assistant(name) else _with_numbers(name, DEFAULT_HABITS)[0]
    return f"{base}-{freq}-{n_s}-{topk}"


def agent_of_class(cls: type[Memory], context_tokens: int = 128_000) -> AgentSpec:
    """An agent with a memory class of your own, named after the class. Raises UsageError where it is no memory."""
    checked_memory(cls, getattr(cls, "__name__", repr(cls)))
    return AgentSpec(cls.__name__, cls.__name__, Habits(context_tokens=context_tokens), memory_class=cls)


def _of_reference(name: str, context_tokens: int) -> AgentSpec:
    """`file.py:Class` or `module:Class`, which may end in -freq-n_s-topk."""
    source, habits = _with_numbers(name, Habits(context_tokens=context_tokens))
    return AgentSpec(name.rpartition(":")[2], source, habits, memory_class=import_memory(source))


def _is_assistant(name: str) -> bool:
    return name in ASSISTANTS or name in ALIASES or has_memory(name)


def _with_numbers(name: str, habits: Habits) -> tuple[str, Habits]:
    """A name that ends in -freq-n_s-topk: what stands before, and the habits with these numbers. Raises UsageError."""
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return name, habits
    topk = int(match["topk"]) if match["topk"] else habits.topk
    habits = replace(habits, freq=int(match["freq"]), n_s=int(match["n_s"]), topk=topk)
    if habits.freq == 0:
        raise UsageError(f"agent '{name}': freq is 0; a memory is written every freq ≥ 1 messages")
    if habits.topk == 0:
        raise UsageError(f"agent '{name}': topk is 0; nothing would be read from the memory")
    return match["name"], habits
