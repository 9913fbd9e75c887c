"""A memory of one's own that is at fault: which episodes it ends, and what is said."""

from __future__ import annotations

import html
import json
import threading
from datetime import datetime
from pathlib import Path

import pytest

import amemgym
from amemgym import secrets
from amemgym.errors import RunFailed, UsageError
from amemgym.evaluate import FailedEpisode, FailedEpisodes, RunDirectory, RunWatcher
from amemgym.memory import Item
from tests.evaluate.echo import Diary

SMALL = {"users": 2, "periods": 2}


class Broken(Diary):
    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        if len(self.items) > 8:
            raise ValueError("lost my glasses")
        return super().read(query, now, k)


class NeedsMore(Diary):
    def __init__(self, shelf: str) -> None:
        super().__init__()


class Late(Diary):
    def snapshot(self) -> object:
        raise SystemExit("at an exam")


class Locked(Diary):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Greedy(Diary):
    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return list(self.items)


class WordyExport(Diary):
    def export(self) -> list[str]:  # type: ignore[override]
        return [item.text for item in self.items]


def test_a_memory_that_raises_ends_its_own_episodes_alone(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"4 episodes or upper bounds did not finish.*and 3 more") as caught:
        amemgym.run("starter", [Broken, Late, Diary, "oracle"], out=tmp_path / "r", **SMALL)
    said = str(caught.value)
    assert "agent 'Broken', user 0, period 0: its memory's code raised ValueError: lost my glasses" in said
    assert f"(at {Path(__file__).name}:" in said
    assert "amemgym resume" in said
    report = amemgym.score(tmp_path / "r")
    assert (report["Broken"]["n"], report["Broken"]["overall"]) == (0, None)
    episodes = report["Broken"]["episodes"]
    assert (episodes["finished"], episodes["planned"]) == (0, 2)
    assert [(one["user"], one["boundary"]) for one in episodes["failed"]] == [(0, "memory"), (1, "memory")]
    assert "lost my glasses" in episodes["failed"][0]["error"]
    warned = [
        w for w in report["Broken"]["warnings"] if w.startswith("2 of 2 episodes failed (2 at the boundary memory)")
    ]
    assert len(warned) == 1 and warned[0] in html.unescape(amemgym.write_report(report)[0].read_text("utf-8"))
    assert report["Diary"]["n"] == report["oracle"]["n"] == 32
    assert report.scores["finished"] is False
    # a kill between the writing of an episode and the end of its old failure leaves both
    user = next(iter(RunDirectory(tmp_path / "r").dataset())).id
    FailedEpisodes(tmp_path / "r").write(FailedEpisode("Diary", 0, user, 0, "memory", "of old"))
    assert amemgym.score(tmp_path / "r")["Diary"]["episodes"]["failed"] == []


def test_a_memory_that_cannot_be_made_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'NeedsMore': its memory cannot be made without arguments"):
        amemgym.run("starter", [NeedsMore, Diary], out=tmp_path / "r", **SMALL)
    assert not (tmp_path / "r").exists()
    for wrong, said in ((Diary(), "neither a name nor a class"), (int, "no subclass of amemgym.Memory")):
        with pytest.raises(UsageError, match=said):
            amemgym.run("starter", [wrong], out=tmp_path / "r", **SMALL)  # type: ignore[list-item]


SHELF_KEY = "sk-shelf-88Qm31"


class Once(Diary):
    """Can be made once, which is when it is looked at before the run."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1
        if self.made > 1:
            raise OSError(f"no second shelf for {SHELF_KEY}")


def test_a_memory_that_cannot_be_made_again_fails_as_a_memory_and_tells_no_key(tmp_path: Path) -> None:
    secrets.remember(SHELF_KEY)
    with pytest.raises(RunFailed, match=r"no second shelf for \[key\]") as caught:
        amemgym.run("starter", Once, out=tmp_path / "r", users=1, periods=1)
    (failed,) = caught.value.report["Once"]["episodes"]["failed"]  # type: ignore[index]
    assert failed["boundary"] == "memory"
    with pytest.raises(UsageError, match=r"no second shelf for \[key\]"):
        amemgym.run("starter", Once, out=tmp_path / "again", users=1, periods=1)


def test_a_memory_that_cannot_be_copied_is_told_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="override snapshot and restore"):
        amemgym.run("starter", Locked, out=tmp_path / "r", users=1, periods=1)


def test_no_more_than_topk_is_read(tmp_path: Path) -> None:
    heard: list[str] = []

    class Hearing(RunWatcher):
        def said(self, sentence: str) -> None:
            heard.append(sentence)

    amemgym.run("starter", Greedy, out=tmp_path / "r", users=1, periods=5, watcher=Hearing())
    assert heard == ["memory Greedy gives back more than the k items asked for; the rest is cut off"]
    (episode,) = (tmp_path / "r" / "episodes").rglob("*.json")
    exams = json.loads(episode.read_text())["exams"]
    assert {len(exam["items"]) for exam in exams} <= set(range(31))
    assert max(len(exam["items"]) for exam in exams) == 30


def test_an_export_of_plain_texts_is_understood(tmp_path: Path) -> None:
    report = amemgym.run("starter", [WordyExport], out=tmp_path / "r", users=1, periods=1)
    assert report["WordyExport"]["n"] == 8
    assert report.scores["finished"] is True
