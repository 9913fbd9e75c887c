"""Exam answers as columns: a run has hundreds of thousands, so a score is made of arrays and not of objects.

`Cell` is one of them, for who looks at a few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

import numpy as np

from amemgym.evaluate import EpisodeResult, ExamResult
from amemgym.scenario import Scenario
from amemgym.scores.diagnosis import Failure, Mistake, diagnose, mistake
from amemgym.scores.groups import Column

#: what stands for None in a column
NONE = -1
FAILURES, MISTAKES = tuple(Failure), tuple(Mistake)
K = TypeVar("K", Failure, Mistake)


@dataclass(frozen=True)
class Cell:
    """One counted exam answer. `upper_bound` is 1, 0, or None where it was not measured; `failure` says why it is
    wrong (None where it is right, or no probe tells), `mistake` what the wrong option is."""

    user: int
    period: int
    exam: ExamResult
    upper_bound: int | None = None
    failure: Failure | None = None
    mistake: Mistake | None = None

    @property
    def random(self) -> float:
        """1 / |options|."""
        return 1 / len(self.exam.order)


def cells_of(
    episodes: Iterable[EpisodeResult],
    upper_bound: Mapping[tuple[int, int, tuple[str, ...]], int] | None = None,
    scenarios: Mapping[str, Scenario] | None = None,
) -> list[Cell]:
    """The counted answers of episodes, each with its upper bound, looked up by (user, question, variant), and, where
    the scenarios are given by user id, what is behind a wrong one."""
    known, cells = upper_bound or {}, []
    for episode in episodes:
        scenario = (scenarios or {}).get(episode.user_id)
        failures = diagnose(episode, scenario) if scenario else {}
        for exam in episode.exams:
            if exam.counts:
                bound = known.get((episode.user, exam.question, exam.variant))
                failure = failures.get((exam.period, exam.question))
                wrong = mistake(exam, scenario) if scenario else None
                cells.append(Cell(episode.user, exam.period, exam, bound, failure, wrong))
    return cells


@dataclass(frozen=True)
class Columns:
    """Rows as one array a field, all of one length."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def only(self, which: Column) -> Self:
        """The rows that a mask is true for, or of these numbers in their order."""
        return type(self)(**{field.name: getattr(self, field.name)[which] for field in fields(self)})


@dataclass(frozen=True)
class Answers(Columns):
    """One row an answer. Users, periods and questions count from 0, `gold` and `option` from 1 as shown (0: no option).

    `bound` is 1 or 0, `failure` and `mistake` are places in FAILURES and MISTAKES; each NONE where there is none.
    """

    user: Column
    period: Column
    question: Column
    correct: Column
    options: Column
    gold: Column
    option: Column
    bound: Column
    failure: Column
    mistake: Column

    @classmethod
    def of(cls, cells: Answers | Sequence[Cell]) -> Answers:
        """The columns of cells; those of columns are these."""
        if isinstance(cells, Answers):
            return cells
        return cls(
            user=_ints(cell.user for cell in cells),
            period=_ints(cell.period for cell in cells),
            question=_ints(cell.exam.question for cell in cells),
            correct=np.array([cell.exam.correct for cell in cells], dtype=bool),
            options=_ints(len(cell.exam.order) for cell in cells),
            gold=_ints(cell.exam.gold for cell in cells),
            option=_ints(cell.exam.option or 0 for cell in cells),
            bound=_ints(NONE if cell.upper_bound is None else cell.upper_bound for cell in cells),
            failure=_ints(place(FAILURES, cell.failure) for cell in cells),
            mistake=_ints(place(MISTAKES, cell.mistake) for cell in cells),
        )

    @property
    def random(self) -> Column:
        """1 / |options|."""
        return np.asarray(1 / self.options.astype(float))

    @property
    def is_bounded(self) -> Column:
        return np.asarray(self.bound != NONE)

    @property
    def bounded(self) -> Answers:
        """Those with an upper bound."""
        return self.only(self.is_bounded)

    @property
    def gained(self) -> Column:
        """Accuracy − random."""
        return self.correct.astype(float) - self.random

    @property
    def possible(self) -> Column:
        """Upper bound − random; of answers that have an upper bound."""
        return self.bound - self.random

    @property
    def is_undiagnosed(self) -> Column:
        """Wrong, and no probe tells why."""
        return np.asarray(~self.correct & (self.failure == NONE))

    @property
    def places(self) -> Column:
        """A number for each user, period and question, in their order."""
        return places(self.user, self.period, self.question)


def places(user: Column, period: Column, question: Column) -> Column:
    """A number for each user, period and question, in their order, the same in every run."""
    return (user.astype(np.int64) << 40) + (period.astype(np.int64) << 20) + question


def place(kinds: tuple[K, ...], kind: K | None) -> int:
    """Where it stands among its kinds, NONE for None."""
    return NONE if kind is None else kinds.index(kind)


def _ints(values: Iterable[Any]) -> Column:
    return np.fromiter(values, dtype=np.int64)
