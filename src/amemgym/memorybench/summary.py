"""A group's summary.json in one type, whichever of the formats in use it has.

They are told apart by their keys. *cases* has `case_statistics` and nulls; *judge* holds scores of a language model in
0..1, under the name of its metric and without the items' values; *legacy* has values normalised per data set and
usually `details`, the items' values; *scores* has metrics alone, as those of a single data set do. What is null or
absent is None, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from amemgym.errors import DataError
from amemgym.memorybench.values import count, mapping, number

#: the metrics of a summary over several data sets
AVERAGE, WEIGHTED, Z_SCORE = "average", "weighted_average", "z_score"
SUMMARY_METRICS = (AVERAGE, WEIGHTED, Z_SCORE)
#: of one of our runs, by items and in its summary
ACCURACY, RANDOM, UPPER_BOUND = "accuracy", "random", "upper_bound"
#: in its summary alone: the ratio of means, and the mean of ratios
MEMORY_SCORE, MEAN_OF_RATIOS = "memory_score", "memory_score_mean_of_ratios"
#: wrong answers that nothing explains
UNDIAGNOSED = "undiagnosed"
#: how a share of wrong answers of one of our runs is called: by where memory failed, or as it is
FAILURE, UNPARSED = "_failure", "unparsed"
#: what we add to a summary of our own
OWN_KEY = "amemgym"
#: how a warning of a run that is not finished begins
UNFINISHED = "the run is not finished"
JUDGE = "llm_judge_score"
#: which of two values of a metric is better; None where neither is
Direction = Literal["more", "less"] | None
#: of what comes with the questions, whatever a memory system does
_NEITHER = (RANDOM, UPPER_BOUND)
CASES = "case_statistics"
#: what rounding may put a score outside of its interval by
_NEAR = 1e-9
#: what the parts of a data set's sums are called, where they have names
_PARTS = (("sum", "total"), ("n", "count"), ("mean", "average"))
_NORMALISED = {"minmax": "minmax_normalized_average", "z": "z_normalized_average"}


@dataclass(frozen=True)
class Sums:
    """What a summary says of one data set's normalised values: their sum, how many, their mean."""

    total: float | None
    n: int | None
    mean: float | None


@dataclass(frozen=True)
class DatasetSummary:
    """What a summary says of one data set: the mean of the items' own values, and the normalised sums."""

    mean: float | None = None
    minmax: Sums | None = None
    z: Sums | None = None


@dataclass(frozen=True)
class Summary:
    """A summary.json. `scores` are its metrics by name; `details` the items' values of each data set, in an order that
    only the writer knew (so they cannot be joined to items); `cases` what `case_statistics` holds, as it stands."""

    form: str
    scores: dict[str, float | None]
    datasets: dict[str, DatasetSummary] = field(default_factory=dict)
    details: dict[str, list[float | None]] | None = None
    cases: Any = None
    #: of one of our runs, by metric: over how many items it is, and its 95% interval, clustered by user
    counts: dict[str, int] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    why_no_interval: str | None = None
    users: int | None = None
    #: what a run of ours has to be read with, and whether it is finished (None: not said, or no run of ours)
    warnings: tuple[str, ...] = ()
    finished: bool | None = None
    is_own: bool = False
    #: what of it could not be read, in words
    faults: tuple[str, ...] = ()


def direction(metric: str) -> Direction:
    """Less of a share of wrong answers is better; of what says nothing of a memory system, neither; else more."""
    if metric.endswith(FAILURE) or metric in (UNPARSED, UNDIAGNOSED):
        return "less"
    return None if metric in _NEITHER else "more"


