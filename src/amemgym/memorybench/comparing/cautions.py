"""What the values of our own runs must not be shown without: the runs' warnings, and how the runs of a row differ.

A row's memory systems can be compared where the rest was the same: protocol, rounds, seed, models and data. What our
exports say of it in run_config.json is compared; archives of others do not say it, and their files are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amemgym.errors import DataError
from amemgym.memorybench.comparing.comparison import TableRow
from amemgym.memorybench.comparing.summaries import Summaries, cell_of
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.problems import some
from amemgym.memorybench.summary import OWN_KEY, UNFINISHED

if TYPE_CHECKING:
    from amemgym.memorybench.reading.results import MemoryBenchResults

#: why there is no gain
OTHER_QUESTIONS = "they were asked other questions: the data of this name differ"
#: of the export, the agent's own, or measured beside the exams without a part in them
_NOT_COMPARED = ("format", "run", "agent", "model", "data", "probe", "upper_bound")
#: how many memory systems, and settings, a note names; characters of a run's warning
_NAMED, _SETTINGS, _LONGEST = 3, 6, 600


@dataclass
class Cautions:
    """`notes` are in words; `other_questions` the cells that have no gain over the one that gains are over."""

    notes: list[str] = field(default_factory=list)
    other_questions: set[Cell] = field(default_factory=set)


def cautions(made: Summaries, rows: Sequence[TableRow], metric: str, against: str) -> Cautions:
    """Of the cells that have a value, and of those that gains are over."""
    found = Cautions()
    shown = list(
        dict.fromkeys(
            cell_of(row.place, baseline)
            for row in rows
            for baseline in (*(one.baseline for one in row.cells), against)
            if made.value(row.place, baseline, metric) is not None
        )
    )
    texts: dict[str, list[Cell]] = {}
    for cell in shown:
        summary = made.found[cell]
        told = [text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in summary.warnings]
        if summary.finished is False and not any(text.startswith(UNFINISHED) for text in told):
            told.append(UNFINISHED)
        for text in dict.fromkeys(told):
            texts.setdefault(text, []).append(cell)
    for text, cells in texts.items():
        found.notes.append(text if len(cells) == len(shown) else f"{_names(cells, shown)}: {text}")
    differing: dict[tuple[str, str], list[Cell]] = {}
    for of_row in _by_row(shown).values():
        own = {cell.baseline: cell for cell in of_row if made.found[cell].is_own}
        if len(own) > 1:
            reference = own.get(against) or next(iter(own.values()))
            _compare(made.results, reference, own.values(), against, differing, found)
    for (name, text), cells in differing.items():
        found.notes.append(f"{_names(cells, shown)} (there) and {name} (here) {text}")
    return found


def _compare(
    results: MemoryBenchResults,
    reference: Cell,
    cells: Iterable[Cell],
    against: str,
    differing: dict[tuple[str, str], list[Cell]],
    found: Cautions,
) -> None:
    """Add what differs from the reference, by its name and in words."""
    from amemgym.clean import differences  # it brings pydantic

    here = _config(results, reference, found)
    for cell in cells:
        if here is None or cell == reference or (there := _config(results, cell, found)) is None:
            continue
        try:
            changed = differences(_settings(there), _settings(here))
        except RecursionError:
            found.notes.append(f"{cell}: its settings cannot be compared, as they are nested too deep")
            continue
        data, other = _data(there), _data(here)
        if _are_other_questions(data, other):
            text = f"were not asked the same questions: {_hashes(data, other)}"
            differing.setdefault((reference.baseline, text), []).append(cell)
            if reference.baseline == against:
                found.other_questions.add(cell)
        else:
            part = differences(data, other, "data")
            changed += [one for one in part if len(part) == 1 or not one.startswith("data.played ")]
        if changed:
            more = f"; and {len(changed) - _SETTINGS} more" if len(changed) > _SETTINGS else ""
            text = f"were run with other settings: {'; '.join(changed[:_SETTINGS])}{more}"
            differing.setdefault((reference.baseline, text), []).append(cell)


def _config(results: MemoryBenchResults, cell: Cell, found: Cautions) -> Mapping[str, Any] | None:
    """run_config.json of one of our runs, None (and a note) where it cannot be had."""
    try:
        config = results.run_config(cell)
    except DataError as error:
        found.notes.append(f"{cell}: its settings are not known: {str(error).removeprefix(f'{cell}: ')}")
        return None
    return config if isinstance(config.get(OWN_KEY), Mapping) else None


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What is not the agent's own. The model is the one that it was run with, the run's or its own."""
    system = config.get("memory_system_config")
    model = system.get("llm_config") if isinstance(system, Mapping) else None
    own = {name: value for name, value in config[OWN_KEY].items() if name not in _NOT_COMPARED}
    return {**own, "model": config[OWN_KEY].get("model") if model is None else model}


def _data(config: Mapping[str, Any]) -> dict[str, Any]:
    data = config[OWN_KEY].get("data")
    return {name: value for name, value in data.items() if name != "name"} if isinstance(data, Mapping) else {}


def _are_other_questions(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Of one file, other users or periods may have been played, whose common questions pair; of two files, what was
    played must be the same."""
    return all(one.get(key) is not None and one.get(key) != other.get(key) for key in ("sha256", "played"))


def _hashes(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    there, here = (str(data.get("sha256"))[:8] for data in (one, other))
    return f"the data of this name are others (sha256 {there}… there, {here}… here), so there are no gains"


def _by_row(cells: Iterable[Cell]) -> dict[Cell, list[Cell]]:
    rows: dict[Cell, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell._replace(baseline=""), []).append(cell)
    return rows


def _names(cells: Sequence[Cell], shown: Sequence[Cell]) -> str:
    """The cells: by memory system where there is one row; whole rows by their place."""
    rows = _by_row(shown)
    if len(rows) == 1:
        return some([cell.baseline for cell in cells], _NAMED)
    names = []
    for place, of_row in rows.items():
        mine = [cell for cell in of_row if cell in cells]
        whole = len(mine) == len(of_row)
        names += [str(place).rstrip("/")] if whole and mine else [str(cell) for cell in mine]
    return some(names, _NAMED)
