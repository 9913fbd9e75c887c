"""Where the disk refuses (no permission, a file where a folder is needed, a read-only or a full disk), a command ends
in one sentence with the path and the way out. What was finished before a disk filled up is kept, and once there is room
the run goes on to the same scores."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Whole
from tests.cli.helpers import (
    contents,
    files_up_to,
    finished,
    inside,
    mount,
    scores,
    sentence,
    succeeded,
    without_override,
)
from tests.cli.warm import warm


def test_a_place_that_is_no_folder(whole: Whole, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/run", "/dev/null", "/dev/null/run", "x" * 300):
        said = sentence(inside(*whole.arguments, "--out", out), 1)
        assert out in said and "--out" in said
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
def test_a_place_where_no_one_can_write(whole: Whole) -> None:
    said = sentence(inside(*whole.arguments, "--out", "/proc/amemgym/run"), 1)
    assert "/proc/amemgym/run" in said and "--out" in said


def test_no_permission(whole: Whole, tmp_path: Path) -> None:
    """A closed folder, an open one with a closed run in it, and a folder that cannot even be looked into."""
    closed, dark, run = tmp_path / "closed", tmp_path / "dark", whole.copy(tmp_path / "run")
    secret = tmp_path / "secret.json"
    secret.write_bytes(whole.data.read_bytes())
    hidden = whole.copy(dark / "run")
    (hidden / "data.json").write_bytes(whole.data.read_bytes())
    closed.mkdir()
    before = contents(tmp_path)
    closed.chmod(0o555), dark.chmod(0o000), secret.chmod(0o000)
    for path in [*run.rglob("*"), run]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    storage, usage = 1, 2
    commands: list[tuple[list[str | Path], Path, int]] = [
        ([*whole.arguments, "--out", closed / "run"], closed / "run", storage),
        ([*whole.arguments, "--out", run], run, storage),
        (["resume", run], run, storage),
        (["score", run], run, storage),
        (["resume", hidden], hidden, usage),
        (["score", hidden], hidden, usage),
        ([*whole.arguments, "--out", hidden], hidden, storage),
        (["validate", hidden / "data.json"], hidden / "data.json", usage),
        (["run", "--data", secret], secret, usage),
        (["run", "--config", secret], secret, usage),
    ]
    try:
        ended = [warm(*command, before=without_override) for command, _, _ in commands]
    finally:
        for path in (closed, dark, secret, run, *run.rglob("*")):
            path.chmod(0o755)
    for (_, path, code), end in zip(commands, ended, strict=True):
        said = sentence(end, code)
        assert str(path) in said and "ermission" in said
    assert contents(tmp_path) == before


# --- no room ---


def test_a_limit_on_files_keeps_what_is_finished(whole: Whole, tmp_path: Path) -> None:
    """A run ends where a file would grow too long, be it by one byte, and goes on later."""
    sizes = sorted({len(data) for data in contents(whole.directory).values()})
    played = 0
    for limit in (0, sizes[len(sizes) // 2] - 1, sizes[-1] - 1):
        directory = tmp_path / str(limit)
        run = [*whole.arguments, "--concurrency", "1", "--out", directory]
        with files_up_to(limit):
            ended = inside(*run)
        assert f"cannot write {directory}/" in sentence(ended, 1)
        kept = finished(directory)
        succeeded(inside(*run))
        assert scores(directory) == scores(whole.directory)
        assert kept.items() <= finished(directory).items()
        played += len(kept)
    assert played, "something was finished before"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of 15 pages."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if why := mount(folder, f"size={15 * os.sysconf('SC_PAGE_SIZE')}"):
        pytest.skip(f"no small disk can be made: {why}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_keeps_what_is_finished(whole: Whole, disk: Path) -> None:
    run = [*whole.arguments, "--concurrency", "1", "--out", disk / "run"]
    for play in (warm, inside):
        # it stays full: the second time ends like the first
        said = sentence(play(*run), 1)
        assert f"cannot write {disk}/run/" in said
        assert "disk is full" in said and "free some space" in said
    kept = finished(disk / "run")
    assert kept
    assert mount(disk, "remount,size=16m") is None
    succeeded(inside("resume", disk / "run"))
    assert scores(disk / "run") == scores(whole.directory)
    assert kept.items() <= finished(disk / "run").items()
    # and a disk that can only be read
    before = contents(disk)
    assert mount(disk, "remount,ro") is None
    for command in (run, ["resume", disk / "run"], ["score", disk / "run"], [*whole.arguments, "--out", disk / "new"]):
        assert f"cannot write {disk}/" in sentence(inside(*command), 1)
    assert contents(disk) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_table_that_cannot_be_written(whole: Whole, tmp_path: Path) -> None:
    """`amemgym run > table.txt` on a full disk: the run itself is finished."""
    directory = whole.copy(tmp_path / "run")
    (directory / "scores.json").unlink()
    assert "No space left" in sentence(warm("resume", directory, out="/dev/full"), 1)
    assert scores(directory) == scores(whole.directory)
