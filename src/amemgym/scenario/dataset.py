"""Reading and writing data sets in the v1 format, with the hash that is recorded beside every result."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError

from amemgym import files
from amemgym.errors import DataError, UnknownName, UsageError
from amemgym.scenario.model import Scenario
from amemgym.scenario.sources import find_data
from amemgym.scenario.validate import Fault, find_faults, structural_faults


@dataclass(frozen=True)
class Dataset:
    """Users in the order of the file. `sha256` is that of the whole file, whatever part of it is used."""

    name: str
    sha256: str
    scenarios: tuple[Scenario, ...]
    path: Path | None = None

    def __len__(self) -> int:
        return len(self.scenarios)

    def __iter__(self) -> Iterator[Scenario]:
        return iter(self.scenarios)

    def only(self, ids: Sequence[str] | None) -> Dataset:
        """The users with these ids, in their order here; all where `ids` is None. Raises UnknownName."""
        if ids is None:
            return self
        known = [scenario.id for scenario in self.scenarios]
        for name in ids:
            if name not in known:
                raise UnknownName("user", name, known[:20], f"({self.name} has {len(known)} users)")
        return replace(self, scenarios=tuple(scenario for scenario in self.scenarios if scenario.id in set(ids)))

    def limited(self, users: int | None = None, periods: int | None = None) -> Dataset:
        """The first users with their first periods. Raises UsageError if there are no such users or periods."""
        if (users is not None and users < 1) or (periods is not None and periods < 1):
            raise UsageError("a run needs at least 1 user and 1 period")
        if users is not None and users > len(self.scenarios):
            raise UsageError(f"--users {users}: data set '{self.name}' has {len(self.scenarios)} users")
        longest = max(len(scenario.periods) for scenario in self.scenarios)
        if periods is not None and periods > longest:
            raise UsageError(f"--periods {periods}: data set '{self.name}' has at most {longest} periods a user")
        return replace(self, scenarios=tuple(s.limited(periods) for s in self.scenarios[:users]))


def place_of_data(data: str | Path | Dataset) -> str:
    """A data set's name or path, by which it can be read again. Raises UsageError where it is in no file."""
    if not isinstance(data, Dataset):
        return str(data)
    if data.path is None:
        raise UsageError("the data set is in no file; save it with save_dataset and give the path")
    return str(data.path)


def load_dataset(data: str | Path) -> Dataset:
    """A data set by path (a v1 JSON file, or a folder with `data.json`) or by name (`starter`, `v1.base`).

    Raises DataError, which names the first faults, where the data cannot be run; warnings pass.
    """
    name, path = find_data(data)
    dataset, faults = read_dataset(path, name)
    errors = [fault for fault in faults if fault.is_error]
    if errors:
        shown = "; ".join(str(fault) for fault in errors[:3])
        more = f" (and {len(errors) - 3} more)" if len(errors) > 3 else ""
        raise DataError(f"{path} cannot be run: {shown}{more}. List all faults with: amemgym validate {path}")
    return dataset


def read_dataset(path: Path, name: str) -> tuple[Dataset, list[Fault]]:
    """A data set and all its faults; users whose structure is broken are left out of the data set. Raises DataError."""
    raw = _read_bytes(path)
    return parse_dataset(raw, name=name, path=path)


def parse_dataset(raw: bytes, *, name: str, path: Path | None = None) -> tuple[Dataset, list[Fault]]:
    """The same from the file's bytes. Raises DataError where there is no list of users in it."""
    users = _read_users(raw, str(path or name))
    scenarios: list[Scenario] = []
    faults: list[Fault] = []
    for index, user in enumerate(users):
        try:
            scenarios.append(Scenario.model_validate(user))
        except ValidationError as error:
            faults += structural_faults(index, user, error)
    # a broken user keeps its number, so that the others' faults name the places in the file
    broken = {fault.user for fault in faults}
    places = [index for index in range(len(users)) if index not in broken]
    faults += find_faults(scenarios, places)
    faults.sort(key=lambda fault: fault.user)
    return Dataset(name, files.sha256(raw), tuple(scenarios), path), faults


def save_dataset(scenarios: Iterable[Scenario], path: str | Path) -> str:
    """Write users as v1 JSON (UTF-8), one at a time, the file whole or not at all; gives its sha256.

    Raises StorageError.
    """
    hasher = hashlib.sha256()
    with files.whole_file(Path(path)) as file:
        for piece in dataset_json(scenarios):
            hasher.update(piece)
            file.write(piece)
    return hasher.hexdigest()


def dataset_json(scenarios: Iterable[Scenario]) -> Iterator[bytes]:
    """The file's bytes, piece by piece: what `json.dumps` makes of the list with an indent of 1."""
    between = b"[\n "
    for scenario in scenarios:
        text = json.dumps(scenario.model_dump(), indent=1, ensure_ascii=False, allow_nan=False)
        yield between + text.replace("\n", "\n ").encode("utf-8")  # a line break inside a string is escaped
        between = b",\n "
    yield b"\n]\n" if between.startswith(b",") else b"[]\n"


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"no data file at {path}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _read_users(raw: bytes, place: str) -> list[Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no JSON value")

    def number(text: str) -> float:
        value = float(text)
        return value if math.isfinite(value) else refuse(text)

    wanted = "a JSON list of users in the v1 format"
    if not raw.strip():
        raise DataError(f"{place} is empty; it should hold {wanted}")
    try:
        value = json.loads(raw.decode("utf-8-sig"), parse_constant=refuse, parse_float=number)
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is not UTF-8 text (byte {error.start}); it should hold {wanted}") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON ({error}); it should hold {wanted}") from None
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise DataError(f"{place} holds half a character (\\u{ord(half):04x}); it should hold {wanted}") from None
    if not isinstance(value, list):
        raise DataError(f"{place} holds a JSON {_json_type(value)}; it should hold {wanted}")
    if not value:
        raise DataError(f"{place} holds no users; it should hold {wanted}")
    return value


def _json_type(value: Any) -> str:
    names = {dict: "object", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), "value")
