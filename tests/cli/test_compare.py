"""The compare command: two runs as they were played, one of them off-policy; and runs that cannot be compared."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import amemgym
from amemgym.evaluate import RunDirectory
from tests.cli.conftest import Whole
from tests.cli.helpers import amemgym as process
from tests.cli.helpers import (
    contents,
    finished,
    inside,
    sentence,
    succeeded,
    untouched,
)
from tests.cli.warm import warm


@pytest.fixture(scope="module")
def off(whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agents of the whole run, given awe's conversations; and one more agent."""
    directory = tmp_path_factory.mktemp("off") / "run"
    arguments = ["--off-policy", whole.directory, "--off-policy-agent", "awe", "--agents", "native,awe,oracle,rag"]
    succeeded(warm("run", *arguments, "--out", directory))
    return directory


def forget(directory: Path, agent: str, *questions: int) -> None:
    """Make an agent's answers to these questions wrong."""
    for path in directory.glob(f"episodes/{agent}-*/*.json"):
        episode = json.loads(path.read_text(encoding="utf-8"))
        for exam in episode["exams"]:
            if exam["question"] in questions:
                exam |= {"option": exam["gold"] % len(exam["order"]) + 1, "correct": False}
        path.write_text(json.dumps(episode), encoding="utf-8")


def test_as_a_process(whole: Whole, off: Path, tmp_path: Path) -> None:
    before = untouched(whole.directory), untouched(off)
    ended = succeeded(process("compare", whole.directory, off, "--out", tmp_path / "c.html"))
    assert ended.out.splitlines()[-1] == str(tmp_path / "c.html")
    assert "OFF: offline, off-policy, conversations of awe" in ended.out
    assert "only in ON: uniform" in ended.out and "only in OFF: rag" in ended.out
    assert re.search(r"^native +1 → 1 ", ended.out, re.M) and re.search(r"^oracle +– ", ended.out, re.M)
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "offline, off-policy, conversations of awe" in page
    assert (untouched(whole.directory), untouched(off)) == before


def test_the_numbers_are_those_of_the_two_runs(whole: Whole, off: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(off, tmp_path / "off"))
    forget(changed, "native", 0, 1)
    comparison = amemgym.compare(whole.directory, changed)
    on_scores = json.loads((whole.directory / "scores.json").read_text(encoding="utf-8"))["agents"]
    off_scores = json.loads(json.dumps(amemgym.score(changed, write=False).scores))["agents"]
    for agent in comparison.agents:
        for side, scores in ((agent.on, on_scores), (agent.off, off_scores)):
            own = scores[agent.name]
            assert side.overall.value == pytest.approx(own["overall"])
            assert list(side.overall.interval or ()) == pytest.approx(own["interval"])
            assert side.score.value == pytest.approx(own["memory_score"]["ratio_of_means"])
        own, other = on_scores[agent.name], off_scores[agent.name]
        assert agent.overall.value == pytest.approx(other["overall"] - own["overall"])
    native = next(agent for agent in comparison.agents if agent.name == "native")
    assert native.overall.value is not None and native.overall.value < -0.3
    assert (native.on.rank, native.off.rank) == (1, 2)
    assert comparison.off.off_policy == "awe"


@pytest.mark.parametrize("format", ["html", "svg", "png"])
def test_each_format_in_its_place(format: str, whole: Whole, off: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(off, tmp_path / "off"))
    ended = succeeded(inside("compare", whole.directory, copy, "--format", format))
    assert ended.out.splitlines()[-1] == str(copy / f"comparison.{format}")
    assert set(contents(copy)) - set(contents(off)) == {f"comparison.{format}"}


def test_an_unfinished_run_is_compared_and_marked(whole: Whole, off: Path, tmp_path: Path) -> None:
    part = whole.copy(tmp_path / "on")
    (part / next(name for name in finished(part) if name.startswith("episodes/awe"))).unlink()
    ended = succeeded(inside("compare", part, off, "--out", tmp_path / "c.html"))
    flat = " ".join(ended.out.split())
    assert "unfinished: awe has 1 of 2 episodes in ON; the numbers are over what both have" in flat
    assert "unfinished: awe has 1 of 2 episodes in ON" in (tmp_path / "c.html").read_text(encoding="utf-8")


def test_runs_that_are_not_of_the_same_exams(whole: Whole, small: Path, tmp_path: Path) -> None:
    sha = RunDirectory(whole.directory).manifest()["data"]["sha256"]
    run = ["run", "--agents", "oracle", "--no-upper-bound", "--no-probe"]
    other = tmp_path / "other.json"
    other.write_bytes(small.read_bytes() + b"\n")
    for name, words in (
        ("data", ["--data", other]),
        ("users", ["--data", small, "--users", "1"]),
        ("seed", ["--data", small, "--seed", "4"]),
        ("v1", ["--data", small, "--protocol", "v1"]),
        ("alone", ["--data", small, "--agents", "lag-1"]),
    ):
        succeeded(inside(*run, *words, "--out", name))
    said = sentence(inside("compare", whole.directory, "data"), 2)
    theirs = RunDirectory(Path("data")).manifest()["data"]["sha256"]
    assert said.startswith("mixed data: ") and f"(sha256 {sha})" in said and f"(sha256 {theirs})" in said
    assert sha != theirs
    said = sentence(inside("compare", whole.directory, "users"), 2)
    assert "ON plays 2 users" in said and "OFF plays 1 users" in said and said.count(sha) == 2
    assert "ON has seed 0, OFF has seed 4" in sentence(inside("compare", whole.directory, "seed"), 2)
    assert "by amemgym (version 1), OFF by v1 (version 1)" in sentence(inside("compare", whole.directory, "v1"), 2)
    assert "no agent is in both runs" in sentence(inside("compare", whole.directory, "alone"), 2)
    assert not list(tmp_path.rglob("comparison.*"))


def test_what_is_no_run_or_no_format(whole: Whole, off: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "nowhere does not exist" in sentence(inside("compare", whole.directory, "nowhere"), 2)
    assert "empty holds no run" in sentence(inside("compare", "empty", off), 2)
    said = sentence(inside("compare", whole.directory, off, "--format", "pdf"), 2)
    assert said == "unknown format 'pdf'. Known: html, png, svg."
    said = sentence(inside("compare", whole.directory, off, "--out", "c.svg"), 2)
    assert said == "--out c.svg ends in .svg, but the format is html; add --format svg"
    old = whole.copy(tmp_path / "old")
    manifest = (old / "manifest.json").read_text(encoding="utf-8")
    (old / "manifest.json").write_text(manifest.replace('"format": 2', '"format": 1'), encoding="utf-8")
    assert "has format 1" in sentence(inside("compare", old, off), 2)


def test_a_place_that_cannot_be_written_to(whole: Whole, off: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = sentence(inside("compare", whole.directory, off, "--out", "file/c.html"), 1)
    assert "file/c.html" in said and "--out" in said
    assert contents(tmp_path) == {"file": b"mine"}
