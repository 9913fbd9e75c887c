"""Recompute every summary of an archive, and say where a published number does not come out and why.

A summary is recomputed from what it holds itself (its values, its sums) and from the group's evaluate_details.json,
normalised by the published statistics. A difference's cause is found by trying the known ones (`causes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from amemgym import files
from amemgym.errors import AMemGymError, UnknownName, UsageError
from amemgym.memorybench.aggregating.archive_statistics import archive_statistics
from amemgym.memorybench.aggregating.collected import Collected, CollectedCell, read_collected
from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization, group_of, read_normalizations
from amemgym.memorybench.entry import DETAILS, MANIFEST, PREDICT, Cell
from amemgym.memorybench.items import ItemKey, key_of
from amemgym.memorybench.reading.opening import open_results
from amemgym.memorybench.reading.results import MemoryBenchResults
from amemgym.memorybench.verifying.causes import items_
from amemgym.memorybench.verifying.checks import (
    Means,
    check_items,
    check_single,
    check_sums,
    check_values,
    warn_of_cases,
    warn_of_items,
)
from amemgym.memorybench.verifying.gathered import Items, read_items
from amemgym.memorybench.verifying.verification import CellFindings, Remark, Verification

#: what stands in place of a reply where the model could not be asked
ERROR_REPLY = "Error: Unable to generate response."

Normalizations = Mapping[tuple[str, str], Normalization]


def verify(
    archive: MemoryBenchResults | str | Path | Sequence[str | Path],
    normalization: Normalizations | str | Path | None = None,
    *,
    metrics: Metrics | None = None,
    tolerance: float = 1e-9,
    replies: bool = False,
    exp: str | None = None,
    models: str | Sequence[str] | None = None,
    dataset_type: str | None = None,
    set_names: str | Sequence[str] | None = None,
    baselines: str | Sequence[str] | None = None,
    choose: str = "latest",
) -> Verification:
    """Recompute the summaries of an archive, or of several.

    `archive` is an opened archive, a folder, a summary file over several baselines, or several of them. `normalization`
    is the statistics or their file; without it they are looked for in the archive's root and its configs/. `metrics`
    chooses the items' metric (see `metric`), `tolerance` is absolute up to 1 and relative above. `replies` also looks
    through the replies for those that are an error's words. The rest selects cells. What is missing is told in the
    result. Raises UnknownName, UsageError where no archive is given or the tolerance is no number, and DataError where
    an archive or a given file of statistics cannot be read at all.
    """
    if not (math.isfinite(tolerance) and tolerance >= 0):
        raise UsageError(f"the tolerance is {tolerance}; it should be a number that is not negative, such as 1e-9")
    made = Verification(tolerance)
    given = read_normalizations(normalization) if isinstance(normalization, str | Path) else normalization
    sets = _Sets(dataset_type, _several(set_names), _several(baselines))
    if isinstance(archive, MemoryBenchResults):
        opened = archive
    else:
        sources = [archive] if isinstance(archive, str | Path) else list(archive)
        collected = [source for source in sources if _is_file(source)]
        for source in collected:
            _verify_collected(made, read_collected(source), given, sets)
        rest = [source for source in sources if source not in collected]
        if collected and not rest:
            return made
        opened = open_results(rest, choose)
    cells = opened.select(exp=exp, models=models, **sets._asdict())
    known = _statistics(made, opened, cells, given)
    found = [_verify_cell(made, opened, cell, known(cell), metrics, replies=replies) for cell in cells]
    _check_metrics(metrics, found)
    made.notes += [str(problem) for problem in getattr(opened, "problems", ())]
    return made


class _Sets(NamedTuple):
    """The filters that a summary over several baselines knows too."""

    dataset_type: str | None
    set_names: Sequence[str] | None
    baselines: Sequence[str] | None

    def has(self, cell: CollectedCell) -> bool:
        """Whether the cell is wanted."""
        return (
            self.dataset_type in (None, cell.dataset_type)
            and (self.set_names is None or cell.set_name in self.set_names)
            and (self.baselines is None or cell.baseline in self.baselines)
        )

    def check(self, cells: Iterable[CollectedCell]) -> None:
        """Raises UnknownName for a name that no cell has."""
        of_type = [self.dataset_type] if self.dataset_type is not None else []
        known = list(cells)
        asked = (of_type, self.set_names or (), self.baselines or ())
        for at, (kind, wanted) in enumerate(zip(("type of set", "set", "baseline"), asked, strict=True)):
            there = dict.fromkeys(cell[at] for cell in known)
            for name in wanted:
                if name not in there:
                    raise UnknownName(kind, name, there)


def _several(names: str | Sequence[str] | None) -> Sequence[str] | None:
    return [names] if isinstance(names, str) else names


def _is_file(source: str | Path) -> bool:
    path = files.at_home(source)
    return path.is_file() and path.name != MANIFEST


def _check_metrics(metrics: Metrics | None, found: Sequence[Items | UnknownName | None]) -> None:
    """Raises UnknownName where the caller's metric is in no cell, or a data set it is for."""
    unknown = [one for one in found if isinstance(one, UnknownName)]
    read = [one for one in found if isinstance(one, Items)]
    if unknown and not read:
        raise unknown[0]
    if isinstance(metrics, Mapping) and read:
        there = sorted({name for one in read for name in (*one.datasets, *map(group_of, one.datasets))})
        for name in metrics:
            if name not in there:
                raise UnknownName("data set", name, there, "It was named to choose its metric.")


