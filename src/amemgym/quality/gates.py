"""Leak gates: what can be answered without any memory of the user, measured over every exam of a data set.

Each gate answers all questions after all periods by a rule that knows nothing of the user, with the options in the
data's own order. If the data leaks nothing, its accuracy is chance, the mean of 1 / options over the same cells. The
difference from chance has an interval clustered by user (`scores.intervals`): the ratio of two sums over users, Σ(right
− 1/options) and Σ cells. It is no shorter than the order of a question's options gives, were it drawn anew: a few users
with few questions are alike by chance often enough. The gates are many, and one in twenty would fail by chance alone at
95%; so each interval is taken at 1 − 0.05 / gates (Bonferroni), and then all of them together hold at 95% or more. A
gate fails where 0 is outside its interval. Passing shows no leak of a size that these users can tell; the interval says
how large one may be.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

import numpy as np

from amemgym.agents.reference import Cell, reference_agent
from amemgym.env import IMPORTED
from amemgym.evaluate.reference import play_reference
from amemgym.llm.embed import Vectors
from amemgym.scenario import Scenario
from amemgym.scores.intervals import ONE_USER, clipped, ratio_interval

#: all gates together hold at this level
LEVEL = 0.95
#: users from which a gate is judged
USERS = 3
#: an end nearer to 0 than this is 0: sums of fractions are not exact
EXACT = 1e-9
NO_CELLS = "there is no exam that it could answer"
TOO_FEW = f"fewer than {USERS} users have such questions"
TOO_WIDE = "the users differ so much that the interval is as wide as it can be"


class Verdict(StrEnum):
    """Whether chance is in the interval."""

    PASSES = "passes"
    FAILS = "fails"
    UNTOLD = "cannot be told"


class Kind(StrEnum):
    """What a gate finds a leak in."""

    CHANCE = "chance"
    ORDER = "order"
    LENGTH = "length"
    WORDING = "wording"
    LIKENESS = "likeness"
    MODEL = "model"


@dataclass(frozen=True)
class Gate:
    """One gate over n cells of so many users. `right` are the cells it answers right, `expected` how many chance does;
    `interval` is that of the difference, at a level corrected for the number of gates. `why` says why it cannot be
    told; cells with `unreadable` replies of a model and `missing` ones (its calls were refused) are not among the n, as
    they tell nothing of the data."""

    name: str
    kind: Kind
    text: str
    n: int
    users: int
    right: int
    expected: float
    interval: tuple[float, float] | None
    verdict: Verdict
    why: str | None = None
    unreadable: int = 0
    missing: int = 0

    @property
    def accuracy(self) -> float | None:
        return self.right / self.n if self.n else None

    @property
    def chance(self) -> float | None:
        return self.expected / self.n if self.n else None

    @property
    def difference(self) -> float | None:
        return (self.right - self.expected) / self.n if self.n else None

    @property
    def label(self) -> str:
        return "first (always-1)" if self.name == "always-1" else self.name


@dataclass(frozen=True)
class Place:
    """A place of the data's order, from 1: how often an option stands there, how often gold does, and how often it
    would by chance."""

    place: int
    n: int
    gold: int
    expected: float


@dataclass(frozen=True)
class Blind:
    """What a model that was told nothing chose: an option (from 0, in the data's order), None for an unreadable reply.
    `missing` where the call ended without one."""

    option: int | None
    missing: bool = False


@dataclass
class _Sums:
    """One entry a user that the gate has cells of."""

    right: array[float] = field(default_factory=lambda: array("d"))
    expected: array[float] = field(default_factory=lambda: array("d"))
    cells: array[float] = field(default_factory=lambda: array("d"))
    #: of `right` over all users, where the options' order is drawn
    variance: float = 0
    unreadable: int = 0
    missing: int = 0


NO_CONTEXT, TYPICAL = "no-context", "most-typical"
_TEXTS = {
    "uniform": (Kind.CHANCE, "chooses at random: how far chance alone goes"),
    "last": (Kind.ORDER, "chooses the last option"),
    "longest": (Kind.LENGTH, "chooses the longest option"),
    "shortest": (Kind.LENGTH, "chooses the shortest option"),
    "most-alike": (Kind.WORDING, "chooses the option most like the question, by embedding"),
    TYPICAL: (Kind.LIKENESS, "chooses the option most like the other options, by embedding"),
    NO_CONTEXT: (Kind.MODEL, "a model that is told the question and its options alone"),
}
#: rules that look at the question alone, and so choose the same after every period
_RULES = ("last", "longest", "shortest")


class GateCounter:
    """Answers one user's exams after the other's, and keeps three numbers a gate and user.

    Args:
        seed: of the uniform draws.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._sums: dict[str, _Sums] = {}
        self._users = self._most = 0

    def add(self, user: Scenario, asked: Vectors, options: Sequence[Vectors], blind: Sequence[Blind] = ()) -> None:
        """`asked` are the questions' vectors, `options` those of each question's options; `blind` the model's choice
        for each question, where one was asked."""
        golds = [
            [user.gold(period, question) for period in range(len(user.periods))] for question in range(len(user.qas))
        ]
        counts = [len(question.answer_choices) for question in user.qas]
        spread = [_variance_drawn(gold, count) for gold, count in zip(golds, counts, strict=True)]
        self._users += 1
        self._most = max([self._most, *counts])
        drawn = play_reference("uniform", 0, user, 0, IMPORTED, self._seed, probing=False).exams
        expected = math.fsum(1 / len(exam.order) for exam in drawn)
        variance = math.fsum((1 - 1 / len(exam.order)) / len(exam.order) for exam in drawn)
        self._count("uniform", sum(exam.correct for exam in drawn), expected, len(drawn), variance)

        def fixed(name: str, choose: Callable[[int], int], asks: Callable[[int], bool]) -> None:
            """A gate that gives one answer to a question, whichever the period."""
            chosen = {question: choose(question) for question in range(len(golds)) if asks(question)}
            right = sum(golds[question].count(option) for question, option in chosen.items())
            cells = {question: len(golds[question]) for question in chosen}
            expected = math.fsum(n / counts[q] for q, n in cells.items())
            self._count(name, right, expected, sum(cells.values()), math.fsum(spread[q] for q in chosen))

        def always(place: int) -> None:
            fixed(f"always-{place}", _rule(f"always-{place}", user), lambda question: counts[question] >= place)

        for place in range(1, max(counts, default=0) + 1):
            always(place)
        for name in _RULES:
            fixed(name, _rule(name, user), _any)
        fixed("most-alike", lambda question: int(np.argmax(options[question] @ asked[question])), _any)
        fixed(TYPICAL, lambda question: _most_typical(options[question]), lambda question: counts[question] > 2)
        if blind:
            told = {question: answer.option for question, answer in enumerate(blind) if answer.option is not None}
            fixed(NO_CONTEXT, told.__getitem__, told.__contains__)
            sums = self._sums.setdefault(NO_CONTEXT, _Sums())
            for answer, gold in zip(blind, golds, strict=True):
                sums.missing += len(gold) * answer.missing
                sums.unreadable += len(gold) * (answer.option is None and not answer.missing)

    def _count(self, name: str, right: int, expected: float, cells: int, variance: float) -> None:
        sums = self._sums.setdefault(name, _Sums())
        sums.variance += variance
        if cells:
            sums.right.append(right)
            sums.expected.append(expected)
            sums.cells.append(cells)

    def result(self) -> tuple[Gate, ...]:
        """The gates in order, each judged at a level for all that have an interval."""
        names = [
            "uniform",
            *(f"always-{place}" for place in range(1, self._most + 1)),
            *_RULES,
            "most-alike",
            TYPICAL,
            NO_CONTEXT,
        ]
        present = [name for name in names if name in self._sums]
        level = corrected(sum(len(self._sums[name].cells) >= USERS for name in present))
        return tuple(_judged(name, self._sums[name], level, self._users) for name in present)


def family(gates: Sequence[Gate]) -> list[Gate]:
    """Those that are judged, and so must hold together."""
    return [gate for gate in gates if gate.users >= USERS]


def corrected(gates: int) -> float:
    """The level of each of so many intervals, at which all of them together hold at `LEVEL` (Bonferroni)."""
    return 1 - (1 - LEVEL) / max(gates, 1)


def places(gates: Sequence[Gate]) -> tuple[Place, ...]:
    """Where gold stands: what the gates always-k found, as a table."""
    ordered = [gate for gate in gates if gate.name.startswith("always-")]
    return tuple(Place(k, gate.n, gate.right, gate.expected) for k, gate in enumerate(ordered, start=1))


def _most_typical(options: Vectors) -> int:
    """The option whose cosines with the others add up to the most: what stayed true for long shares most with them."""
    likeness = options @ options.T
    return int(np.argmax(likeness.sum(1) - likeness.diagonal()))


def _variance_drawn(golds: Sequence[int], options: int) -> float:
    """The variance of how many cells of a question one choice has right, where the options' order is drawn: that of the
    cells in which each option is gold."""
    return math.fsum(golds.count(option) ** 2 for option in range(options)) / options - (len(golds) / options) ** 2


def _any(question: int) -> bool:
    return True


def _rule(name: str, user: Scenario) -> Callable[[int], int]:
    """A reference agent's choice, where it depends on the question alone."""
    choose = reference_agent(name).choose

    def of_question(question: int) -> int:
        order = tuple(range(len(user.qas[question].answer_choices)))
        return choose(Cell(user, 0, question, order), _UNUSED)

    return of_question


_UNUSED = Random(0)


def _judged(name: str, sums: _Sums, level: float, of: int) -> Gate:
    """The gate by its sums, in a data set of so many users."""
    kind, text = _TEXTS.get(name) or (Kind.ORDER, f"chooses option {name.removeprefix('always-')}")
    users, n, expected = len(sums.cells), round(math.fsum(sums.cells)), math.fsum(sums.expected)
    gained = [right - by_chance for right, by_chance in zip(sums.right, sums.expected, strict=True)]
    interval = ratio_interval(gained, sums.cells, level, sums.variance) if users >= USERS else None
    verdict = Verdict.UNTOLD
    why: str | None = ONE_USER if of == 1 else TOO_FEW if users else NO_CELLS
    if interval is not None:
        # a share lies between 0 and 1, so its difference from chance can be no more than this
        least, most = -expected / n, 1 - expected / n
        interval = clipped(interval, least, most) or interval
        if interval[0] <= least + EXACT and interval[1] >= most - EXACT:
            why = TOO_WIDE
        else:
            verdict = Verdict.PASSES if interval[0] <= EXACT and interval[1] >= -EXACT else Verdict.FAILS
            why = None
    right = round(math.fsum(sums.right))
    return Gate(name, kind, text, n, users, right, expected, interval, verdict, why, sums.unreadable, sums.missing)
