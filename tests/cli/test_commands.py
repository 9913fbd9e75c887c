"""Each command, as a real process, does what it says: exit code 0, its files, its words; and scores.json is strict JSON
with the documented fields, the same bytes however the run came about."""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from amemgym.evaluate import RunSpec
from tests.cli.conftest import AGENTS, Whole
from tests.cli.data import EXAMS, QUESTIONS, STATES, USERS, users, write
from tests.cli.helpers import (
    COMMAND,
    ColdProcess,
    amemgym,
    contents,
    environment,
    inside,
    scores,
    strict_json,
    succeeded,
    untouched,
)
from tests.cli.warm import warm

COMMANDS = ("run", "resume", "score", "validate", "list")
#: those that talk with a model
PLAYING = ("native", "awe")


def check_scores(value: Any, agents: list[str]) -> None:
    """The documented fields of scores.json, of the documented types."""
    assert set(value["data"]) >= {"name", "sha256", "users", "questions", "exams"}
    assert re.fullmatch("[0-9a-f]{64}", value["data"]["sha256"])
    assert isinstance(value["model"], str)
    assert is_share(value["random"]) and is_share(value["upper_bound"])
    assert list(value["agents"]) == agents
    for agent in value["agents"].values():
        assert is_share(agent["overall"])
        assert is_count(agent["n"]) and is_count(agent["invalid"]) and is_count(agent["calls"])
        assert is_count(agent["tokens"]["input"]) and is_count(agent["tokens"]["output"])
        assert all(is_share(value) for value in agent["by_period"] + agent["by_position"])
        score = agent["memory_score"]
        for name in ("ratio_of_means", "mean_of_ratios"):
            assert score[name] is None or type(score[name]) is float
        undefined = None in (score["ratio_of_means"], score["mean_of_ratios"])
        assert bool(score["why_undefined"]) is undefined


def is_share(value: Any) -> bool:
    return value is None or (type(value) is float and 0 <= value <= 1)


def is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def test_help_and_list_as_processes() -> None:
    bare, agents = succeeded(amemgym()).out, succeeded(warm("list", "agents")).out
    assert all(re.search(rf"(?m)^\W*{command}\b", bare) for command in COMMANDS)
    assert re.search(r"(?m)^native +\w", agents)


def test_version_and_every_setting_as_a_flag() -> None:
    assert re.fullmatch(r"amemgym \d+\.\d+\.\d+\S*\n", succeeded(inside("--version")).out)
    run = succeeded(inside("run", "--help")).out
    flags = {f"--{name.replace('_', '-')}" for name in RunSpec.model_fields}
    # what a file of settings alone can say
    flags -= {"--user-temperature", "--user-max-tokens"}
    assert {flag for flag in flags if not re.search(rf"{flag}\b", run)} == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    out = succeeded(inside(command, "--help")).out
    assert re.match(rf"\s*Usage: .*\b{command} \[OPTIONS\]", out)
    assert len(out.splitlines()) > 6


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("agents", "native rag awe awi uniform frozen oracle lag-L always-k"),
        ("memories", "none vector extract in-context"),
        ("models", "offline openai:<name>"),
        ("data", "starter v1.base"),
    ],
)
def test_list(kind: str, names: str) -> None:
    rows = dict(re.findall(r"(?m)^(\S+) +(\S.*)$", succeeded(inside("list", kind)).out))
    assert set(names.split()) <= set(rows)


def test_validate_as_a_process(whole: Whole, tmp_path: Path) -> None:
    broken = users()
    broken[0]["periods"][1]["state"]["home_town"] = "nowhere"
    del broken[1]["qas"][2]["query"]
    faulty = write(tmp_path / "faulty.json", broken)
    good, bad = succeeded(inside("validate", whole.data)), amemgym("validate", faulty)
    sha256 = hashlib.sha256(whole.data.read_bytes()).hexdigest()
    assert f"{USERS} users, {USERS * QUESTIONS} questions, sha256 {sha256}" in good.out
    assert (bad.code, bad.err) == (2, "")
    assert re.search(r"(?m)^error: user 0 \(Ann-1\), period 1\b.*'home_town'.*'nowhere'", bad.out)
    assert re.search(r"(?m)^error: user 1 \(Ben-1\), question 2\b.*'query' is missing", bad.out)
    assert re.search(rf"(?m)^{re.escape(str(faulty))}: \d+ errors, .*cannot be run", bad.out)
    assert not list(tmp_path.glob("runs")), "validate writes nothing"


