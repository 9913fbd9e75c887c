"""A run directory holds one run, by fingerprint: the same settings continue it, others are refused with the difference
and change nothing, and one process at a time writes there. What is finished is scored again without a network, from the
results or from the journal alone, to the same bytes; what is damaged is named, and resume mends it."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import AGENTS, Endpoint, Whole
from tests.cli.data import users, write
from tests.cli.helpers import (
    against,
    answer,
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
    said = sentence(warm("run", "--data", data, "--agents", AGENTS, "--out", directory), 2)
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
            *(f"journal/{agent}-#/{user}-t0.jsonl.gz" for agent in players for user in names),
            *(f"journal/upper-bound/offline-#/{user}.jsonl.gz" for user in names),
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
