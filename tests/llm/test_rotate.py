"""Choosing by scores: known means, each option at each place once, and an order that decides nothing."""

from __future__ import annotations

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from amemgym.llm.rotate import best_option, number_probabilities, rotations
from amemgym.tasks import ChooseKnowing, ChooseOption, Context

LOVES_THE_FIRST = [("1", math.log(0.8)), ("2", math.log(0.15)), ("3", math.log(0.05))]


def test_a_liking_for_a_place_decides_nothing() -> None:
    assert best_option([0, 1, 2], [LOVES_THE_FIRST] * 3) == 1  # all the same: the smallest number


def test_known_means() -> None:
    """With shift 1, number 1 is the option 2 of those given: its mean is (0.3 + 0.9) / 2."""
    asked = [[("1", math.log(0.7)), ("2", math.log(0.3))], [("1", math.log(0.9)), ("2", math.log(0.1))]]
    assert best_option([0, 1], asked) == 2


def test_each_rotation_counts_the_same_however_little_its_numbers_have_of_it() -> None:
    sure, unsure = [("1", math.log(0.9)), ("2", math.log(0.1))], [("1", math.log(1e-6)), ("2", math.log(9.9e-5))]
    # shift 1: number 2 is the first option
    assert best_option([0, 1], [sure, unsure]) == 1
    assert best_option([0, 1], [unsure, sure]) == 2


def test_a_number_may_be_written_with_a_space_and_what_is_no_number_counts_for_nothing() -> None:
    tokens = [
        (" 1", math.log(0.25)),
        ("1", math.log(0.25)),
        ("12", -0.1),
        ("²", -0.1),
        ("0", -0.1),
        ("3", -0.1),
        ("", 0.0),
    ]
    assert number_probabilities(tokens, 2) == [0.5, 0.0]


def test_without_any_number_there_is_no_choice() -> None:
    assert best_option([0, 1], [LOVES_THE_FIRST, [("the", -0.1)]]) is None


def test_each_option_stands_at_each_place_once() -> None:
    turned = rotations(ChooseKnowing("Which?", ("c", "a", "b"), ()))
    assert sorted(rotation.task.options for rotation in turned) == [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]


@given(
    st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=6, unique=True),
    st.integers(0, 5),
    st.integers(0, 10_000),
)
def test_rotated_options_are_the_same_requests_and_rotate_the_answer(options: list[str], by: int, seed: int) -> None:
    by %= len(options)
    task = ChooseOption("Which?", tuple(options), Context())
    moved = ChooseOption("Which?", tuple(options[by:] + options[:by]), Context())
    ours, theirs = rotations(task), rotations(moved)
    assert [rotation.task for rotation in ours] == [rotation.task for rotation in theirs]
    chance = random.Random(seed)
    asked = [[(str(n + 1), -chance.random() * 5) for n in range(len(options))] for _ in ours]
    best = best_option([rotation.shift for rotation in ours], asked)
    same = best_option([rotation.shift for rotation in theirs], asked)
    assert best is not None and same is not None
    assert task.options[best - 1] == moved.options[same - 1]
