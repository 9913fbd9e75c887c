"""Journals at rest: compressed, read as before, and whole whatever a kill leaves of them.

Promised: `zcat` reads them; the same replies give the same bytes; a journal goes on growing where it is needed again;
killed at any step, no reply is lost and the next start leaves one form; what is damaged is asked again, never guessed.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from amemgym import files
from amemgym.errors import StorageError
from amemgym.llm import Completion, Journal, Usage, atrest
from amemgym.llm.journal import Address, Entry

PLACES = [Address(f"p0/s0/r{number}", "assistant", "0123456789abcdef") for number in range(5)]


def entry(number: int) -> Entry:
    return Entry(Completion(f"Reply {number}.", Usage(12, 3), "stop", 0.5))


def written(path: Path, *numbers: int) -> bytes:
    """A journal with these replies; the bytes of its plain form."""
    journal = Journal(path)
    for number in numbers:
        journal.append(PLACES[number], entry(number))
    journal.close()
    return path.read_bytes()


def replies(path: Path) -> list[int]:
    """The numbers of the replies that a journal still has."""
    journal = Journal(path)
    return [number for number, place in enumerate(PLACES) if journal.take(place) == entry(number)]


def forms(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_at_rest_it_is_gzip_and_has_every_reply(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    lines = written(path, 0, 1, 2)
    atrest.put_to_rest(path)
    assert forms(tmp_path) == {"j.jsonl.gz"}
    assert gzip.decompress((tmp_path / "j.jsonl.gz").read_bytes()) == lines
    assert replies(path) == [0, 1, 2]


def test_the_same_replies_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    for path in (one, other):
        written(path, 0, 1)
        os.utime(path, (len(path.name), len(path.name)))
        atrest.put_to_rest(path)
    assert atrest.packed(one).read_bytes() == atrest.packed(other).read_bytes()


def test_it_grows_again_where_it_must(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    lines = written(path, 0, 1)
    atrest.put_to_rest(path)
    assert written(path, 2).startswith(lines)
    assert forms(tmp_path) == {"j.jsonl"}
    assert replies(path) == [0, 1, 2]


def test_taking_leaves_it_at_rest(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    written(path, 0)
    atrest.put_to_rest(path)
    before = atrest.packed(path).read_bytes()
    assert replies(path) == [0]
    atrest.put_to_rest(path)
    assert forms(tmp_path) == {"j.jsonl.gz"} and atrest.packed(path).read_bytes() == before


def test_a_cut_off_line_is_not_put_to_rest(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    lines = written(path, 0, 1)
    path.write_bytes(lines + b'{"at": "p0/s0/r2", "ro')
    atrest.put_to_rest(path)
    assert gzip.decompress(atrest.packed(path).read_bytes()) == lines


# --- kills ---


class Killed(BaseException):
    """The process ends here."""


def killed_at(step: int, patch: pytest.MonkeyPatch, work: Callable[[], object]) -> bool:
    """Do it, and be killed before the file operation of that number; whether it came to that."""
    count = -1

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def act(*given: object, **named: object) -> object:
            nonlocal count
            count += 1
            if count == step:
                raise Killed
            return call(*given, **named)

        return act

    with patch.context() as own:
        own.setattr(files.os, "fsync", counted(os.fsync))
        own.setattr(Path, "replace", counted(Path.replace))
        # a killed process clears nothing away
        own.setattr(Path, "unlink", lambda path, missing_ok=False: None if path.suffix == ".tmp" else removed(path))
        removed = counted(os.unlink)
        try:
            work()
        except Killed:
            return True
    return False


@pytest.mark.parametrize("step", range(4))
def test_a_kill_while_it_is_put_to_rest_loses_nothing(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.jsonl"
    lines = written(path, 0, 1, 2)
    assert killed_at(step, monkeypatch, lambda: atrest.put_to_rest(path)) == (step < 3)
    assert replies(path) == [0, 1, 2]
    assert atrest.journals_in(tmp_path) == [path]
    atrest.put_to_rest(path)  # as the next start does
    assert {name for name in forms(tmp_path) if not name.endswith(".tmp")} == {"j.jsonl.gz"}
    assert gzip.decompress(atrest.packed(path).read_bytes()) == lines


@pytest.mark.parametrize("step", range(4))
def test_a_kill_while_it_begins_to_grow_again_loses_nothing(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "j.jsonl"
    written(path, 0, 1)
    atrest.put_to_rest(path)
    journal = Journal(path)
    assert killed_at(step, monkeypatch, lambda: journal.append(PLACES[2], entry(2))) == (step < 3)
    journal.close()
    assert replies(path) == [0, 1] + [2] * (step == 3)
    written(path, 3)
    assert replies(path) == [0, 1] + [2] * (step == 3) + [3]
    assert {name for name in forms(tmp_path) if not name.endswith(".tmp")} == {"j.jsonl"}


def test_of_two_forms_the_longer_counts(tmp_path: Path) -> None:
    """The power went: the packed form was on the disk, the end of the plain one was not."""
    path = tmp_path / "j.jsonl"
    lines = written(path, 0, 1, 2)
    atrest.put_to_rest(path)
    path.write_bytes(lines[: len(lines) // 2])
    assert replies(path) == [0, 1, 2]
    written(path, 3)
    assert replies(path) == [0, 1, 2, 3] and forms(tmp_path) == {"j.jsonl"}


# --- damage ---


def test_a_packed_file_that_is_cut_off_counts_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    written(path, *range(5))
    atrest.put_to_rest(path)
    data = atrest.packed(path).read_bytes()
    atrest.packed(path).write_bytes(data[:-9])  # its checksum, and a byte
    kept = replies(path)
    assert kept == list(range(len(kept))) and kept
    atrest.packed(path).write_bytes(data[:12])
    assert replies(path) == []


def test_a_packed_file_with_another_byte_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    written(path, 0, 1)
    atrest.put_to_rest(path)
    whole = atrest.packed(path).read_bytes()
    for place in range(10, len(whole), 7):
        data = bytearray(whole)
        data[place] ^= 1
        atrest.packed(path).write_bytes(data)
        journal = Journal(path)
        assert [journal.take(place) for place in PLACES[:2]] in ([None, None], [entry(0), entry(1)])


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    atrest.packed(path).mkdir()
    with pytest.raises(StorageError, match=r"cannot read .*j\.jsonl\.gz"):
        Journal(path)


def test_a_copy_has_the_form_of_what_it_is_of(tmp_path: Path) -> None:
    for number, is_packed in enumerate((False, True)):
        source, to = tmp_path / f"a{number}.jsonl", tmp_path / "to" / f"a{number}.jsonl"
        written(source, 0, 1)
        if is_packed:
            atrest.put_to_rest(source)
        atrest.copy(source, to)
        assert to.exists() != is_packed and atrest.packed(to).exists() == is_packed
        assert replies(to) == [0, 1]
