"""Columns that are kept in a run directory: scores are the same with them, and they are never trusted over the files
they were made from."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import files
from amemgym.errors import RunDirectoryError, StorageError
from amemgym.evaluate import RunDirectory
from amemgym.scores import kept

COLUMNS = {f"{name}.parquet" for name in ("exams", "states", "episodes", "upper-bounds")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two trials of agents that need no model, and the model's upper bound."""
    out = tmp_path_factory.mktemp("run") / "r"
    amemgym.run("starter", "lag-1,uniform", trials=2, periods=3, out=out)
    return out


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, whose columns are kept however few its episodes."""
    monkeypatch.setattr(kept, "LEAST", 1)
    return Path(shutil.copytree(whole, tmp_path / "r"))


def scored(run: Path) -> bytes:
    amemgym.score(run)
    return (run / "scores.json").read_bytes()


def scored_from_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    with monkeypatch.context() as own:
        own.setattr(kept, "LEAST", 10**9)
        return scored(run)


def reads_no_episode(run: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether scores are made without a look into any file of results."""

    def refuse(directory: RunDirectory) -> Any:
        raise AssertionError

    with monkeypatch.context() as own:
        own.setattr(RunDirectory, "finished", refuse)
        try:
            scored(run)
        except AssertionError:
            return False
    return True


def test_the_second_time_no_episode_is_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = (run / "scores.json").read_bytes()
    assert not reads_no_episode(run, monkeypatch)
    assert scored(run) == expected  # makes them
    assert {path.name for path in (run / "columns").iterdir()} == COLUMNS
    assert reads_no_episode(run, monkeypatch)
    assert scored(run) == expected
    other = amemgym.compare(run, run)
    assert {agent.overall.value for agent in other.agents} == {0.0}


def test_a_run_of_few_episodes_has_no_columns(whole: Path) -> None:
    scored(whole)
    assert not (whole / "columns").exists()


def an_answer_changes(run: Path) -> None:
    """To one of the same length."""
    path = next((run / "episodes").glob("uniform-*/*-t0.json"))
    episode = json.loads(path.read_text())
    wrong = next(exam for exam in episode["exams"] if not exam["correct"])
    wrong |= {"option": wrong["gold"], "correct": True}
    files.write_atomically(path, files.compact_json(episode))


def an_upper_bound_changes(run: Path) -> None:
    path = next((run / "upper-bound").glob("*/*.json"))
    path.write_text(path.read_text().replace('"correct": true', '"correct": null', 1))


def an_episode_goes(run: Path) -> None:
    next((run / "episodes").glob("lag-1-*/*-t1.json")).unlink()


@pytest.mark.parametrize("change", [an_answer_changes, an_upper_bound_changes, an_episode_goes])
def test_what_changes_is_noticed(change: Callable[[Path], None], run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = scored(run)
    change(run)
    after = scored(run)
    assert after != before and after == scored_from_files(run, monkeypatch)
    assert scored(run) == after and reads_no_episode(run, monkeypatch)


def test_times_that_are_set_back_hide_no_change(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = next((run / "episodes").glob("uniform-*/*-t0.json"))
    before, size, time = scored(run), path.stat().st_size, path.stat().st_mtime_ns
    an_answer_changes(run)
    data = path.read_bytes().rstrip(b"\n")
    path.write_bytes(data + b" " * (size - len(data) - 1) + b"\n")
    os.utime(path, ns=(time, time))
    assert path.stat().st_size >= size
    assert scored(run) == scored_from_files(run, monkeypatch) != before


def test_a_damaged_episode_is_still_named(run: Path) -> None:
    scored(run)
    path = next((run / "episodes").glob("uniform-*/*-t0.json"))
    path.write_text("{}")
    with pytest.raises(RunDirectoryError, match="is damaged"):
        amemgym.score(run)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    """A bit of the first column's values."""
    data = bytearray(path.read_bytes())
    data[60] ^= 4
    path.write_bytes(data)


def of_another(path: Path) -> None:
    """Whole, but with other columns in it."""
    shutil.copyfile(path.with_name("upper-bounds.parquet"), path)


@pytest.mark.parametrize("name", sorted(COLUMNS))
@pytest.mark.parametrize("damage", [cut, emptied, flipped, Path.unlink])
def test_damaged_columns_are_made_again(
    damage: Callable[[Path], None], name: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = scored(run)
    damage(run / "columns" / name)
    assert scored(run) == expected
    assert reads_no_episode(run, monkeypatch), "they are whole again"


def test_a_file_in_another_s_place_is_noticed(run: Path) -> None:
    expected = scored(run)
    of_another(run / "columns" / "exams.parquet")
    assert scored(run) == expected


def test_without_pyarrow_it_is_read_from_the_files(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = (run / "scores.json").read_bytes()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert scored(run) == expected
    assert not (run / "columns").exists()


def test_what_cannot_be_kept_is_scored_all_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Any:
        raise StorageError("the disk is full")

    monkeypatch.setattr(kept.files, "whole_file", refuse)
    assert list(amemgym.score(run, write=False)) == ["lag-1", "uniform"]
    assert not (run / "columns").exists()
