"""`amemgym generate` against a model that fails, and stopped anyhow: faults are repaired or told, never at the cost
of a finished user, and started again it writes the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.cli.generating import Made, asked, users
from tests.cli.helpers import (
    PATIENCE,
    ColdProcess,
    at_once,
    contents,
    inside,
    sentence,
    strict_json,
    succeeded,
)
from tests.cli.warm import WarmProcess, die_at_write, warm
from tests.support.generator import Spoiled, edited, served
from tests.support.generator import said as told
from tests.support.mock_openai import Request, Response, error, sequence

# --- a model that fails ---


def only(name: str, stage: str, spoil: Any) -> Spoiled:
    return Spoiled(stage, spoil, times=None, where=f"name: {name}\n")


def tells_too_much(reply: Any, request: str) -> None:
    names = sorted({f"side_{n}_0" for n in range(3)})
    reply["utterance"] = " ".join(told(name, "slow_way") for name in names)


FAILS: dict[str, tuple[str, Any, str]] = {
    "prose": ("questions", lambda reply, _: "Sure, gladly!", "questions (questions/0): the reply is no whole JSON"),
    "half an object": ("state", lambda reply, _: reply[:20], "initial state (state): the reply is no whole JSON"),
    "an unknown variable": ("updates", edited(lambda r, _: r["updates"].update(x="y")), "'x' is no variable"),
    "too few changes": ("updates", edited(lambda r, _: {**r, "updates": {}}), "0 variables change"),
    "tells too much": ("utterance", edited(tells_too_much), "gives away that"),
    "tells too little": ("utterance", edited(lambda r, _: {"utterance": "Hm?"}), "does not let one know"),
    "a change unexplained": ("events", edited(lambda r, _: {"events": []}), "no event explains"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_user_whose_stage_fails_is_told_and_the_others_are_written(name: str, made: Made, tmp_path: Path) -> None:
    stage, spoil, fault = FAILS[name]
    out = tmp_path / "data.json"
    made.server.responder = served(only("Bob", stage, spoil))
    ended = inside(*made.command, "--repairs", "3", "--out", out)
    line = sentence(ended, 1)
    assert f"2 of 3 users are finished, {out} has the finished ones; not finished: user " in line
    assert "(Bob)" in line and fault in line and "the same command again" in line
    assert sorted(users(out)) == ["Ada", "Cleo"] and f"written to {out}: 2 users, 6 questions" in ended.out
    succeeded(inside("validate", out))

    # fails once more: told again, after asking again
    arrived, kept = made.server.arrived, contents(tmp_path / "data.json.work" / "users")
    assert fault in sentence(inside(*made.command, "--out", out), 1)
    assert made.server.arrived > arrived

    # the model is mended: only the failing stage, and what comes after it, is asked for
    made.server.responder, arrived = served(), made.server.arrived
    succeeded(inside(*made.command, "--out", out))
    assert out.read_bytes() == made.bytes
    now = made.since(arrived)
    assert now.total() > 0 and now <= asked(made.requests)
    assert all("name: Ada" not in request and "name: Cleo" not in request for request in now)
    assert kept.items() <= contents(tmp_path / "data.json.work" / "users").items()


def test_answers_that_are_the_same_fail_their_user(made: Made, tmp_path: Path) -> None:
    """The request of answers does not say who asks, so all users' do."""
    spoil = edited(lambda r, _: {"answers": r["answers"][:1] * len(r["answers"])})
    made.server.responder = served(Spoiled("answers", spoil, times=None))
    line = sentence(inside(*made.command, "--repairs", "0", "--out", tmp_path / "data.json"), 1)
    assert "0 of 3 users are finished" in line and "is not written" in line and "answers are the same" in line
    assert not (tmp_path / "data.json").exists()


def test_what_is_repaired_leaves_no_trace_but_in_the_bill(made: Made, tmp_path: Path) -> None:
    made.server.responder = served(Spoiled("utterance", lambda reply, _: "Well …", times=2))
    ended = succeeded(inside(*made.command, "--out", tmp_path / "data.json"))
    assert (tmp_path / "data.json").read_bytes() == made.bytes
    assert f"used: {len([r for r in made.requests if r.is_chat]) + 2} calls" in ended.out


def test_a_wrong_key_stops_at_once_with_one_sentence_and_keeps_what_was_made(made: Made, tmp_path: Path) -> None:
    out, respond = tmp_path / "data.json", served()
    half = len(made.requests) // 2
    arrived = made.server.arrived

    def revoked(request: Request) -> Response | None:
        return respond(request) if request.order < arrived + half else error(401, "Invalid key.")

    made.server.responder = revoked
    line = sentence(inside(*made.command, "--out", out), 1)
    assert "Invalid key" in line and "is kept in" in line and "the same command again goes on" in line
    assert not out.exists()
    made.server.responder, arrived = respond, made.server.arrived
    succeeded(inside(*made.command, "--out", out))
    assert out.read_bytes() == made.bytes
    assert made.since(arrived).total() <= len(made.requests) - half


def test_an_endpoint_that_goes_away_stops_as_an_outage(made: Made, tmp_path: Path) -> None:
    made.server.responder = sequence(then=error(503, "Down."))
    line = sentence(inside(*made.command, "--attempts", "1", "--out", tmp_path / "data.json"), 1)
    assert "Down" in line and "is kept in" in line


# --- stopped and started again ---


def stopped(process: ColdProcess | WarmProcess, number: int) -> int | None:
    if process.poll() is not None:
        return None
    os.killpg(process.pid, number)
    return process.end().code


