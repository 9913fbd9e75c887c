"""data.json: the users that a run plays, in the v1 format without any key, written and read one at a time."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import clean
from amemgym.scenario import Scenario

_BETWEEN = re.compile(r"[\s,]*")


def write_users(path: Path, scenarios: Iterable[Scenario]) -> None:
    """Write them, the file whole or not at all. Raises StorageError."""
    with files.whole_file(path) as file:
        for piece in _pieces(scenarios):
            file.write(piece)


def digest_of_users(scenarios: Iterable[Scenario]) -> str:
    """The sha256 of the file they would be written to."""
    hasher = hashlib.sha256()
    for piece in _pieces(scenarios):
        hasher.update(piece)
    return hasher.hexdigest()


def digest_of_file(path: Path) -> str:
    """The sha256 of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_users(path: Path) -> Iterator[Scenario]:
    """The users of a file that was written here. Raises OSError, or ValueError where it was not."""
    text = path.read_text(encoding="utf-8")
    decoder, at = json.JSONDecoder(), text.index("[") + 1
    while text[at := _next(text, at)] != "]":
        user, at = decoder.raw_decode(text, at)
        yield Scenario.model_validate(user)


def _next(text: str, at: int) -> int:
    found = _BETWEEN.match(text, at)
    return found.end() if found else at


def _pieces(scenarios: Iterable[Scenario]) -> Iterator[bytes]:
    """The bytes of `files.pretty_json` of them all."""
    between = "[\n  "
    for scenario in scenarios:
        user: Any = clean(scenario.model_dump())
        # a line break inside a string is escaped
        yield (between + files.pretty_json(user).rstrip("\n").replace("\n", "\n  ")).encode("utf-8")
        between = ",\n  "
    yield b"\n]\n" if between.startswith(",") else b"[]\n"
