"""The journal of an episode: every model reply, appended before it is used.

A call's address is its place, the role that made it, the hash of its request, and how many times that same request
was made there before. To resume an episode is to play it again and take what the journal has; only what it has not is
asked. A line that a kill cut off is not counted and is overwritten. What has ended is put to rest,
compressed (`atrest`), and is read as before.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from amemgym import files
from amemgym.errors import REQUEST_ERRORS, ModelError
from amemgym.llm import atrest
from amemgym.llm.provider import Completion, Usage
from amemgym.secrets import redact
from amemgym.tasks import ToolCall

#: parts of a usage that an endpoint may leave out
TOLD = ("cached", "reasoning")


@dataclass(frozen=True, slots=True)
class Entry:
    """One outcome: a completion, or an error that belongs to the request (`kind` and sentence)."""

    completion: Completion | None = None
    error: tuple[str, str] | None = None

    def result(self) -> Completion:
        """The completion; raises the error where that is the outcome."""
        if self.completion is not None:
            return self.completion
        kind, sentence = self.error or ("", "")
        raise REQUEST_ERRORS.get(kind, ModelError)(sentence)


@dataclass(frozen=True, slots=True)
class Address:
    """Place, role and request hash of a call."""

    place: str
    role: str
    request: str


class Journal:
    """An episode's journal in a file, or none where `path` is None.

    What was kept before is held until it is taken, each reply once; what is appended was used, and is held no longer.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kept: dict[Address, deque[Entry]] = defaultdict(deque)
        self._file: BinaryIO | None = None
        self._whole = 0
        if path is not None and atrest.is_kept(path):
            self._load(path)

    def take(self, address: Address) -> Entry | None:
        """The next kept outcome of that call, or None if it has to be asked."""
        entries = self._kept.get(address)
        if entries is None:
            return None
        entry = entries.popleft()
        if not entries:
            del self._kept[address]
        return entry

    def append(self, address: Address, entry: Entry) -> Entry:
        """Keep an outcome; it is with the operating system when this returns. Gives back what was kept.

        Raises StorageError.
        """
        kept = _without_keys(entry)
        record: dict[str, object] = {"at": address.place, "role": address.role, "request": address.request}
        if (completion := kept.completion) is not None:
            usage = completion.usage
            record |= {"text": completion.text, "finish": completion.finish}
            record |= {"input": usage.input, "output": usage.output, "estimated": usage.estimated}
            # only where the endpoint told: what is not known is not 0
            record |= {name: told for name in TOLD if (told := getattr(usage, name)) is not None}
            record["seconds"] = completion.seconds
            if completion.calls:
                record["calls"] = [[call.id, call.name, call.arguments] for call in completion.calls]
        else:
            record["error"] = kept.error
        self._write(json.dumps(record).encode("ascii") + b"\n")
        return kept

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: bytes) -> None:
        if self.path is None:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                atrest.let_grow(self.path)
                self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - stays open for the episode
                os.truncate(self.path, self._whole)
            written = self._file.write(line)
            if written != len(line):
                raise OSError(28, "the disk is full")
            self._whole += len(line)
        except OSError as error:
            self.close()  # opened anew, the file is cut to its whole lines
            raise files.storage_error(error, self.path) from error

    def _load(self, path: Path) -> None:
        data = atrest.kept(path)
        self._whole = len(data)
        for line in data.splitlines():
            try:
                record = json.loads(line)
                address = Address(record["at"], record["role"], record["request"])
                self._kept[address].append(_entry(record))
            except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
                continue  # a damaged line costs its own reply, which is asked again


def _without_keys(entry: Entry) -> Entry:
    """The outcome as it is kept: keys struck out, seconds as they are written."""
    if entry.completion is None:
        kind, sentence = entry.error or ("", "")
        return Entry(error=(redact(kind), redact(sentence)))
    said = entry.completion
    calls = tuple(ToolCall(redact(call.id), redact(call.name), redact(call.arguments)) for call in said.calls)
    return Entry(replace(said, text=redact(said.text), seconds=round(said.seconds, 4), calls=calls))


def _entry(record: dict[str, object]) -> Entry:
    if "error" in record:
        kind, sentence = cast("tuple[str, str]", record["error"])
        return Entry(error=(str(kind), str(sentence)))
    seconds = float(record["seconds"])  # type: ignore[arg-type]
    calls = tuple(ToolCall(*map(str, call)) for call in cast("list[list[str]]", record.get("calls", [])))
    return Entry(Completion(str(record["text"]), usage_of(record), str(record["finish"]), seconds, calls))


def usage_of(record: Mapping[str, Any]) -> Usage:
    """The tokens of a line that holds a reply. Raises KeyError, ValueError or TypeError where it holds none."""
    told = {name: int(record[name]) for name in TOLD if record.get(name) is not None}
    return Usage(int(record["input"]), int(record["output"]), bool(record["estimated"]), **told)
