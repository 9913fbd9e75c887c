"""Options: one for each variant lived through, others up to the minimum, none twice, in no telling order."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from amemgym.generate.options import experienced, option_variants

SCHEMA = {"a": ["1", "2", "3"], "b": ["x", "y", "z"]}
states = st.lists(st.fixed_dictionaries({n: st.sampled_from(v) for n, v in SCHEMA.items()}), min_size=1, max_size=12)


@given(states, st.integers(2, 12), st.integers(0, 999))
def test_options(lived: list[dict[str, str]], at_least: int, seed: int) -> None:
    options = option_variants(lived, ["b", "a"], SCHEMA, at_least, Random(seed))
    variants = [variant for variant, _ in options]
    assert len(set(variants)) == len(variants) == max(len(experienced(lived, ["b", "a"])), min(9, at_least))
    assert {v for v, kind in options if kind == "experience"} == {(state["b"], state["a"]) for state in lived}
    assert {kind for _, kind in options} <= {"experience", "random"}


def test_no_place_is_likelier() -> None:
    places = Counter(
        [kind for _, kind in option_variants([{"a": "1"}], ["a"], SCHEMA, 3, Random(seed))].index("experience")
        for seed in range(900)
    )
    assert all(240 < places[place] < 360 for place in range(3))
