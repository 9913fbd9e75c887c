"""A run directory holds one run, by fingerprint: the same settings continue it, others are refused with the difference
and change nothing, and one process at a time writes there. What is finished is scored again without a network, from the
results or from the journal alone, to the same bytes; what is damaged is named, and resume mends it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amemgym.evaluate import RunDirectory
from tests.cli.conftest import AGENTS, Endpoint, Whole
from tests.cli.data import users, write
from tests.cli.helpers import (
    against,
    amemgym,
    answer,
    asked,
    at_once,
    contents,
    finished,
    inside,
    journaled,
    scores,
    sentence,
    succeeded,
    untouched,
)
from tests.cli.warm import WarmProcess, warm
from tests.support.mock_openai import MockOpenAI, Response

# --- whose directory it is ---


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (["--seed", "5"], r"\bseed is 0 there, 5 here"),
        (["--users", "1"], r"\bdata\.users is 2 there, 1 here"),
        (["--periods", "1"], r"\bdata\.periods is 2 there, 1 here"),
        (["--trials", "2"], r"\btrials is 1 there, 2 here"),
        (["--rounds-later", "3"], r"\bprotocol\.rounds_later is 2 there, 3 here"),
        (["--protocol", "v1"], r"\bprotocol\.name is amemgym there, v1 here"),
        (["--no-upper-bound"], r"\bupper_bound is true there, false here"),
        (["--agents", "native,rag"], rf"\bagents is {AGENTS} there, native,rag here"),
        (["--agents", AGENTS.replace("awe", "awe-1-2-3")], r"\bawe-1-2-3\b.* here"),
        (["--model", "openai:x", "--base-url", "http://localhost:1/v1"], r"\bmodel\.model is offline there, openai:x"),
    ],
)
def test_another_run_is_refused_with_the_difference(other: list[str], difference: str, whole: Whole) -> None:
    before, kept = contents(whole.directory), untouched(whole.directory)
    said = sentence(inside(*whole.arguments, *other, "--out", whole.directory), 2)
    assert re.search(difference, said)
    assert str(whole.directory) in said and "--out" in said
    assert (contents(whole.directory), untouched(whole.directory)) == (before, kept)


def test_other_data_is_refused_as_a_process(whole: Whole, tmp_path: Path) -> None:
    """The same name, but not the same file."""
    edited = users()
    edited[0]["qas"][0]["query"] += " And where?"
    (tmp_path / "here").mkdir()
    data = write(tmp_path / "here/small.json", edited)
    directory = whole.copy(tmp_path / "run")
    before = contents(directory)
    said = sentence(amemgym("run", "--data", data, "--agents", AGENTS, "--out", directory), 2)
    assert re.search(r"\bdata\.sha256 is \w+… there, \w+… here", said)
    assert contents(directory) == before
    # and a resume, which takes the data from its old place, does not go on with what is there now
    manifest = directory / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(whole.data), str(data)))
    before = contents(directory)
    assert "data.sha256" in sentence(inside("resume", directory), 2)
    assert contents(directory) == before


def test_an_edited_memory_is_another_run(small: Path, tmp_path: Path) -> None:
    """A class of one's own is compared by its source."""
    text = "from amemgym import Memory\n\nclass Own(Memory):\n    def write(self, messages, now): pass\n"
    text += "    def read(self, query, now, k): return []\n"
    first, second = tmp_path / "a" / "own.py", tmp_path / "b" / "own.py"
    for path, source in ((first, text), (second, text + "    # better\n")):
        path.parent.mkdir()
        path.write_text(source)
    succeeded(inside("run", "--data", small, "--agents", f"{first}:Own", "--out", "run"))
    said = sentence(inside("run", "--data", small, "--agents", f"{second}:Own", "--out", "run"), 2)
    assert "memory_source" in said


def test_a_folder_of_something_else_is_left_alone(whole: Whole, tmp_path: Path) -> None:
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.tex").write_text("To be written.")
    for command in (
        [*whole.arguments, "--out", folder],
        ["resume", folder],
        ["score", folder],
    ):
        assert str(folder) in sentence(inside(*command), 2)
        assert contents(folder) == {"chapter.tex": b"To be written."}


@pytest.mark.parametrize("command", ["resume", "score"])
def test_where_no_run_is(command: str, tmp_path: Path) -> None:
    missing, file, empty = tmp_path / "missing", tmp_path / "file", tmp_path / "empty"
    file.write_text("{}")
    empty.mkdir()
    for path, why in ((missing, "does not exist"), (file, "no run"), (empty, "no run")):
        said = sentence(inside(command, path), 2)
        assert str(path) in said and why in said
    assert not missing.exists() and not any(empty.iterdir())


