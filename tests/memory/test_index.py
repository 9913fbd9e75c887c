"""The exact index finds what a plain comparison finds, whatever was added, replaced, removed and copied before."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.memory import ExactIndex
from amemgym.memory.index import _Rows

#: (what is done, which of the copies does it, the key)
DOINGS = st.lists(st.tuples(st.sampled_from("pprc"), st.integers(0, 9), st.integers(0, 12)), max_size=30)


def vector(number: int) -> np.ndarray:
    made = np.random.default_rng(number).normal(size=4).astype(np.float32)
    return made / np.linalg.norm(made)


def plain(held: dict[int, np.ndarray], query: np.ndarray, k: int) -> list[int]:
    keys = sorted(held)
    order = np.argsort(-(np.stack([held[key] for key in keys]) @ query), kind="stable") if keys else []
    return [keys[place] for place in order][:k]


@settings(deadline=None, max_examples=150)
@given(DOINGS)
def test_it_is_a_plain_comparison(doings: list[tuple[str, int, int]]) -> None:
    copies: list[tuple[ExactIndex, dict[int, np.ndarray]]] = [(ExactIndex(), {})]
    for number, (doing, which, key) in enumerate(doings):
        index, held = copies[which % len(copies)]
        if doing == "p":
            index.put(key, vector(number))
            held[key] = vector(number)
        elif doing == "r" and key in held:
            index.remove(key)
            del held[key]
        elif doing == "c":
            copies.append((index.copy(), dict(held)))
    for index, held in copies:
        assert index.nearest(vector(99), 5) == plain(held, vector(99), 5)


def test_what_is_only_added_to_is_copied_rarely() -> None:
    """With a copy after each addition, as snapshots are made: the rows that are moved grow with their number."""
    index, rows, moved = ExactIndex(), set[int](), 0
    kept: list[_Rows] = []  # so that no id is used again
    for number in range(500):
        index.put(number, vector(number))
        index.copy()
        assert index._rows is not None
        if id(index._rows) not in rows:
            rows.add(id(index._rows))
            kept.append(index._rows)
            moved += number
    assert moved < 2 * 500
