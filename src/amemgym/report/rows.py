"""One row an exam, for whoever computes scores of their own: as CSV, and as Parquet with the same columns.

What is not there stays null: an exam that ended in an error is neither right nor wrong. Episodes are read one at a
time, so that a run of any size can be written. Replies are left out; they are in the episode files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import UsageError
from amemgym.evaluate import EpisodeResult, ExamResult, ProbeResult, RunDirectory
from amemgym.scenario import Scenario
from amemgym.scores.bounds import Bounds, bounds_by_agent
from amemgym.scores.diagnosis import Failure, diagnose, mistake
from amemgym.secrets import redact

Value = str | int | float | bool | None
Row = dict[str, Value]

#: every column and its type, in order. Users, trials, periods and questions count from 0, and so do `gold_index` and
#: `option_index`, which are places in the data; `gold`, `option` count from 1 in the order shown. `probe` and the
#: variants are JSON objects: variable → value
COLUMNS: dict[str, type] = {
    "agent": str,
    "user": int,
    "user_id": str,
    "trial": int,
    "period": int,
    "question": int,
    "query": str,
    "options": int,
    "gold": int,
    "option": int,
    "gold_index": int,
    "option_index": int,
    "correct": bool,
    "status": str,
    "guessed": bool,
    "error": str,
    "failure": str,
    "mistake": str,
    "gold_variant": str,
    "chosen_variant": str,
    "probe": str,
    "known": bool,
    "upper_bound": int,
    "random": float,
    "dropped": int,
    "items": int,
}
#: what a spreadsheet takes for a formula, also behind apostrophes, so that it can be told which one was put there
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
#: rows that are written to Parquet as one group
GROUP = 20_000


def rows(directory: RunDirectory, users: Sequence[str] | None = None) -> Iterator[Row]:
    """Every exam of every finished episode, in the order of agents, users, trials and exams; `users` are ids."""
    bounds = bounds_by_agent(directory.manifest(), directory.upper_bounds())
    for agent, known in bounds.items():
        for user, scenario in enumerate(directory.scenarios()):
            if users is None or scenario.id in users:
                for episode in directory.episodes_of_user(user, scenario, [agent]):
                    yield from episode_rows(episode, scenario, known)


def episode_rows(episode: EpisodeResult, scenario: Scenario, bounds: Bounds) -> Iterator[Row]:
    """The rows of one episode."""
    failures = diagnose(episode, scenario)
    probes = {(probe.period, probe.question): probe for probe in episode.probes if probe.error is None}
    for exam in episode.exams:
        place = (exam.period, exam.question)
        row = {
            "agent": episode.agent,
            "user": episode.user,
            "user_id": episode.user_id,
            "trial": episode.trial,
            **_exam(exam, scenario, failures.get(place)),
            **_probe(probes.get(place), scenario),
            "upper_bound": bounds.get((episode.user, exam.question, exam.variant)),
        }
        yield {name: _clean(row[name]) for name in COLUMNS}


def _exam(exam: ExamResult, scenario: Scenario, failure: Failure | None) -> Row:
    question = scenario.qas[exam.question]
    wrong = mistake(exam, scenario)
    chosen = None if exam.option is None else exam.order[exam.option - 1]
    return {
        "period": exam.period,
        "question": exam.question,
        "query": question.query,
        "options": len(exam.order),
        "gold": exam.gold,
        "option": exam.option,
        "gold_index": exam.order[exam.gold - 1],
        "option_index": chosen,
        "correct": exam.correct if exam.counts else None,
        "status": exam.status,
        "guessed": exam.guessed,
        "error": exam.error,
        "failure": None if failure is None else str(failure),
        "mistake": None if wrong is None else str(wrong),
        "gold_variant": _object(question.required_info, exam.variant),
        "chosen_variant": None if chosen is None else _object(question.required_info, _variant(scenario, exam, chosen)),
        "random": 1 / len(exam.order),
        "dropped": exam.dropped,
        "items": len(exam.items),
    }


def _variant(scenario: Scenario, exam: ExamResult, index: int) -> Sequence[str]:
    return scenario.qas[exam.question].answer_choices[index].state


def _probe(probe: ProbeResult | None, scenario: Scenario) -> Row:
    """What the agent said of the states, and whether it knew all of them; null where nothing tells."""
    if probe is None:
        return {"probe": None, "known": None}
    state, required = scenario.periods[probe.period].state, scenario.qas[probe.question].required_info
    known = all(probe.values.get(variable) == state[variable] for variable in required)
    return {"probe": _json(probe.values), "known": known}


def _object(names: Sequence[str], values: Sequence[str]) -> str:
    return _json(dict(zip(names, values, strict=True)))


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _clean(value: Value) -> Value:
    return redact(value) if isinstance(value, str) else value


def write_csv(path: Path, found: Iterator[Row]) -> None:
    """UTF-8 and RFC 4180. Text stands in quotes, so that an empty text and null, which is nothing, are two things; what
    a spreadsheet would take for a formula begins with an apostrophe. Raises StorageError."""
    with files.whole_file(path) as file:
        file.write((",".join(COLUMNS) + "\r\n").encode("utf-8"))
        for row in found:
            file.write((",".join(csv_cell(row[name]) for name in COLUMNS) + "\r\n").encode("utf-8"))


def csv_cell(value: Value) -> str:
    """A value as it stands in CSV: nothing for null, text in quotes and guarded."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + guarded(value).replace('"', '""') + '"'
    return repr(value)


def guarded(text: str) -> str:
    """The text as no spreadsheet takes it for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def write_parquet(path: Path, found: Iterator[Row]) -> None:
    """The same rows, with the text as it is. Raises StorageError, or UsageError where pyarrow is not installed."""
    check_parquet()
    import pyarrow
    import pyarrow.parquet

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    with files.whole_file(path) as file, pyarrow.parquet.ParquetWriter(file, schema) as writer:
        while group := list(islice(found, GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(group, schema=schema))


def check_parquet() -> None:
    """Raises UsageError where pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("parquet needs pyarrow; install it with: pip install 'amemgym[parquet]'") from None
