"""Memories: the protocol, how one is called, the kinds of the paper, and where others are found."""

from amemgym.memory.calls import (
    clear_all,
    close_memory,
    held_by,
    is_quick_to_write,
    new_memory,
    read_from,
    restore_to,
    snapshot_of,
    write_to,
)
from amemgym.memory.index import ExactIndex, VectorIndex
from amemgym.memory.none import NoMemory
from amemgym.memory.protocol import QUERY, Item, Memory, MemoryMaker, Tools
from amemgym.memory.registry import (
    KnownMemory,
    checked_memory,
    find_memory,
    fingerprint,
    has_memory,
    import_memory,
    known_memories,
    memory_version,
    outside_memories,
)

__all__ = [
    "QUERY",
    "ExactIndex",
    "Item",
    "KnownMemory",
    "Memory",
    "MemoryMaker",
    "NoMemory",
    "Tools",
    "VectorIndex",
    "checked_memory",
    "clear_all",
    "close_memory",
    "find_memory",
    "fingerprint",
    "has_memory",
    "held_by",
    "import_memory",
    "is_quick_to_write",
    "known_memories",
    "memory_version",
    "new_memory",
    "outside_memories",
    "read_from",
    "restore_to",
    "snapshot_of",
    "write_to",
]
