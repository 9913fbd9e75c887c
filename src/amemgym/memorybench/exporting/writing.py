"""How an archive's files are written: a JSON list entry by entry, and the lines of the manifest."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import clean
from amemgym.errors import DataError
from amemgym.memorybench.entry import Cell, ResultEntry


@contextmanager
def json_array(path: Path) -> Iterator[Callable[[Any], None]]:
    """A JSON list, an entry a line, that is written as its entries come."""
    with files.whole_file(path) as file:
        before = b"[\n"

        def add(entry: Any) -> None:
            nonlocal before
            text = json.dumps(clean(entry), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
            file.write(before + text.encode("utf-8"))
            before = b",\n"

        yield add
        file.write(b"[]\n" if before == b"[\n" else b"\n]\n")


def manifest_lines(path: Path) -> list[str]:
    """The manifest's lines, none where there is none. Raises DataError."""
    try:
        # only line ends end a line: JSON may hold other characters that some take for one
        return [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()] if path.exists() else []
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({error}); restore it, or choose another folder with --out") from error


def manifest_line(entry: ResultEntry) -> str:
    """The manifest's line of a group."""
    # plain ASCII, so that no reader takes a character for the end of a line
    return json.dumps(clean(asdict(entry)), separators=(",", ":"))


def entry_in(line: str) -> ResultEntry | None:
    """The entry of a manifest's line; None where it is none of this form, and then the line stays as it is."""
    try:
        found = json.loads(line)
        cell = Cell(*(str(found[name]) for name in Cell._fields))
        return ResultEntry(*cell, str(found["run_id"]), str(found["relative_dir"]), list(found["files"]))
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
