"""Several runs of one cell: which of them the table's number is of. The choice is by rule, and it is always told.

A file's time says when it was copied, so it has no say. The time a run began stands in its id.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from amemgym.errors import DataError, ResultUndecided, UnknownName
from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.places import Place

CHOICES = {
    "latest": "the one that began last, by the times in their ids",
    "first": "the first, in the archive's order",
    "last": "the last, in the archive's order",
    "error": "none: two runs of one cell are an error",
}
#: how many runs are named in a message
_NAMED = 8
#: a date, and perhaps the time of the day: 2026-01-02-03-04-05, 2026-01-02_03-04-05, 20260102_030405,
#: 2026-01-02T03:04:05
_TIME = re.compile(
    r"(?<![0-9A-Za-z])(20\d\d)([-_]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])"
    r"(?:[-_T ]?([01]\d|2[0-3])([-_:]?)([0-5]\d)(?:\6([0-5]\d)(?:\.(\d{1,9}))?)?Z?)?(?![0-9A-Za-z:+])"
)
_BEGAN = "start_at_"
#: what a message says of the times that are understood, and of the way out
_TIMES = "a time such as start_at_2026-01-02-03-04-05, 20260102_030405 or 2026-01-02"
_WAY_OUT = "say which counts: choose='first' or 'last', or --choose first or --choose last"
#: the steps of a run, by the names of their folders: `begin`, `step_3`, `[200,300)`
_STEP = re.compile(r"(begin)|step_(\d{1,18})|\[\d{1,18},(\d{1,18})\)")


class Run(NamedTuple):
    """A group, and the archive it is in."""

    place: Place
    entry: ResultEntry


def step_number(name: str) -> int | None:
    """Where a step's folder comes among those of its run; None for a folder that is none."""
    if (match := _STEP.fullmatch(name)) is None:
        return None
    return 0 if match[1] else int(match[2] or match[3])


def check_choice(choose: str) -> None:
    """Raises UnknownName where that is no rule to choose a run by."""
    if choose not in CHOICES:
        raise UnknownName("choice of a run", choose, CHOICES)


def one_a_cell(
    runs: Iterable[Run], choose: str, problems: Problems
) -> tuple[dict[Cell, Run], dict[Cell, tuple[ResultUndecided, list[Run]]]]:
    """The run of each cell that counts, cells in the order in which they are first met; and of the cells that the rule
    cannot decide the error that says so, with their runs. They have the first of these in the former, for its names.

    Raises UnknownName for another rule than those in CHOICES, DataError where it is that two are an error.
    """
    check_choice(choose)
    cells: dict[Cell, list[Run]] = {}
    known: set[Hashable] = set()
    for run in runs:
        of_cell, entry = cells.setdefault(run.entry.cell, []), run.entry
        key = (entry.cell, run.place.identity, entry.run_id, entry.relative_dir, tuple(entry.files))
        if key not in known:
            known.add(key)
            of_cell.append(run)
    chosen: dict[Cell, Run] = {}
    undecided: dict[Cell, tuple[ResultUndecided, list[Run]]] = {}
    for cell, of_cell in cells.items():
        try:
            chosen[cell] = _chosen(cell, of_cell, choose, problems)
        except ResultUndecided as error:
            problems.tell(str(cell), f"it is missing: {error}")
            chosen[cell], undecided[cell] = of_cell[0], (error, of_cell)
    return chosen, undecided


def _chosen(cell: Cell, runs: Sequence[Run], choose: str, problems: Problems) -> Run:
    if len(runs) == 1:
        return runs[0]
    names = _names(runs)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    told = f"{len(runs)} runs of one cell: {', '.join(names[:_NAMED])}{more}"
    if choose == "error":
        raise DataError(f"{cell}: {told}; say which counts with choose (--choose): latest, first or last")
    if choose == "latest":
        whens = [_when(run.entry) for run in runs]
        latest = max(whens)
        if not all(time for time, _ in whens):
            raise ResultUndecided(f"{cell}: {told}; not all ids have {_TIMES}; {_WAY_OUT}")
        # of a day alone it is not known whether it was before or after an hour of it
        if whens.count(latest) > 1 or any(time != latest[0] and latest[0].startswith(time) for time, _ in whens):
            raise ResultUndecided(f"{cell}: {told}; two began at the same time, as far as ids say it; {_WAY_OUT}")
        at = whens.index(latest)
    else:
        at = 0 if choose == "first" else len(runs) - 1
    problems.tell(str(cell), f"{told}; taken is {names[at]} (choose='{choose}')")
    return runs[at]


def _when(entry: ResultEntry) -> tuple[str, int]:
    """(time it began as digits, step): the time from the id, else from the folder; "" where neither has one."""
    own = [part for part in entry.relative_dir.split("/") if step_number(part) is None][-1:]
    for text, began in ((entry.run_id, _began(entry.run_id)), (entry.relative_dir, _began(*own))):
        if began:
            steps = [step for part in text.split("/") if (step := step_number(part)) is not None]
            folder = [step for part in entry.relative_dir.split("/") if (step := step_number(part)) is not None]
            return began, (steps or folder or [-1])[-1]
    return "", -1


def _began(text: str = "") -> str:
    """The one time in a text as digits, as far as they go; "" where there is none, or several that differ."""
    after = text.partition(_BEGAN)[2]
    if after and (match := _TIME.match(after)):
        return _digits(match)
    found = {_digits(match) for match in _TIME.finditer(text)}
    of_day = {digits for digits in found if len(digits) > 8}  # a date alone may be a model's
    found = of_day or found
    return found.pop() if len(found) == 1 else ""


def _digits(match: re.Match[str]) -> str:
    year, _, month, day, hour, _, minute, second, part = match.groups("")
    return f"{year}{month}{day}{hour}{minute}{second}{part}"


def _names(runs: Sequence[Run]) -> list[str]:
    """What tells them apart: their ids, else their folders, and the archive where they are from several."""
    ids = [run.entry.run_id for run in runs]
    names = ids if len(set(ids)) == len(ids) else [run.entry.relative_dir for run in runs]
    places = [run.place.name for run in runs]
    if len(set(places)) == 1:
        return names
    return [f"{name} in {place}" for name, place in zip(names, places, strict=True)]
