"""A summary over several baselines in one file: the sums of each data set, the three metrics, and the statistics.

Its sets are type → set → tables by data set and baseline. A baseline that lacks a data set has null or nothing there,
and no metric of the set: that is None here, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from amemgym import files
from amemgym.errors import DataError
from amemgym.memorybench.aggregating.normalization import Normalization
from amemgym.memorybench.reading.stream import read_json
from amemgym.memorybench.summary import AVERAGE, JUDGE, SUMMARY_METRICS, DatasetSummary, Summary, read_summary
from amemgym.memorybench.values import mapping

#: names of baselines in older files, and what they are called now
RENAMED = {"bm25": "bm25_message", "embedder": "embedder_message"}
_TABLES = (AVERAGE, "minmax_normalized_average", "z_normalized_average")


class CollectedCell(NamedTuple):
    """What such a file has three numbers for; it does not say which model answered."""

    dataset_type: str
    set_name: str
    baseline: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True)
class Collected:
    """The file's summaries by cell, and its statistics by (type, set). `notes` say what was renamed."""

    summaries: dict[CollectedCell, Summary]
    normalizations: dict[tuple[str, str], Normalization]
    notes: list[str] = field(default_factory=list)


def is_collected(value: Any) -> bool:
    """Whether parsed JSON has the shape of such a file."""
    sets = [table for of in value.values() if isinstance(of, Mapping) for table in of.values()] if _maps(value) else []
    return bool(sets) and all(
        isinstance(table, Mapping) and "summary" in table and _TABLES[1] in table for table in sets
    )


def read_collected(path: str | Path) -> Collected:
    """The file over several baselines (`final_evaluate_summary_wo_details.json`). Raises DataError."""
    value = read_json(files.at_home(path), str(path))
    if not is_collected(value):
        raise DataError(
            f"{path}: not a summary over several baselines; it should be {{type: {{set: {{'average', "
            "'minmax_normalized_average', 'z_normalized_average', 'summary'}}}"
        )
    made = Collected({}, {})
    for dataset_type, sets in value.items():
        for set_name, tables in sets.items():
            place = f"{path}: set {dataset_type}/{set_name}"
            try:
                made.normalizations[dataset_type, set_name] = Normalization.from_published(
                    tables["summary"], f"{dataset_type}/{set_name}"
                )
            except DataError as error:
                raise DataError(f"{path}: {error}") from None
            for baseline in _baselines(tables):
                cell = CollectedCell(dataset_type, set_name, RENAMED.get(baseline, baseline))
                if cell in made.summaries:
                    raise DataError(f"{place}: baseline {cell.baseline} is there twice, as '{baseline}' too")
                made.summaries[cell] = _summary(tables, baseline, place)
                if baseline in RENAMED and (note := f"'{baseline}' is {cell.baseline}") not in made.notes:
                    made.notes.append(note)
    return made


def _baselines(tables: Mapping[str, Any]) -> list[str]:
    """The baselines of which the set has any number, in the file's order."""
    found: dict[str, None] = {}
    for table in (*_TABLES, "summary"):
        for name, row in mapping(tables.get(table)).items():
            if isinstance(row, Mapping) and not str(name).startswith("dataset_"):
                found.update(dict.fromkeys(map(str, row)))
    return [*found]


def _summary(tables: Mapping[str, Any], baseline: str, place: str) -> Summary:
    """One baseline's part as a summary.json of its own."""
    scores = mapping(tables["summary"])
    single: dict[str, Any] = {"summary": {name: mapping(scores.get(name)).get(baseline) for name in SUMMARY_METRICS}}
    for table in _TABLES:
        single[table] = {
            name: row[baseline]
            for name, row in mapping(tables.get(table)).items()
            if isinstance(row, Mapping) and row.get(baseline) is not None
        }
    read = read_summary(single, f"{place}, {baseline}")
    lacking = {str(name): DatasetSummary() for name in mapping(tables.get(_TABLES[1])) if name not in read.datasets}
    form = "judge" if scores.get("metric") == JUDGE else "legacy"  # there are never items' values to tell by
    return Summary(form, read.scores, {**read.datasets, **lacking})


def _maps(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value)
