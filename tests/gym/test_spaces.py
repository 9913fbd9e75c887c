"""Any text: what is in the space, and that it goes through everything Gymnasium does with spaces."""

from __future__ import annotations

import multiprocessing
from copy import deepcopy

import numpy as np
import pytest
from gymnasium.spaces import Text, Tuple, flatten, flatten_space, unflatten
from gymnasium.vector.utils import (
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)

from amemgym.gym import AnyText

TEXTS = ("", "a", "ä\n\t\0b", "数学 🙂", "half \ud83d", "x" * 80)


def test_it_holds_any_text_up_to_a_length_and_nothing_else() -> None:
    space = AnyText(80)
    assert all(text in space for text in TEXTS)
    assert "x" * 81 not in space
    assert all(other not in space for other in (None, 1, b"a", ["a"], np.zeros(3)))


def test_samples_are_texts_of_the_space_and_follow_the_seed() -> None:
    space = AnyText(3)
    space.seed(1)
    samples = [space.sample() for _ in range(50)]
    assert all(sample in space for sample in samples) and len(set(samples)) > 10 and "" in samples
    space.seed(1)
    assert [space.sample() for _ in range(50)] == samples
    assert AnyText(1_000_000).sample() in AnyText(64)
    only_b = np.array([character == "b" for character in space.character_list], dtype=np.int8)
    assert space.sample((2, only_b)) == "bb"


def test_it_is_told_from_others() -> None:
    assert AnyText(5) == AnyText(5) != AnyText(6)
    assert AnyText(5) != Text(5) and repr(AnyText(5)) == "AnyText(5)"
    assert deepcopy(AnyText(5)) == AnyText(5)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_after_flattening_and_in_shared_memory(text: str) -> None:
    space = AnyText(80)
    flat = flatten(space, text)
    assert flat in flatten_space(space)
    assert unflatten(space, flat) == text
    memory = create_shared_memory(space, n=2, ctx=multiprocessing.get_context())
    live = read_from_shared_memory(space, memory, n=2)
    assert deepcopy(live) == ("", "")
    write_to_shared_memory(space, 1, "longer than the next " + "y" * 50, memory)
    write_to_shared_memory(space, 1, text, memory)
    assert list(live) == ["", text] and deepcopy(live) == ("", text) and live[1:] == (text,)


def test_it_can_be_batched() -> None:
    space = AnyText(9)
    batch = batch_space(space, 3)
    assert isinstance(batch, Tuple) and batch.sample() in batch
    empty = create_empty_array(space, 3)
    assert empty == ("", "", "")
    assert concatenate(space, ("a", "b", "c"), empty) == ("a", "b", "c")
    assert list(iterate(batch, ("a", "b", "c"))) == ["a", "b", "c"]
