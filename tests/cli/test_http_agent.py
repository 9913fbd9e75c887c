"""An assistant behind an address by the command line: the shipped example in a process of its own, a run that is killed
and goes on, servers that refuse or are gone, recorded conversations; and nothing that is sent tells what is right."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest

from amemgym.scenario import load_dataset
from tests.cli.data import EXAMS, QUESTIONS, USERS
from tests.cli.helpers import PATIENCE, contents, finished, inside, scores, sentence, strict_json, succeeded
from tests.cli.warm import WarmProcess, warm
from tests.support.box import EXAMPLE, BoxServer, Call, Fault

KEY = "sk-box-Vh3_wY-pQ51Lm"


@pytest.fixture
def server() -> Iterator[BoxServer]:
    with BoxServer() as server:
        yield server


def run(server: BoxServer, data: Path | str, *more: str | Path) -> list[str | Path]:
    return ["run", "--data", data, "--agents", f"http:{server.url}", "--no-report", *more]


def test_the_example_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Examined beside another agent; once it has gone, its scores are made again from what is on disk."""
    with subprocess.Popen([sys.executable, EXAMPLE, "--port", "0"], stdout=subprocess.PIPE, text=True) as example:
        try:
            assert example.stdout is not None
            url = example.stdout.readline().removeprefix("listening on ").strip()
            agents, size = f"native,http:{url}", ["--users", "1", "--periods", "2"]
            ended = warm("run", "--agents", agents, "--data", "starter", *size, "--out", "run")
        finally:
            example.kill()
    assert (ended.code, re.findall(r"(?m)^amemgym: .*", ended.err)) == (0, [])
    name = url.replace("//", "")
    assert re.search(rf"(?m)^{name} +0\.\d+ ", ended.out)
    value, before = strict_json(tmp_path / "run/scores.json"), scores(tmp_path / "run")
    box = value["agents"][name]
    assert value["finished"] and (box["n"], box["invalid"], box["probes"]["unreadable"]) == (16, 0, 0)
    assert box["model"] == name and box["tokens"]["estimated"]
    assert box["calls"] == value["agents"]["native"]["calls"] > 16
    assert name in (tmp_path / "run/report.html").read_text(encoding="utf-8")
    for command in ("score", "resume"):
        Path("run/scores.json").unlink()
        succeeded(inside(command, "run", *(["--no-report"] if command == "resume" else [])))
        assert scores(tmp_path / "run") == before


#: where the process is killed: a turn in the middle, a question, an upper bound's question
MOMENTS: dict[str, Callable[[Call], bool]] = {
    "turn": lambda call: call.name == "act" and call.body["turn"] == 3,
    "question": lambda call: call.name == "answer" and "on Sunday?" in call.body["message"],
    "upper bound": lambda call: call.name == "answer" and not call.is_about_a_conversation,
}


@dataclass
class Unbroken:
    """A server, and an unbroken run of what it serves."""

    server: BoxServer
    data: Path
    scores: bytes
    calls: int


@pytest.fixture(scope="module")
def unbroken(small: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Unbroken]:
    directory = tmp_path_factory.mktemp("unbroken") / "run"
    with BoxServer() as server:
        succeeded(warm(*run(server, small, "--out", directory)))
        yield Unbroken(server, small, scores(directory), replies(directory))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_killed_goes_on(moment: str, unbroken: Unbroken, tmp_path: Path) -> None:
    reached, is_the_moment, server = threading.Event(), MOMENTS[moment], unbroken.server
    before = len(server.calls)

    def fault(call: Call) -> Fault | None:
        if is_the_moment(call) and call.order - before > 8:
            reached.set()
        return Fault(None) if reached.is_set() else None

    server.fault = fault
    process = WarmProcess(*run(server, unbroken.data, "--concurrency", "2", "--out", tmp_path / "run"))
    assert reached.wait(PATIENCE)
    os.killpg(process.pid, signal.SIGKILL)
    process.end()
    server.fault, before, kept = lambda call: None, len(server.calls), replies(tmp_path / "run")
    assert 0 < kept < unbroken.calls
    succeeded(inside("resume", "run", "--no-report"))
    assert scores(tmp_path / "run") == unbroken.scores
    made = [call for call in server.calls[before:] if call.name in ("act", "answer")]
    assert kept + len(made) == unbroken.calls, "what is in the journal is not asked again"


