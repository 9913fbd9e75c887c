"""The journals of a run: at rest once what they are of has ended, and left so by the next start where a kill was."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import StorageError
from amemgym.evaluate import RunDirectory
from amemgym.evaluate import journals as module
from amemgym.llm import atrest
from tests.support.journals import journals_of

SETTINGS: dict[str, Any] = {"users": 1, "periods": 1}


def at_rest(run: Path) -> set[bool]:
    return {path.suffix == ".gz" for path in (run / "journal").rglob("*") if path.is_file()}


def unpack(run: Path) -> None:
    """As a run of an earlier version, or one that was killed at its end, leaves them."""
    for path in (run / "journal").rglob("*.gz"):
        path.with_suffix("").write_bytes(gzip.decompress(path.read_bytes()))
        path.unlink()


def test_they_are_compressed_at_the_end_and_by_the_next_start(tmp_path: Path) -> None:
    run = tmp_path / "r"
    first = amemgym.run("starter", "rag", out=run, **SETTINGS)
    assert at_rest(run) == {True}
    expected = journals_of(run)
    assert len(expected) == 2  # the episode's, and the upper bound's
    unpack(run)
    assert amemgym.resume(run).scores == first.scores
    assert at_rest(run) == {True} and journals_of(run) == expected
    # and what is played again from one that is at rest leaves it so
    for path in [*(run / "episodes").rglob("*.json"), *(run / "upper-bound").rglob("*.json")]:
        path.unlink()
    assert amemgym.resume(run).scores == first.scores
    assert at_rest(run) == {True} and journals_of(run) == expected


def test_without_room_for_it_a_run_ends_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(journal: Path) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(module.atrest, "put_to_rest", refuse)
    amemgym.run("starter", "rag", out=tmp_path / "r", upper_bound=False, **SETTINGS)
    assert at_rest(tmp_path / "r") == {False}


def test_another_run_s_are_taken_in_either_form_but_for_those_begun_here(tmp_path: Path) -> None:
    run, other = tmp_path / "r", tmp_path / "other"
    amemgym.run("starter", "rag,native", out=run, upper_bound=False, **SETTINGS)
    expected = journals_of(run)
    native = next(name for name in expected if "/native-" in name)
    (other / native).parent.mkdir(parents=True)
    (other / native).write_bytes(b"begun\n")
    (rag,) = (run / "journal").rglob("rag-*/*.gz")
    for is_plain in (False, True):
        if is_plain:
            unpack(run)
            atrest.packed(other / rag.relative_to(run).with_suffix("")).unlink()
        RunDirectory(other).take_journals(run, ["rag", "native"])
        assert journals_of(other) == expected | {native: b"begun\n"}
