"""Nearest vectors. The index behind a memory is exchangeable; the default one is exact."""

from __future__ import annotations

from typing import Protocol

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
        if self._stacked is None:
            keys = sorted(self._vectors)
            self._stacked = keys, np.stack([self._vectors[key] for key in keys])
        keys, matrix = self._stacked
        order = np.argsort(-(matrix @ vector), kind="stable")[:k]
        return [keys[int(place)] for place in order]