def wait_for(process: Any, condition: Any) -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_killed_and_started_again_it_writes_the_same_bytes(made: Made, tmp_path: Path) -> None:
    """The console script once, then processes that have all loaded."""
    chance, landed, out = random.Random(5), 0, tmp_path / "data.json"
    whole = len(made.requests)
    kinds: list[type[ColdProcess | WarmProcess]] = [ColdProcess, WarmProcess, WarmProcess]
    for kind, part in zip(kinds, (0.1, 0.4, 0.75), strict=True):
        made.server.delay = 0.02
        arrived, goal = made.server.arrived, max(1, round(whole * part * chance.uniform(0.5, 1) / 2))
        process = kind(*made.command, "--out", out)
        wait_for(process, lambda a=arrived, g=goal: made.server.arrived - a >= g)
        landed += stopped(process, signal.SIGKILL) == -signal.SIGKILL
        for path in (tmp_path / "data.json.work").rglob("*.json"):
            strict_json(path)
        assert not out.exists()
    assert landed == 3
    made.server.delay, arrived = 0.0, made.server.arrived
    succeeded(inside(*made.command, "--out", out))
    assert out.read_bytes() == made.bytes
    assert 0 < made.since(arrived).total() < whole


def test_killed_in_the_middle_of_a_write_it_goes_on(made: Made, tmp_path: Path) -> None:
    """Of the manifest, of a user, and of the data set itself."""

    def kill(number: int) -> int:
        out = tmp_path / f"{number}.json"
        return warm(*made.command, "--out", out, before=partial(die_at_write, number)).code

    numbers = (0, 2, 4)
    assert at_once(kill, numbers) == [-signal.SIGKILL] * 3
    for number in numbers:
        out = tmp_path / f"{number}.json"
        assert not out.exists() and len(contents(tmp_path / f"{number}.json.work" / "users")) >= number - 1
        succeeded(inside(*made.command, "--out", out))
        assert out.read_bytes() == made.bytes


def test_an_interrupt_says_how_to_go_on(made: Made, tmp_path: Path) -> None:
    made.server.delay = 0.05
    arrived = made.server.arrived
    process = WarmProcess(*made.command, "--out", tmp_path / "data.json")
    wait_for(process, lambda: made.server.arrived - arrived >= 10)
    os.killpg(process.pid, signal.SIGINT)
    line = sentence(process.end(), 130)
    assert "interrupted" in line and "data.json.work" in line and "the same command again goes on" in line
    made.server.delay = 0.0
    succeeded(inside(*made.command, "--out", tmp_path / "data.json"))
    assert (tmp_path / "data.json").read_bytes() == made.bytes


def test_an_interrupt_while_the_bank_is_at_work_promises_nothing_that_is_not_kept(tmp_path: Path) -> None:
    process = WarmProcess("generate", "--source", "bank:base?users=100000", "--out", tmp_path / "data.json")
    wait_for(process, lambda: list(tmp_path.glob(".data.json.*.tmp")))
    os.killpg(process.pid, signal.SIGINT)
    line = sentence(process.end(), 130)
    assert "interrupted. Nothing is written" in line and "data.json.work" not in line
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_are_refused(made: Made, tmp_path: Path) -> None:
    made.server.delay = 0.1
    arrived = made.server.arrived
    process = WarmProcess(*made.command, "--out", tmp_path / "data.json")
    wait_for(process, lambda: made.server.arrived > arrived)
    assert "is in use by another process" in sentence(inside(*made.command, "--out", tmp_path / "data.json"), 2)
    made.server.delay = 0.0
    succeeded(process.end())
    assert (tmp_path / "data.json").read_bytes() == made.bytes


OTHER = {
    "--seed": ("1", "seed is 0 there, 1 here"),
    "--repairs": ("2", "repairs is 3 there, 2 here"),
    "--temperature": ("0.2", "model.temperature is 0.7 there, 0.2 here"),
    "--judge-model": ("openai:strict", "judge.model is openai:mock-model there, openai:strict here"),
    "--users": ("2", "users is 3 there, 2 here"),
    "--personas": ("bank", "the people are others"),
}


@pytest.mark.parametrize("flag", OTHER)
def test_other_settings_in_the_same_place_are_refused_and_harm_nothing(flag: str, made: Made) -> None:
    value, difference = OTHER[flag]
    before = contents(made.out.parent)
    line = sentence(inside(*made.command, flag, value, "--out", made.out), 2)
    assert difference in line and "--out" in line
    assert contents(made.out.parent) == before


def test_a_file_that_something_else_wrote_is_left_alone(made: Made, tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("mine")
    arrived = made.server.arrived
    for command in (made.command, ["generate", "--source", "bank:mini"]):
        line = sentence(inside(*command, "--out", tmp_path / "data.json"), 2)
        assert "is there already" in line and "--out" in line
    assert (tmp_path / "data.json").read_text() == "mine" and made.server.arrived == arrived


def test_a_damaged_user_is_named_with_its_way_out(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "data.json"
    shutil.copytree(f"{made.out}.work", f"{out}.work")
    shutil.copyfile(made.out, out)
    [path, *_] = sorted((tmp_path / "data.json.work" / "users").iterdir())
    path.write_text("{")
    line = sentence(inside(*made.command, "--out", out), 2)
    assert str(path) in line and "delete it and run the same command again" in line
    path.unlink()
    succeeded(inside(*made.command, "--out", out))
    assert out.read_bytes() == made.bytes
