"""A-MEM's package (`a-mem`) as code alone: its modules as they are installed, with few of their imports changed.

Imported as usual, it brings torch, transformers, chromadb and litellm (2 GB; 37 s of a processor), asks a server for
prices, reads a `.env` file, has one folder for all memories and fetches an embedding model. This loads a copy of its
modules, seen by nobody else, in which the store is one in this process, the clock tells the simulated time, and what a
memory here never calls is absent. Nothing of the interpreter is changed for others.
"""

from __future__ import annotations

import builtins
import importlib.util
import logging
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemgym.llm.embed import Vectors

#: the copies' names
PACKAGE = "amemgym_agentic_memory"
#: imported at the top of its modules, and not called by what is used here; `openai` makes a client that is replaced
ABSENT = ("litellm", "nltk", "openai", "rank_bm25", "sentence_transformers", "sklearn", "transformers")
#: the simulated time, for the code that is at work
NOW: ContextVar[datetime] = ContextVar("amemgym_amem_now")

_logger = logging.getLogger(PACKAGE)
_logger.addHandler(logging.NullHandler())  # or its complaints about a reply would go to the terminal
_loaded: dict[str, ModuleType] = {}
_loading = threading.RLock()


@dataclass(frozen=True)
class Row:
    """One document of a collection, and its vector."""

    document: str
    metadata: dict[str, str]
    vector: NDArray[np.float32]


class Collection:
    """Chroma's collection, as far as A-MEM uses it, with exact search. `embed` is to be set before a text is added."""

    embed: Callable[[Sequence[str]], Vectors]

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    def count(self) -> int:
        return len(self.rows)

    def add(self, documents: Sequence[str], metadatas: Sequence[dict[str, str]], ids: Sequence[str]) -> None:
        vectors = self.embed(documents)
        for key, document, metadata, vector in zip(ids, documents, metadatas, vectors, strict=True):
            self.rows.setdefault(key, Row(document, dict(metadata), vector))

    def delete(self, ids: Sequence[str]) -> None:
        for key in ids:
            self.rows.pop(key, None)

    def get(self, ids: Sequence[str]) -> dict[str, list[Any]]:
        return self._found([key for key in ids if key in self.rows])

    def query(self, query_texts: Sequence[str], n_results: int) -> dict[str, list[Any]]:
        """The nearest by squared distance, which is Chroma's default."""
        (text,) = query_texts
        keys = list(self.rows)
        if not keys:
            return {"ids": [[]], "documents": [[]], "metadatas": [[]], "distances": [[]]}
        away = np.stack([row.vector for row in self.rows.values()]) - self.embed([text])[0]
        distances = (away * away).sum(axis=1)
        nearest = np.argsort(distances, kind="stable")[:n_results]
        found = {name: [values] for name, values in self._found([keys[place] for place in nearest]).items()}
        return found | {"distances": [[float(distances[place]) for place in nearest]]}

    def _found(self, keys: list[str]) -> dict[str, list[Any]]:
        rows = [self.rows[key] for key in keys]
        # A-MEM changes what it is given
        return {
            "ids": keys,
            "documents": [row.document for row in rows],
            "metadatas": [dict(row.metadata) for row in rows],
        }


def memory_system() -> ModuleType:
    """Its module `memory_system`."""
    return _load("memory_system")


def folder() -> Path:
    """Where the package is installed."""
    spec = importlib.util.find_spec("agentic_memory")
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


def _load(name: str) -> ModuleType:
    with _loading:
        if name not in _loaded:
            spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}", folder() / f"{name}.py")
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            vars(module)["__builtins__"] = vars(builtins) | {"__import__": _import, "print": _logger.debug}
            _loaded[name] = module
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del _loaded[name]
                raise
        return _loaded[name]


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """What an import statement of these modules gives."""
    if level:
        return _load(name)
    root = name.partition(".")[0]
    if root == "chromadb":
        return _Absent(root, PersistentClient=_Client)
    if root == "datetime":
        return SimpleNamespace(datetime=SimpleNamespace(now=NOW.get))
    return _Absent(root) if root in ABSENT else __import__(name, globals, locals, fromlist, level)


class _Client:
    """Chroma's client: every one has a collection of its own, whatever folder and name are given."""

    def __init__(self, path: str) -> None:
        self._collection = Collection()

    def get_or_create_collection(self, name: str, embedding_function: object) -> Collection:
        return self._collection


class _Absent(ModuleType):
    """A module whose every name is a function that does nothing."""

    def __init__(self, name: str, **names: Any) -> None:
        super().__init__(name)
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        return _nothing


def _nothing(*_: Any, **__: Any) -> None:
    return None
