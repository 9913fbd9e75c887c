"""What a run costs: known numbers at known prices, whole or not known, the same after a stop, and priced anew later.

One scripted model plays, every call of which uses 100 tokens of input (40 of them cached where it tells) and 10 of
output, so that every cost is a number of calls times a price.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import amemgym
from amemgym import api
from amemgym.errors import AuthenticationFailed, UsageError
from amemgym.evaluate import RunDirectory
from amemgym.llm import Completion, Request, Usage
from amemgym.report import print_scores
from tests.evaluate.echo import copied, echo, until
from tests.support.models import Scripted

SMALL: dict[str, Any] = {"users": 2, "periods": 2}
PRICES = """
date: 2025-07-01
models:
  talker: {input: 2, cached: 1, output: 30}
  chatter: {input: 5, output: 50}
"""
#: US dollars of a call of each: (100 − 40) × 2 + 40 × 1 + 10 × 30, and 100 × 5 + 10 × 50, a million
TALKER, CHATTER = 460e-6, 1000e-6
COSTS = ("native", "awe")


class Counted(Scripted):
    def __init__(self, answer: Any, usage: Usage) -> None:
        super().__init__(answer)
        self._usage = usage

    async def complete(self, request: Request) -> Completion:
        return Completion((await super().complete(request)).text, self._usage, seconds=0.5)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    (tmp_path / "prices.yaml").write_text(PRICES, encoding="utf-8")
    return tmp_path / "prices.yaml"


def play(monkeypatch: pytest.MonkeyPatch, out: Path, answer: Any = echo, **settings: Any) -> api.RunReport:
    """A run of two assistants and a reference agent; the simulated user's model does not tell of cached tokens."""

    def opened(asked: Any, say: Any) -> Counted:
        cached = None if asked.model == "openai:chatter" else 40
        return Counted(answer, Usage(100, 10, cached=cached, estimated=asked.model == "openai:guesser"))

    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-at-all")
    monkeypatch.setattr("amemgym.llm.doors.open_model", opened)
    models = {"model": "openai:talker", "user_model": "openai:chatter"}
    return amemgym.run("starter", [*COSTS, "oracle"], out=out, **{**models, **SMALL, **settings})


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> api.RunReport:
    """A run at these prices, to be looked at, or copied."""
    folder = tmp_path_factory.mktemp("costs")
    (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        return play(patch, folder / "r", prices=folder / "prices.yaml")


def table(report: api.RunReport) -> str:
    file = io.StringIO()
    print_scores(Console(file=file, width=120), report.scores, report.seconds)
    return file.getvalue()


def test_every_role_costs_its_calls_times_the_price(played: api.RunReport) -> None:
    report = played
    awe, oracle = report["awe"]["cost"], report["oracle"]["cost"]
    roles = awe["by_role"]
    assert list(roles) == ["assistant", "memory write", "exam", "probe", "user"]
    for role, part in roles.items():
        each = CHATTER if role == "user" else TALKER
        assert part["usd"] == pytest.approx(part["calls"] * each), role
        assert part["usd_per_user"] == pytest.approx(part["usd"] / 2)
        told = (part["input"], part["cached"], part["cached_calls"], part["output"], part["reasoning"])
        calls = part["calls"]
        known = (None, 0) if role == "user" else (40 * calls, calls)
        assert told == (100 * calls, *known, 10 * calls, None)
    assert roles["exam"]["calls"] == report["awe"]["n"]
    assert awe["usd"] == pytest.approx(sum(part["usd"] for part in roles.values()))
    assert (awe["episodes"], awe["usd_per_user"]) == (2, pytest.approx(awe["usd"] / 2))
    assert not awe["estimated"] and awe["why_unknown"] is None
    assert awe["priced_tokens"] == awe["input"] + awe["output"]
    assert (oracle["usd"], oracle["by_role"]) == (0, {})
    # all that is asked, once
    bound = report.scores["cost"]["upper_bound"]["openai:talker"]
    whole = report.scores["cost"]
    assert bound["usd"] == pytest.approx(bound["calls"] * TALKER) and bound["calls"] > 0
    assert whole["usd"] == pytest.approx(bound["usd"] + awe["usd"] + report["native"]["cost"]["usd"])
    assert report.costs == {name: report[name]["cost"]["usd_per_user"] for name in (*COSTS, "oracle")}
    # the older names stand for the same
    assert report["awe"]["memory_calls"] == roles["memory write"]["calls"] == report["awe"]["memory_write_calls"]
    assert report["awe"]["memory_read_calls"] == 0
    assert report["awe"]["tokens"]["cached"] == 40 * report["awe"]["calls"]


def test_the_table_and_the_reports_say_it(
    played: api.RunReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    report = played
    text = table(report)
    usd = {name: f"{report.costs[name]:.4f}" for name in COSTS}
    assert "$/user" in text.splitlines()[0] and all(len(row) <= 120 for row in text.splitlines())
    for name in COSTS:
        assert re.search(rf"^{name} .* {usd[name]} ", text, re.MULTILINE)
    assert "prices.yaml of 2025-07-01" in " ".join(text.split())
    (html,) = api.write_report(report, out=tmp_path / "r.html")
    (md,) = api.write_report(report, "md", out=tmp_path / "r.md")
    for written in (html.read_text(), md.read_text()):
        assert all(value in written for value in usd.values())
        assert "2025-07-01" in written and "memory writes" in written and "openai:chatter" in written
    free = play(monkeypatch, tmp_path / "free", model="offline", user_model=None)
    assert "$/user" not in table(free) and free.scores["cost"]["usd"] == 0
    (page,) = api.write_report(free)
    assert "US dollars for one user" not in page.read_text() and "By role" in page.read_text()


def test_what_has_no_price_makes_the_whole_unknown_and_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prices: Path
) -> None:
    report = play(monkeypatch, tmp_path / "r", prices=prices, user_model="openai:guesser")
    awe = report["awe"]["cost"]
    assert awe["usd"] is None and awe["usd_per_user"] is None and report.costs["awe"] is None
    assert "openai:guesser" in awe["why_unknown"] and "--prices" in awe["why_unknown"]
    assert awe["by_role"]["user"]["usd"] is None
    parts = [part for role, part in awe["by_role"].items() if role != "user"]
    assert awe["usd_known"] == pytest.approx(sum(part["usd"] for part in parts))
    assert awe["priced_tokens"] == sum(part["input"] + part["output"] for part in parts)
    assert awe["estimated"] and not awe["by_role"]["exam"]["estimated"]
    assert report.scores["cost"]["usd"] is None and report.scores["cost"]["upper_bound"]["openai:talker"]["usd"] > 0
    text = " ".join(table(report).split())
    assert "The price of openai:guesser is not known" in text and "$/user" in text


def test_a_run_is_counted_by_the_rates_it_began_with_until_it_is_told_others(
    played: api.RunReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first, here = played, copied(played.directory, tmp_path / "r")
    scores = (here / "scores.json").read_bytes()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-key-at-all")  # nothing is asked; the file of prices is not here
    api.score(tmp_path / "r")
    assert (tmp_path / "r" / "scores.json").read_bytes() == scores
    amemgym.resume(tmp_path / "r")
    assert (tmp_path / "r" / "scores.json").read_bytes() == scores

    (tmp_path / "dearer.toml").write_text(
        "date = 2026-01-01\n[models]\ntalker = {input = 20, cached = 10, output = 300}\n"
        "chatter = {input = 50, output = 500}\n"
    )
    api.score(tmp_path / "r", prices=tmp_path / "dearer.toml", write=False)
    assert (tmp_path / "r" / "scores.json").read_bytes() == scores
    anew = api.score(tmp_path / "r", prices=tmp_path / "dearer.toml")
    assert anew["awe"]["cost"]["usd"] == pytest.approx(10 * first["awe"]["cost"]["usd"])
    assert {name: value for name, value in anew["awe"].items() if name != "cost"} == {
        name: value for name, value in first["awe"].items() if name != "cost"
    }
    assert api.score(tmp_path / "r").scores == anew.scores, "it is counted by them from now on"
    assert RunDirectory(tmp_path / "r").manifest()["prices"]["date"] == "2026-01-01"
    assert anew.scores["fingerprint"] == first.scores["fingerprint"]
    with pytest.raises(UsageError, match="price file"):
        api.score(tmp_path / "r", prices=tmp_path / "none.toml")


def test_a_stopped_run_has_the_bill_of_an_unbroken_one(
    played: api.RunReport, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prices: Path
) -> None:
    with pytest.raises(AuthenticationFailed):
        play(monkeypatch, tmp_path / "r", until(70), prices=prices)
    manifest = (tmp_path / "r" / "manifest.json").read_bytes()
    # it goes on without the file
    play(monkeypatch, tmp_path / "r")
    assert (tmp_path / "r" / "manifest.json").read_bytes() == manifest
    assert (tmp_path / "r" / "scores.json").read_bytes() == (played.directory / "scores.json").read_bytes()


def test_trials_are_episodes_and_a_cost_is_of_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prices: Path
) -> None:
    one = play(monkeypatch, tmp_path / "one", prices=prices, users=1)
    two = play(monkeypatch, tmp_path / "two", prices=prices, users=1, trials=2, upper_bound=False)
    assert (one["awe"]["cost"]["episodes"], two["awe"]["cost"]["episodes"]) == (1, 2)
    assert two.costs == one.costs and two["awe"]["cost"]["usd"] == pytest.approx(2 * one["awe"]["cost"]["usd"])


def test_an_episode_of_an_earlier_version_is_scored_with_its_one_memory_role(
    played: api.RunReport, tmp_path: Path, prices: Path
) -> None:
    first, _ = played, copied(played.directory, tmp_path / "r")
    for path in (tmp_path / "r").glob("*/*/*.json"):
        record = json.loads(path.read_text())
        ledger = {"memory" if role == "memory write" else role: used for role, used in record["ledger"].items()}
        for used in ledger.values():
            for name in ("cached", "cached_calls", "reasoning", "reasoning_calls"):
                del used[name]
        path.write_text(json.dumps({**record, "ledger": ledger}))
    manifest = RunDirectory(tmp_path / "r").manifest()
    del manifest["prices"]
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    old = api.score(tmp_path / "r", prices=prices)
    assert old["awe"]["memory_calls"] == first["awe"]["memory_calls"] > 0
    assert old["awe"]["calls"] == first["awe"]["calls"] and old["awe"]["tokens"]["cached"] is None
    parted = [f"memory_{part}_{what}" for part in ("write", "read") for what in ("calls", "tokens")]
    assert [old["awe"][name] for name in parted] == [None] * 4, "only their sum is known"
    part = old["awe"]["cost"]["by_role"]["memory"]
    assert part["usd"] == pytest.approx(part["calls"] * 500e-6), "what was not told is not taken off"