def test_the_tree_is_as_documented(whole: Whole) -> None:
    """AGENT, USER and MODEL are readable, each with a short hash."""
    forms = [re.sub(r"-[0-9a-f]{8}\b", "-#", name) for name in contents(whole.directory)]
    players, names = [name for name in AGENTS.split(",") if name in ("native", "awe")], ("ann-1-#", "ben-1-#")
    assert sorted(forms) == sorted(
        [
            "data.json",
            "manifest.json",
            "report.html",
            "scores.json",
            *(f"episodes/{agent}-#/{user}-t0.json" for agent in AGENTS.split(",") for user in names),
            *(f"journal/{agent}-#/{user}-t0.jsonl" for agent in players for user in names),
            *(f"journal/upper-bound/offline-#/{user}.jsonl" for user in names),
            *(f"upper-bound/offline-#/{user}.json" for user in names),
        ]
    )


# --- one process at a time ---


def test_a_second_process_is_refused_and_a_dead_one_leaves_no_lock(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.server.responder = lambda request: Response(hang=True)
    arrived = endpoint.server.arrived
    directory = tmp_path / "run"
    # with a patience that outlasts this test: the first process holds the directory until it is killed
    first = WarmProcess(*endpoint.arguments, "--timeout", "100000", "--out", directory)
    try:
        endpoint.server.wait_until(lambda server: server.arrived > arrived, timeout=300)
        before = contents(directory)
        commands = [[*endpoint.arguments, "--out", directory], ["resume", directory]]
        for second in at_once(lambda command: warm(*command), commands):
            said = sentence(second, 2)
            assert "in use" in said and str(directory) in said
        assert contents(directory) == before
        assert first.poll() is None
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.end()
    endpoint.server.responder = answer
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)


# --- a finished run without a network ---


def test_a_finished_run_is_scored_again_with_the_network_cut(small: Path, tmp_path: Path) -> None:
    """Its server is closed, and there is no key."""
    directory = tmp_path / "run"
    with MockOpenAI(answer) as server:
        arguments = against(server, small, "--agents", AGENTS)
        assert inside(*arguments, "--out", directory).code == 0
    arrived, expected = server.arrived, scores(directory)
    assert arrived == sum(journaled(directory).values()) > 20
    # from the results; from the results by the run's own command; from the journal alone
    resume = ["resume", directory]
    for command, removed in (
        (resume, ["scores.json"]),
        ([*arguments, "--out", directory], ["scores.json"]),
        (resume, ["scores.json", "episodes", "upper-bound"]),
    ):
        for name in removed:
            path = directory / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        succeeded(warm(*command) if "episodes" in removed else inside(*command))
        assert scores(directory) == expected
        assert len(finished(directory)) == 10
    assert server.arrived == arrived


def test_a_moved_directory_is_the_same_run(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "elsewhere" / "run 2")
    for command in ("resume", "score"):
        (directory / "scores.json").unlink()
        succeeded(inside(command, directory))
        assert scores(directory) == scores(whole.directory)


# --- damage ---


def damaged(text: str) -> Callable[[Path], None]:
    return lambda path: (path.write_text(text), None)[1]


def without(*names: str) -> Callable[[Path], None]:
    """Take a field away."""

    def damage(path: Path) -> None:
        value = json.loads(path.read_text())
        inner = value
        for name in names[:-1]:
            inner = inner[name]
        del inner[names[-1]]
        path.write_text(json.dumps(value))

    return damage


def halved(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00 not UTF-8")


DAMAGES = {
    "empty": damaged(""),
    "halved": halved,
    "not text": not_text,
    "a list": damaged("[1]"),
    "null": damaged("null"),
    "an empty object": damaged("{}"),
}


@pytest.mark.parametrize(
    "damage",
    [
        *DAMAGES.values(),
        damaged('{"format": 99}'),
        damaged('{"format": 1}'),
        damaged('{"format": 1, "compared": {}, "settings": {}}'),
        without("fingerprint"),
        without("data"),
        without("compared", "agents"),
        without("settings", "agents"),
        without("compared", "trials"),
    ],
    ids=[
        *DAMAGES,
        "a later format",
        "format alone",
        "hollow",
        *("no fingerprint", "no data", "no agents", "no settings", "no trials"),
    ],
)
def test_a_damaged_manifest_is_named(damage: Callable[[Path], None], whole: Whole, tmp_path: Path) -> None:
    """Whatever a command can still do with it (a run and its resume need not read all of it), none ends in a traceback,
    and none makes other scores of it."""
    directory = whole.copy(tmp_path / "run")
    damage(directory / "manifest.json")
    before = contents(directory)
    refused = 0
    for command in (["resume", directory], ["score", directory], [*whole.arguments, "--out", directory]):
        ended = inside(*command)
        if ended.code != 0:
            assert str(directory) in sentence(ended, 2)
            refused += 1
        assert contents(directory) == before
    assert refused


@pytest.mark.parametrize(
    ("place", "damage"),
    [*(("episodes/native-*/ann*.json", damage) for damage in DAMAGES.values()), ("upper-bound/*/ben*.json", halved)],
    ids=[*DAMAGES, "an upper bound"],
)
def test_a_damaged_result_is_named_and_mended(
    place: str, damage: Callable[[Path], None], endpoint: Endpoint, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(endpoint.directory, tmp_path / "run"))
    path = next(directory.glob(place))
    damage(path)
    before = contents(directory)
    for command in (["resume", directory], ["score", directory]):
        said = sentence(inside(*command), 2)
        assert str(path) in said and "delete it" in said
        assert contents(directory) == before
    path.unlink()
    arrived = endpoint.server.arrived
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)
    assert endpoint.server.arrived == arrived, "the journal has it all"


