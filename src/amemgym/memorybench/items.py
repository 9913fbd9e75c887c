"""What tells one test item from another: its number is its data set's own."""

from __future__ import annotations

from typing import NamedTuple


class ItemKey(NamedTuple):
    """Items are unique by both."""

    dataset: str
    test_idx: int | str
