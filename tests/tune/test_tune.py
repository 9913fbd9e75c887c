"""A search tells the truth: what it learned from never meets what it is measured on, nothing is asked twice, what it
reports is what ordinary runs give, and one that was killed ends as one that was not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import files
from amemgym.llm import Usage
from amemgym.search.watch import TuneWatcher
from tests.cli.conftest import installed
from tests.cli.helpers import PATIENCE, ColdProcess, contents, inside, sentence, strict_json, succeeded
from tests.support.journals import journals_of

DATA = "bank:mini?users=4&periods=4&questions=3"
SEARCH = ("tune", "--agent", "rag-2-0-1", "--data", DATA, "--topk", "1,4,30", "--n-s", "0,4", "--trials", "5")
RESULT = ("tune.json", "report.md")


@dataclass
class Counting(TuneWatcher):
    asked: int = 0
    examined_so_far: int = 0
    exams: int = 0
    told: list[str] = field(default_factory=list)

    def called(self, usage: Usage, replayed: bool) -> None:
        self.asked += not replayed

    def searching(self, exams: int) -> None:
        self.exams = exams

    def examined(self, count: int = 1) -> None:
        self.examined_so_far += count

    def said(self, sentence: str) -> None:
        self.told.append(sentence)


@dataclass(frozen=True)
class Whole:
    path: Path
    summary: dict[str, Any]
    watcher: Counting
    report: amemgym.TuneReport


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """An unbroken search, made by the Python face."""
    watcher, path = Counting(), tmp_path_factory.mktemp("tune") / "whole"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("amemgym.plugins.entry_points", installed)
        report = amemgym.tune("rag-2-0-1", DATA, topk=[1, 4, 30], n_s=(0, 4), trials=5, out=path, watcher=watcher)
    return Whole(path, strict_json(path / "tune.json"), watcher, report)


def journals(path: Path) -> dict[str, list[bytes]]:
    """The lines of every journal below a directory, by its place."""
    return {name: kept.splitlines() for name, kept in journals_of(path).items()}


def rungs(whole: Whole) -> Iterator[list[Path]]:
    """Of each trial, its runs from the smallest to the largest."""
    for trial in whole.summary["trials"]:
        yield [whole.path / rung["directory"] for rung in trial["rungs"]]


def test_what_is_said_is_what_was_done(whole: Whole) -> None:
    summary = whole.summary
    assert summary == whole.report.summary
    assert summary["searched"] == {"n_s": [0, 4], "topk": [1, 4, 30]} and summary["configurations"] == 6
    assert summary["trials"][0]["agent"] == "rag-2-0-1"  # as named comes first
    assert len({trial["agent"] for trial in summary["trials"]}) == 5
    assert [rung["configurations"] for rung in summary["rungs"]] == [5, 2]
    assert [rung["periods"] for rung in summary["rungs"]] == [2, 4]
    for trial in summary["trials"]:
        for rung, told in enumerate(trial["rungs"]):
            scores = strict_json(whole.path / told["directory"] / "scores.json")
            own = scores["agents"][trial["agent"]]
            assert (told["accuracy"], told["n"], told["interval"]) == (own["overall"], own["n"], own["interval"])
            assert told["n"] == told["users"] * told["periods"] * 3
            assert rung == 0 or (told["users"], told["periods"]) == (2, 4)
    reached = [trial for trial in summary["trials"] if len(trial["rungs"]) == 2]
    assert len(reached) == 2
    others = [trial for trial in summary["trials"] if len(trial["rungs"]) == 1]
    firsts = [max(t["rungs"][0]["accuracy"] for t in others), min(t["rungs"][0]["accuracy"] for t in reached)]
    assert firsts == sorted(firsts)
    best = max(reached, key=lambda trial: (trial["rungs"][-1]["accuracy"], -trial["trial"]))
    assert summary["best"]["trial"] == best["trial"]


def test_no_held_out_user_is_played_in_a_trial_and_no_training_user_is_reported_on(whole: Whole) -> None:
    training, held_out = (set(whole.summary["users"][side]) for side in ("training", "held_out"))
    assert len(training) == len(held_out) == 2 and not training & held_out
    for folder, allowed, forbidden in (("trials", training, held_out), ("heldout", held_out, training)):
        played = [user["id"] for path in whole.path.glob(f"{folder}/**/data.json") for user in strict_json(path)]
        assert played and set(played) <= allowed
        written = "\n".join(str(path) for path in (whole.path / folder).rglob("*"))
        assert all(files.slug(name) not in written for name in forbidden)
        for path in (whole.path / folder).rglob("*"):
            if path.is_file():
                assert not any(name.encode() in path.read_bytes() for name in forbidden)


def test_a_larger_rung_asks_nothing_that_a_smaller_one_asked(whole: Whole) -> None:
    lines = 0
    for runs in rungs(whole):
        for smaller, larger in pairwise(runs):
            asked, more = journals(smaller), journals(larger)
            assert asked and set(asked) <= set(more)
            for name, begun in asked.items():
                assert more[name][: len(begun)] == begun and len(set(more[name])) == len(more[name]) > len(begun)
        lines += sum(map(len, journals(runs[-1]).values()))
    start, best = (journals(whole.path / "heldout" / side) for side in ("start", "best"))
    bounds = {name: said for name, said in start.items() if "/upper-bound/" in name}
    assert bounds and all(best[name] == said for name, said in bounds.items())
    lines += sum(map(len, [*start.values(), *best.values()])) - sum(map(len, bounds.values()))
    assert whole.watcher.asked == lines


def test_what_it_takes_is_told_before(whole: Whole) -> None:
    (told,) = (said for said in whole.watcher.told if said.startswith("at most "))
    # 3 on 2 users at the first rung, 2 on 2 at the second, 2 on 2 held out
    assert told.startswith("at most 14 episodes, ")
    assert whole.watcher.exams == whole.watcher.examined_so_far


def test_a_rung_is_the_run_that_anybody_would_make(whole: Whole, tmp_path: Path) -> None:
    trial = next(trial for trial in whole.summary["trials"] if len(trial["rungs"]) == 2)
    amemgym.run(
        DATA,
        trial["agent"],
        only=tuple(whole.summary["users"]["training"]),
        periods=4,
        probe=False,
        upper_bound=False,
        out=tmp_path,
    )
    there = whole.path / trial["rungs"][-1]["directory"]
    assert (tmp_path / "scores.json").read_bytes() == (there / "scores.json").read_bytes()


def test_the_difference_is_that_of_one_run_of_both(whole: Whole, tmp_path: Path) -> None:
    told = whole.summary["held_out"]
    best, start = whole.summary["best"]["agent"], told["start"]["agent"]
    assert best != start == "rag-2-0-1" and told["best"]["agent"] == best
    both = amemgym.run(DATA, [best, start], only=tuple(whole.summary["users"]["held_out"]), out=tmp_path)
    (pair,) = both.scores["pairs"]
    same = ("difference", "interval", "n", "users", "memory_score_difference", "memory_score_interval", "users_needed")
    assert {name: told["pair"][name] for name in same} == {name: pair[name] for name in same}
    assert (told["pair"]["only_best"], told["pair"]["only_start"]) == (pair["only_a"], pair["only_b"])
    assert pair["n"] == 24 and pair["users"] == 2 and pair["interval"] is not None
    for side, name in (("best", best), ("start", start)):
        own = both[name]
        assert [told[side][key] for key in ("accuracy", "n", "interval")] == [
            own[key] for key in ("overall", "n", "interval")
        ]
        assert told[side]["memory_score"] == own["memory_score"]["ratio_of_means"]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """The same search on the command line, killed while it played; and what was finished of it."""
    out = tmp_path_factory.mktemp("tune") / "killed"
    process = ColdProcess(*SEARCH, "--out", out)
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not list((out / "trials/002/r0").glob("journal/*/*")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.end()
    assert not (out / "tune.json").exists()
    return out, contents(out / "trials/000/r0")


def test_killed_and_started_again_it_ends_the_same_and_says_so(
    whole: Whole, killed: tuple[Path, dict[str, bytes]]
) -> None:
    """Made by the Python face without a break, or by the command line with one: the same bytes."""
    out, kept = killed
    written = (out / "trials/000/r0/episodes").stat().st_mtime_ns
    ended = succeeded(inside(*SEARCH, "--out", out))
    assert contents(out / "trials/000/r0") == kept
    assert (out / "trials/000/r0/episodes").stat().st_mtime_ns == written
    for name in RESULT:
        assert (out / name).read_bytes() == (whole.path / name).read_bytes()
        assert str(out / name) in ended.out
    told = whole.summary["held_out"]
    for side in ("start", "best"):
        low, high = told[side]["interval"]
        assert f"{told[side]['agent']} {told[side]['accuracy']:.3f} [{low:.3f}, {high:.3f}], n 24" in ended.out
    assert f"n {told['pair']['n']}, 2 users" in ended.out
    assert "the best of many was lucky too" in ended.out and "offline, an embedded stand-in" in ended.out
    command = whole.summary["best"]["command"]
    assert command == f"amemgym run --agents {whole.summary['best']['agent']} --data '{DATA}'" and command in ended.out
    assert all(trial["agent"] in ended.out for trial in whole.summary["trials"])
    assert "note: at most 14 episodes" in ended.err


def test_a_directory_of_another_search_is_refused_with_the_difference(whole: Whole) -> None:
    before = contents(whole.path)
    refused = sentence(inside(*SEARCH, "--out", whole.path, "--seed", "1", "--eta", "2"), 2)
    assert "holds a tuning of something else: seed is 0 there, 1 here" in refused
    refused = sentence(inside(*SEARCH[:-2], "--trials", "4", "--out", whole.path), 2)
    assert "trials is 5 there, 4 here" in refused
    assert contents(whole.path) == before


def test_it_is_no_run_and_names_those_of_its_result(whole: Whole) -> None:
    before = contents(whole.path)
    runs = f"{whole.path / 'heldout/best'}, {whole.path / 'heldout/start'}"
    said = sentence(inside("score", whole.path), 2)
    assert said.endswith(f"holds a tuning, not a run; name one of the runs in it: {runs}")
    assert sentence(inside("resume", whole.path), 2).endswith("started again by the same command")
    assert contents(whole.path) == before


def test_where_nothing_is_better_the_agent_stays_as_named(tmp_path: Path) -> None:
    """A memory that gives all it holds gives no more for a larger topk."""
    small = ("--data", "bank:mini?users=2&periods=2&questions=2", "--out", tmp_path / "t", "--trials", "9")
    ended = succeeded(inside("tune", "--agent", "rag-2-0-500", "--topk", "600,500", *small))
    summary = strict_json(tmp_path / "t/tune.json")
    assert "there are 2 configurations, so all are tried" in ended.err
    assert [trial["agent"] for trial in summary["trials"]] == ["rag-2-0-500", "rag-2-0-600"]
    assert summary["held_out"]["verdict"] == "unchanged" and summary["held_out"]["pair"] is None
    assert not (tmp_path / "t/heldout/best").exists()
    assert "no other configuration was better than the agent as named" in ended.out
    assert "one user" not in (tmp_path / "t/report.md").read_text("utf-8")


def test_policies_are_searched_too(tmp_path: Path) -> None:
    """Two configurations then have one name, and are still told apart."""
    (tmp_path / "odd.txt").write_text("Herring and $query", encoding="utf-8")
    small = ("--data", "bank:mini?users=2&periods=2&questions=3", "--out", tmp_path / "t", "--training", "1")
    search = ("tune", "--agent", "rag-2-0-1", "--policies", f"none,{tmp_path / 'odd.txt'}", *small)
    ended = succeeded(inside(*search))
    summary = strict_json(tmp_path / "t/tune.json")
    assert [trial["policy"] for trial in summary["trials"]] == [None, str(tmp_path / "odd.txt")]
    assert "rag-2-0-1, policy none" in ended.out and "rag-2-0-1, policy odd.txt" in ended.out
    (tmp_path / "odd.txt").write_text("Meat and $query", encoding="utf-8")
    assert "policy[1] is " in sentence(inside(*search), 2)


def test_the_agent_as_named_is_tried_where_it_is_none_of_the_choices(tmp_path: Path) -> None:
    """So that the best is never one that it was not set against."""
    small = ("--data", "bank:mini?users=2&periods=2&questions=3", "--out", tmp_path / "t", "--training", "1")
    ended = succeeded(inside("tune", "--agent", "awi-2-0", "--rooms", "1,2", "--trials", "2", *small))
    summary = strict_json(tmp_path / "t/tune.json")
    assert summary["trials"][0]["room"] is None
    assert len(summary["trials"]) == 2 and summary["configurations"] == 3
    assert "awi-2-0-30, room none" in ended.out


FORGETS = """
import amemgym

class Forgets(amemgym.Memory):
    async def write(self, messages, now):
        raise ValueError("full")

    async def read(self, query, now, k):
        return []
"""


def test_what_did_not_finish_is_told_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "forgets.py").write_text(FORGETS, encoding="utf-8")
    small = ("--data", "bank:mini?users=2&periods=2&questions=2", "--out", tmp_path / "t")
    said = sentence(inside("tune", "--agent", "forgets.py:Forgets-2-0-1", "--topk", "1,2", *small), 1)
    assert "agent 'Forgets-2-0-1', user 0, period 0: " in said and "full" in said
    assert "Finished work is kept; continue with: the same command again" in said
    assert not (tmp_path / "t/tune.json").exists()
