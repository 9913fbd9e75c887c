"""The course of one life: which variables change in which period, and how that is told.

It knows the rules (about n changes a period, at most m a variable, never to the same value) and the difficulties that
concern changes (quiet periods, values that hold for one period only, values told wrongly first). Where the values come
from, a seeded draw or a language model, is its caller's: `demand` says what the next period may and must change, `move`
takes what does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from amemgym.generate.shape import Shape

Kind = Literal["first", "lasting", "temporary", "reverted"]


@dataclass(frozen=True)
class Change:
    """One variable's change. `wrong` is a value that is told before the right one; `admitted` whether the user says
    afterwards that it was wrong."""

    variable: str
    old: str | None
    new: str
    kind: Kind
    wrong: str | None = None
    admitted: bool = True


@dataclass(frozen=True)
class Demand:
    """What a period asks for: so many changes of `changeable` variables beside those that revert by themselves."""

    count: int
    changeable: tuple[str, ...]
    reverting: Mapping[str, str]


@dataclass(frozen=True)
class Turn:
    """One period: the whole state at its end, and what changed, in the schema's order."""

    state: Mapping[str, str]
    changes: tuple[Change, ...]

    @property
    def is_quiet(self) -> bool:
        return not self.changes


class Course:
    """The course of one user.

    Args:
        schema: variable → its values.
        shape: the rules and difficulties.
        random: what is drawn here is drawn from it, in order.
    """

    def __init__(self, schema: Mapping[str, Sequence[str]], shape: Shape, random: Random) -> None:
        self._schema = schema
        self._shape = shape
        self._random = random
        self._counts = dict.fromkeys(schema, 0)
        self._reverting: dict[str, str] = {}
        self.turns: list[Turn] = []

    @property
    def period(self) -> int:
        """The number of the period that comes next."""
        return len(self.turns)

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each variable changed so far, the initial value counted as one."""
        return {name: count + bool(self.turns) for name, count in self._counts.items()}

    def begin(self, state: Mapping[str, str]) -> Turn:
        """Period 0: every variable gets its value."""
        changes = [Change(name, None, state[name], "first") for name in self._schema]
        return self._add(dict(state), self._told_wrongly(changes))

    def demand(self) -> Demand:
        """What the next period asks for."""
        if (self.period - 1) % (self._shape.gaps + 1):
            return Demand(0, (), {})
        limit = self._shape.max_changes
        able = [
            name
            for name, values in self._schema.items()
            if self._counts[name] < limit and len(values) > 1 and name not in self._reverting
        ]
        wanted = self._shape.changes
        if wanted > 1:  # about so many
            wanted += self._random.choice((-1, 0, 0, 1))
        count = max(0, min(len(able), wanted - len(self._reverting)))
        return Demand(count, tuple(able), dict(self._reverting))

    def draw(self, demand: Demand) -> dict[str, str]:
        """Values for a demand by chance: any variables, any other value."""
        state = self.turns[-1].state
        names = self._random.sample(demand.changeable, demand.count)
        return {name: self._random.choice([v for v in self._schema[name] if v != state[name]]) for name in names}

    def faults(self, demand: Demand, new: Mapping[str, str]) -> list[str]:
        """What is wrong with values that somebody else proposes for a demand, as sentences."""
        state = self.turns[-1].state
        found: list[str] = []
        for name, value in new.items():
            if name not in self._schema:
                found.append(f"'{name}' is no variable; known: {', '.join(self._schema)}")
            elif value not in self._schema[name]:
                found.append(f"'{name}' cannot be '{value}'; its values are {', '.join(self._schema[name])}")
            elif value == state[name]:
                found.append(f"'{name}' is '{value}' already, so that is no change")
            elif name not in demand.changeable:
                found.append(f"'{name}' may not change in this period; those that may: {', '.join(demand.changeable)}")
        least = max(min(1, demand.count), demand.count - 1)
        if not least <= len(new) <= demand.count + 1:
            found.append(f"{len(new)} variables change; about {demand.count} should")
        return found

    def move(self, demand: Demand, new: Mapping[str, str]) -> Turn:
        """The next period, with these values and what reverts by itself."""
        before = self.turns[-1].state
        reverting, self._reverting = self._reverting, {} if demand.reverting else self._reverting
        changes: list[Change] = []
        for name in self._schema:
            if name in demand.reverting:
                changes.append(Change(name, before[name], reverting[name], "reverted"))
            elif name in new:
                changes.append(Change(name, before[name], new[name], self._kind(name, before[name])))
        for change in changes:
            self._counts[change.variable] += 1
        state = {**before, **{change.variable: change.new for change in changes}}
        return self._add(state, self._told_wrongly(changes))

    def _kind(self, name: str, old: str) -> Kind:
        """Whether a change will be taken back in the next period with changes."""
        step = self._shape.gaps + 1
        room = self._counts[name] + 2 <= self._shape.max_changes and self.period + step < self._shape.periods
        if room and self._shape.temporary and self._random.random() < self._shape.temporary:
            self._reverting[name] = old
            return "temporary"
        return "lasting"

    def _told_wrongly(self, changes: Sequence[Change]) -> list[Change]:
        told = list(changes)
        fit = [
            index
            for index, change in enumerate(changes)
            if change.kind in ("first", "lasting") and any(v != change.new for v in self._schema[change.variable])
        ]
        wrong = self._random.sample(fit, min(len(fit), self._shape.corrections + self._shape.contradictions))
        for number, index in enumerate(wrong):
            change = changes[index]
            others = [v for v in self._schema[change.variable] if v not in (change.new, change.old)]
            value = self._random.choice(others or [v for v in self._schema[change.variable] if v != change.new])
            admitted = number < self._shape.corrections
            told[index] = Change(change.variable, change.old, change.new, change.kind, value, admitted)
        return told

    def _add(self, state: Mapping[str, str], changes: Sequence[Change]) -> Turn:
        turn = Turn(state, tuple(changes))
        self.turns.append(turn)
        return turn
