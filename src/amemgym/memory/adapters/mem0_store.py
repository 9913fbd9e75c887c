"""A vector store for mem0: rows in memory, compared exactly by their cosine, equals in order of insertion.

It finds what mem0's default store finds (a local qdrant, which compares exactly too), but is copied in no time and
opens no file. What goes wrong in it is kept and raised again, as mem0 goes on over many errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np

from amemgym.llm.embed import Vectors

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Row:
    """A memory as mem0 stores it: `vector` is a unit row (or zeros), shape (dimension,), and `payload` a flat object.
    Neither is ever written to."""

    id: str
    vector: Vectors
    payload: Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A row as mem0 gets it: the payload is its own copy; `score` is the cosine."""

    id: str
    payload: dict[str, Any]
    score: float = 0.0


def _kept(method: F) -> F:
    """The first failure is kept."""

    @wraps(method)
    def keeping(self: Rows, *arguments: Any, **more: Any) -> Any:
        try:
            return method(self, *arguments, **more)
        except Exception as error:
            self._failure = self._failure or error
            raise

    return cast(F, keeping)


class Rows:
    """The rows, under their ids. mem0 2 says `top_k` where mem0 1 says `limit`."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._matrix: Vectors | None = None
        self._failure: Exception | None = None

    def raise_failure(self) -> None:
        """Raise what went wrong in here, if mem0 did not."""
        if self._failure is not None:
            raise self._failure

    def rows(self) -> tuple[Row, ...]:
        return tuple(self._rows.values())

    @_kept
    def put(self, rows: Sequence[Row]) -> None:
        """Add rows, or replace those of their ids."""
        self._rows.update({row.id: row for row in rows})
        self._matrix = None

    @_kept
    def insert(
        self, vectors: Sequence[Sequence[float]], payloads: Sequence[Mapping[str, Any]], ids: Sequence[str]
    ) -> None:
        self.put([Row(i, _unit(v), dict(p)) for i, v, p in zip(ids, vectors, payloads, strict=True)])

    @_kept
    def update(
        self, vector_id: str, vector: Sequence[float] | None = None, payload: Mapping[str, Any] | None = None
    ) -> None:
        row = self._rows[vector_id]
        unit = row.vector if vector is None else _unit(vector)
        self.put([Row(row.id, unit, row.payload if payload is None else dict(payload))])

    @_kept
    def delete(self, vector_id: str) -> None:
        del self._rows[vector_id]
        self._matrix = None

    def get(self, vector_id: str) -> Found | None:
        row = self._rows.get(vector_id)
        return None if row is None else Found(row.id, dict(row.payload))

    @_kept
    def search(
        self,
        query: str,
        vectors: Sequence[float],
        top_k: int = 5,
        filters: Mapping[str, Any] | None = None,
        limit: int | None = None,
    ) -> list[Found]:
        """The rows with these values in their payload, nearest first."""
        if not self._rows:
            return []
        if self._matrix is None:
            self._matrix = np.stack([row.vector for row in self._rows.values()])
        rows, scores = self.rows(), self._matrix @ _unit(vectors)
        ordered = ((rows[place], float(scores[place])) for place in np.argsort(-scores, kind="stable"))
        fitting = ((row, score) for row, score in ordered if _fits(row, filters or {}))
        return [Found(r.id, dict(r.payload), s) for r, s in islice(fitting, top_k if limit is None else limit)]

    def keyword_search(self, query: str, top_k: int = 5, filters: Mapping[str, Any] | None = None) -> None:
        """None: no search by words, as with qdrant where the package fastembed is missing."""


def _unit(vector: Sequence[float]) -> Vectors:
    row = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(row))
    return row / length if length > 0 else row


def _fits(row: Row, filters: Mapping[str, Any]) -> bool:
    return all(row.payload.get(name) == value for name, value in filters.items())
