"""What an archive has, and what one cell of it has, in the terminal.

Everything shown is somebody else's text: it is put on one line, shortened where it is a conversation's, and no markup.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape

from amemgym.clean import clean
from amemgym.errors import DataError
from amemgym.memorybench.aggregating.normalization import group_of
from amemgym.memorybench.comparing.contents import Contents
from amemgym.memorybench.comparing.details import count_values
from amemgym.memorybench.entry import DETAILS, GROUP_FILES, PREDICT, RUN_CONFIG, Cell
from amemgym.memorybench.items import Joined, key_of
from amemgym.memorybench.reading.results import MemoryBenchResults
from amemgym.memorybench.summary import UNFINISHED, Summary
from amemgym.report.archive.layout import around, one_line
from amemgym.report.archive.terminal import table_of
from amemgym.report.table import print_whole
from amemgym.report.wording import NONE, count, number

_T = TypeVar("_T")
#: rows without some of their cells that are listed by name
LISTED = 20
#: characters of a prompt, a reply, or metrics; lines of a configuration
LONGEST, LINES = 300, 200
_DATASETS = ("data set", "mean", "min–max mean", "z mean", "n", "items", "with a value")


def print_contents(console: Console, results: MemoryBenchResults, found: Contents) -> None:
    """The names, the numbers, which cells are missing, and what is wrong with the archive."""
    _say(console, f"{results.repo_id}: {_cells(found.cells)}", "bold")
    sets: dict[str, list[str]] = {}
    for (dataset_type, name), n in found.sets.items():
        sets.setdefault(dataset_type, []).append(f"{name} {n}")
    facts = [
        ("experiments", ", ".join(found.exps)),
        ("models", _counts(found.models)),
        *((f"{dataset_type} sets", ", ".join(names)) for dataset_type, names in sets.items()),
        ("baselines", _counts(found.baselines)),
        ("metrics", _counts(found.metrics) or NONE),
        ("summaries", _counts(found.forms + Counter({"unreadable": found.unread})) or NONE),
    ]
    for name, said in facts:
        _say(console, f"  {name}: {said}")
    _say(console, "  (each with its number of cells)", "dim")
    if found.unscored:
        verb = "has" if found.unscored == 1 else "have"
        _say(console, f"{_cells(found.unscored)} {verb} no scores yet: predictions alone, to be judged", "bold")
    if found.missing:
        _say(console, f"missing: {_cells(sum(map(len, found.missing.values())))}", "bold")
        _some(console, [f"{place}: {', '.join(names)}" for place, names in found.missing.items()])
    _problems(console, results)


def print_cell(console: Console, results: MemoryBenchResults, cell: Cell, items: int = 0) -> None:
    """What one cell has: its files, scores, data sets and configuration, and its first items."""
    entry = results.get_entry(cell)
    _say(console, str(cell), "bold")
    _say(console, f"  run {entry.run_id or NONE}, in {entry.relative_dir or '.'} of {results.place_of(cell)}")
    there = [name for name in GROUP_FILES if results.has_file(cell, name)]
    absent = [name for name in GROUP_FILES if name not in there]
    lacking = f"; missing: {', '.join(absent)}" if absent else ""
    _say(console, f"  files: {', '.join(there) or NONE}{lacking}")
    if unscored := results.is_unscored(cell):
        _say(console, "  no scores yet: predictions alone, to which MemoryBench's evaluators give them")
    summary = None if unscored else _tried(console, lambda: results.summary(cell, with_details=False))
    counted = _tried(console, lambda: _counted(results, cell)) if DETAILS in there else None
    if summary is not None:
        scores = ", ".join(_score(summary, name) for name in summary.scores)
        _say(console, f"  summary ({summary.form}): {scores or NONE}")
        for warning in summary.warnings:
            _say(console, f"  warning: {warning}", "yellow")
        if summary.finished is False and not any(warning.startswith(UNFINISHED) for warning in summary.warnings):
            _say(console, f"  warning: {UNFINISHED}", "yellow")
        if summary.cases is not None:
            _say(console, f"  case_statistics: {_short(summary.cases)}")
    if summary is not None and not summary.datasets and counted is not None:  # it has no table of data sets
        _say(console, f"  items: {', '.join(f'{name} {count(n)}' for name, n in counted[0].items()) or NONE}")
    elif rows := list(_datasets(summary, *(counted or (Counter(), Counter())))):
        console.print()
        print_whole(console, table_of(_DATASETS, rows, 1))
    if RUN_CONFIG in there and (config := _tried(console, lambda: results.run_config(cell))) is not None:
        _say(console, "\nrun_config.json, without keys", "bold")
        lines = _json(config, indent=2).splitlines()
        for line in lines[:LINES]:
            _say(console, line)
        if len(lines) > LINES:
            _say(console, f"… and {len(lines) - LINES} more lines", "dim")
    for joined in islice(_joined(results, cell, there), items):
        _item(console, joined)
    _problems(console, results)


def _score(summary: Summary, name: str) -> str:
    """A metric with its interval and n, as far as the summary says them."""
    shown = f"{name} {around(summary.scores[name], summary.intervals.get(name))}"
    n = summary.counts.get(name)
    return shown if n is None else f"{shown} (n {count(n)})"


def _joined(results: MemoryBenchResults, cell: Cell, there: Collection[str]) -> Iterator[Joined]:
    """The items, by the files that are there: predictions have no details, and old results may have no replies."""
    if PREDICT in there and DETAILS in there:
        yield from results.join(cell)
    elif PREDICT in there:
        for record in results.iter_predict(cell):
            if key := key_of(record, cell.set_name):
                yield Joined(key, record, None)
    elif DETAILS in there:
        yield from (Joined(item.key, None, {"metrics": item.metrics}) for item in results.items(cell))


def _counted(results: MemoryBenchResults, cell: Cell) -> tuple[Counter[str], Counter[str]]:
    """Items and values of each data set."""
    all_of: Counter[str] = Counter()

    def seen() -> Iterator[Any]:
        for item in results.items(cell):
            all_of[group_of(item.key.dataset)] += 1
            yield item

    values = count_values(seen(), None)
    return all_of, values


def _datasets(summary: Summary | None, items: Counter[str], values: Counter[str]) -> Iterator[list[str]]:
    known = {} if summary is None else summary.datasets
    for name in dict.fromkeys([*known, *items]):
        told = known.get(name)
        minmax, z = (None, None) if told is None else (told.minmax, told.z)
        yield [
            name,
            number(told.mean if told else None),
            number(minmax.mean if minmax else None),
            number(z.mean if z else None),
            count(minmax.n if minmax else None),
            count(items[name]) if name in items else NONE,
            count(values[name]) if name in items else NONE,
        ]


def _item(console: Console, joined: Joined) -> None:
    predict, details = joined.predict or {}, joined.details or {}
    _say(console, f"\n{joined.key}", "bold")
    _say(console, f"  prompt: {_short(_prompt(predict.get('messages')))}")
    _say(console, f"  reply: {_short(predict.get('response'))}")
    _say(console, f"  metrics: {_short(details.get('metrics'))}")


def _prompt(messages: Any) -> Any:
    """What was last said to the model."""
    if not isinstance(messages, list):
        return messages
    said = [message for message in messages if isinstance(message, Mapping)]
    asked = [message.get("content") for message in said if message.get("role") == "user"]
    return asked[-1] if asked else messages or None


def _short(value: Any) -> str:
    if value is None:
        return NONE
    text = value if isinstance(value, str) else _json(value)
    line = one_line(text)  # before it is cut, as half a key could not be found
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({count(len(text))} characters)"


def _json(value: Any, indent: int | None = None) -> str:
    try:
        return json.dumps(clean(value), ensure_ascii=False, indent=indent, default=str)
    except RecursionError:
        return "nested too deeply to be shown"


def _tried(console: Console, read: Callable[[], _T]) -> _T | None:
    """What can be read; where it cannot be, that is said and the rest goes on."""
    try:
        return read()
    except DataError as error:
        _say(console, f"  {error}", "yellow")
        return None


def _problems(console: Console, results: MemoryBenchResults) -> None:
    """All of them, as other commands tell the first and say that the rest is here."""
    if results.problems:
        _say(console, f"problems: {len(results.problems)}", "bold")
        for problem in results.problems:
            _say(console, f"  {problem}")


def _some(console: Console, lines: Iterable[str]) -> None:
    all_of = list(lines)
    for line in all_of[:LISTED]:
        _say(console, f"  {line}")
    if len(all_of) > LISTED:
        _say(console, f"  … and {len(all_of) - LISTED} more", "dim")


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counted.items())


def _cells(n: int) -> str:
    return f"{count(n)} cell{'' if n == 1 else 's'}"


def _say(console: Console, said: str, style: str = "") -> None:
    before = said[: len(said) - len(said.lstrip(" \n"))]
    console.print(before + escape(one_line(said)), style=style, highlight=False, soft_wrap=True)
