"""What stops a run or one episode of it before its end, and that going on gives the scores of a run that never stopped.

A budget that is spent and an endpoint that is down stop the whole run, and no episode is said to have failed by it. An
episode that takes too long fails alone, also where it hangs in a thread that nothing can end.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import Item, Memory, Message
from amemgym.errors import BudgetSpent, EndpointDown, EndpointUnavailable, RunFailed, UsageError
from amemgym.evaluate import FailedEpisodes
from amemgym.evaluate.deadline import within
from amemgym.llm import Completion, Request, Stopwatch
from amemgym.memory import calls
from amemgym.tasks import Reply
from tests.support.clock import FakeClock
from tests.support.journals import journals_of
from tests.support.models import Scripted, sensible

SMALL = {"users": 2, "periods": 2, "max_tokens": 64}


def every_model(monkeypatch: pytest.MonkeyPatch, answer: Callable[[Request], str]) -> Scripted:
    """Every model of a run is this one."""
    provider = Scripted(answer)
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: provider)
    return provider


def tokens_in(directory: Path) -> int:
    """Of every reply that is in a journal of the run."""
    found = 0
    for journal in journals_of(directory).values():
        lines = [json.loads(line) for line in journal.splitlines()]
        found += sum(line.get("input", 0) + line.get("output", 0) for line in lines)
    return found


# ---- a budget


@dataclass(frozen=True)
class Whole:
    """A run that never stopped: its scores as text, the calls it made and the tokens they took."""

    scores: str
    calls: int
    tokens: int


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    out = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        provider = every_model(patch, sensible)
        report = amemgym.run("starter", "native", out=out / "r", **SMALL)
    return Whole(json.dumps(report.scores), len(provider.requests), tokens_in(out / "r"))


def test_a_run_in_several_goes_has_the_scores_of_one(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, budget = every_model(monkeypatch, sensible), whole.tokens // 3
    with pytest.raises(BudgetSpent, match=rf"is spent: [\d,]+ of {budget:,} tokens in this go, .* amemgym resume"):
        amemgym.run("starter", "native", out=tmp_path / "r", budget=budget, **SMALL)
    goes = 1
    while True:
        before = tokens_in(tmp_path / "r")
        try:
            report = amemgym.resume(tmp_path / "r")
        except BudgetSpent:
            assert 0 < tokens_in(tmp_path / "r") - before <= budget
            goes += 1
            assert goes < 12
        else:
            break
    assert goes >= 2
    assert len(provider.requests) == whole.calls  # nothing was asked twice
    assert FailedEpisodes(tmp_path / "r").all() == []
    assert json.dumps(report.scores) == whole.scores


def test_what_stopped_a_run_is_told_whatever_else_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_model(monkeypatch, sensible)
    with pytest.raises(BudgetSpent):
        amemgym.run("starter", "native", out=tmp_path / "r", budget=500, **SMALL)
    damaged = tmp_path / "r" / "failed" / "native" / "x.json"
    damaged.parent.mkdir(parents=True)
    damaged.write_text("{")
    with pytest.raises(BudgetSpent):
        amemgym.resume(tmp_path / "r")


def test_a_resume_may_be_given_another_budget_or_none(tmp_path: Path) -> None:
    with pytest.raises(BudgetSpent, match="of 100 tokens is too small for one call"):
        amemgym.run("starter", "native", out=tmp_path / "r", budget="100", users=1, periods=1)
    with pytest.raises(BudgetSpent, match="of 3,000 tokens"):
        amemgym.resume(tmp_path / "r", budget="3k")
    assert amemgym.resume(tmp_path / "r", budget="none")["native"]["n"] == 8


def test_dollars_for_a_model_without_a_price_are_refused_before_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0001")
    asked = every_model(monkeypatch, sensible)
    with pytest.raises(UsageError, match=r"openai:nobodys-own is not known.*--prices"):
        amemgym.run("starter", "native", "openai:nobodys-own", out=tmp_path / "r", budget="$5", **SMALL)
    assert asked.requests == [] and not (tmp_path / "r").exists()
    with pytest.raises(UsageError, match=r"'5 euros' cannot be read"):
        amemgym.run("starter", "native", out=tmp_path / "r", budget="5 euros", **SMALL)
    assert amemgym.run("starter", "native", out=tmp_path / "r", budget="$5", **SMALL)["native"]["n"] == 32


# ---- an endpoint that is down


@pytest.mark.parametrize(("concurrency", "after"), [(8, 60), (1, 0)])
def test_an_endpoint_that_goes_away_stops_the_run_and_fails_nobody(
    concurrency: int, after: int, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    def answer(request: Request) -> str:
        nonlocal asked
        asked += 1
        if asked > after:
            raise EndpointUnavailable("Nobody is there.")
        return sensible(request)

    every_model(monkeypatch, answer)
    with pytest.raises(EndpointDown, match=r"Nobody is there.*gets an answer.* amemgym resume"):
        amemgym.run("starter", "native", out=tmp_path / "r", concurrency=concurrency, attempts=1, **SMALL)
    assert asked <= after + 16
    assert FailedEpisodes(tmp_path / "r").all() == []  # also of those that used up their tries before it was clear
    every_model(monkeypatch, sensible)
    assert json.dumps(amemgym.resume(tmp_path / "r").scores) == whole.scores


# ---- an episode that takes too long


class Hanging(Scripted):
    """Never answers the second user's conversation."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs = True

    async def complete(self, request: Request) -> Completion:
        if self.hangs and isinstance(request.task, Reply) and "13.1 miles" in request.messages[-1].content:
            await asyncio.Event().wait()
        return await super().complete(request)


