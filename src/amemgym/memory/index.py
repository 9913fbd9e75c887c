"""Nearest vectors. The index behind a memory is exchangeable; the default one is exact."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np

from amemgym.llm.embed import Vectors


class VectorIndex(Protocol):
    """Vectors under integer keys."""

    def put(self, key: int, vector: Vectors) -> None:
        """Add a unit vector, shape (dimension,), or replace the one under that key."""
        ...

    def remove(self, key: int) -> None: ...

    def nearest(self, vector: Vectors, k: int) -> list[int]:
        """The keys of the k vectors with the greatest cosine, best first; equals by smaller key."""
        ...

    def copy(self) -> Self:
        """An index of the same content that goes its own way from here."""
        ...


class ExactIndex:
    """Compares with every vector: exact, and quick enough for the thousands of items an episode makes."""

    def __init__(self) -> None:
        self._vectors: dict[int, Vectors] = {}
        self._stacked: tuple[list[int], Vectors] | None = None

    def put(self, key: int, vector: Vectors) -> None:
        self._vectors[key] = vector
        self._stacked = None

    def remove(self, key: int) -> None:
        del self._vectors[key]
        self._stacked = None

    def nearest(self, vector: Vectors, k: int) -> list[int]:
        if not self._vectors or k <= 0:
            return []
        keys, matrix = self._stack()
        order = np.argsort(-(matrix @ vector), kind="stable")[:k]
        return [keys[int(place)] for place in order]

    def copy(self) -> ExactIndex:
        twin = ExactIndex()
        twin._vectors = dict(self._vectors)
        twin._stacked = self._stack() if self._vectors else None  # never written to, so it can be shared
        return twin

    def _stack(self) -> tuple[list[int], Vectors]:
        if self._stacked is None:
            keys = sorted(self._vectors)
            self._stacked = keys, np.stack([self._vectors[key] for key in keys])
        return self._stacked
