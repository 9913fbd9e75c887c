"""The results of a run directory, kept as columns (parquet) so that a second look at many users needs no episode file.

Columns are derived: made from the files of what is finished, and of use to nothing but scores. They hold the key of
the files they were made from (names, sizes, times of change); where that is not the key of the files that are there, or
a column is damaged, they are made again. A run of few episodes is read as quickly, and without pyarrow every run is.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from amemgym import files
from amemgym.errors import StorageError
from amemgym.evaluate import EpisodeResult, RunDirectory, UpperBoundResult
from amemgym.scores.answers import Columns
from amemgym.scores.results import Exams, Gathering, Probes, Results
from amemgym.scores.states import States

#: of a run directory, where they are
FOLDER = "columns"
#: grows where the columns or what they are made by change
FORMAT = 1
#: with fewer results it takes as long to load pyarrow
LEAST = 200
C = TypeVar("C", bound=Columns)
_KEY = b"amemgym.made_of"


def results_of(directory: RunDirectory) -> Results:
    """What is finished in a run's directory. Raises RunDirectoryError where a file is damaged."""
    names = directory.files_of_results()
    arrow = _arrow() if len(names) >= LEAST else None
    if arrow is None:
        return _read_all(directory)
    key = _key_of(directory, names)
    folder = directory.path / FOLDER
    try:
        return _read(arrow, folder, key)
    except (OSError, ValueError, KeyError, IndexError):  # arrow's own errors are ValueErrors; _Stale is one
        pass
    found = _read_all(directory)
    if key is not None and _key_of(directory, directory.files_of_results()) == key:
        with suppress(StorageError):  # what cannot be kept is read again
            _write(arrow, folder, key, found)
    return found


class _Stale(ValueError):
    """The columns are of other files."""


def _read_all(directory: RunDirectory) -> Results:
    found = Gathering(directory.manifest())
    for result, scenario in directory.finished():
        if isinstance(result, EpisodeResult):
            found.episode(result, scenario)
        else:
            found.upper_bound(result)
    return found.results()


def _arrow() -> Any:
    """pyarrow, or None where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return None
    return pyarrow


def _key_of(directory: RunDirectory, names: list[str]) -> str | None:
    """What tells these files, as they are, from any others; None where one is gone meanwhile."""
    told: list[Any] = [FORMAT]
    for name in ("manifest.json", "data.json", *names):
        try:
            stat = (directory.path / name).stat()
        except OSError:
            return None
        told.append([name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns])
    return files.sha256(files.canonical_json(told).encode("utf-8", "surrogatepass"))


def _write(arrow: Any, folder: Path, key: str, results: Results) -> None:
    episodes = {"result": [_text(episode) for episode in results.episodes]}
    tables = {
        "exams": vars(results.exams),
        "states": {**vars(results.states), "episode": results.state_episode},
        "episodes": {**episodes, **vars(results.probes)},
        "upper-bounds": {"result": [_text(bound) for bound in results.upper_bounds]},
    }
    for name, columns in tables.items():
        arrays = {field: arrow.array(values, **_kind(arrow, field)) for field, values in columns.items()}
        table = arrow.table(arrays).replace_schema_metadata({_KEY: key})
        with files.whole_file(folder / f"{name}.parquet") as file:
            arrow.parquet.write_table(table, file, write_page_checksum=True)


def _kind(arrow: Any, field: str) -> dict[str, Any]:
    """The type of what may be an empty list."""
    return {"type": arrow.string()} if field == "result" else {}


def _text(result: EpisodeResult | UpperBoundResult) -> str:
    return files.compact_json(result.as_dict())


def _read(arrow: Any, folder: Path, key: str | None) -> Results:
    """Raises ValueError, OSError, KeyError or IndexError where they are not there, not of this key, or damaged."""

    def table(name: str) -> Any:
        path = folder / f"{name}.parquet"
        if (arrow.parquet.read_schema(path).metadata or {}).get(_KEY) != (key or "").encode():
            raise _Stale(name)
        return arrow.parquet.read_table(path, page_checksum_verification=True)

    exams, states, episodes, bounds = map(table, ("exams", "states", "episodes", "upper-bounds"))
    return Results(
        tuple(EpisodeResult.from_dict(json.loads(text)) for text in episodes.column("result").to_pylist()),
        tuple(UpperBoundResult.from_dict(json.loads(text)) for text in bounds.column("result").to_pylist()),
        _columns(Exams, exams),
        _columns(Probes, episodes),
        _columns(States, states),
        states.column("episode").to_numpy(),
    )


def _columns(kind: type[C], table: Any) -> C:
    return kind(**{field.name: table.column(field.name).to_numpy() for field in fields(kind)})
