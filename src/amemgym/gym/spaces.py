"""The space of any text: whatever a person or a model may write, up to a length.

`gymnasium.spaces.Text` lists its characters, and Unicode has too many to list. Here a character's number is its code
point + 1, and 0 ends the text: so a vector environment's memory, which begins as zeros, holds empty texts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from gymnasium.spaces import Box, Text
from gymnasium.spaces.utils import flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.vector.utils import read_from_shared_memory
from numpy.typing import NDArray

#: what samples are made of: letters of several scripts, digits, signs, white space
SAMPLED = " \n.,:;!?'\"()[]{}<>-0123456789aAbBeEnNoOsStTäéßñøЖяα京都数了🙂"
#: a sample is no longer than this, as a long row of such characters tells nothing more than a short one
SAMPLE_LENGTH = 64


class AnyText(Text):
    """Any text of at most `max_length` characters, the empty one included.

    Samples are short (at most 64 characters); a mask or probabilities are over `character_list`, as for `Text`.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=SAMPLED, seed=seed)

    def sample(
        self,
        mask: tuple[int | None, NDArray[np.int8] | None] | None = None,
        probability: tuple[int | None, NDArray[np.float64] | None] | None = None,
    ) -> str:
        if probability is not None:
            return super().sample(mask, probability)
        if mask is not None:
            return super().sample(mask)
        length = int(self.np_random.integers(0, min(self.max_length, SAMPLE_LENGTH) + 1))
        return super().sample((length, None))

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length


@flatten.register(AnyText)
def _flatten(space: AnyText, x: str) -> NDArray[np.int32]:  # type: ignore[misc] # a Text is a Space[str]
    array = np.zeros(space.max_length, dtype=np.int32)
    points = np.frombuffer(x.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    array[: len(points)] = points.astype(np.int32) + 1
    return array


@unflatten.register(AnyText)
def _unflatten(space: AnyText, x: NDArray[np.int32]) -> str:  # type: ignore[misc]
    ends = np.flatnonzero(x == 0)
    points = x[: ends[0]] if len(ends) else x
    return (points - 1).astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


@flatten_space.register(AnyText)
def _flatten_space(space: AnyText) -> Box:
    return Box(0, sys.maxunicode + 1, (space.max_length,), np.int32)


@is_space_dtype_shape_equiv.register(AnyText)
def _is_equivalent(space_1: AnyText, space_2: object) -> bool:
    return space_1 == space_2


class LiveTexts(Sequence[str]):
    """The texts in a vector environment's shared memory, as they are when they are read; a copy of it is a tuple.

    `AsyncVectorEnv` reads its memory once, when it is made, and gives copies of what it read at every step: right for
    arrays, which are views, but plain texts would stay what they were then.
    """

    def __init__(self, space: AnyText, rows: NDArray[np.int32]) -> None:
        self._space = space
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        return _unflatten(self._space, self._rows[index])

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)


@read_from_shared_memory.register(AnyText)
def _read(space: AnyText, shared_memory: Any, n: int = 1) -> LiveTexts:
    rows = np.frombuffer(shared_memory.get_obj(), dtype=np.int32)
    return LiveTexts(space, rows.reshape((n, space.max_length)))