def _statistics(
    made: Verification, archive: MemoryBenchResults, cells: Iterable[Cell], given: Normalizations | None
) -> Callable[[Cell], Normalizations]:
    """The statistics for a cell: those given, else those of its archive's folder and then of the other archives'."""
    if given is not None:
        return lambda cell: given
    found: dict[str, Normalizations] = {}
    for root in dict.fromkeys(map(archive.place_of, cells)):
        try:
            path, found[root] = archive_statistics(Path(root))
        except AMemGymError as error:
            made.warnings.append(Remark(None, str(error)))
            continue
        if path is not None:
            made.notes.append(f"statistics: {path}")
    every = {key: of for one in reversed(found.values()) for key, of in one.items()}
    return lambda cell: {**every, **found.get(archive.place_of(cell), {})}


def _verify_cell(
    made: Verification,
    archive: MemoryBenchResults,
    cell: Cell,
    known: Normalizations,
    metrics: Metrics | None,
    *,
    replies: bool,
) -> Items | UnknownName | None:
    """Check one cell; returns its items, or why they have not the metric asked for, or None where there are none."""
    findings = CellFindings(made, cell)
    try:
        summary = archive.summary(cell)
    except AMemGymError as error:
        findings.unchecked(f"{error}")
        return None
    own = known.get((cell.dataset_type, cell.set_name))
    others = {f"those of set {'/'.join(key)}": of for key, of in known.items() if of is not own}
    means = Means(metrics, own, others)
    single = cell.set_name if cell.dataset_type == "single" and not summary.datasets else None
    if single is None:
        check_sums(findings, summary, own)
        check_values(findings, summary, means)
    try:
        items = read_items(archive.iter_evaluate_details(cell), metrics, own, single=single)
    except AMemGymError as error:
        findings.unchecked(f"from items: {error}")
        findings.close()
        return error if isinstance(error, UnknownName) else None

    def again() -> Items:
        return read_items(archive.load_evaluate_details(cell), metrics, own, single=single)

    warn_of_items(findings, items, means)
    warn_of_cases(findings, summary, items)
    if single is None:
        check_items(findings, summary, items, means, again)
    else:
        check_single(findings, summary, items, again)
    if replies:
        _look_at_replies(findings, archive, cell, items)
    findings.close()
    # of all cells, the names of their data sets are kept, and no items
    return Items(items.aggregate, datasets=items.datasets)


def _look_at_replies(findings: CellFindings, archive: MemoryBenchResults, cell: Cell, items: Items) -> None:
    """Warn of replies that are an error's words and have a score, and of items that only one file has."""
    failed: set[ItemKey] = set()
    answered: set[ItemKey] = set()
    try:
        for record in archive.iter_predict(cell):
            key = key_of(record, cell.set_name if cell.dataset_type == "single" else None)
            if key is not None:
                answered.add(key)
                if str(record.get("response", "")).strip() == ERROR_REPLY:
                    failed.add(key)
    except AMemGymError as error:
        findings.unchecked(f"replies: {error}")
        return
    scored = {key: value for key, value in items.scored() if key in failed}
    if scored:
        mean = sum(scored.values()) / len(scored)
        findings.warn(f"{items_(len(scored))} scored as if '{ERROR_REPLY}' were an answer (mean {mean:.4g})")
    keys = items.keys()
    for name, lacking in ((DETAILS, answered - keys), (PREDICT, keys - answered)):
        if lacking:
            findings.warn(f"{items_(len(lacking))} not in {name}, of both files together {len(keys | answered)}")


def _verify_collected(made: Verification, collected: Collected, given: Normalizations | None, sets: _Sets) -> None:
    made.notes += collected.notes
    sets.check(collected.summaries)
    for cell, summary in collected.summaries.items():
        if not sets.has(cell):
            continue
        findings = CellFindings(made, cell)
        own = collected.normalizations[cell.dataset_type, cell.set_name]
        check_sums(findings, summary, own, implied=True)
        absent = [name for name, one in summary.datasets.items() if one.minmax is None]
        if absent:
            findings.unchecked(f"it has no metrics, as there are no sums of {', '.join(absent)}")
        if given is not None and (other := given.get((cell.dataset_type, cell.set_name))) and dict(other) != dict(own):
            findings.warn("the file's own statistics are others than those given; it was checked by its own")
        findings.close()
