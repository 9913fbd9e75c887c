"""Probes in a run: they change no exam, what fails of them is told, and what they tell adds up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.api import RunReport
from amemgym.errors import AuthenticationFailed, ContentFiltered, RunDirectoryError
from amemgym.llm import Request
from amemgym.scenario import load_dataset
from amemgym.tasks import ChooseOption, ProbeStates
from tests.evaluate.echo import Diary, answers, copied, echo, episodes, every_model, journaled, probed, until
from tests.support.shared import shared

ASSISTANTS = ("native", "rag", "awe", "awi")
REFERENCES = ("uniform", "always-1", "longest", "frozen", "lag-1", "oracle")
SMALL: dict[str, Any] = {"users": 2, "periods": 3}
EXAMS = 2 * 3 * 8


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """Part of the starter data, with the offline model and every kind of agent."""
    out = tmp_path_factory.mktemp("starter") / "r"
    return amemgym.run("starter", [*ASSISTANTS, *REFERENCES], out=out, upper_bound=False, **SMALL)


# --- what probes add up to ---


@pytest.mark.parametrize("agent", [*ASSISTANTS, *REFERENCES])
def test_every_answer_has_one_fate(starter: RunReport, agent: str) -> None:
    scores = starter[agent]
    failures, mistakes = scores["diagnosis"], scores["errors"]
    assert scores["n"] == scores["diagnosis_n"] == scores["errors_n"] == EXAMS
    assert scores["undiagnosed"] == 0
    assert abs(math.fsum([scores["overall"], *failures.values()]) - 1) < 1e-9
    assert abs(math.fsum([scores["overall"], failures["unparsed"], *mistakes.values()]) - 1) < 1e-9
    assert list(failures) == ["write", "read", "utilization", "unparsed"]
    assert list(mistakes) == ["stale", "future", "never"]
    for shares, intervals in (
        (failures, scores["diagnosis_intervals"]),
        (mistakes, scores["errors_intervals"]),
    ):
        assert all(low <= shares[name] <= high for name, (low, high) in intervals.items())


@pytest.mark.parametrize("agent", [*ASSISTANTS, *REFERENCES])
def test_every_question_is_probed_after_every_period(starter: RunReport, agent: str) -> None:
    for episode, scenario in zip(episodes(starter.directory, agent), load_dataset("starter"), strict=False):
        asked = [(period, question) for period in range(3) for question in range(8)]
        assert [(probe.period, probe.question) for probe in episode.probes] == asked
        assert [(exam.period, exam.question) for exam in episode.exams] == asked
        for probe in episode.probes:
            required = scenario.qas[probe.question].required_info
            assert list(probe.values) == required
            assert all(probe.values[name] in scenario.state_schema[name] for name in required)
            assert (probe.status, probe.error) == ("ok", None)
    calls = 0 if agent in REFERENCES else EXAMS
    assert starter[agent]["probe_calls"] == calls
    assert (starter[agent]["probe_tokens"]["input"] > 0) == (calls > 0)


def test_reference_agents_say_what_they_know(starter: RunReport) -> None:
    dataset = load_dataset("starter")
    for agent, believed in (("oracle", lambda p: p), ("frozen", lambda p: 0), ("lag-1", lambda p: max(0, p - 1))):
        for episode, scenario in zip(episodes(starter.directory, agent), dataset, strict=False):
            for probe in episode.probes:
                state = scenario.periods[believed(probe.period)].state
                assert all(state[name] == value for name, value in probe.values.items())
    assert starter["oracle"]["recall"]["now"]["value"] == pytest.approx(1)
    assert starter["lag-1"]["diagnosis"]["write"] == pytest.approx(1 - starter["lag-1"]["overall"])
    assert len({value for e in episodes(starter.directory, "uniform") for p in e.probes for value in p.values}) > 20


def test_probes_are_scored_again_from_the_directory(starter: RunReport, tmp_path: Path) -> None:
    assert amemgym.score(starter.directory, write=False).scores == starter.scores
    assert amemgym.score(copied(starter.directory, tmp_path / "copy")).scores == starter.scores


# --- known numbers ---


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    data = shared("data/amemgym-v1.base/data.json")
    out = tmp_path_factory.mktemp("published") / "r"
    return amemgym.run(data, "frozen,lag-1,oracle", out=out, upper_bound=False)


@pytest.mark.parametrize(("agent", "wrong"), [("frozen", 0.74773), ("lag-1", 0.34318), ("oracle", 0.0)])
def test_agents_of_the_past_never_wrote_and_answer_what_was(published: RunReport, agent: str, wrong: float) -> None:
    scores = published[agent]
    assert scores["diagnosis"] == {"write": pytest.approx(wrong, abs=5e-6), "read": 0, "utilization": 0, "unparsed": 0}
    assert scores["errors"] == {"stale": pytest.approx(wrong, abs=5e-6), "future": 0, "never": 0}
    assert (scores["diagnosis_n"], scores["undiagnosed"]) == (2200, 0)


def test_recall_and_lag_of_agents_of_the_past(published: RunReport) -> None:
    lag, oracle = published["lag-1"], published["oracle"]
    assert oracle["recall"]["now"]["value"] == oracle["recall"]["at_write"]["value"] == pytest.approx(1)
    assert lag["recall"]["at_write"]["value"] == pytest.approx(0, abs=0.02)
    assert all(age["value"] == pytest.approx(1) for age in lag["recall"]["by_age"][1:])
    assert lag["update_lag"]["mean"]["value"] == 1
    assert [within["value"] for within in lag["update_lag"]["by_lag"]] == [0] + [1] * 7
    assert oracle["update_lag"]["mean"]["value"] == 0
    assert published["frozen"]["update_lag"]["mean"]["value"] == 0  # only what leads back is known, and at once


# --- probes change nothing ---


def test_a_run_without_probes_has_the_same_exams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = every_model(monkeypatch)
    reports = {
        probe: amemgym.run(
            "starter",
            ["native", "awe", Diary, "uniform"],
            out=tmp_path / str(probe),
            probe=probe,
            upper_bound=False,
            **SMALL,
        )
        for probe in (True, False)
    }
    asked = [request for request in provider.requests if isinstance(request.task, ProbeStates)]
    assert len(asked) == 3 * EXAMS
    assert all(request.labels is None for request in asked)
    for agent in ("native", "awe", "Diary", "uniform"):
        with_probes, without = (reports[probe][agent] for probe in (True, False))
        assert answers(tmp_path / "True", agent) == answers(tmp_path / "False", agent)
        assert [e.conversation for e in episodes(tmp_path / "True", agent)] == [
            e.conversation for e in episodes(tmp_path / "False", agent)
        ]
        assert probed(tmp_path / "False", agent) == []
        for name in ("diagnosis", "recall", "update_lag"):
            assert with_probes[name] is not None and without[name] is None
        for name in ("overall", "errors", "tokens", "calls", "by_period"):
            assert with_probes[name] == without[name]
        assert without["probe_calls"] == 0
    assert not any(line["role"] == "probe" for line in journaled(tmp_path / "False"))
    assert {e.ledger["probe"]["calls"] for e in episodes(tmp_path / "True", "awe")} == {EXAMS // 2}
    with pytest.raises(RunDirectoryError, match="probe is true there, false here"):
        amemgym.run(
            "starter",
            ["native", "awe", Diary, "uniform"],
            out=tmp_path / "True",
            probe=False,
            upper_bound=False,
            **SMALL,
        )


def test_a_filtered_probe_is_an_error_and_leaves_its_exam_undiagnosed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ProbeStates) and "shift_hours" in request.task.variables:
            raise ContentFiltered("Not this one.")
        return "maybe" if isinstance(request.task, ProbeStates) else echo(request)

    every_model(monkeypatch, answer)
    report = amemgym.run("starter", "native", out=tmp_path / "r", users=1, periods=3, upper_bound=False)
    (scenario,) = load_dataset("starter").scenarios[:1]
    filtered = {index for index, asked in enumerate(scenario.qas) if "shift_hours" in asked.required_info}
    (episode,) = episodes(tmp_path / "r", "native")
    assert 0 < len(filtered) < 8
    for probe in episode.probes:
        assert set(probe.values.values()) == {None}
        expected = ("error", "Not this one.") if probe.question in filtered else ("invalid", None)
        assert (probe.status, probe.error) == expected
    wrong = [exam for exam in episode.exams if not exam.correct]
    lost = sum(exam.question in filtered for exam in wrong)
    scores = report["native"]
    assert 0 < lost < len(wrong)
    assert (scores["n"], scores["failed"], scores["undiagnosed"]) == (24, 0, lost)
    assert scores["diagnosis"]["write"] == pytest.approx((len(wrong) - lost) / 24)  # an unreadable probe knows nothing
    assert scores["recall"]["now"]["n"] == 0  # nor does it tell what is recalled
    assert scores["probes"] == {
        "n": 24,
        "failed": 3 * len(filtered),
        "unreadable": 24 - 3 * len(filtered),
        "cut_short": 0,
    }
    before = (tmp_path / "r" / "scores.json").read_bytes()
    next((tmp_path / "r" / "episodes").rglob("*.json")).unlink()
    amemgym.resume(tmp_path / "r")  # the refusal is in the journal
    assert (tmp_path / "r" / "scores.json").read_bytes() == before


def test_a_filtered_exam_has_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ChooseOption) and "cello" in request.task.question:
            raise ContentFiltered("Not this one.")
        return echo(request)

    every_model(monkeypatch, answer)
    scores = amemgym.run("starter", "native", out=tmp_path / "r", users=1, periods=2, upper_bound=False)["native"]
    assert (scores["failed"], scores["n"], scores["diagnosis_n"], scores["undiagnosed"]) == (2, 14, 14, 0)
    assert math.fsum([scores["overall"], *scores["diagnosis"].values()]) == pytest.approx(1)


@pytest.mark.parametrize("calls", [60, 130])
def test_an_interrupted_run_with_probes_ends_like_an_unbroken_one(
    calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"agents": "native,awe", "users": 1, "periods": 3, "upper_bound": False}
    unbroken = every_model(monkeypatch)
    amemgym.run("starter", out=tmp_path / "whole", **settings)
    every_model(monkeypatch, until(calls))
    with pytest.raises(AuthenticationFailed):
        amemgym.run("starter", out=tmp_path / "broken", **settings)
    kept = journaled(tmp_path / "broken")
    assert any(line["role"] == "probe" for line in kept)
    rest = every_model(monkeypatch)
    amemgym.resume(tmp_path / "broken")
    assert len(rest.requests) == len(unbroken.requests) - len(kept)  # what was journaled is not asked again
    assert (tmp_path / "whole" / "scores.json").read_bytes() == (tmp_path / "broken" / "scores.json").read_bytes()
    for agent in ("native", "awe"):
        assert probed(tmp_path / "whole", agent) == probed(tmp_path / "broken", agent)
        assert answers(tmp_path / "whole", agent) == answers(tmp_path / "broken", agent)
