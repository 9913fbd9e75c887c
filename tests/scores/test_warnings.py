"""What would make a score nonsense is said, by real runs of agents that are amiss; of sound ones nothing is said."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import ContentFiltered
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.scores.warnings import agent_warnings, run_warnings
from amemgym.tasks import ChooseKnowing, ChooseOption
from tests.support.models import Scripted, sensible


class Sieve(Memory):
    """Is written to and keeps nothing."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        return None

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []

    def export(self) -> list[Item]:
        return []


def knowing(request: Request) -> str:
    """Right whenever it is told the facts, the first option else."""
    if isinstance(request.task, ChooseKnowing) and request.labels:
        return json.dumps({"answer": [dict(label) for label in request.labels].index(dict(request.task.known)) + 1})
    return sensible(request)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The scores of a run of native over the starter data, whose model answers so."""

    def play(answer: Callable[[Request], str], **settings: Any) -> dict[str, Any]:
        monkeypatch.setattr("amemgym.llm.doors.open_model", lambda model, say: Scripted(answer))
        agents = settings.pop("agents", "native")
        address = {"base_url": "http://localhost:1/v1"}
        return amemgym.run("starter", agents, "openai:m", out=tmp_path / "r", **address, **settings).scores

    return play


def only(found: list[str], *words: str) -> None:
    """There is one warning with each of these words, and no other."""
    assert len(found) == len(words), found
    for word in words:
        assert sum(word in sentence for sentence in found) == 1, (word, found)


def test_a_constant_option_at_the_level_of_chance(run: Callable[..., dict[str, Any]]) -> None:
    scores = run(knowing)
    native = scores["agents"]["native"]
    assert scores["warnings"] == []
    chance = "chance"  # at or below it, or not told apart
    only([w for w in native["warnings"] if not w.startswith("flat")], chance, "place 1 in 192 of 192 answers")


def test_an_upper_bound_near_random(run: Callable[..., dict[str, Any]]) -> None:
    scores = run(sensible)
    only(scores["warnings"], "near random")
    assert f"({scores['upper_bound']:.3f}, n 192)" in scores["warnings"][0]


def test_many_unreadable_replies_and_many_errors(run: Callable[..., dict[str, Any]]) -> None:
    asked = iter(range(10**6))

    def answer(request: Request) -> str:
        if isinstance(request.task, ChooseOption):
            number = next(asked)
            if number % 10 == 0:
                raise ContentFiltered("No.")
            return "I would rather not say" if number % 5 == 1 else json.dumps({"answer": 1 + number % 3})
        return knowing(request)

    native = run(answer)["agents"]["native"]
    found = " ".join(native["warnings"])
    assert f"{native['invalid']} of {native['n']}" in found and native["invalid"] > 30
    assert f"{native['failed']} of 192" in found and native["failed"] > 15


def test_a_memory_that_keeps_nothing(run: Callable[..., dict[str, Any]]) -> None:
    agents = run(knowing, agents=[Sieve, "rag", "wo_memory"])["agents"]
    assert (agents["Sieve"]["memory_empty"], agents["Sieve"]["memory_written"]) == (24, 24)
    assert any("empty after 24 of the 24 periods" in warning for warning in agents["Sieve"]["warnings"])
    assert (agents["rag"]["memory_empty"], agents["rag"]["memory_written"]) == (0, 24)
    assert not any("empty" in warning for warning in agents["rag"]["warnings"])
    # without a memory is what this one is called
    assert agents["wo_memory"]["memory_written"] == 0
    assert not any("empty" in warning for warning in agents["wo_memory"]["warnings"])


def test_a_memory_nothing_was_written_to_yet_is_no_fault(run: Callable[..., dict[str, Any]]) -> None:
    agents = run(knowing, agents=[Sieve], context_tokens=128_000, periods=1, rounds_initial=1, users=1)["agents"]
    # 8 sessions of 2 messages: more than the 6 that are held back
    assert agents["Sieve"]["memory_written"] == 1


def test_sound_agents_and_reference_agents_are_not_warned_of(tmp_path: Path) -> None:
    scores = amemgym.run("starter", "native,rag,uniform,always-1,frozen,oracle", out=tmp_path / "r").scores
    assert [agent["warnings"] for agent in scores["agents"].values()] == [[]] * 6
    only(scores["warnings"], "embedded stand-in")


def agent(**changes: Any) -> dict[str, Any]:
    sound = {
        "reference": False,
        "n": 200,
        "overall": 0.6,
        "interval": [0.5, 0.7],
        "by_period": [0.7, 0.6, 0.55, 0.55],
        "by_period_n": [50] * 4,
        "invalid": 0,
        "failed": 0,
        "probes": {"n": 200, "failed": 0, "unreadable": 0, "cut_short": 0},
        "undiagnosed": 0,
        "chosen_by_position": [60, 50, 45, 45],
        "memory_empty": 0,
        "memory_written": 80,
        "episodes": {"finished": 2, "planned": 3, "failed": []},
    }
    return sound | changes


def test_a_sound_agent_has_no_warning() -> None:
    assert agent_warnings(agent(), 0.25) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"overall": 0.25}, "at or below chance"),
        ({"overall": 0.3, "interval": [0.2, 0.4]}, "not told apart from chance"),
        ({"overall": 0.2, "interval": None}, "at or below chance"),
        ({"by_period": [0.6, 0.61, 0.6, 0.6]}, "flat"),
        ({"invalid": 11}, "11 of 200 (6%)"),
        ({"failed": 11}, "11 of 211 (5%)"),
        ({"chosen_by_position": [5, 190, 5, 0]}, "place 2 in 190 of 200"),
        ({"memory_empty": 3}, "empty after 3 of the 80"),
        ({"probes": {"n": 200, "failed": 0, "unreadable": 11}}, "11 of 200 (6%) probes got no readable reply"),
        ({"probes": {"n": 200, "failed": 11, "unreadable": 0}}, "11 of 200 (6%) probes ended in an error"),
        (
            {"episodes": {"finished": 2, "planned": 3, "failed": [{"boundary": "memory", "user": 1, "error": "gone"}]}},
            "1 of 3 episodes failed (1 at the boundary memory) and are in no score; the first, user 1: gone",
        ),
        ({"undiagnosed": 1}, "1 of 80 wrong answers have no probe"),
    ],
)
def test_each_fault_by_itself(changes: dict[str, Any], word: str) -> None:
    only(agent_warnings(agent(**changes), 0.25), word)


@pytest.mark.parametrize(
    "changes",
    [
        {"by_period": [0.99, 1.0, 0.99, 0.99]},  # all right is no fault
        {"by_period": [0.6] * 3, "by_period_n": [50] * 3},  # too few periods
        {"by_period": [0.6] * 4, "by_period_n": [5] * 4},  # too few answers
        {"invalid": 10},
        {"failed": 10},
        {"chosen_by_position": [179, 21]},
        {"probes": {"n": 200, "failed": 10, "unreadable": 10}},
        {"probes": {"n": 0, "failed": 0, "unreadable": 0}, "undiagnosed": None},
        {"reference": True, "overall": 0.1},
        {"n": 0, "overall": None, "by_period": [], "by_period_n": [], "chosen_by_position": []},
    ],
)
def test_what_is_no_fault(changes: dict[str, Any]) -> None:
    assert agent_warnings(agent(**changes), 0.25) == []


def test_an_unfinished_run_is_said_to_be_one() -> None:
    playing = agent(model="openai:m", episodes={"finished": 3, "planned": 5})
    scores = {"agents": {"a": playing}, "model": "openai:m", "finished": False, "upper_bound": None, "random": 0.25}
    only(run_warnings(scores), "3 of 5 episodes")
    playing["episodes"] = {"finished": 5, "planned": 5}
    only(run_warnings(scores), "all episodes are there, but not the upper bound")
