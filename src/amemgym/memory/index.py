"""Nearest vectors. The index behind a memory is exchangeable; the default one is exact."""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol, Self

import numpy as np

from amemgym.llm.embed import Vectors

#: rows that a matrix first has room for
FIRST_ROWS = 32


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


class _Rows:
    """Room for rows, which several indexes may share as long as each only adds: what one has never changes for it."""

    __slots__ = ("array", "used")

    def __init__(self, array: Vectors, used: int) -> None:
        self.array = array
        self.used = used


class ExactIndex:
    """Compares with every vector: exact, and quick enough for the thousands of items an episode makes.

    The vectors are the rows of one matrix, in order of their keys. A new one takes the next row, in amortised constant
    time, and a copy shares the rows that there are; to replace or remove one, the matrix is made anew.
    """

    def __init__(self) -> None:
        self._keys: list[int] = []
        self._rows: _Rows | None = None

    def put(self, key: int, vector: Vectors) -> None:
        vector = np.asarray(vector)
        place = bisect_left(self._keys, key)
        if place == len(self._keys):
            self._append(vector)
        elif self._keys[place] == key:
            self._own(self._matrix.copy())
            self._matrix[place] = vector
            return
        else:
            self._own(np.insert(self._matrix, place, vector, axis=0))
        self._keys.insert(place, key)

    def remove(self, key: int) -> None:
        place = bisect_left(self._keys, key)
        if place == len(self._keys) or self._keys[place] != key:
            raise KeyError(key)
        self._own(np.delete(self._matrix, place, axis=0))
        del self._keys[place]

    def nearest(self, vector: Vectors, k: int) -> list[int]:
        if not self._keys or k <= 0:
            return []
        order = np.argsort(-(self._matrix @ vector), kind="stable")[:k]
        return [self._keys[int(place)] for place in order]

    def copy(self) -> ExactIndex:
        twin = ExactIndex()
        twin._keys, twin._rows = list(self._keys), self._rows
        return twin

    @property
    def _matrix(self) -> Vectors:
        assert self._rows is not None
        return self._rows.array[: len(self._keys)]

    def _own(self, matrix: Vectors) -> None:
        self._rows = _Rows(matrix, len(matrix))

    def _append(self, vector: Vectors) -> None:
        count = len(self._keys)
        if self._rows is None or self._rows.used != count or count == len(self._rows.array):
            room = np.empty((max(FIRST_ROWS, 2 * count), len(vector)), dtype=vector.dtype)
            if count:
                room[:count] = self._matrix
            self._rows = _Rows(room, count)
        self._rows.array[count] = vector
        self._rows.used = count + 1
