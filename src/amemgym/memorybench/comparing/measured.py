"""The rows of a table with what only items tell: the values' intervals, and gains."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from amemgym.errors import UnknownName
from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization, group_of
from amemgym.memorybench.comparing.cautions import OTHER_QUESTIONS
from amemgym.memorybench.comparing.comparison import Gain, Place, TableCell, TableRow
from amemgym.memorybench.comparing.details import Details, Places, read_details, read_rooms
from amemgym.memorybench.comparing.gains import gain, is_apart, reading, spread
from amemgym.memorybench.comparing.measure import Measure
from amemgym.memorybench.comparing.summaries import Summaries, cell_of
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.problems import some
from amemgym.memorybench.summary import direction

#: of how many cells a note tells by name
_NAMED = 2


@dataclass
class Measured:
    """Reads the items of each group once. `unknown` has for each group that was read the error where what the caller
    names is none of its. What has `other_questions` than the one that gains are over has no gain."""

    summaries: Summaries
    against: str
    metrics: Metrics | None = None
    other_questions: Set[Cell] = frozenset()
    unknown: list[UnknownName | None] = field(default_factory=list)

    def rows(
        self, rows: Sequence[TableRow], metric: str, statistics: Mapping[tuple[str, str], Normalization]
    ) -> list[TableRow]:
        """The rows with intervals and gains. Those of one set's data sets stand together."""
        sets: dict[Place, list[TableRow]] = {}
        for row in rows:
            sets.setdefault(replace(row.place, dataset=None), []).append(row)
        found: list[TableRow] = []
        for place, of_set in sets.items():
            measure = Measure(metric, statistics.get((place.dataset_type, place.set_name)), self.metrics)
            found += self._set(place, of_set, measure)
        if (wrong := [error for error in self.unknown if error is not None]) and len(wrong) == len(self.unknown):
            raise wrong[0]
        return _adjusted(found)

    def _set(self, place: Place, rows: Sequence[TableRow], measure: Measure) -> list[TableRow]:
        found = list(rows)
        if all(cell.value is None for row in rows for cell in row.cells):
            return found
        places = Places()
        reference = self._details(place, self.against, measure, places, is_reference=True)
        for at, baseline in enumerate(cell.baseline for cell in rows[0].cells):
            if all(row.cells[at].value is None for row in rows):
                continue
            is_reference = baseline == self.against
            details = reference if is_reference else self._details(place, baseline, measure, places)
            for number, row in enumerate(found):
                cell = row.cells[at]
                if cell.value is None:
                    continue
                datasets = None if row.place.dataset is None else [group_of(row.place.dataset)]
                made = _with_interval(cell, details, measure, datasets)
                if not is_reference:
                    base = self.summaries.value(row.place, self.against, measure.metric)
                    of_summaries = None if base is None else cell.value - base
                    if cell_of(row.place, baseline) in self.other_questions:
                        told = Gain.untold(None, OTHER_QUESTIONS)
                    else:
                        told = gain(details, reference, measure, of_summaries, self.against, datasets)
                    made = replace(made, gain=replace(told, better=direction(measure.metric)))
                found[number] = replace(row, cells=(*row.cells[:at], made, *row.cells[at + 1 :]))
        return found

    def _details(
        self, place: Place, baseline: str, measure: Measure, places: Places, is_reference: bool = False
    ) -> Details | str:
        """A group's values, or why there are none."""
        cell, results = cell_of(place, baseline), self.summaries.results
        if not results.has(cell):
            return f"the archive has no results of {cell.baseline} for {cell.exp}/{cell.model}/{cell.set_name}"
        if measure.why_not is not None:
            return measure.why_not

        def read() -> Details:
            if measure.is_memory_score:
                return read_rooms(results.items(cell), places, is_reference=is_reference)
            return read_details(results.items(cell), measure.of_items, places, is_reference=is_reference)

        details = reading(read)
        if isinstance(details, Details):
            if measure.metrics is None and details.unknown is not None:
                return f"no item has a value of {measure.metric}"
            self.unknown.append(details.unknown)
        return details


def _with_interval(
    cell: TableCell, details: Details | str, measure: Measure, datasets: Sequence[str] | None
) -> TableCell:
    """The summary's own interval where it has one, else that of the items where they have the summary's value."""
    told = spread(details, measure, datasets)
    if cell.interval is not None:
        return cell if told.users is None else replace(cell, users=told.users)
    if is_apart(told.value, cell.value):
        why = "the items have another mean than the summary says (amemgym memorybench verify looks into it)"
        return replace(cell, users=told.users, why=why)
    return replace(cell, users=told.users, interval=told.interval, why=told.why)


def _adjusted(rows: Sequence[TableRow]) -> list[TableRow]:
    """With each gain's p for all gains that were looked at together."""
    from amemgym.scores.pairs import adjusted_ps  # whoever only reads an archive need not load what plays and scores

    ps = iter(adjusted_ps([cell.gain.p for row in rows for cell in row.cells if cell.gain is not None]))
    return [
        replace(row, cells=tuple(cell if cell.gain is None else _told(cell, cell.gain, next(ps)) for cell in row.cells))
        for row in rows
    ]


def _told(cell: TableCell, gain: Gain, p_adjusted: float | None) -> TableCell:
    return replace(cell, gain=replace(gain, p_adjusted=p_adjusted))


def interval_notes(rows: Sequence[TableRow], *, gains: bool) -> Iterator[str]:
    """Why values or gains have no interval, and where the summaries say something else than the items."""
    cells = [(f"{row.place}/{cell.baseline}", cell) for row in rows for cell in row.cells if cell.value is not None]
    of_gains = _by_reason(cells, lambda cell: cell.gain.why if gains and cell.gain is not None else None)
    of_gains.pop(OTHER_QUESTIONS, None)  # which is a caution of its own
    of_values = _by_reason(cells, lambda cell: cell.why)
    for reason, where in of_gains.items():
        values = of_values.pop(reason, [])
        has = "has" if len(values) == 1 else "have"
        nor = f"; {_counted(len(values), 'value')} {has} none for the same reason" if values else ""
        verb = "has" if len(where) == 1 else "have"
        yield f"{_counted(len(where), 'gain')} {verb} no interval: {reason} ({some(where, _NAMED)}{nor})"
    for reason, where in of_values.items():
        yield f"{_counted(len(where), 'value')} without an interval: {reason} ({some(where, _NAMED)})"
    apart = [
        f"{name}: by items {cell.gain.value:+.3f}, by summaries {cell.gain.of_summaries:+.3f}"
        for name, cell in cells
        if gains and cell.gain is not None and cell.gain.n and is_apart(cell.gain.value, cell.gain.of_summaries)
    ]
    if apart:
        verb = "differs" if len(apart) == 1 else "differ"
        many = _counted(len(apart), "gain")
        yield f"{many} {verb} from what the summaries say, see memorybench verify ({some(apart, _NAMED)})"


def _by_reason(cells: Sequence[tuple[str, TableCell]], why: Callable[[TableCell], str | None]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, cell in cells:
        if reason := why(cell):
            found.setdefault(reason, []).append(name)
    return found


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