def test_a_run_is_read_and_scored_once(whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = whole.copy(tmp_path / "run")
    (directory / "scores.json").unlink()
    reads: list[Path] = []
    read = RunDirectory._read
    monkeypatch.setattr(RunDirectory, "_read", lambda self, path: (reads.append(path), read(self, path))[1])
    succeeded(inside("score", directory))
    assert scores(directory) == scores(whole.directory)
    results = [path for path in reads if path.name != "manifest.json"]
    assert len(results) == len(set(results)) > len(AGENTS.split(","))


def changed(path: Path, *place: str | int, to: Any) -> None:
    """Give another value to what stands at a place of a JSON file."""
    value = json.loads(path.read_text())
    spot = value
    for key in place[:-1]:
        spot = spot[key]
    spot[place[-1]] = to
    path.write_text(json.dumps(value))


MANIFESTS: list[tuple[tuple[str | int, ...], Any]] = [
    (("data",), {}),
    (("compared", "trials"), "two"),
    (("compared", "agents", 0), {}),
    (("compared", "model"), {}),
    (("compared", "protocol", "first_score"), "best"),
    (("upper_bound",), {"run": None}),
]
EPISODES: list[tuple[tuple[str | int, ...], Any]] = [
    (("user_id",), "Zoe-1"),
    (("user",), 1),
    (("agent",), "oracle"),
    (("trial",), 1),
    (("conversation", 0), 3),
    (("conversation", 0, 0, 0), {"role": "user"}),
    (("exams", 0, "period"), 9),
    (("exams", 0, "question"), -1),
    (("exams", 0, "option"), 9),
    (("exams", 0, "gold"), 0),
    (("exams", 0, "order"), [0]),
    (("exams", 0, "variant"), []),
    (("exams", 0), None),
    (("exams", 0, "items"), [10**6]),
    (("probes", 0, "period"), 9),
    (("probes", 0, "question"), 9),
    (("probes", 0, "values"), []),
    (("ledger", "exam"), {}),
]


@pytest.mark.parametrize(("place", "value"), MANIFESTS, ids=str)
def test_a_manifest_of_another_shape_is_named(
    place: tuple[str | int, ...], value: Any, whole: Whole, tmp_path: Path
) -> None:
    directory = whole.copy(tmp_path / "run")
    changed(directory / "manifest.json", *place, to=value)
    for command in every_reader(directory, whole):
        assert f"{directory / 'manifest.json'} is damaged ({place[0]}" in sentence(inside(*command), 2)


@pytest.mark.parametrize(("place", "value"), EPISODES, ids=str)
def test_an_episode_of_another_shape_or_place_is_named(
    place: tuple[str | int, ...], value: Any, whole: Whole, tmp_path: Path
) -> None:
    directory = whole.copy(tmp_path / "run")
    path = next(directory.glob("episodes/native-*/ann*.json"))
    changed(path, *place, to=value)
    for command in every_reader(directory, whole):
        assert f"{path} is damaged (" in sentence(inside(*command), 2)


def test_an_upper_bound_of_another_shape_or_place_is_named(whole: Whole, tmp_path: Path) -> None:
    for number, (place, value) in enumerate(
        [(("user_id",), "Zoe-1"), (("model",), "big"), (("answers", 0, "order"), [7]), (("answers", 0, "question"), 9)]
    ):
        directory = whole.copy(tmp_path / str(number))
        path = next(directory.glob("upper-bound/*/ann*.json"))
        changed(path, *place, to=value)
        for command in (["score", directory], ["report", directory], ["resume", directory]):
            assert f"{path} is damaged (" in sentence(inside(*command), 2)


def every_reader(directory: Path, whole: Whole) -> list[list[str | Path]]:
    """The commands that read what is finished in a directory, native's conversations too."""
    off_policy: list[str | Path] = ["run", "--off-policy", directory, "--agents", "native", "--out", f"{directory}-off"]
    return [["score", directory], ["report", directory], ["compare", whole.directory, directory], off_policy]


@pytest.mark.parametrize("damage", [*DAMAGES.values(), damaged('{"at": 1}\n'), damaged('["at"]\n"x"\n')])
def test_a_damaged_journal_is_asked_anew(damage: Callable[[Path], None], endpoint: Endpoint, tmp_path: Path) -> None:
    """Only for what it has no more."""
    directory = Path(shutil.copytree(endpoint.directory, tmp_path / "run"))
    whole_journal = journaled(directory)
    shutil.rmtree(directory / "episodes")
    path = next(directory.glob("journal/awe-*/ben*.jsonl"))
    lines = path.read_bytes().splitlines(keepends=True)
    damage(path)
    kept = path.read_bytes().count(b"\n") if damage is halved else 0
    arrived = endpoint.server.arrived
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)
    assert endpoint.server.arrived - arrived == len(lines) - kept > 0
    assert journaled(directory) == whole_journal == asked(endpoint.requests)