def replies(directory: Path) -> int:
    """How many of the assistant's replies there are in the journals."""
    journals = [data for name, data in contents(directory).items() if name.startswith("journal/")]
    return sum(line.endswith(b"\n") and b'"role": "user"' not in line for j in journals for line in j.splitlines(True))


# --- servers that refuse ---

#: what every call, from the first, is answered → what the sentence says
AT_FIRST: dict[str, tuple[Fault, str]] = {
    "401": (Fault(401), "says 401 to /reset.*AMEMGYM_AGENT_API_KEY"),
    "404": (Fault(404), "says 404 to /reset.*check the URL"),
    "500": (Fault(500, "oops"), "says 500 to /reset.*oops"),
    "a sign-in page": (Fault(body="<html>Sign in"), "answer to /reset is no JSON.*docs/http-agents.md"),
    "hangs": (Fault(None), "did not answer /reset within"),
}


@pytest.mark.parametrize("case", AT_FIRST)
def test_a_server_that_refuses_is_found_before_anything_is_played(
    case: str, server: BoxServer, small: Path, tmp_path: Path
) -> None:
    fault, words = AT_FIRST[case]
    server.fault = lambda call: fault
    patience = ["--timeout", "0.2"] if case == "hangs" else []
    said = sentence(inside(*run(server, small, "--out", "run", *patience)), 1)
    assert re.search(words, said) and server.url in said and "resume" not in said
    assert (list(tmp_path.iterdir()), len(server.calls)) == ([], 1)


def test_a_server_that_is_not_there(small: Path, tmp_path: Path) -> None:
    with BoxServer() as server:
        pass
    said = sentence(inside(*run(server, small, "--out", "run")), 1)
    assert re.search(rf"{server.url} cannot be reached .*check that it runs", said)
    assert not list(tmp_path.iterdir())


#: what the second user's turns are answered → what is said of it
MIDWAY: dict[str, tuple[Fault, str]] = {
    "500": (Fault(500, "oops"), "says 500 to /act.*oops"),
    "another shape": (Fault(body='{"text": "Hi"}'), "has no text 'reply'"),
}


@pytest.mark.parametrize("case", MIDWAY)
def test_one_episode_that_fails_leaves_the_others_alone(
    case: str, server: BoxServer, small: Path, tmp_path: Path
) -> None:
    fault, words = MIDWAY[case]
    server.fault = lambda call: fault if call.name == "act" and "(Ben)" in call.body["message"] else None
    said = sentence(inside(*run(server, small, "--concurrency", "1", "--attempts", "1", "--out", "run")), 1)
    assert re.search(rf"1 episode .*: agent '{server.name}', user 1: .*{words}.*amemgym resume run", said)
    assert len(finished(tmp_path / "run")) == USERS + 1
    server.fault = lambda call: None
    succeeded(inside("resume", "run", "--no-report"))
    assert strict_json(tmp_path / "run/scores.json")["agents"][server.name]["n"] == EXAMS


def test_a_key_that_expires_stops_the_run(server: BoxServer, small: Path, tmp_path: Path) -> None:
    server.fault = lambda call: Fault(401, "expired") if call.order > 12 else None
    said = sentence(inside(*run(server, small, "--out", "run")), 1)
    assert re.search("says 401 to .*expired.*AMEMGYM_AGENT_API_KEY.*Finished work is kept.*resume run", said)
    assert not (tmp_path / "run/scores.json").exists()


