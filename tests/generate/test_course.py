"""A life keeps the rules whatever is drawn: about n changes a period, at most m a variable, never to the same value."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.generate import Shape
from amemgym.generate.course import Course, Turn

SCHEMA = {f"v{n}": [f"{n}{value}" for value in "abc"] for n in range(8)}


def lived(shape: Shape, seed: int = 0, schema: dict[str, list[str]] = SCHEMA) -> list[Turn]:
    """A whole course, drawn."""
    random = Random(seed)
    course = Course(schema, shape, random)
    course.begin({name: random.choice(values) for name, values in schema.items()})
    while len(course.turns) < shape.periods:
        demand = course.demand()
        course.move(demand, course.draw(demand))
    return course.turns


shapes = st.builds(
    Shape,
    periods=st.integers(1, 14),
    changes=st.integers(0, 6),
    max_changes=st.integers(0, 5),
    temporary=st.sampled_from([0.0, 0.4, 1.0]),
    corrections=st.integers(0, 3),
    contradictions=st.integers(0, 3),
    gaps=st.integers(0, 3),
)
schemas = st.dictionaries(
    st.text("pqrs", min_size=1, max_size=3), st.lists(st.text("xyz", min_size=1), min_size=1, max_size=4, unique=True)
).filter(bool)


@given(shapes, st.integers(0, 2**32), schemas)
def test_the_rules_hold(shape: Shape, seed: int, schema: dict[str, list[str]]) -> None:
    turns = lived(shape, seed, schema)
    assert len(turns) == shape.periods
    counts = Counter[str]()
    for before, turn in pairwise(turns):
        changed = {c.variable: c for c in turn.changes}
        assert (
            len(changed)
            == len(turn.changes)
            <= shape.changes + (shape.changes > 1) + len([c for c in turn.changes if c.kind == "reverted"])
        )
        for name, values in schema.items():
            assert turn.state[name] in values
            assert (turn.state[name] != before.state[name]) == (name in changed)
            if name in changed:
                assert (changed[name].old, changed[name].new) == (before.state[name], turn.state[name])
        counts.update(list(changed))
    assert all(count <= shape.max_changes for count in counts.values())
    assert {c.kind for c in turns[0].changes} == {"first"}
    assert set(turns[0].state) == set(schema)


@given(shapes, st.integers(0, 2**32))
def test_quiet_periods_lie_between_changes(shape: Shape, seed: int) -> None:
    for number, turn in enumerate(lived(shape, seed)[1:]):
        if number % (shape.gaps + 1):
            assert turn.is_quiet


@given(shapes, st.integers(0, 2**32))
def test_what_is_temporary_reverts_with_the_next_changes(shape: Shape, seed: int) -> None:
    turns = lived(shape, seed)
    step = shape.gaps + 1
    reverts = {(p, c.variable) for p, t in enumerate(turns) for c in t.changes if c.kind == "reverted"}
    due = {(p + step, c.variable) for p, t in enumerate(turns) for c in t.changes if c.kind == "temporary"}
    assert reverts == due
    for period, name in due:
        assert turns[period].state[name] == turns[period - step - 1].state[name]


@given(shapes, st.integers(0, 2**32))
def test_what_is_told_wrongly_is_wrong(shape: Shape, seed: int) -> None:
    for turn in lived(shape, seed):
        wrong = [c for c in turn.changes if c.wrong is not None]
        assert len([c for c in wrong if c.admitted]) <= shape.corrections
        assert len([c for c in wrong if not c.admitted]) <= shape.contradictions
        assert all(c.wrong != c.new and c.wrong in SCHEMA[c.variable] for c in wrong)
        fit = [c for c in turn.changes if c.kind in ("first", "lasting")]
        assert len(wrong) == min(len(fit), shape.corrections + shape.contradictions)


def test_about_so_many_changes() -> None:
    """The mean over many periods is the number asked for."""
    schema = {f"v{n}": ["a", "b", "c"] for n in range(40)}
    numbers = [len(t.changes) for seed in range(60) for t in lived(Shape(max_changes=9), seed, schema)[1:]]
    assert set(numbers) == {3, 4, 5}
    assert sum(numbers) / len(numbers) == pytest.approx(4, abs=0.1)


def test_what_is_wrong_with_a_proposal() -> None:
    shape = Shape(changes=2, max_changes=1)
    course = Course(SCHEMA, shape, Random(3))
    course.begin({name: values[0] for name, values in SCHEMA.items()})
    first = course.demand()
    assert course.faults(first, {"v0": "0b", "v1": "1b"}) == []
    course.move(first, {"v0": "0b", "v1": "1b"})
    demand = course.demand()
    said = course.faults(demand, {"v0": "0c", "v2": "2a", "v3": "7x", "shoe": "big"})
    assert [sentence.split(";")[0] for sentence in said] == [
        "'v0' may not change in this period",
        "'v2' is '2a' already, so that is no change",
        "'v3' cannot be '7x'",
        "'shoe' is no variable",
        "4 variables change",
    ]
    assert course.faults(demand, {})


def test_counts_begin_at_one_as_in_v1() -> None:
    course = Course(SCHEMA, Shape(), Random(0))
    course.begin({name: values[0] for name, values in SCHEMA.items()})
    assert set(course.counts.values()) == {1}
    course.move(course.demand(), {"v0": "0b"})
    assert course.counts["v0"] == 2
