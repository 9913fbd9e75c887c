"""Rows in groups, as a score needs them: each user's, each user's period.

A sum is rounded once (as by `math.fsum`), so that it does not depend on the order of its rows.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

#: one value a row
Column = npt.NDArray[Any]


class Groups:
    """Rows (numbered from 0) by the values of key columns, groups in ascending order, the first key first."""

    def __init__(self, *keys: Column) -> None:
        self._order = np.lexsort(keys[::-1])
        is_new = np.zeros(len(self._order), dtype=bool)
        is_new[:1] = True
        for key in keys:
            values = key[self._order]
            is_new[1:] |= values[1:] != values[:-1]
        self._starts = np.flatnonzero(is_new)
        #: rows of each group, and the first of them
        self.sizes: Column = np.diff(np.append(self._starts, len(self._order)))
        self.first: Column = self._order[self._starts]

    def __len__(self) -> int:
        return len(self._starts)

    def sums(self, values: Column) -> list[float]:
        """The sum of each group's values."""
        if not len(self):
            return []
        ordered = values[self._order]
        if ordered.dtype.kind in "biu":
            return [float(total) for total in np.add.reduceat(ordered.astype(np.int64), self._starts)]
        numbers, starts = ordered.tolist(), [*self._starts.tolist(), len(ordered)]
        return [math.fsum(numbers[start:end]) for start, end in pairwise(starts)]

    def means(self, values: Column) -> Column:
        """The mean of each group's values."""
        return np.asarray(self.sums(values), dtype=float) / self.sizes

    def least(self, values: Column) -> Column:
        """The smallest value of each group."""
        return np.minimum.reduceat(values[self._order], self._starts) if len(self) else values[:0]
