"""Labels of the slope chart lie apart, in order, and as near their lines as they can."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.report.slope import apart, slopes
from amemgym.scores.comparison import compare_runs
from tests.scores.played import played

PLACES = st.lists(st.integers(0, 20).map(lambda i: i / 20), max_size=12)


@given(PLACES, st.sampled_from([0.02, 0.05, 0.08]))
def test_labels_are_apart_in_order_and_within(places: list[float], gap: float) -> None:
    found = apart(places, gap)
    assert len(found) == len(places)
    for a, b in zip(sorted(found), sorted(found)[1:], strict=False):
        assert b - a >= gap - 1e-9
    for i, one in enumerate(places):
        for j, other in enumerate(places):
            assert not one < other or found[i] < found[j]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in found)  # 12 labels have room


def test_labels_with_room_stay_where_they_are() -> None:
    assert apart([0.9, 0.1, 0.5], 0.2) == pytest.approx([0.9, 0.1, 0.5])


def test_labels_at_one_place_stand_around_it() -> None:
    assert apart([0.5, 0.5, 0.5], 0.1) == pytest.approx([0.4, 0.5, 0.6])
    assert apart([1.0, 1.0], 0.1) == pytest.approx([0.9, 1.0])
    assert apart([0.0, 0.0], 0.1) == pytest.approx([0.0, 0.1])


def test_labels_without_room_go_on_above() -> None:
    assert apart([0.0, 0.5, 1.0], 0.8) == pytest.approx([0.0, 0.8, 1.6])
    assert apart([], 0.1) == []


def test_lines_are_to_scale() -> None:
    on = played({"a": [[[1, 1, 1, 1]]], "b": [[[1, 1, 0, 0]]], "r": [[[1, 0, 0, 0]]]}, reference=["r"])
    off = played({"a": [[[1, 1, 1, 0]]], "b": [[[1, 1, 1, 1]]], "r": [[[1, 0, 0, 0]]]}, reference=["r"])
    a, b = slopes(compare_runs(on, off), 0.01)
    # memory scores: a from 1 to 1/2, b from 0 to 1; the reference agent has no line
    assert (a.name, a.on.y, a.off.y, a.on.value, a.off.value, a.on.rank, a.off.rank) == ("a", 1, 0.5, 1, 0.5, 1, 2)
    assert (b.name, b.on.y, b.off.y, b.on.rank, b.off.rank) == ("b", 0, 1, 2, 1)
    assert a.colour != b.colour


def test_many_lines_are_told_apart() -> None:
    run = played({f"a{i}": [[[1, i % 2]]] for i in range(20)})
    assert len({(line.colour, line.dashes) for line in slopes(compare_runs(run, run), 0.01)}) == 20


def test_one_value_alone_has_a_place() -> None:
    run = played({"a": [[[1, 0]]]})
    (line,) = slopes(compare_runs(run, run), 0.1)
    assert (line.on.y, line.off.y) == (0, 0)
