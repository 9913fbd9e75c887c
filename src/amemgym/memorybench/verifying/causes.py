"""Why a published number is another than the items give: hypotheses, each tried by recomputing under it.

They are the ways in which published summaries are known to have gone wrong. Those that can have mattered in a cell are
tried one by one, then two together, exact and then rounded as the published numbers are; the first under which the
published number comes out is named. What is in the files (a numpy value, a null) is named as it stands; items that are
named only since a sum comes out without them are told "as if", and only where no other items fit as well. What none
explains is "not explained": nothing is guessed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from amemgym.memorybench.aggregating.normalization import Normalization, group_of
from amemgym.memorybench.values import total
from amemgym.memorybench.verifying.recompute import (
    DEFAULT,
    EACH,
    JUDGED,
    LAST,
    NULL,
    NUMPY,
    Case,
    Key,
    Numbers,
    Record,
    Way,
)

NOT_EXPLAINED = "not explained"
#: how many deviations are tried together
_TOGETHER = 2
#: numbers with at most so many decimals, and at least so many, may have been rounded
_MOST, _LEAST = 8, 2
#: how many values a search looks for whose absence explains a sum, and among how many it looks for two
_SEARCHED, _ITEMS = 2, 20_000


@dataclass(frozen=True)
class Deviation:
    """One known deviation: what it changes, and what it is called for a data set's number, or for the set's (None).
    `is_last` is one that takes other values from the summary itself, and so says less: it is tried after all others."""

    apply: Callable[[Way], Way]
    told: Callable[[str | None], str]
    is_last: bool = False


def close(published: float, value: float | None, tolerance: float) -> bool:
    """Whether two numbers are the same to the tolerance, which is relative for numbers above 1."""
    return value is not None and abs(published - value) <= tolerance * max(1.0, abs(published))


def explain(
    compute: Callable[[Way], Numbers],
    deviations: Sequence[Deviation],
    differing: Mapping[Key, float],
    tolerance: float,
) -> dict[Key, str]:
    """The causes of the published numbers in `differing`: one for all of them if there is such, else one by one."""
    digits = max((n for value in differing.values() if (n := _decimals(value)) <= _MOST), default=0)
    found: dict[Key, str] = {}
    for combination, made in _tried(compute, deviations):
        # what comes out under no deviation has no cause that could be named
        exact = [key for key, value in differing.items() if combination and close(value, made.get(key), tolerance)]
        causes = {key: _sentence(combination, key) for key in exact}
        if digits >= _LEAST:
            rounded = f"rounded to {digits} digits"
            near = [key for key, value in differing.items() if key not in causes and _is(value, made.get(key), digits)]
            causes |= {key: ", and ".join(filter(None, (_sentence(combination, key), rounded))) for key in near}
        if len(causes) == len(differing):
            return causes
        found = causes | found
    return found


def _tried(
    compute: Callable[[Way], Numbers], deviations: Sequence[Deviation]
) -> Iterator[tuple[Sequence[Deviation], Numbers]]:
    """What comes out under none of the deviations, each, and several together, the fewest first."""
    first = [deviation for deviation in deviations if not deviation.is_last]
    combinations = [of for size in range(_TOGETHER + 1) for of in itertools.combinations(first, size)]
    for last in (deviation for deviation in deviations if deviation.is_last):
        combinations += [(*of, last) for size in range(2) for of in itertools.combinations(first, size)]
    for combination in combinations:
        way = DEFAULT
        for deviation in combination:
            way = deviation.apply(way)
        yield combination, compute(way)


def _sentence(combination: Sequence[Deviation], key: Key) -> str:
    """What the combination did to a number; of deviations that count items, those that did anything to its data set."""
    told = list(filter(None, (deviation.told(key.dataset) for deviation in combination)))
    return ", and ".join(told or [deviation.told(None) for deviation in combination])


def _is(published: float, value: float | None, digits: int) -> bool:
    """Whether a number is another, rounded."""
    return value is not None and abs(round(value, digits) - published) <= 1e-12 * max(1.0, abs(published))


def _decimals(value: float) -> int:
    """How many decimals a number was written with; more than can be rounding's where it has an exponent."""
    text = repr(float(value))
    return _MOST + 1 if "e" in text else len(text.partition(".")[2].rstrip("0"))


def of_sums(*, incomplete: bool) -> list[Deviation]:
    """What may be wrong with a set's metrics where its sums are right."""
    return [*([_INCOMPLETE] if incomplete else []), _SWAPPED]


