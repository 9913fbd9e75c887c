"""Files of data points, read record by record: .json (a list), .jsonl, .parquet, or folders of them.

Folders may hold the original's dialogs, DATASET/SYSTEM/dialogs.json: one for each memory system that was talked to, and
`base`, which had none. One of a data set is taken. A record that cannot be read is a problem with its file and number;
the rest goes on. Of parquet only the columns that are wanted are read at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError
from amemgym.memorybench.dialogs.points import (
    DIALOG_OF,
    FEEDBACK_OF,
    DataPoint,
    methods_of,
    read_point,
)
from amemgym.memorybench.items import ItemKey
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.reading.stream import stream

ENDINGS = (".json", ".jsonl", ".parquet")
#: what the original calls its files of dialogs, and the folder of those that were had without a memory system
DIALOGS = "dialogs.json"
BASE = "base"
#: rows of a parquet file in memory at once
ROWS = 64
_COLUMNS = ("test_idx", "input_prompt", "input_chat_messages", "dataset_name", "dataset", "lang")
Source = str | Path


@dataclass(frozen=True)
class Points:
    """What was read: the points in the order of the files, over which it iterates, and what was wrong."""

    points: tuple[DataPoint, ...]
    problems: tuple[Problem, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[DataPoint]:
        return iter(self.points)

    @property
    def datasets(self) -> list[str]:
        """The data sets that they are of."""
        return sorted({point.dataset for point in self.points})


def load_points(
    path: Source | Sequence[Source],
    method: str | None = None,
    *,
    split: str | None = None,
    dataset: str | None = None,
) -> Points:
    """The data points in a file, a folder, or several of them.

    Args:
        path: .json, .jsonl or .parquet files, or folders, of which every file of the split is read, at any depth.
        method: the memory system whose dialogs are taken where a record, or a data set's folder, has some for each. Of
            DATASET/SYSTEM/dialogs.json that system's are read, or `base` where it has none; without a method `base`.
        split: train or test; in a folder, the files whose names begin with it (train also: dialogs.json). None: both.
        dataset: the data set of records that do not name theirs; default: their folder's name.

    Raises:
        DataError: where nothing is there, or a whole file cannot be read.
    """
    told: list[Problem] = []
    points: dict[ItemKey, DataPoint] = {}
    for source in [path] if isinstance(path, str | Path) else path:
        for file in _files(files.at_home(source), split, method, told):
            home = dataset or _home(file)
            systems: set[str] = set()
            for place, record in _records(file, method, told):
                # a refusal has the record's number
                def say(text: str, file: Path = file, place: str = place) -> None:
                    told.append(Problem(str(file), f"{place}: {text}"))

                try:
                    point = read_point(record, home, method, say)
                except ValueError as error:
                    say(str(error))
                    continue
                if point.key in points:
                    say(f"{point.dataset} {point.test_idx} was there before, and the first one is taken")
                    continue
                if not point.dialog:
                    systems |= set(methods_of(record))
                points[point.key] = point
            if systems:
                told.append(Problem(str(file), _choice(systems, method)))
    return Points(tuple(points.values()), tuple(told))


def _choice(systems: Iterable[str], method: str | None) -> str:
    wanted = f"none of '{method}'" if method else "one for each of several memory systems"
    return f"its dialogs are {wanted}; choose one of {', '.join(sorted(systems))} with method (--method)"


def _files(path: Path, split: str | None, method: str | None, told: list[Problem]) -> list[Path]:
    """The file, or those in a folder. Raises DataError."""
    try:
        if not path.is_dir():
            if not path.exists():
                raise DataError(f"no data points at {path}")
            if path.suffix not in ENDINGS:
                raise DataError(f"{path}: data points are read from {', '.join(ENDINGS)}, or a folder of these")
            return [path]
        found = [file for file in sorted(path.rglob("*")) if file.suffix in ENDINGS and _is_of(file, split)]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    if not found:
        names = f"{split or 'train'}*" if split else "train* or test*"
        raise DataError(f"{path} has no data points: no file {names} that ends in {', '.join(ENDINGS)}")
    dialogs = list(_dialogs([file for file in found if file.name == DIALOGS], method, told))
    return [file for file in found if file.name != DIALOGS or file in dialogs]


def _is_of(file: Path, split: str | None) -> bool:
    if file.name == DIALOGS:
        return split in (None, "train")
    return file.name.startswith((split,) if split else ("train", "test"))


def _dialogs(found: Sequence[Path], method: str | None, told: list[Problem]) -> Iterator[Path]:
    """Of each data set's files of dialogs the one that is read; where that is none or a guess, it is told."""
    sets: dict[Path, dict[str, Path]] = {}
    for file in found:
        folder = file.absolute().parent
        sets.setdefault(folder.parent, {})[folder.name] = file
    for home, systems in sets.items():
        only = next(iter(systems)) if len(systems) == 1 else None
        if method is None and BASE not in systems and only is not None:
            text = f"there are no dialogs of '{BASE}', so those of the only memory system, '{only}', are taken"
            told.append(Problem(str(home), text))
            yield systems[only]
        elif (wanted := method if method in systems else BASE) in systems:
            yield systems[wanted]
        else:
            told.append(Problem(str(home), _choice(systems, method)))


def _home(file: Path) -> str:
    """The data set by its folder: DATASET/train.jsonl, DATASET/SYSTEM/dialogs.json."""
    folder = file.absolute().parent
    return folder.parent.name if file.name == DIALOGS else folder.name


def _records(file: Path, method: str | None, told: list[Problem]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(record 1, …) of a file; what is no object is told. Raises DataError where the file ends in something else."""
    read = _parquet(file, method) if file.suffix == ".parquet" else _json(file, told)
    for place, record in read:
        if not isinstance(record, dict):
            told.append(Problem(str(file), f"{place}: it is no JSON object"))
            continue
        yield place, record


def _json(file: Path, told: list[Problem]) -> Iterator[tuple[str, Any]]:
    if file.suffix == ".json":
        yield from ((f"record {number}", record) for number, record in enumerate(stream(file, str(file)), start=1))
        return
    try:
        with open(file, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    yield f"line {number}", json.loads(line.decode("utf-8-sig"))
                except (ValueError, RecursionError):
                    told.append(Problem(str(file), f"line {number}: it is not JSON"))
    except OSError as error:
        raise DataError(f"cannot read {file}: {error.strerror or error}") from error


def _parquet(file: Path, method: str | None) -> Iterator[tuple[str, Any]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(
            f"{file}: reading parquet needs an extra: pip install 'amemgym[parquet]', or convert it to JSON lines"
        ) from None
    number = 0
    try:
        with ParquetFile(file) as opened:
            there = opened.schema_arrow.names
            wanted = [name for name in there if _is_wanted(name, method)]
            # of other systems' dialogs it is only told whether there are any
            named = [name for name in there if name.startswith(DIALOG_OF) and name not in wanted]
            for batch in opened.iter_batches(ROWS, columns=wanted):
                for record in batch.to_pylist():
                    number += 1
                    yield f"record {number}", {**record, **dict.fromkeys(named, True)}
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{file} cannot be read as parquet ({' '.join(str(error).split())})") from None


def _is_wanted(name: str, method: str | None) -> bool:
    if name in (*_COLUMNS, "dialog", "implicit_feedback"):
        return True
    return method is not None and name in (f"{DIALOG_OF}{method}", f"{FEEDBACK_OF}{method}")