def test_validate_the_starter_data() -> None:
    assert "can be run" in succeeded(inside("validate", "starter")).out


def test_run_writes_strict_scores_and_prints_a_table(whole: Whole) -> None:
    value = strict_json(whole.directory / "scores.json")
    check_scores(value, AGENTS.split(","))
    sha256 = hashlib.sha256(whole.data.read_bytes()).hexdigest()
    size = {"users": USERS, "questions": USERS * QUESTIONS, "exams": EXAMS}
    assert value["data"] == {"name": "small", "sha256": sha256} | size
    assert value["model"] == "offline"
    for name, agent in value["agents"].items():
        assert agent["n"] == EXAMS
        assert len(agent["by_period"]) == len(STATES)
        assert len(agent["by_position"]) == 6
        costs = (agent["calls"], agent["tokens"]["input"], agent["tokens"]["output"])
        assert all(cost > 0 for cost in costs) if name in PLAYING else costs == (0, 0, 0)
    assert value["agents"]["oracle"]["overall"] == 1.0
    assert value["random"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 6) / 3)
    out = whole.printed.out
    for name, agent in value["agents"].items():
        assert re.search(rf"(?m)^{name} +{agent['overall']:.3f}\b", out)
    assert "stand-in" in out, "scores of the offline model are never shown without saying what it is"
    assert f"written to {whole.directory}" in out


def test_scores_without_an_upper_bound_say_why(whole: Whole, tmp_path: Path) -> None:
    succeeded(inside("run", "--data", whole.data, "--agents", "uniform", "--no-upper-bound", "--out", tmp_path / "r"))
    value = strict_json(tmp_path / "r/scores.json")
    check_scores(value, ["uniform"])
    assert value["upper_bound"] is None
    assert value["agents"]["uniform"]["memory_score"]["ratio_of_means"] is None


