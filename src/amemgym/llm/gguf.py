"""A model file (GGUF) as far as it has to be known before it is loaded: that it is one, what is in it, how long a
context it was trained for.

A file is known by the hash of what it holds, so that it is the same model in another folder.
"""

from __future__ import annotations

import hashlib
import os
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from amemgym import files
from amemgym.errors import UsageError

MAGIC = b"GGUF"
#: versions whose header is laid out as read here
_VERSIONS = (2, 3)
#: the formats of numbers by GGUF's value types; 8 is a string, 9 a list
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _LIST = 8, 9


@dataclass(frozen=True)
class ModelFile:
    """A GGUF file. `context` is the longest context it was trained for, in tokens; None where it does not say."""

    path: Path
    sha256: str
    context: int | None


def model_file(name: str) -> ModelFile:
    """The file of that name, looked at once for as long as it does not change. Raises UsageError where it is none."""
    path = files.at_home(name)
    try:
        if not path.is_file():
            there = "a folder, no file" if path.is_dir() else "no such file"
            raise UsageError(f"model 'local:{name}': {there}; give the path of a .gguf file")
        status = path.stat()
        return _read(path.absolute(), status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise UsageError(f"model 'local:{name}': the file cannot be read: {error.strerror or error}") from error


@lru_cache(maxsize=16)
def _read(path: Path, size: int, changed: int) -> ModelFile:
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise UsageError(f"{path} is no GGUF file; local models are read from files in that format alone")
        try:
            context = _trained_context(file, size)
        except (struct.error, EOFError, KeyError):
            raise UsageError(f"{path} is cut off or damaged: its header cannot be read; fetch it again") from None
        file.seek(0)
        return ModelFile(path, hashlib.file_digest(file, "sha256").hexdigest(), context)


def _trained_context(file: BinaryIO, size: int) -> int | None:
    """`<architecture>.context_length` of the header, whose entries come one after the other."""
    version, _, entries = _unpack(file, "<IQQ")
    if version not in _VERSIONS:
        return None
    for _ in range(entries):
        key = file.read(min(_unpack(file, "<Q")[0], size))
        (kind,) = _unpack(file, "<I")
        if key.endswith(b".context_length") and kind in _NUMBERS:
            return int(_unpack(file, "<" + _NUMBERS[kind])[0])
        _skip(file, kind, size)
    return None


def _skip(file: BinaryIO, kind: int, size: int) -> None:
    if kind == _STRING:
        _forward(file, _unpack(file, "<Q")[0], size)
    elif kind == _LIST:
        inner, count = _unpack(file, "<IQ")
        if inner in _NUMBERS:
            _forward(file, count * struct.calcsize(_NUMBERS[inner]), size)
        else:
            for _ in range(count):
                _skip(file, inner, size)
    else:
        _forward(file, struct.calcsize(_NUMBERS[kind]), size)


def _forward(file: BinaryIO, count: int, size: int) -> None:
    if file.tell() + count > size:
        raise EOFError
    file.seek(count, os.SEEK_CUR)


def _unpack(file: BinaryIO, form: str) -> tuple[int, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))
