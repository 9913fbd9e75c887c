"""manifest.jsonl: one line for each group of an archive. A line that cannot be read is told, and the others are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from amemgym.errors import DataError
from amemgym.memorybench.entry import DATASET_TYPES, ResultEntry
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.paths import joined_path, name_fault, path_fault

#: the experiments of the published code, by the names their folders have, and what our exports call imported results
EXPERIMENTS = (
    "off-policy",
    "on-policy",
    "stepwise-off-policy",
    "stepwise_off-policy",
    "step-off-policy",
    "step_off-policy",
    "train-performance",
    "train_performance",
    "test-feedback",
    "imported",
)
_NAMES = ("set_name", "baseline")


def read_manifest(path: Path, place: str, problems: Problems) -> list[ResultEntry]:
    """The manifest's entries in its order; `place` names the file. Paths are checked by their form; where links in them
    lead is asked as a file is opened.

    Raises DataError where the file cannot be read or has no usable line.
    """
    known = len(problems)
    lines = list(_objects(path, place, problems))
    named = {exp for _, line in lines if isinstance(exp := line.get("exp"), str) and "model" in line}
    experiments = named.union(EXPERIMENTS)
    entries = []
    for where, line in lines:
        try:
            entries.append(_entry(line, experiments))
        except _Unusable as error:
            problems.tell(where, f"{error}; the line is left out")
    if not entries:
        first = f"; the first problem: {problems[known]}" if len(problems) > known else ""
        raise DataError(f"{place} has no usable line{first}")
    return entries


class _Unusable(Exception):
    """Why a line makes no entry."""


def _objects(path: Path, place: str, problems: Problems) -> Iterator[tuple[str, dict[str, Any]]]:
    """(file and line, object) of every line that is one."""
    try:
        with path.open("rb") as file:
            for number, data in enumerate(file, 1):
                where = f"{place}, line {number}"
                try:
                    text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                    line = json.loads(text) if text else None
                except UnicodeDecodeError:
                    problems.tell(where, "it is not UTF-8; the line is left out")
                except json.JSONDecodeError as error:
                    problems.tell(where, f"it is not JSON ({error.msg}); the line is left out")
                except (ValueError, RecursionError):  # a number of thousands of digits, thousands of brackets
                    problems.tell(where, "it is no JSON that can be read; the line is left out")
                else:
                    if isinstance(line, dict):
                        yield where, line
                    elif text:
                        problems.tell(where, "it is no JSON object; the line is left out")
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror or error}") from error


def _entry(line: dict[str, Any], experiments: Collection[str]) -> ResultEntry:
    exp, model = _exp_and_model(line, experiments)
    names = {key: _name(line, key) for key in _NAMES}
    dataset_type = _name(line, "dataset_type")
    if dataset_type not in DATASET_TYPES:
        raise _Unusable(f"its dataset_type is {dataset_type!a}, not one of {', '.join(DATASET_TYPES)}")
    folder, files = _value(line, "relative_dir"), _value(line, "files")
    if wrong := path_fault(folder):
        raise _Unusable(f"its relative_dir {wrong}")
    if not isinstance(files, list):
        raise _Unusable("its files are no list of names")
    for name in files:
        if wrong := path_fault(name):
            raise _Unusable(f"a name in its files {wrong}")
    return ResultEntry(
        exp=exp,
        model=model,
        dataset_type=dataset_type,
        **names,
        run_id=_run_id(line),
        relative_dir=joined_path(folder, ""),
        files=list(dict.fromkeys(files)),
    )


def _exp_and_model(line: dict[str, Any], experiments: Collection[str]) -> tuple[str, str]:
    if ("exp" in line and "model" in line) or "setting" not in line:
        return _name(line, "exp"), _name(line, "model")
    setting = _name(line, "setting")
    if (found := split_setting(setting, experiments)) is None:
        raise _Unusable(f"its setting {setting!a} begins with no known experiment ({', '.join(EXPERIMENTS[:4])}, …)")
    return found


def split_setting(setting: str, experiments: Collection[str] = EXPERIMENTS) -> tuple[str, str] | None:
    """(experiment, model) of "<exp>-<model>", by the longest known experiment, as both may have dashes."""
    for at in range(len(setting) - 2, 0, -1):
        if setting[at] == "-" and setting[:at] in experiments:
            return setting[:at], setting[at + 1 :]
    return None


def _value(line: dict[str, Any], key: str) -> Any:
    if key not in line:
        raise _Unusable(f"it has no '{key}'")
    return line[key]


def _run_id(line: dict[str, Any]) -> str:
    """It tells runs of a cell apart, so it may be nothing or a number."""
    value = _value(line, "run_id")
    if value is None or value == "":
        return ""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _name(line, "run_id")


def _name(line: dict[str, Any], key: str) -> str:
    if wrong := name_fault(value := _value(line, key)):
        raise _Unusable(f"its {key} {wrong}")
    return str(value)
