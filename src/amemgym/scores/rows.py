"""Columns that grow by some rows at a time, and then are as narrow as their numbers allow."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Generic, TypeVar

import numpy as np

from amemgym.scores.answers import Columns
from amemgym.scores.groups import Column

C = TypeVar("C", bound=Columns)


class Rows(Generic[C]):
    """Rows of one kind of Columns."""

    def __init__(self, kind: type[C]) -> None:
        self._kind = kind
        self._arrays = [array("i") for _ in fields(kind)]

    def extend(self, rows: Iterable[Sequence[int]]) -> int:
        """Add rows, each in the order of the fields; how many they were."""
        before = len(self._arrays[0])
        for column, values in zip(self._arrays, zip(*rows, strict=True), strict=False):
            column.extend(values)
        return len(self._arrays[0]) - before

    def columns(self) -> C:
        """What there is so far."""
        names = (field.name for field in fields(self._kind))
        return self._kind(**{name: narrow(name, np.asarray(of)) for name, of in zip(names, self._arrays, strict=True)})


def narrow(name: str, values: Column) -> Column:
    """The same numbers in the narrowest type that holds them; whether something is so, as booleans."""
    if name in ("correct", "right") or name.startswith("is_"):
        return values.astype(bool)
    if not len(values):
        return values.astype(np.int8)
    low, high = int(values.min()), int(values.max())
    kinds = (np.int8, np.int16, np.int32, np.int64)
    return values.astype(next(k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max))
