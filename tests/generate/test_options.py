"""Options: one for each variant lived through, others up to the minimum, none twice, in no telling order."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.generate.options import MORE, option_variants, telltale

SCHEMA = {"a": ["1", "2", "3"], "b": ["x", "y", "z"]}
states = st.lists(st.fixed_dictionaries({n: st.sampled_from(v) for n, v in SCHEMA.items()}), min_size=1, max_size=12)


@given(states, st.integers(2, 12), st.integers(0, 999))
def test_options(lived: list[dict[str, str]], at_least: int, seed: int) -> None:
    options = option_variants(lived, ["b", "a"], SCHEMA, at_least, Random(seed))
    variants = [variant for variant, _ in options]
    true = {(state["b"], state["a"]) for state in lived}
    least = max(len(true), min(9, at_least))
    assert len(set(variants)) == len(variants)
    assert least <= len(variants) <= min(9, least + MORE)
    assert {v for v, kind in options if kind == "experience"} == true
    assert {kind for _, kind in options} <= {"experience", "random"}


def test_no_place_is_likelier() -> None:
    places = Counter(
        [kind for _, kind in option_variants([{"a": "1"}], ["a"], SCHEMA, 3, Random(seed))].index("experience")
        for seed in range(900)
    )
    assert all(240 < places[place] < 360 for place in range(3))


def test_what_was_true_for_long_does_not_show() -> None:
    """A life that changes one value at a time and comes back: what it comes back to shares most with the rest."""
    lived = [{"a": a, "b": b} for a, b in ("1x", "2x", "1x", "1y", "1x", "3x", "1x")]
    held = Counter((state["a"], state["b"]) for state in lived)
    assert telltale(list(held), held) > 0.4
    for seed in range(20):
        options = [variant for variant, _ in option_variants(lived, ["a", "b"], SCHEMA, 4, Random(seed))]
        assert telltale(options, held) < 0.4


def test_telltale_by_hand() -> None:
    """1x shares three values with itself and the others, 1y and 2x two: the former was true in 4 of 6 periods."""
    held = {("1", "x"): 4, ("1", "y"): 1, ("2", "x"): 1}
    most, least = abs(4 / 6 - 1 / 3), abs((1 + 1) / 2 / 6 - 1 / 3)
    assert telltale(list(held), held) == pytest.approx(most + least)