def test_an_episode_that_takes_too_long_fails_alone(
    whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Hanging()
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: provider)
    with pytest.raises(RunFailed, match=r"1 episode .* after 0.5 s \(--episode-timeout\).* amemgym resume"):
        amemgym.run("starter", "native", out=tmp_path / "r", episode_timeout=0.5, concurrency=1, **SMALL)
    (failed,) = FailedEpisodes(tmp_path / "r").all()
    assert failed.boundary == "time-out"
    scores = amemgym.score(tmp_path / "r")["native"]
    assert scores["episodes"]["finished"] == 1
    assert any("1 at the boundary time-out" in warning for warning in scores["warnings"])
    provider.hangs = False
    assert json.dumps(amemgym.resume(tmp_path / "r", episode_timeout=60).scores) == whole.scores


#: what nobody ever sets while it is waited for
NEVER = threading.Event()


class Stuck(Memory):
    """Waits for ever in a thread."""

    blocking = True
    closed = 0

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        NEVER.wait()

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []

    def close(self) -> None:
        Stuck.closed += 1


@pytest.fixture
def let_go() -> Iterator[None]:
    yield
    NEVER.set()


def test_a_memory_stuck_in_a_thread_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, let_go: None) -> None:
    monkeypatch.setattr(calls, "PATIENCE", 0.1)
    every_model(monkeypatch, sensible)
    with pytest.raises(RunFailed, match=r"after 0.5 s \(--episode-timeout\)"):
        amemgym.run("starter", ["native", Stuck], out=tmp_path / "r", episode_timeout=0.5, users=1, periods=2)
    (failed,) = FailedEpisodes(tmp_path / "r").all()
    assert (failed.agent, failed.boundary) == ("Stuck", "time-out")
    assert Stuck.closed == 0  # nothing else uses it while the thread may


def test_a_stuck_thread_does_not_keep_the_process() -> None:
    code = """if True:
        import asyncio, threading
        from amemgym.together import in_thread
        async def main():
            assert await in_thread(lambda: 7) == 7
            try:
                await asyncio.wait_for(in_thread(threading.Event().wait), 0.05)
            except TimeoutError:
                print("given up", flush=True)
        asyncio.run(main())
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "given up\n" and done.stderr == ""


def test_an_episodes_time_stands_while_all_it_asks_waits() -> None:
    clock = FakeClock()
    watch = Stopwatch(clock)

    def after(seconds: float, *happens: Callable[[], None]) -> float:
        clock.time += seconds
        for one in happens:
            one()
        return watch.seconds()

    assert after(5, watch.asks, watch.waits) == 5  # all it asks waits
    assert after(100) == 5
    assert after(100, watch.asks) == 5  # another call is under way
    assert after(3, watch.waits) == 8
    assert after(50, watch.goes_on) == 8  # one is let in
    assert after(2, watch.has_asked) == 10
    assert after(50, watch.goes_on, watch.has_asked) == 10
    assert after(7) == 17


def test_a_time_out_of_something_inside_is_not_the_episodes() -> None:
    async def play(seconds: float | None, work: Any) -> None:
        async with within(seconds):
            await work

    async def fail() -> None:
        raise TimeoutError("of a memory's own")

    with pytest.raises(TimeoutError, match="of a memory's own"):
        asyncio.run(play(60, fail()))
    asyncio.run(play(None, asyncio.sleep(0)))