def of_case(case: Case, means: Mapping[str, float], details: Mapping[str, Sequence[float | None]]) -> list[Deviation]:
    """The deviations that can have mattered. `means` are the data sets' published means, `details` the values that the
    summary says it is of, where it has them."""
    found = [*_zeros(case), *_repeats(case), *_unkeyed(case)]
    values = case.values()
    if case.normalization is not None:
        found += _normalising(case, values)
    if any(case.published.get(name, 0) > len(of) for name, of in values.items()):
        found.append(_filled(case, values))
    for name, replaced in (("details", _by_details(values, details)), ("search", _searched(case, values, means))):
        if replaced:
            case.replaced[name] = {dataset: of for dataset, (of, _) in replaced.items()}
            found.append(_replaced(name, {dataset: said for dataset, (_, said) in replaced.items()}))
    return found


def _zeros(case: Case) -> list[Deviation]:
    found = []
    for kind, said in (
        (NUMPY, "{} with {} numpy value{} counted as 0"),
        (NULL, "{} without a value (null, NaN or no such metric) counted as 0"),
        (JUDGED, "{} whose judge failed counted as 0"),
    ):
        of = [record for record in case.records if record.kind == kind and record.first]
        if of:
            found.append(Deviation(_zero(kind), _told_of(of, said)))
    return found


def _zero(kind: str) -> Callable[[Way], Way]:
    return lambda way: replace(way, zeros=way.zeros | {kind})


def _told_of(of: Sequence[Record], said: str) -> Callable[[str | None], str]:
    def told(dataset: str | None) -> str:
        n = sum(dataset in (None, record.dataset, group_of(record.dataset)) for record in of)
        return said.format(items_(n), "a" if n == 1 else "", "" if n == 1 else "s").replace("  ", " ") if n else ""

    return told


def _repeats(case: Case) -> list[Deviation]:
    more = [record for record in case.records if record.keyed and not record.first]
    if not more:
        return []
    return [
        Deviation(_set(repeats=EACH), _told_of(more, "{} with the dataset and test_idx of an earlier one counted too")),
        Deviation(_set(repeats=LAST), _told_of(more, "{} counted in place of an earlier one with their key")),
    ]


def _unkeyed(case: Case) -> list[Deviation]:
    found = [record for record in case.records if not record.keyed]
    return [Deviation(_set(unkeyed=True), _told_of(found, "{} without a test_idx counted"))] if found else []


def _normalising(case: Case, values: Mapping[str, Sequence[float]]) -> list[Deviation]:
    normalization = case.normalization
    assert normalization is not None
    found = []
    if any(not values.get(name) for name in normalization):
        found.append(_INCOMPLETE)
    flat = [
        name for name in values if (of := normalization.get(name)) and (of.high <= of.low or (of.sigma or 0) <= 1e-6)
    ]
    if flat:
        said = f"0 taken as the normalised value where the statistics allow none ({', '.join(flat)})"
        found.append(_plain(said, flat_as_zero=True))
    if any(_is_outside(normalization, name, of) for name, of in values.items()):
        found.append(_plain("normalised values clipped to 0..1", clipped=True))
    if any(record.dataset != group_of(record.dataset) for record in case.records):
        found.append(_plain("the parts of Locomo averaged as data sets of their own", ungrouped=True))
    found += [_SWAPPED, _plain("values not normalised", unscaled=True)]
    found += [_plain(f"normalised by other statistics: {name}", statistics=name) for name in case.alternatives]
    return found


def _is_outside(normalization: Normalization, name: str, of: Sequence[float]) -> bool:
    statistics = normalization.get(name)
    return statistics is not None and bool(of) and (min(of) < statistics.low or max(of) > statistics.high)


def _filled(case: Case, values: Mapping[str, Sequence[float]]) -> Deviation:
    lacking = {name: case.published.get(name, 0) - len(of) for name, of in values.items()}

    def told(dataset: str | None) -> str:
        n = lacking.get(dataset, 0) if dataset is not None else sum(max(0, one) for one in lacking.values())
        return f"{items_(n)} more than evaluate_details has counted as 0" if n > 0 else ""

    return Deviation(_set(filled=True), told)


#: values in place of a data set's, and what is said of them
_Replaced = dict[str, tuple[list[float], str]]


def _by_details(values: Mapping[str, Sequence[float]], details: Mapping[str, Sequence[float | None]]) -> _Replaced:
    """The values that the summary says it is of, where they are others than the items'. Their order tells nothing."""
    found: _Replaced = {}
    for name, listed in details.items():
        given = [value for value in listed if value is not None]
        ours, theirs = Counter(map(_about, values.get(name, ()))), Counter(map(_about, given))
        if name in values and ours != theirs:
            found[name] = given, _compared(ours - theirs, theirs - ours, ours)
    return found


