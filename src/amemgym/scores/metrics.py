"""Every formula of a score, in one place (SPEC section 3), as pure functions of exam results.

A score is None where it has nothing to stand on; nothing missing counts as 0. Results with an error are left out of
every score; unreadable replies are in it, as not right.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from amemgym.evaluate import EpisodeResult, ExamResult
from amemgym.scenario import Scenario
from amemgym.scores.common import CLEARLY_ABOVE
from amemgym.scores.diagnosis import Failure, Mistake, diagnose, mistake
from amemgym.scores.intervals import clipped, ratio_interval, share_interval

C = TypeVar("C")
T = TypeVar("T", bound="OfUser")
K = TypeVar("K", bound=Hashable)


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


@dataclass(frozen=True)
class Mean:
    """A mean over n cells with its interval (None where there is none)."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class MemoryScore:
    """S = (overall − random) / (UB − random), by both definitions; `why_undefined` where one is None."""

    ratio_of_means: float | None
    mean_of_ratios: float | None
    why_undefined: str | None
    n: int = 0
    #: of the ratio of means, and of the mean of ratios
    interval: tuple[float, float] | None = None
    mean_interval: tuple[float, float] | None = None


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


def accuracy(cells: Sequence[Cell]) -> Mean:
    """Mean accuracy over cells, with the interval clustered by user."""
    return _mean(cells, lambda cell: float(cell.exam.correct))


def random_accuracy(cells: Sequence[Cell]) -> float | None:
    """Mean of 1 / |options|."""
    return _mean(cells, lambda cell: cell.random).value


def upper_bound_accuracy(cells: Sequence[Cell]) -> Mean:
    """Mean upper bound over the cells that have one."""
    return _mean([cell for cell in cells if cell.upper_bound is not None], lambda cell: float(cell.upper_bound or 0))


def by_period(cells: Sequence[Cell]) -> list[Mean]:
    """Accuracy after each period, in order; users with fewer periods are not in the later ones."""
    periods = max((cell.period for cell in cells), default=-1) + 1
    groups = _grouped(cells, lambda cell: cell.period)
    return [accuracy(groups.get(period, [])) for period in range(periods)]


def by_position(cells: Sequence[Cell]) -> list[tuple[Mean, int]]:
    """For each place an option can be shown at: accuracy where gold is there, and how often it was chosen."""
    places = max((len(cell.exam.order) for cell in cells), default=0)
    gold = _grouped(cells, lambda cell: cell.exam.gold)
    chosen = _grouped(cells, lambda cell: cell.exam.option)
    return [(accuracy(gold.get(place, [])), len(chosen.get(place, []))) for place in range(1, places + 1)]


@dataclass(frozen=True)
class Headroom:
    """What a cell with an upper bound gained over random, and what was possible."""

    user: int
    period: int
    gained: float
    possible: float


def memory_score(cells: Sequence[Cell]) -> MemoryScore:
    """Both definitions over the cells that have an upper bound; see `memory_score_of`."""
    bounded = [cell for cell in cells if cell.upper_bound is not None]
    if not bounded:
        return MemoryScore(None, None, "no upper bound was measured")
    return memory_score_of(_headroom(bounded), upper_bound_accuracy(bounded).value, random_accuracy(bounded))


def memory_score_of(cells: Sequence[Headroom], bound: float | None = None, chance: float | None = None) -> MemoryScore:
    """Both definitions of some cells. Ratio of means pools all cells; mean of ratios takes the ratio of each user and
    period, then averages. `bound` and `chance` are the mean upper bound and random, for the words of what is undefined.
    """
    if not cells:
        return MemoryScore(None, None, "no item has accuracy, random and upper bound")
    gained, possible = _pooled(cells)
    pooled, interval, why = None, None, []
    if math.fsum(possible) / len(cells) < CLEARLY_ABOVE:
        told = ("", "") if bound is None or chance is None else (f" ({bound:.3f})", f" ({chance:.3f})")
        why.append(f"ratio of means: the upper bound{told[0]} is not clearly above random{told[1]}")
    else:
        pooled = math.fsum(gained) / math.fsum(possible)
        interval = ratio_interval(gained, possible)
    averaged, why_not = _mean_of_ratios(cells)
    why_undefined = "; ".join([*why, *why_not]) or None
    return MemoryScore(pooled, averaged.value, why_undefined, len(cells), interval, averaged.interval)


