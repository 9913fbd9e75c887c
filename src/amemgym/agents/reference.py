"""Reference agents: they need no model and no conversation, and give a score its meaning (SPEC section 3).

They, and only they, are handed the scenario, by the evaluation. They take no part in the conversation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from amemgym.errors import UnknownName
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Cell:
    """One exam of one user: the question after a period, and the order its options are shown in.

    `order[i]` is the data's index of the option shown at place i.
    """

    scenario: Scenario
    period: int
    question: int
    order: tuple[int, ...]

    @property
    def texts(self) -> list[str]:
        """The option texts in the data's order."""
        return [option.answer for option in self.scenario.qas[self.question].answer_choices]


#: chooses the place of an option as shown, from 0
Choose = Callable[[Cell, Random], int]
#: the period whose state is taken for the current one
Believed = Callable[[int], int]


@dataclass(frozen=True)
class Reference:
    """A reference agent: how it chooses, which state it knows (None: none), and one line on it."""

    choose: Choose
    text: str
    believed: Believed | None = None

    def value(self, cell: Cell, variable: str, random: Random) -> str:
        """What it says of a state variable when it is probed; one that knows no state guesses."""
        if self.believed is None:
            return random.choice(cell.scenario.state_schema[variable])
        return cell.scenario.periods[self.believed(cell.period)].state[variable]


def _uniform(cell: Cell, random: Random) -> int:
    return random.randrange(len(cell.order))


def _always(number: int) -> Choose:
    return lambda cell, random: min(number, len(cell.order)) - 1


def _last(cell: Cell, random: Random) -> int:
    return len(cell.order) - 1


def _longest(cell: Cell, random: Random) -> int:
    texts = cell.texts
    return cell.order.index(max(range(len(texts)), key=lambda index: len(texts[index])))


def _shortest(cell: Cell, random: Random) -> int:
    texts = cell.texts
    return cell.order.index(min(range(len(texts)), key=lambda index: len(texts[index])))


def _believing(believed: Believed, text: str) -> Reference:
    """Answers as if it were still that period."""

    def choose(cell: Cell, random: Random) -> int:
        return cell.order.index(cell.scenario.gold(believed(cell.period), cell.question))

    return Reference(choose, text, believed)


_FIXED = {
    "uniform": Reference(_uniform, "chooses at random"),
    "last": Reference(_last, "chooses the option shown last"),
    "longest": Reference(_longest, "chooses the longest option"),
    "shortest": Reference(_shortest, "chooses the shortest option"),
    "frozen": _believing(lambda period: 0, "knows the first state for ever"),
    "oracle": _believing(lambda period: period, "knows the current state"),
}


def _numbered(name: str) -> Reference | None:
    if match := re.fullmatch(r"always-([1-9]\d?)", name):
        return Reference(_always(int(match[1])), f"chooses the option shown at place {match[1]}")
    if match := re.fullmatch(r"lag-(\d{1,3})", name):
        lag = int(match[1])
        return _believing(lambda period: max(0, period - lag), f"knows the state of {lag} periods ago")
    return None


def reference_names() -> dict[str, str]:
    """Every reference agent, with one line on what it does; k and L stand for numbers."""
    names = {name: reference.text for name, reference in _FIXED.items()}
    return names | {
        "always-k": "chooses the option shown at place k, or the last one",
        "lag-L": "knows the state of L periods ago",
    }


def is_reference(name: str) -> bool:
    return name in _FIXED or _numbered(name) is not None


def reference_agent(name: str) -> Reference:
    """The reference agent of that name. Raises UnknownName."""
    found = _FIXED.get(name) or _numbered(name)
    if found is None:
        raise UnknownName("reference agent", name, reference_names())
    return found
