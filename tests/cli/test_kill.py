"""A run that is killed at any moment and resumed ends with the scores of an unbroken run, byte for byte, and asks for
nothing that its journal has. Ctrl-C ends it with one sentence and exit code 130 and loses at most the calls in flight.

Moments are drawn from a seeded generator: half by the clock, between start-up and the unbroken run's end, and half by
how much has been written, so that they spread over the run also where the machine's speed changes. Only kills that hit
a living process count.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest

from tests.cli.conftest import Endpoint
from tests.cli.helpers import (
    PATIENCE,
    ColdProcess,
    Ended,
    asked,
    at_once,
    finished,
    inside,
    journaled,
    scores,
    sentence,
    strict_json,
    succeeded,
)
from tests.cli.warm import WarmProcess, die_at_write, warm

Process = ColdProcess | WarmProcess


def signalled(process: Process, number: int) -> Ended | None:
    """Send a signal to the process's whole group, and wait for its end. None where it had ended before."""
    if process.poll() is not None:
        return None
    os.killpg(process.pid, number)
    return process.end()


def wait_for(process: Process, condition: Callable[[], bool]) -> None:
    """Wait for the condition or the process's end, whichever comes first."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def written(directory: Path) -> int:
    """How many bytes of journals and results there are. A report, which is long and comes last, is not counted, so that
    moments do not gather where all is finished."""
    total = 0
    for folder, _, files in os.walk(directory):
        for name in files:
            if name == "report.html":
                continue
            try:
                total += os.stat(os.path.join(folder, name)).st_size  # noqa: PTH116, PTH118 - often, and quickly
            except FileNotFoundError:
                continue
    return total


def check_whole_or_absent(directory: Path) -> None:
    """What a kill left: each file but the journals is whole."""
    for path in directory.rglob("*.json"):
        strict_json(path)


# --- with the offline model ---

#: how many kills must land, in each of the chains that go on side by side; the first is of the console script
KILLS = (1, 4, 4, 4)
OFFLINE = ("--users", "1", "--periods", "2", "--agents", "rag,awe,oracle")


@dataclass(frozen=True)
class Pace:
    """When a run had started up and when it ended, in seconds."""

    start_up: float
    end: float


@dataclass
class Unbroken:
    """Unbroken runs, which have the same scores: with the console script, and in a process that had all loaded."""

    arguments: list[str | Path]
    scores: bytes
    size: int
    paces: dict[type[Process], Pace]


@pytest.fixture(scope="module")
def unbroken(starter: Path, tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    arguments: list[str | Path] = ["run", "--data", starter, *OFFLINE]
    warm("--version")
    found: list[Unbroken] = []
    for kind in (ColdProcess, WarmProcess):
        directory = tmp_path_factory.mktemp("unbroken") / "run"
        began = time.monotonic()
        process = kind(*arguments, "--out", directory)
        wait_for(process, lambda: written(directory) > 0)  # noqa: B023 - called before it changes
        start_up = time.monotonic() - began
        succeeded(process.end())
        pace = Pace(start_up, time.monotonic() - began)
        found.append(Unbroken(arguments, scores(directory), written(directory), {kind: pace}))
    assert found[0].scores == found[1].scores
    return replace(found[0], paces=found[0].paces | found[1].paces)


def kill_and_resume(kind: type[Process], seed: int, kills: int, unbroken: Unbroken, folder: Path) -> list[bool]:
    """Kill runs until so many kills have landed; each directory is resumed until it is finished. For each kill, whether
    it found the run begun and not finished."""
    chance, pace = random.Random(seed), unbroken.paces[kind]
    landed: list[bool] = []
    number, tries, last = 0, 0, pace.end

    def play() -> Process:
        """The run again: by its own command or, where there is something to resume, by that."""
        if (directory / "manifest.json").exists() and chance.random() < 0.5:
            return kind("resume", directory)
        return kind(*unbroken.arguments, "--out", directory)

    directory = folder / f"{seed}-{number}"
    while len(landed) < kills:
        tries += 1
        assert tries <= 10 * kills, f"only {len(landed)} of {tries} kills hit a living run"
        began, there, moment = time.monotonic(), written(directory), chance.random()
        process = play()
        if chance.random() < 0.5:
            at = began + pace.start_up + moment * (last - pace.start_up)
            wait_for(process, lambda at=at: time.monotonic() >= at)
        else:
            goal = there + moment * (unbroken.size - there)
            wait_for(process, lambda goal=goal, directory=directory: written(directory) > goal)
        killed = signalled(process, signal.SIGKILL)
        if killed is not None and killed.code == -signal.SIGKILL:
            landed.append(written(directory) > 0 and not (directory / "scores.json").exists())
            check_whole_or_absent(directory)
        else:
            succeeded(killed or process.end())
            last = min(last, time.monotonic() - began)
        if (directory / "scores.json").exists():
            assert scores(directory) == unbroken.scores
            number += 1
            directory = folder / f"{seed}-{number}"
    succeeded(play().end())
    assert scores(directory) == unbroken.scores
    return landed


def test_killed_at_random_moments(unbroken: Unbroken, tmp_path: Path) -> None:
    def chain(seed: int) -> list[bool]:
        kind = ColdProcess if seed == 0 else WarmProcess
        return kill_and_resume(kind, seed, KILLS[seed], unbroken, tmp_path)

    landed = [each for chain in at_once(chain, range(len(KILLS))) for each in chain]
    assert len(landed) == sum(KILLS) >= 13
    assert sum(landed) >= len(landed) // 2, "most kills hit a run that had begun and was not finished"


def test_killed_in_the_middle_of_each_write(small: Path, tmp_path: Path) -> None:
    """Of the manifest, the data, an episode, the scores and the report. The same command again goes on from each."""
    arguments = ["run", "--data", str(small), "--users", "1", "--agents", "oracle", "--no-upper-bound", "--out"]
    succeeded(inside(*arguments, "whole"))

    def kill(number: int) -> int:
        return warm(*arguments, str(number), before=partial(die_at_write, number)).code

    assert at_once(kill, range(6)) == [-signal.SIGKILL] * 5 + [0]
    for number in range(5):
        directory = tmp_path / str(number)
        assert (directory / "manifest.json").exists() is (number > 0)
        assert (directory / "scores.json").exists() is (number > 3)
        assert not (directory / "report.html").exists()
        succeeded(inside(*arguments, directory))
        assert scores(directory) == scores(tmp_path / "whole")


# --- with calls in flight ---

CONCURRENCY = 8


@dataclass
class Interrupted:
    """A run against the endpoint, ended by signals."""

    endpoint: Endpoint
    directory: Path

    def play_until(self, goal: int, number: int) -> Ended | None:
        """Play on, and send the signal when so many requests have arrived and some are unanswered. Checks that nothing
        was asked again that the journal had, and that no more was lost than was in flight."""
        server, before = self.endpoint.server, journaled(self.directory)
        arrived = server.arrived
        process = WarmProcess(*self.endpoint.arguments, "--concurrency", str(CONCURRENCY), "--out", self.directory)
        wait_for(process, lambda: server.arrived - arrived >= goal and server.in_flight > 0)
        ended = signalled(process, number)
        if ended is None:
            succeeded(process.end())
            return None
        server.wait_until(lambda server: server.in_flight == 0, timeout=PATIENCE)
        now_asked = asked(self.endpoint.since(arrived))
        assert now_asked <= asked(self.endpoint.requests) - before, "the journal's are not asked again"
        new = journaled(self.directory) - before
        assert before <= journaled(self.directory) and new <= now_asked
        assert (now_asked - new).total() <= CONCURRENCY, "only what was in flight is lost"
        check_whole_or_absent(self.directory)
        # where the signal came after all was written, it interrupted nothing
        return None if (self.directory / "scores.json").exists() else ended

    def finish(self) -> None:
        """Resume to the end, asking for exactly what is missing."""
        server, before, kept = self.endpoint.server, journaled(self.directory), finished(self.directory)
        arrived, server.delay = server.arrived, 0.0
        succeeded(inside("resume", self.directory))
        assert scores(self.directory) == scores(self.endpoint.directory)
        assert before + asked(self.endpoint.since(arrived)) == asked(self.endpoint.requests)
        assert journaled(self.directory) == asked(self.endpoint.requests)
        assert kept.items() <= finished(self.directory).items()


@pytest.mark.parametrize(("number", "signals"), [(signal.SIGKILL, 3), (signal.SIGINT, 2)], ids=["kill -9", "Ctrl-C"])
def test_interrupted_with_calls_in_flight(number: int, signals: int, endpoint: Endpoint, tmp_path: Path) -> None:
    chance = random.Random(number)
    landed = 0
    for attempt in range(10 * signals):
        if landed == signals:
            break
        endpoint.server.delay = 0.06
        run = Interrupted(endpoint, tmp_path / str(attempt))
        goals = [chance.randrange(1, len(endpoint.requests)) for _ in range(2)]
        # twice in one directory, the second time further on
        for goal in (min(goals), max(goals) - min(goals)):
            ended = run.play_until(goal, number) if landed < signals else None
            if ended is None:
                break
            if number == signal.SIGINT:
                assert "interrupted" in sentence(ended, 130)
                assert ended.out == ""
            landed += ended.code in (130, -number)
        run.finish()
    assert landed == signals


#: how often a signal is sent again that came too late, because this process was not let run in time
TRIES = 20


def test_ctrl_c_in_an_offline_run(unbroken: Unbroken, tmp_path: Path) -> None:
    for attempt in range(TRIES):
        directory = tmp_path / str(attempt)
        process = WarmProcess(*unbroken.arguments, "--out", directory)
        wait_for(process, lambda directory=directory: written(directory) > unbroken.size / 2)
        ended = signalled(process, signal.SIGINT)
        if ended is not None and not (directory / "scores.json").exists():
            break
    else:
        raise AssertionError("no signal came in time")
    said = sentence(ended, 130)
    assert "interrupted" in said and "kept" in said
    succeeded(warm("resume", directory))
    assert scores(directory) == unbroken.scores


def test_ctrl_c_before_anything_is_played(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the data is loaded or written: there is no work to be kept yet, and a sentence all the same."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("amemgym.evaluate.rundir.write_users", interrupt)
    assert "interrupted" in sentence(inside("run", "--data", small, "--agents", "oracle", "--out", "run"), 130)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not show what a process has loaded")
def test_ctrl_c_while_it_starts_up(unbroken: Unbroken, tmp_path: Path) -> None:
    """From the moment this package begins to load its own."""
    for attempt in range(TRIES):
        directory = tmp_path / str(attempt)
        process = ColdProcess(*unbroken.arguments, "--out", directory)
        maps = Path(f"/proc/{process.pid}/maps")
        wait_for(process, lambda maps=maps: b"pydantic_core" in maps.read_bytes())
        ended = signalled(process, signal.SIGINT)
        if ended is not None and not directory.exists():
            break
    else:
        raise AssertionError("no signal came in time")
    assert "interrupted" in sentence(ended, 130)