def gains(cells: Sequence[Cell]) -> tuple[list[float], list[float]]:
    """For each user, in order, what the answers gained over random, and what the upper bound does: the sums whose
    ratio is the ratio of means. Of the cells that have an upper bound."""
    return _pooled(_headroom(cells))


def _headroom(cells: Sequence[Cell]) -> list[Headroom]:
    return [
        Headroom(cell.user, cell.period, cell.exam.correct - cell.random, cell.upper_bound - cell.random)
        for cell in cells
        if cell.upper_bound is not None
    ]


def _pooled(cells: Sequence[Headroom]) -> tuple[list[float], list[float]]:
    return _by_user(cells, lambda cell: cell.gained), _by_user(cells, lambda cell: cell.possible)


@dataclass(frozen=True)
class _Ratio:
    """The memory score of one user and period."""

    user: int
    value: float


def _mean_of_ratios(cells: Sequence[Headroom]) -> tuple[Mean, list[str]]:
    ratios: list[_Ratio] = []
    groups = _grouped(cells, lambda cell: (cell.user, cell.period))
    narrow: list[tuple[int, int]] = []
    for place in sorted(groups):
        group = groups[place]
        room = math.fsum(cell.possible for cell in group)
        if room / len(group) < CLEARLY_ABOVE:
            narrow.append(place)
            continue
        ratios.append(_Ratio(place[0], math.fsum(cell.gained for cell in group) / room))
    if narrow:
        user, period = narrow[0]
        said = f"mean of ratios: in {len(narrow)} of {len(groups)} user-periods the upper bound is not clearly above"
        return Mean(None, 0), [f"{said} random (first: user {user}, period {period})"]
    return ratio(ratios, lambda one: one.value), []


def failure_shares(cells: Sequence[Cell]) -> dict[str, Mean]:
    """The share of all cells with each failure. With the accuracy and what no probe tells, they add up to 1."""
    return {str(kind): share(cells, partial(_is, kind)) for kind in Failure}


def mistake_shares(cells: Sequence[Cell]) -> dict[str, Mean]:
    """The share of all cells whose wrong option is stale, future or never true. With the accuracy and the unparsed
    replies, they add up to 1."""
    return {str(kind): share(cells, partial(_is, kind)) for kind in Mistake}


def _is(kind: Failure | Mistake, cell: Cell) -> bool:
    return kind in (cell.failure, cell.mistake)


class OfUser(Protocol):
    """Anything that is counted, of one user."""

    @property
    def user(self) -> int: ...


def ratio(cells: Sequence[T], numerator: Callable[[T], float], denominator: Callable[[T], float] | None = None) -> Mean:
    """Σ numerator / Σ denominator (else the mean) over n cells, with the interval clustered by user."""
    if not cells:
        return Mean(None, 0)
    sums = _by_user(cells, numerator)
    counts = _by_user(cells, denominator or (lambda cell: 1.0))
    return Mean(math.fsum(sums) / math.fsum(counts), len(cells), ratio_interval(sums, counts))


def share(cells: Sequence[T], is_one: Callable[[T], bool]) -> Mean:
    """The share of n cells that are one of these, with an interval that holds for rare ones, clustered by user."""
    mean = ratio(cells, lambda cell: float(is_one(cell)))
    ones, counts = _by_user(cells, lambda cell: float(is_one(cell))), _by_user(cells, lambda cell: 1.0)
    return replace(mean, interval=share_interval(ones, counts))


def _mean(cells: Sequence[Cell], value: Callable[[Cell], float]) -> Mean:
    """The mean of what lies in [0, 1], and so does its interval."""
    mean = ratio(cells, value)
    return replace(mean, interval=clipped(mean.interval))


def _by_user(cells: Sequence[T], value: Callable[[T], float]) -> list[float]:
    """Sums over each user's cells, users in order."""
    groups = _grouped(cells, lambda cell: cell.user)
    return [math.fsum(value(cell) for cell in groups[user]) for user in sorted(groups)]


def _grouped(cells: Sequence[C], key: Callable[[C], K]) -> dict[K, list[C]]:
    groups: dict[K, list[C]] = defaultdict(list)
    for cell in cells:
        groups[key(cell)].append(cell)
    return groups
