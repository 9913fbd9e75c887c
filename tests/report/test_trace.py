"""A trace tells all that happened to a user, as the run's files have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import UsageError
from amemgym.evaluate import EpisodeResult, RunDirectory
from amemgym.report import trace
from amemgym.report.trace import packed_traces
from amemgym.scores.diagnosis import diagnose, mistake
from tests.report.inverse import unpack


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    out = tmp_path_factory.mktemp("run") / "r"
    amemgym.run("starter", "rag,uniform", users=2, periods=3, trials=2, out=out)
    return RunDirectory(out)


def text(told: dict[str, Any], place: int) -> str:
    entry = told["texts"][place]
    return entry if isinstance(entry, str) else entry[0] + told["texts"][entry[1]]


def every_episode(directory: RunDirectory) -> list[tuple[dict[str, Any], dict[str, Any], EpisodeResult]]:
    """(a user's trace, an episode in it, the episode in the run's files)"""
    traces = packed_traces(directory)
    found = []
    for user, chunk in zip(traces.index, traces.chunks, strict=True):
        told = unpack(chunk)
        for named, episode in zip(user["episodes"], told["episodes"], strict=True):
            assert (named["agent"], named["trial"]) == (episode["agent"], episode["trial"])
            kept = directory.episode(episode["agent"], user["id"], episode["trial"])
            assert kept is not None
            found.append((told, episode, kept))
    return found


def test_every_episode_is_there(directory: RunDirectory) -> None:
    seats = [(kept.user, kept.agent, kept.trial) for _, _, kept in every_episode(directory)]
    assert seats == [(user, agent, trial) for user in (0, 1) for agent in ("rag", "uniform") for trial in (0, 1)]


def test_what_was_said_and_held_is_told_word_for_word(directory: RunDirectory) -> None:
    for told, episode, kept in every_episode(directory):
        talk = [
            [[{"role": r, "content": text(told, c), "time": t} for r, c, t in session] for session in period]
            for period in episode["talk"]
        ]
        assert talk == kept.conversation
        held = [[text(told, place) for place in period] for period in episode["holdings"]]
        assert held == [[kept.texts[place] for place in period or []] for period in kept.holdings]
        assert bool(talk) == (kept.agent == "rag")


def test_every_exam_is_told_with_what_is_behind_it(directory: RunDirectory) -> None:
    scenarios = {scenario.id: scenario for scenario in directory.dataset()}
    kinds = set()
    for told, episode, kept in every_episode(directory):
        scenario = scenarios[kept.user_id]
        failures = diagnose(kept, scenario)
        probes = {(probe.period, probe.question): probe for probe in kept.probes}
        assert len(episode["exams"]) == len(kept.exams) == 3 * len(scenario.qas)
        for shown, exam in zip(episode["exams"], kept.exams, strict=True):
            place = (exam.period, exam.question)
            assert (shown["period"], shown["question"]) == place
            assert (shown["order"], shown["gold"], shown["option"]) == (list(exam.order), exam.gold, exam.option)
            assert shown.get("correct", False) == exam.correct
            assert text(told, shown["reply"]) == exam.reply
            assert [text(told, item) for item in shown.get("items", [])] == [kept.texts[i] for i in exam.items]
            assert shown.get("failure") == failures.get(place)
            assert shown.get("mistake") == mistake(exam, scenario)
            assert shown["probe"]["values"] == probes[place].values
            kinds.add(shown.get("failure"))
            asked = told["questions"][exam.question]
            assert text(told, asked["text"]) == scenario.qas[exam.question].query
            gold = asked["options"][shown["order"][exam.gold - 1]]
            assert tuple(gold["values"]) == exam.variant
    assert {None, "write", "utilization"} <= kinds


def test_states_are_told_with_the_period_they_are_from(directory: RunDirectory) -> None:
    scenario = directory.dataset().scenarios[0]
    told = unpack(packed_traces(directory).chunks[0])
    assert told["variables"] == list(scenario.state_schema)
    changed = 0
    for number, period in enumerate(told["periods"]):
        assert dict(zip(told["variables"], period["state"], strict=True)) == scenario.periods[number].state
        for variable, since in zip(told["variables"], period["since"], strict=True):
            updated = [p for p in range(1, number + 1) if variable in scenario.periods[p].updates]
            assert since == max(updated, default=0)
            changed += since > 0
    assert changed


def test_a_wrong_answer_without_a_probe_is_undiagnosed(tmp_path: Path) -> None:
    amemgym.run("starter", "uniform", users=1, periods=2, probe=False, out=tmp_path / "r")
    told = unpack(packed_traces(RunDirectory(tmp_path / "r")).chunks[0])
    found = {(exam.get("correct", False), exam.get("failure")) for exam in told["episodes"][0]["exams"]}
    assert found == {(True, None), (False, "undiagnosed")}


def test_users_that_do_not_fit_are_left_out_in_order(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (scenario.id for scenario in directory.dataset())
    sizes = [len(chunk) for chunk in packed_traces(directory).chunks]
    for budget, left_out in ((sum(sizes), []), (sum(sizes) - 1, [two]), (1, [two])):
        monkeypatch.setattr(trace, "BUDGET", budget)
        traces = packed_traces(directory)
        assert traces.left_out == left_out
        assert [user["id"] for user in traces.index] == [user for user in (one, two) if user not in left_out]
        assert len(traces.chunks) == len(traces.index)


def test_users_can_be_named(directory: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "BUDGET", 1)
    one, two = (scenario.id for scenario in directory.dataset())
    traces = packed_traces(directory, [two])
    assert ([user["id"] for user in traces.index], traces.left_out) == ([two], [])
    with pytest.raises(UsageError, match=f"no user 'nobody' in this run; its users are {one}, {two}"):
        packed_traces(directory, [two, "nobody"])
