"""What is missing is not counted as wrong: probes that were not made or not read, trials that are not finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import amemgym
from amemgym.evaluate import EpisodeResult, RunDirectory
from amemgym.scores import cells_of, memory_score, summarise
from amemgym.scores.recall import recall, update_lag
from amemgym.scores.states import state_cells


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Two trials of agents that need no model."""
    out = tmp_path_factory.mktemp("run") / "r"
    amemgym.run("starter", "lag-1,uniform", trials=2, out=out)
    return RunDirectory(out)


def episodes_in(place: RunDirectory) -> list[EpisodeResult]:
    return [episode for agent in ("lag-1", "uniform") for episode in place.episodes_of(agent)]


def scored(place: RunDirectory, episodes: Sequence[EpisodeResult]) -> dict[str, Any]:
    return summarise(place.manifest(), episodes, place.upper_bounds(), place.dataset())["agents"]


@pytest.mark.parametrize("kept", [range(4), [0, 1, 2, 3, 4, 6, 7]], ids=["cut short", "a gap"])
def test_a_change_that_was_not_probed_for_is_not_unknown(played: RunDirectory, kept: Sequence[int]) -> None:
    """lag-1 knows each change exactly one period later, whichever probes are left to show it."""
    scenarios = {scenario.id: scenario for scenario in played.dataset()}
    left = [
        replace(episode, probes=tuple(probe for probe in episode.probes if probe.period in kept))
        for episode in episodes_in(played)
        if episode.agent == "lag-1"
    ]
    whole, part = (
        update_lag(state_cells(some, scenarios))
        for some in ([e for e in episodes_in(played) if e.agent == "lag-1"], left)
    )
    assert whole.by_lag[1].value == part.by_lag[1].value == 1
    assert 0 < part.by_lag[1].n < whole.by_lag[1].n
    assert whole.mean.value == part.mean.value == 1


def test_a_probe_without_a_readable_reply_says_nothing_of_recall(played: RunDirectory) -> None:
    scenarios = {scenario.id: scenario for scenario in played.dataset()}
    (episode,) = [e for e in episodes_in(played) if (e.agent, e.user, e.trial) == ("lag-1", 0, 0)]
    unread = [replace(probe, status="invalid", values=dict.fromkeys(probe.values)) for probe in episode.probes]
    half = replace(episode, probes=(*episode.probes[:32], *unread[32:]))
    first = replace(episode, probes=episode.probes[:32])
    assert recall(state_cells([half], scenarios)) == recall(state_cells([first], scenarios))
    counts = scored(played, [half])["lag-1"]["probes"]
    assert counts == {"n": 64, "failed": 0, "unreadable": 32, "cut_short": 0}


def test_trials_stand_at_their_numbers_and_spread_over_the_users_all_have(played: RunDirectory) -> None:
    episodes = [e for e in episodes_in(played) if e.agent == "lag-1"]
    second = [e for e in episodes if e.trial == 1]
    scores = scored(played, second)["lag-1"]
    assert scores["by_trial"][0] is None and scores["by_trial_n"] == [0, 192]
    assert scores["by_trial"][1] == pytest.approx(scores["overall"])
    assert scores["trial_sd"] is None
    # the same answers in both trials, but in the second from one user alone
    uneven = scored(played, [e for e in episodes if e.trial == 0 or e.user == 2])["lag-1"]
    assert uneven["by_trial"][0] != uneven["by_trial"][1]
    assert uneven["trial_sd"] == 0
    assert scored(played, episodes_in(played))["uniform"]["trial_sd"] > 0


def test_one_agent_s_one_user_is_the_reason_for_its_missing_interval(played: RunDirectory) -> None:
    episodes = [e for e in episodes_in(played) if e.agent == "lag-1" or e.user == 0]
    scores = scored(played, episodes)
    assert scores["uniform"]["interval"] is None and "one user" in scores["uniform"]["why_no_interval"]
    assert scores["lag-1"]["interval"] is not None and scores["lag-1"]["why_no_interval"] is None


def test_the_mean_of_ratios_has_its_interval(played: RunDirectory) -> None:
    bounds = {
        (bound.user, answer.question, answer.variant): int(bool(answer.correct))
        for bound in played.upper_bounds()
        for answer in bound.answers
    }
    cells = cells_of([e for e in episodes_in(played) if e.agent == "uniform"], bounds)
    score = memory_score(cells)
    assert score.mean_of_ratios is not None and score.mean_interval is not None
    # every user has as many periods: the t interval of the users' means of ratios
    means = []
    for user in range(3):
        own = [cell for cell in cells if cell.user == user]
        ratios = []
        for period in range(8):
            here = [cell for cell in own if cell.period == period]
            room = sum((cell.upper_bound or 0) - cell.random for cell in here)
            ratios.append(sum(cell.exam.correct - cell.random for cell in here) / room)
        means.append(sum(ratios) / 8)
    from scipy.stats import ttest_1samp

    expected = ttest_1samp(means, 0).confidence_interval()
    assert score.mean_interval == pytest.approx((expected.low, expected.high))


def test_what_an_import_has_no_record_of_is_not_nothing(played: RunDirectory) -> None:
    manifest = played.manifest()
    agents = [{"name": "lag-1", "imported": True}]
    imported = {**manifest, "compared": {**manifest["compared"], "agents": agents, "imported": {}}}
    episodes = [e for e in episodes_in(played) if e.agent == "lag-1"]
    scores = summarise(imported, episodes, [], played.dataset())
    agent = scores["agents"]["lag-1"]
    assert [agent[f"{who}{what}"] for who in ("", "probe_", "user_") for what in ("tokens", "calls")] == [None] * 6
    assert scores["finished"]  # nothing more will come


def test_a_report_is_asked_for_its_agents(played: RunDirectory) -> None:
    report = amemgym.score(played.path)
    assert list(report) == ["lag-1", "uniform"]
    assert "lag-1" in report and "rag" not in report
    assert repr(report) == f"RunReport(lag-1, uniform; {played.path})"
    with pytest.raises(amemgym.errors.UnknownName, match="Did you mean 'lag-1'"):
        report["lag1"]
