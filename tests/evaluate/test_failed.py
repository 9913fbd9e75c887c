"""Episodes that failed are kept as such until they are finished: in the run's folder, the scores and the reports."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

import amemgym
from amemgym import Item, Memory, Message
from amemgym.errors import RunDirectoryError, RunFailed
from amemgym.evaluate import FailedEpisodes

SMALL = {"users": 2, "periods": 2}
#: while a folder is here, memories cannot write
LOCKS: list[Path] = []


class Locked(Memory):
    """Keeps everything; its store is locked while there is a lock, for the second user alone."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        if LOCKS and "-t0" in self.tools.name and LOCKS[0].name in self.tools.name:
            raise OSError(11, "the store is locked", str(LOCKS[0]))
        self.items += [Item(message.content, message.time) for message in messages]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self.items[-k:]


def test_a_failure_is_told_until_the_episode_is_finished(tmp_path: Path) -> None:
    whole = amemgym.run("starter", ["native", Locked], out=tmp_path / "whole", **SMALL)
    second = sorted(path.name for path in (tmp_path / "whole" / "episodes").rglob("*-t0.json"))[0].rpartition("-t0")[0]
    LOCKS.append(tmp_path / second)
    try:
        with pytest.raises(RunFailed, match="the store is locked"):
            amemgym.run("starter", ["native", Locked], out=tmp_path / "r", **SMALL)
        (failed,) = FailedEpisodes(tmp_path / "r").all()
        assert (failed.agent, failed.boundary) == ("Locked", "memory") and "the store is locked" in failed.error
        scores = amemgym.score(tmp_path / "r").scores
        assert scores["agents"]["native"]["episodes"]["failed"] == []
        told = scores["agents"]["Locked"]["episodes"]
        assert (told["finished"], told["planned"], len(told["failed"])) == (1, 2, 1)
        for kind in ("md", "html"):
            (report,) = amemgym.write_report(tmp_path / "r", format=kind)
            assert "1 of 2 episodes failed (1 at the boundary memory)" in report.read_text("utf-8")
    finally:
        LOCKS.clear()
    mended = amemgym.run("starter", ["native", Locked], out=tmp_path / "r", **SMALL)
    assert FailedEpisodes(tmp_path / "r").all() == []
    assert json.dumps(mended.scores) == json.dumps(whole.scores)


def test_a_damaged_record_of_a_failure_is_named(tmp_path: Path) -> None:
    amemgym.run("starter", "native", out=tmp_path / "r", users=1, periods=1)
    damaged = tmp_path / "r" / "failed" / "native-x" / "anna-t0.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text('{"agent": 3', encoding="utf-8")
    with pytest.raises(RunDirectoryError, match=r"anna-t0\.json is damaged"):
        amemgym.score(tmp_path / "r")
