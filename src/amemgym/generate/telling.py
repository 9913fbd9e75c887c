"""The sessions of one period: which state is told in which, as what, how openly and in what order.

A value that is first told wrongly has a session of its own, and later another that tells what is right. What is drawn
here (order, openness, what is said of other people) depends on the seed, the user and the period alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from amemgym.generate.course import Change, Turn
from amemgym.generate.shape import Shape
from amemgym.tasks import How, Level, Telling

Kind = Literal["update", "mistake", "correction", "contradiction", "distractor", "other"]
#: a session tells at most so many states
MOST_TOLD = 3
LEVELS: tuple[Level, ...] = ("explicit", "implicit", "subtle")


@dataclass(frozen=True)
class Planned:
    """A session before its utterance is written. `tell` is of the user, `topic` a distractor's, `other` what is so for
    somebody else."""

    kind: Kind
    level: Level
    tell: tuple[Telling, ...] = ()
    event: str | None = None
    topic: str = ""
    other: tuple[str, str] = ("", "")

    @property
    def told(self) -> dict[str, str]:
        """What the utterance tells of the user, right or wrong."""
        return {one.variable: one.value for one in self.tell}


def how(change: Change) -> How:
    """What kind of news a change is."""
    return "plain" if change.kind == "first" else change.kind


def first_groups(required: Sequence[Sequence[str]]) -> list[tuple[str | None, tuple[str, ...]]]:
    """The initial state, told by question: each variable in the first that needs it, without an event."""
    told: set[str] = set()
    groups: list[tuple[str | None, tuple[str, ...]]] = []
    for names in required:
        new = [name for name in names if name not in told]
        told |= set(new)
        groups += [(None, tuple(new[at : at + MOST_TOLD])) for at in range(0, len(new), MOST_TOLD)]
    return groups


def plan_sessions(
    turn: Turn,
    groups: Sequence[tuple[str | None, Sequence[str]]],
    schema: Mapping[str, Sequence[str]],
    topics: Sequence[str],
    shape: Shape,
    random: Random,
) -> list[Planned]:
    """The period's sessions in the order of time. `groups` are (event, its variables), every change in one of them."""
    changes = {change.variable: change for change in turn.changes}
    placed: list[tuple[float, Planned]] = []
    for event, names in groups:
        if plainly := [name for name in names if changes[name].wrong is None]:
            tell = tuple(_right(changes[name]) for name in plainly)
            placed.append((random.random(), Planned("update", _level(shape, random), tell, event)))
        for name in names:
            if wrong := changes[name].wrong:
                moment, kind = random.random(), _mending(changes[name])
                mistake = Planned("mistake", _level(shape, random), (_wrong(changes[name], wrong),))
                placed.append((moment * random.random(), mistake))
                placed.append((moment, Planned(kind, _level(shape, random), (_right(changes[name]),), event)))
    for topic in topics:
        placed.append((random.random(), Planned("distractor", "explicit", topic=topic)))
    for _ in range(shape.others):
        name = random.choice(list(schema))
        value = random.choice([value for value in schema[name] if value != turn.state[name]])
        placed.append((random.random(), Planned("other", _level(shape, random), other=(name, value))))
    return [planned for _, planned in sorted(placed, key=lambda entry: entry[0])]


def _mending(change: Change) -> Kind:
    return "correction" if change.admitted else "contradiction"


def _right(change: Change) -> Telling:
    if change.wrong is not None:
        how_told: How = "corrected" if change.admitted else "plain"
        return Telling(change.variable, change.new, how_told, change.wrong if change.admitted else None)
    return Telling(change.variable, change.new, how(change), change.old)


def _wrong(change: Change, value: str) -> Telling:
    if value == change.old:  # of two values the wrong one is the one before, so that nothing seems to change
        return Telling(change.variable, value)
    return Telling(change.variable, value, how(change), change.old)


def _level(shape: Shape, random: Random) -> Level:
    return random.choice(LEVELS) if shape.explicitness == "mixed" else shape.explicitness