def _about(value: float) -> float:
    return float(f"{value:.12g}")


def _compared(lost: Counter[float], extra: Counter[float], ours: Counter[float]) -> str:
    n, more = lost.total(), extra.total()
    if not more:
        return f"{items_(n)} left out of the summary's own values"
    if set(extra) == {0.0} and n == more:
        return f"{items_(n)} that have a value counted as 0 (as numpy numbers are by the original's code)"
    if set(extra) == {0.0} and not n:
        return f"{items_(more)} that evaluate_details has no value of counted as 0"
    if not n:
        again = "counted again" if extra.keys() <= ours.keys() else "more in the summary's own values"
        return f"{items_(more)} {again}"
    return f"{NOT_EXPLAINED} ({items_(max(n, more))} with other values in the summary than in evaluate_details)"


def _searched(case: Case, values: Mapping[str, Sequence[float]], means: Mapping[str, float]) -> _Replaced:
    """One or two values without which (or as 0) a data set's published mean comes out, where no others do as well: many
    would for scores of few steps."""
    found: _Replaced = {}
    for name, of in values.items():
        n, mean, whole = case.published.get(name), means.get(name), total(of)
        if n is None or mean is None or not of or whole is None or not 0 <= len(of) - n <= _SEARCHED:
            continue
        as_zero = n == len(of)
        fitting = _adding_up_to(of, whole - mean * n, as_zero=as_zero, counts=[1, 2] if as_zero else [len(of) - n])
        if len(fitting) != 1:
            continue
        (lost,) = fitting
        kept = Counter(of)
        kept.subtract(lost)
        shown = " and ".join(f"{value:.6g}" for value in lost)
        was = f"{'was' if len(lost) == 1 else 'were'} {'counted as 0' if as_zero else 'left out'}"
        said = f"as if {items_(len(lost))} (of value {shown}) {was}"
        found[name] = [*kept.elements(), *([0.0] * len(lost) if as_zero else [])], said
    return found


def _adding_up_to(
    values: Sequence[float], whole: float, *, as_zero: bool, counts: Sequence[int]
) -> set[tuple[float, ...]]:
    """Of the values, those (by themselves, and by twos) that add up to the whole. A 0 counted as 0 changes nothing."""
    near = 1e-9 * max(1.0, abs(whole), *map(abs, values))
    many = Counter(value for value in values if value or not as_zero)
    found: set[tuple[float, ...]] = set()
    if as_zero and abs(whole) <= near:
        return found
    if 1 in counts:
        found |= {(value,) for value in many if abs(value - whole) <= near}
    if 2 in counts and len(values) <= _ITEMS:
        found |= _pairs(many, whole, near)
    return found


def _pairs(many: Counter[float], whole: float, near: float) -> set[tuple[float, ...]]:
    found: set[tuple[float, ...]] = set()
    values = sorted(many)
    low, high = 0, len(values) - 1
    while low <= high:
        more = values[low] + values[high] - whole
        if abs(more) <= near and (low < high or many[values[low]] > 1):
            found.add((values[low], values[high]))
        low, high = (low + 1, high) if more < 0 else (low, high - 1)
    return found


def _replaced(name: str, said: Mapping[str, str]) -> Deviation:
    def told(dataset: str | None) -> str:
        if dataset is not None:
            return said.get(dataset, "")
        return "; ".join(f"{of}: {what}" for of, what in said.items())

    return Deviation(_set(values=name), told, is_last=True)


def omitted(case: Case, datasets: Sequence[str]) -> Deviation:
    """That data sets which have items were left out of the summary."""
    case.replaced["omitted"] = {name: [] for name in datasets}
    return _plain(f"{', '.join(datasets)} left out of the summary", values="omitted", partial=True)


def _set(**changes: object) -> Callable[[Way], Way]:
    return lambda way: replace(way, **changes)  # type: ignore[arg-type]


def _plain(said: str, **changes: object) -> Deviation:
    return Deviation(_set(**changes), lambda dataset: said)


def items_(n: int) -> str:
    """A number of items, in words."""
    return f"{n} item{'' if n == 1 else 's'}"


_INCOMPLETE = _plain("a set that is not complete averaged over the data sets that are there", partial=True)
_SWAPPED = _plain("the mean over data sets and the mean over items swapped", swapped=True)
