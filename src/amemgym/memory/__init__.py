"""Memories: the protocol, the kinds of the paper, and where others are found."""

from amemgym.memory.index import ExactIndex, VectorIndex
from amemgym.memory.protocol import Item, Memory, MemoryMaker, Tools, held_by, new_memory, read_from, write_to
from amemgym.memory.registry import checked_memory, find_memory, fingerprint, import_memory, memory_names

__all__ = [
    "ExactIndex",
    "Item",
    "Memory",
    "MemoryMaker",
    "Tools",
    "VectorIndex",
    "checked_memory",
    "find_memory",
    "fingerprint",
    "held_by",
    "import_memory",
    "memory_names",
    "new_memory",
    "read_from",
    "write_to",
]
