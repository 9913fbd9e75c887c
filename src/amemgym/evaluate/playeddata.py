"""data.json: the users that a run plays, in the v1 format without any key, written and read one at a time."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from amemgym import files
from amemgym.clean import clean_text
from amemgym.scenario import Scenario

_BETWEEN = re.compile(r"[\s,]*")


def write_users(path: Path, scenarios: Iterable[Scenario]) -> None:
    """Write them, the file whole or not at all. Raises StorageError."""
    with files.whole_file(path) as file:
        for piece in _pieces(scenarios):
            file.write(piece)


def digest_of_users(scenarios: Iterable[Scenario]) -> str:
    """The sha256 of the file they would be written to."""
    return files.sha256_of(_pieces(scenarios))


def are_played(digest: str, scenarios: Iterable[Scenario]) -> bool:
    """Whether these are the users that a manifest's `played` stands for, also one of a version before 0.7, which wrote
    the same users in another form."""
    users = list(scenarios)
    if digest == digest_of_users(users):
        return True
    return digest == files.sha256(clean_text([user.model_dump() for user in users], files.pretty_json).encode())


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
    """A JSON list of them, one a line: as a thousand of them would take their time in any other form."""
    between = "["
    for scenario in scenarios:
        yield f"{between}\n{clean_text(scenario.model_dump(), files.compact_json).rstrip()}".encode()
        between = ","
    yield b"\n]\n" if between == "," else b"[]\n"
