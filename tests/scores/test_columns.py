"""Columns say what cells say: each score by the plain formula over objects, on any results in any order."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym.evaluate import EpisodeResult, UpperBoundAnswer, UpperBoundResult
from amemgym.scenario import Scenario
from amemgym.scores import Failure, Mistake, accuracy, by_period, by_user, cells_of, gathered, memory_score, summary_of
from amemgym.scores.answers import Answers, Cell
from amemgym.scores.bounds import bounds_by_agent
from amemgym.scores.metrics import failure_shares, mistake_shares
from amemgym.scores.recall import recall
from amemgym.scores.results import Results
from amemgym.scores.states import StateCell, state_cells
from tests.scores.results import any_results

BUSY = [HealthCheck.too_slow, HealthCheck.data_too_large]
MANIFEST = {
    "fingerprint": "f" * 64,
    "data": {"name": "d", "sha256": "0" * 64, "users": 3, "questions": 1, "exams": 1},
    "compared": {
        "amemgym": "0",
        "protocol": {"name": "amemgym", "version": 1, "first_score": "ratio_of_means"},
        "agents": [{"name": "a"}, {"name": "b"}],
        "model": {"model": "m"},
        "user_model": {"model": "m"},
        "seed": 0,
        "trials": 2,
    },
    "upper_bound": {"run": "m", "agents": {"b": "own"}},
}


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[Scenario], list[EpisodeResult], list[UpperBoundResult]]:
    """Users, episodes of two agents in up to two trials, and upper bounds of two models."""
    users, episodes, bounds = [], [], []
    for user in range(draw(st.integers(1, 3))):
        who, found = draw(any_results())
        who = who.model_copy(update={"id": f"{who.id}-{user}"})
        users.append(who)
        for agent in "ab":
            for trial in range(draw(st.integers(0, 2))):
                kept = tuple(exam for exam in found.exams if draw(st.integers(0, 4)))
                episodes.append(replace(found, agent=agent, user=user, user_id=who.id, trial=trial, exams=kept))
        for model in ("m", "own"):
            variants = sorted({(exam.question, exam.variant) for exam in found.exams if draw(st.booleans())})
            answers = tuple(
                UpperBoundAnswer(question, variant, (0, 1), 1, 1, "ok", draw(st.sampled_from([True, False, None])))
                for question, variant in variants
            )
            bounds.append(UpperBoundResult(model, user, who.id, answers))
    return users, episodes, bounds


def mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


@settings(max_examples=40, deadline=None, suppress_health_check=BUSY)
@given(runs())
def test_a_score_of_columns_is_that_of_cells(
    run: tuple[list[Scenario], list[EpisodeResult], list[UpperBoundResult]],
) -> None:
    users, episodes, bounds = run
    results, known = gathered(MANIFEST, episodes, bounds, users), bounds_by_agent(MANIFEST, bounds)
    scenarios = {who.id: who for who in users}
    for agent in "ab":
        own = [episode for episode in episodes if episode.agent == agent]
        cells, columns = cells_of(own, known[agent], scenarios), results.answers(agent)
        check(cells, columns, results.of(agent), state_cells(own, scenarios))
    first = {(e.user, exam.period, exam.question): exam for e in reversed(episodes) for exam in reversed(e.exams)}
    assert len(results.every_cell()) == len(first)


def check(cells: Sequence[Cell], columns: Answers, results: Results, states: Sequence[StateCell]) -> None:
    rights = [float(cell.exam.correct) for cell in cells]
    assert accuracy(columns).value == mean(rights)
    assert accuracy(columns) == accuracy(cells) and by_period(columns) == by_period(cells)
    assert [one.value for one in by_period(columns)] == [
        mean([float(cell.exam.correct) for cell in cells if cell.period == period])
        for period in range(max((cell.period for cell in cells), default=-1) + 1)
    ]
    for kinds, shares in ((Failure, failure_shares(columns)), (Mistake, mistake_shares(columns))):
        for kind in kinds:
            ones = sum(kind in (cell.failure, cell.mistake) for cell in cells)
            assert shares[str(kind)].value == (ones / len(cells) if cells else None)
    bounded = [cell for cell in cells if cell.upper_bound is not None]
    room = math.fsum((cell.upper_bound or 0) - cell.random for cell in bounded)
    if (score := memory_score(columns).ratio_of_means) is not None:
        assert math.isclose(score, math.fsum(cell.exam.correct - cell.random for cell in bounded) / room, abs_tol=1e-12)
    found = recall(results.states)
    gained = [cell.right - 1 / cell.values for cell in states]
    if states:
        assert found.value is not None
        assert math.isclose(
            found.value, math.fsum(gained) / math.fsum(1 - 1 / cell.values for cell in states), abs_tol=1e-12
        )
    assert found.n == len(states)
    rows = by_user(columns, {episode.user: episode.user_id for episode in results.episodes}, set())
    assert [row["user"] for row in rows] == sorted({cell.user for cell in cells})
    for row in rows:
        alone = [cell for cell in cells if cell.user == row["user"]]
        assert (row["overall"], row["n"]) == (accuracy(alone).value, len(alone))
        assert row["random"] == mean([cell.random for cell in alone])
        assert row["upper_bound_n"] == sum(cell.upper_bound is not None for cell in alone)
        assert row["undiagnosed"] == sum(not cell.exam.correct and cell.failure is None for cell in alone)


@settings(max_examples=15, deadline=None, suppress_health_check=BUSY)
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_in_which_results_come_changes_nothing(
    run: tuple[list[Scenario], list[EpisodeResult], list[UpperBoundResult]], chance: random.Random
) -> None:
    users, episodes, bounds = run
    expected = summary_of(MANIFEST, gathered(MANIFEST, episodes, bounds, users))
    for some in (episodes, bounds):
        chance.shuffle(some)
    assert summary_of(MANIFEST, gathered(MANIFEST, episodes, bounds, users)) == expected
