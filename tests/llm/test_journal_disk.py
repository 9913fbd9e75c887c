"""A journal on a disk that refuses: one sentence, and what was kept before and after stays whole."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import (
    StorageError,
)
from amemgym.llm import Completion, Journal, Usage
from amemgym.llm import journal as journal_module
from amemgym.llm.journal import Address, Entry

HERE = Address("p0/s0/r0", "assistant", "0123456789abcdef")
THERE = Address("p0/q1", "exam", "fedcba9876543210")


def said(text: str, seconds: float = 0.25) -> Entry:
    return Entry(Completion(text, Usage(12, 3), "stop", seconds))


def write(path: Path, *outcomes: tuple[Address, Entry]) -> None:
    journal = Journal(path)
    for address, entry in outcomes:
        journal.append(address, entry)
    journal.close()


# ---- a disk that refuses


class FullDisk(io.RawIOBase):
    """Takes `room` bytes of each line, then does what `refuse` does; takes everything once it is `emptied`."""

    def __init__(self, path: Path, mode: str, room: int, refuse: Callable[[], int]) -> None:
        self._file = open(path, mode, buffering=0)  # noqa: SIM115
        self._room = room
        self._refuse = refuse
        self.emptied = False

    def write(self, line: Any) -> int:
        if self.emptied:
            return self._file.write(line)
        self._file.write(line[: self._room])
        return self._refuse() or self._room

    def close(self) -> None:
        self._file.close()
        super().close()


def no_space() -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def short() -> int:
    return 0


@pytest.mark.parametrize("room", [0, 20])
@pytest.mark.parametrize("refuse", [no_space, short])
def test_a_full_disk(room: int, refuse: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "j"
    write(path, (HERE, said("First.")))
    journal = Journal(path)
    assert journal.take(HERE) == said("First.")
    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "open", lambda p, m, buffering: FullDisk(p, m, room, refuse), raising=False)
        with pytest.raises(StorageError) as caught:
            journal.append(HERE, said("Lost."))
    sentence = str(caught.value)
    assert str(path) in sentence and "the disk is full; free some space" in sentence and "\n" not in sentence
    assert journal.take(HERE) is None  # what was not kept is not used
    journal.close()
    again = Journal(path)
    assert again.take(HERE) == said("First.")
    assert again.take(HERE) is None


@pytest.mark.parametrize("refuse", [no_space, short])
def test_what_is_kept_after_a_failed_write_comes_back(
    refuse: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long reply does not fit and leaves half a line; a short one beside it fits, is kept, and is used."""
    path = tmp_path / "j"
    journal = Journal(path)
    disks: list[FullDisk] = []

    def opened(path: Path, mode: str, buffering: int) -> FullDisk:
        disks.append(FullDisk(path, mode, 20, refuse))
        disks[-1].emptied = len(disks) > 1  # there is room again, also where the journal opens its file anew
        return disks[-1]

    monkeypatch.setattr(journal_module, "open", opened, raising=False)
    with pytest.raises(StorageError):
        journal.append(HERE, said("Long. " * 100))
    disks[0].emptied = True
    journal.append(THERE, said("Short."))
    journal.close()
    assert Journal(path).take(THERE) == said("Short.")


LIMITED = """
import resource, sys
from pathlib import Path
from amemgym.errors import StorageError
from amemgym.llm.journal import Address, Completion, Entry, Journal
from amemgym.llm import Usage

resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
journal, kept = Journal(Path(sys.argv[1])), 0
try:
    for number in range(100):
        journal.append(Address("p0", "assistant", str(number)), Entry(Completion(f"Reply {number}.", Usage(1, 1))))
        kept += 1
except StorageError as error:
    print(kept, error)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no resource limits on this system")
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "j"
    ran = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    count, _, sentence = ran.stdout.strip().partition(" ")
    assert 5 < int(count) < 50
    assert sentence.startswith(f"cannot write {path}: ") and "free some space" in sentence and "\n" not in sentence
    journal = Journal(path)
    taken = [journal.take(Address("p0", "assistant", str(number))) for number in range(int(count) + 1)]
    assert [entry.result().text for entry in taken[:-1] if entry] == [f"Reply {n}." for n in range(int(count))]
    assert taken[-1] is None
    journal.append(Address("p0", "assistant", count), said("Now there is room."))
    journal.close()
    assert len([json.loads(line) for line in path.read_bytes().splitlines()]) == int(count) + 1


def test_a_folder_in_place_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "j").mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*: Is a directory"):
        Journal(tmp_path / "j")


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(StorageError, match="choose another folder with --out"):
        Journal(tmp_path / "run" / "j").append(HERE, said("First."))