def read_summary(value: Any, place: str, *, with_details: bool = True) -> Summary:
    """The summary in a parsed summary.json; `place` names the file in errors. Raises DataError for an unknown shape."""
    if not isinstance(value, Mapping) or not isinstance(value.get("summary"), Mapping):
        keys = ", ".join(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise DataError(
            f"{place}: not a summary in any known format; it should be an object with 'summary', an object of metrics"
            f' such as {{"average": 0.5}} (found: {keys[:200] or "nothing"})'
        )
    given = value["summary"]
    scores = {str(name): number(score) for name, score in given.items() if _is_score(name, score)}
    if not scores:
        keys = ", ".join(map(str, given))
        raise DataError(
            f"{place}: not a summary in any known format; its 'summary' has no metric (found: {keys[:200]})"
        )
    details, own = value.get("details"), mapping(value.get(OWN_KEY))
    faults: list[str] = []
    why, warnings, finished = (own.get(key) for key in ("why_no_interval", "warnings", "finished"))
    return Summary(
        form=_form(value),
        scores=scores,
        datasets=_datasets(value, faults),
        details=_values(details) if with_details and isinstance(details, Mapping) else None,
        cases=value[CASES] if CASES in value else given.get(CASES),
        counts={str(name): n for name, given in mapping(own.get("n")).items() if (n := count(given)) is not None},
        intervals=dict(_intervals(own.get("intervals"), scores)),
        why_no_interval=why if isinstance(why, str) else None,
        users=count(own.get("users")),
        warnings=tuple(one for one in warnings if isinstance(one, str)) if isinstance(warnings, list) else (),
        finished=finished if isinstance(finished, bool) else None,
        is_own=OWN_KEY in value,
        faults=tuple(faults),
    )


def _form(value: Mapping[str, Any]) -> str:
    if CASES in value or CASES in value["summary"]:
        return "cases"
    if not any(key in value for key in (AVERAGE, *_NORMALISED.values())):
        return "scores"
    is_judged = value["summary"].get("metric", value.get("metric")) == JUDGE
    return "judge" if is_judged or "details" not in value else "legacy"


def _datasets(value: Mapping[str, Any], faults: list[str]) -> dict[str, DatasetSummary]:
    means, minmax, z = (mapping(value.get(key)) for key in (AVERAGE, *_NORMALISED.values()))
    names = dict.fromkeys([*means, *minmax, *z])
    found = {}
    for name in names:
        sums = []
        for key, given in zip(_NORMALISED.values(), (minmax.get(name), z.get(name)), strict=True):
            sums.append(made := _sums(given))
            if given is not None and made is None:
                faults.append(f"{key} of {name} is no sum, n and mean, and is left out")
            elif made is not None and made.n is None and made.total is not None:
                faults.append(f"{key} of {name} has no n that is a whole number")
        found[str(name)] = DatasetSummary(number(means.get(name)), *sums)
    return found


def _sums(value: Any) -> Sums | None:
    """A sum, n and mean, in this order or by these names; or the mean alone."""
    if isinstance(value, Mapping):
        value = [next((value[name] for name in names if name in value), None) for names in _PARTS]
        if value == [None, None, None]:
            return None
    if isinstance(value, list | tuple):
        return Sums(number(value[0]), count(value[1]), number(value[2])) if len(value) == 3 else None
    mean = number(value)
    return None if mean is None else Sums(None, None, mean)


def _values(details: Mapping[str, Any]) -> dict[str, list[float | None]]:
    return {str(name): [number(item) for item in items] for name, items in details.items() if isinstance(items, list)}


def _intervals(value: Any, scores: Mapping[str, float | None]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Those that their score lies in: others are none of its."""
    for name, given in mapping(value).items():
        score = scores.get(str(name))
        if score is None or not isinstance(given, list) or len(given) != 2:
            continue
        low, high = number(given[0]), number(given[1])
        if low is not None and high is not None and low - _NEAR <= score <= high + _NEAR:
            yield str(name), (low, high)


def _is_score(name: Any, value: Any) -> bool:
    """Not a normalisation's table, a list, or the metric's name; a score that is no number is one that is missing."""
    return name not in ("metric", CASES) and not isinstance(value, Mapping | list | tuple)