def test_addresses_that_cannot_be_used(server: BoxServer, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words: list[str | Path] = ["run", "--data", small, "--agents"]
    said = sentence(inside(*words, "http://me:hidden-word@localhost:9000"), 2)
    assert "localhost" in said and "AMEMGYM_AGENT_API_KEY" in said and "hidden-word" not in said
    assert "two agents are called" in sentence(inside(*words, f"{server.url},http:{server.url}"), 2)
    assert "--agents" in sentence(inside(*words, "native", "--model", server.url), 2)
    assert "nothing is asked there" in sentence(inside(*words, server.url, "--base-url", "http://localhost:1/v1"), 2)
    monkeypatch.setenv("AMEMGYM_AGENT_API_KEY", KEY)
    assert re.search(
        f"would be sent to {server.url} and https://other.example; .*unset",
        sentence(inside(*words, f"{server.url},{server.url}/two,https://other.example"), 2),
    )
    assert server.calls == []


# --- recorded conversations, and what is sent ---


def test_recorded_conversations_are_listened_to(server: BoxServer, small: Path, tmp_path: Path) -> None:
    succeeded(inside("run", "--data", small, "--agents", "native", "--no-report", "--out", "on"))
    succeeded(inside("run", "--off-policy", "on", "--agents", f"native,{server.url}", "--no-report", "--out", "off"))
    assert {call.name for call in server.calls} == {"reset", "listen", "answer"}
    value = strict_json(tmp_path / "off/scores.json")
    assert value["finished"] and value["agents"][server.name]["n"] == EXAMS
    spoken = strict_json(next((tmp_path / "on/episodes").glob("native-*/ann-1-*.json")))["conversation"]
    said = [message["content"] for period in spoken for session in period for message in session]
    ann = next(c.body["episode"] for c in server.named("listen") if "(Ann)" in str(c.body))
    heard = [c.body for c in server.named("listen") if c.body["episode"] == ann]
    assert [message["content"] for body in heard for message in body["messages"]] == said
    assert [body["turn"] for body in heard] == list(range(1, len(said) // 2 + 1))


def test_nothing_that_is_sent_tells_what_is_right(
    server: BoxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_AGENT_API_KEY", KEY)
    echo = Fault(body=json.dumps({"reply": f"Your key is {KEY}, is it not?"}), seen=True)
    server.fault = lambda call: echo if call.body.get("turn") == 1 else None
    succeeded(inside(*run(server, "starter", "--users", "2", "--periods", "2", "--out", "run")))
    dataset = load_dataset("starter").limited(2, 2)
    schemas = [scenario.state_schema for scenario in dataset]
    words = {word for schema in schemas for n, values in schema.items() for word in (n, *values) if "_" in word}
    found = re.compile("|".join(map(re.escape, sorted(words))))
    shapes = {
        "reset": {"episode"},
        "act": {"episode", "turn", "message", "time"},
        "answer": {"episode", "message", "time"},
    }
    told = 0
    today = datetime.now()
    for call in server.calls:
        assert set(call.body) == shapes[call.name]
        text = json.dumps(call.body | {"episode": ""}, ensure_ascii=False)
        assert str(today.year) not in text and f"{today:%m-%d %H}" not in text
        assert call.headers["authorization"] == f"Bearer {KEY}" and KEY not in text
        if "<value>" in text:  # a probe names possible values; never which is true, in an order drawn by seed
            told += bool(found.search(text))
        elif call.is_about_a_conversation:
            assert not found.search(text), text
        else:  # and the upper bound is told, in an episode where nothing was said
            assert call.name == "reset" or "This is true of me at present:" in text
    assert told == 2 * 2 * 8
    utterances = {s.query for scenario in dataset for p in scenario.periods for s in p.sessions}
    opened = [call.body["message"].partition("\n")[2] for call in server.named("act")]
    assert set(opened) >= utterances
    for name, data in contents(tmp_path).items():
        assert KEY.encode() not in data, name
    assert any(b"Your key is [key]" in data for data in contents(tmp_path).values())


def test_the_counts_are_those_of_the_data(server: BoxServer, small: Path, tmp_path: Path) -> None:
    """No question comes while the conversation goes on, and no turn before an exam has ended."""
    succeeded(inside(*run(server, small, "--no-upper-bound", "--out", "run")))
    for episode in {call.body["episode"] for call in server.calls if call.name == "act"}:
        order = "".join(call.name[:2] for call in server.calls if call.body["episode"] == episode)
        exam = "an" * QUESTIONS * 2
        assert order == f"reacac{exam}acac{exam}"