def test_the_same_run_again_continues_and_calls_nothing(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    before, kept = contents(directory), untouched(directory)
    again = warm(*whole.arguments, "--out", directory)
    resumed = warm("resume", directory, "--concurrency", "1", "--timeout", "5", "--attempts", "1")
    assert contents(directory) == before
    for name in ("scores.json", "report.html"):
        del kept[str(directory / name)]
    assert untouched(directory) | kept == untouched(directory), "what is finished is not written anew"
    for ended in (again, resumed):
        assert succeeded(ended).out.replace(str(directory), str(whole.directory)) == whole.printed.out


def test_neither_concurrency_nor_the_place_changes_the_scores(whole: Whole, tmp_path: Path) -> None:
    for concurrency in (1, 3):
        out = tmp_path / f"run {concurrency} ü"
        succeeded(inside(*whole.arguments, "--concurrency", str(concurrency), "--out", out))
        assert scores(out) == scores(whole.directory)


def test_score_needs_neither_the_data_nor_a_model(whole: Whole, tmp_path: Path) -> None:
    data = tmp_path / "moved.json"
    data.write_bytes(whole.data.read_bytes())
    succeeded(inside("run", "--data", data, "--agents", AGENTS, "--out", "run"))
    expected = scores(tmp_path / "run")
    data.unlink()
    (tmp_path / "run/scores.json").unlink()
    ended = succeeded(amemgym("score", "run", cwd=tmp_path))
    assert scores(tmp_path / "run") == expected
    assert "written to run" in ended.out


def test_score_of_a_part_says_so_and_resume_mends_it(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    next((directory / "episodes").glob("native-*/*.json")).unlink()
    ended = succeeded(inside("score", directory))
    assert re.search(r"native: only 1 of 2 episodes are finished", ended.out)
    value = strict_json(directory / "scores.json")
    check_scores(value, AGENTS.split(","))
    assert [value["agents"][name]["n"] for name in PLAYING] == [EXAMS // 2, EXAMS]
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(whole.directory)


def test_the_default_directory_is_the_settings_own(whole: Whole, tmp_path: Path) -> None:
    arguments = ["run", "--data", whole.data, "--agents", "oracle", "--no-upper-bound"]
    printed = [succeeded(inside(*arguments, *more)).out for more in ([], [], ["--seed", "1"])]
    places = [re.findall(r"written to (\S+)", out)[0] for out in printed]
    assert places[0] == places[1] != places[2]
    assert sorted(map(str, Path("runs").iterdir())) == sorted({places[0], places[2]})


def test_a_file_of_settings_gives_the_same_run_and_flags_win(whole: Whole, tmp_path: Path) -> None:
    for suffix, text in (
        ("yaml", f"data: {whole.data}\nagents: [{AGENTS}]\nseed: 7\n"),
        ("toml", f'data = "{whole.data}"\nagents = "{AGENTS}"\nseed = 7\n'),
        ("json", f'{{"data": "{whole.data}", "agents": "{AGENTS}", "seed": 7}}'),
    ):
        config = tmp_path / f"settings.{suffix}"
        config.write_text(text)
        out = tmp_path / suffix
        succeeded(inside("run", "--config", config, "--seed", "0", "--out", out))
        assert scores(out) == scores(whole.directory)


def test_a_run_is_resumed_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, agents' files and all else that was named beside the first folder is found again."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    write(here / "mine.json", users())
    memory = (
        "from amemgym import Memory\n\nclass Mine(Memory):\n    def write(self, messages, now): self.said = messages\n"
    )
    memory += "    def read(self, query, now, k): return []\n"
    (here / "mine.py").write_text(memory)
    arguments = ["run", "--data", "mine.json", "--agents", "mine.py:Mine,oracle", "--out", "run"]
    monkeypatch.chdir(here)
    succeeded(inside(*arguments))
    expected = scores(here / "run")
    check_scores(strict_json(here / "run/scores.json"), ["Mine", "oracle"])
    for path in here.glob("run/episodes/*/*.json"):
        path.unlink()
    (here / "run/scores.json").unlink()
    monkeypatch.chdir(there)
    succeeded(warm("resume", "../here/run"))
    assert scores(here / "run") == expected


def test_trials_are_told_apart(whole: Whole, tmp_path: Path) -> None:
    succeeded(inside("run", "--data", whole.data, "--agents", "uniform", "--trials", "3", "--out", tmp_path / "r"))
    value = strict_json(tmp_path / "r/scores.json")
    check_scores(value, ["uniform"])
    assert value["agents"]["uniform"]["n"] == 3 * EXAMS
    assert len(list((tmp_path / "r/episodes").glob("*/*.json"))) == 3 * USERS


def test_a_reader_who_leaves_is_no_error() -> None:
    """`amemgym list agents | head -1`."""
    process = ColdProcess("list", "agents")
    process.leave()
    ended = process.end()
    assert (ended.code, ended.err) == (0, "")


def test_a_narrow_output_encoding_loses_signs_not_the_run(whole: Whole, tmp_path: Path) -> None:
    """`amemgym run > table.txt` on Windows writes cp1252, which has no bars for the curve."""
    done = subprocess.run(
        [COMMAND, "resume", whole.copy(tmp_path / "run")],
        env=environment(PYTHONIOENCODING="cp1252"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert re.search(rb"(?m)^oracle +1\.000", done.stdout)


def test_a_run_whose_model_cannot_be_called_leaves_nothing_behind(tmp_path: Path) -> None:
    """So that the same command with an address can use the same --out."""
    refused = inside("run", "--model", "openai:x", "--users", "1", "--agents", "native", "--out", tmp_path / "run")
    assert refused.code == 2 and "needs an endpoint" in refused.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("command", [["run", "--agents", "frozen"], ["card", "starter"], ["audit", "starter"]])
def test_a_home_folder_that_is_none(command: list[str]) -> None:
    ended = inside(*command, "--out", "~nobody-at-all/x.json")
    assert ended.code == 2 and "~nobody-at-all/x.json: there is no such home folder" in ended.err
