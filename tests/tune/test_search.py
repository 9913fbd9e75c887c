"""What a search is made of: the grid, what is asked for next, the rungs, and what a difference shows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest

from amemgym.agents import parse_agent
from amemgym.generate import load_dataset
from amemgym.scores import Pair
from amemgym.search.ask import Asker
from amemgym.search.grid import Configuration, Grid, make_grid
from amemgym.search.halving import make_rungs
from amemgym.search.results import verdict_of
from amemgym.search.spec import make_tune_spec


def made(agent: str, **choices: str) -> tuple[Configuration, Grid]:
    return make_grid(make_tune_spec({"agent": agent, **choices})[0], parse_agent(agent))


def test_the_whole_grid_is_asked_for_once_and_the_same_each_time() -> None:
    def asked(values: list[float]) -> list[Configuration]:
        start, grid = made("awe", freq="2,4", topk="5,10,30", rooms="8,none")
        asker, found = Asker(grid, start, grid.size, 1), []
        for value in values:
            found.append(asker.ask())
            asker.tell(value)
        return found

    values = [(7 * place % 12) / 12 for place in range(12)]
    found = asked(values)
    assert found[0] == Configuration(2, 4, 30)
    assert len(set(found)) == 12 and {c.room for c in found} == {8, None} and {c.n_s for c in found} == {4}
    assert asked(values) == found
    # after the random ones, what comes next depends on what was scored
    assert asked([0.5] * 5 + values[5:]) != found


def test_a_score_that_cannot_be_told_is_no_score() -> None:
    start, grid = made("rag", topk="5,10,30")
    asker = Asker(grid, start, 3, 0)
    found = []
    for value in (None, 0.5, None):
        found.append(asker.ask().topk)
        asker.tell(value)
    assert sorted(found) == [5, 10, 30]


def test_the_agent_as_named_need_not_be_among_the_choices() -> None:
    start, grid = made("rag", topk="5,10", freq="4")
    asker = Asker(grid, start, 2, 0)
    assert start == Configuration(2, 4, 30)
    found = []
    for _ in range(2):
        found.append(asker.ask())
        asker.tell(0.5)
    assert {(c.freq, c.n_s, c.topk) for c in found} == {(4, 4, 5), (4, 4, 10)}


def test_names_say_the_settings() -> None:
    assert Configuration(8, 0, 5).agent("awe-2-4-30") == "awe-8-0-5"
    assert Configuration(8, 0, 5).agent("bm25_message") == "bm25_message-8-0-5"
    assert Configuration(8, 0, 5).agent("own.py:Diary-2-4-30") == "own.py:Diary-8-0-5"


def test_rungs_grow_to_all_training_users_and_periods() -> None:
    dataset = load_dataset("starter")
    training = tuple(scenario.id for scenario in dataset)
    for count, eta, rungs in product((2, 3, 4, 7, 12, 27, 100), (2, 3, 4), (1, 2, 3, 5)):
        found = make_rungs(dataset, training, count, rungs, eta, 0)
        assert found[0].configurations == count and 1 <= len(found) <= rungs
        assert found[-1].users == training and found[-1].periods == 8
        for smaller, larger in pairwise(found):
            assert set(smaller.users) <= set(larger.users) and smaller.periods <= larger.periods
            assert (smaller.users, smaller.periods) != (larger.users, larger.periods)
            assert smaller.configurations > larger.configurations >= 2
        assert found == make_rungs(dataset, training, count, rungs, eta, 0)


def test_users_of_unequal_length_are_asked_for_no_more_than_they_have() -> None:
    dataset = load_dataset("starter")
    short = replace(dataset, scenarios=(dataset.scenarios[0].limited(3), *dataset.scenarios[1:]))
    for seed in range(4):
        for rung in make_rungs(short, [s.id for s in short.scenarios[:2]], 20, 4, 3, seed):
            short.only(rung.users).limited(None, rung.periods)


@pytest.mark.parametrize(
    ("interval", "p", "verdict"),
    [
        ((0.01, 0.05), 0.01, "better"),
        ((0.01, 0.05), 0.0625, "not shown to be better"),
        ((-0.01, 0.05), 0.01, "not shown to be better"),
        ((0.0, 0.05), 0.01, "not shown to be better"),
        ((-0.05, -0.01), 0.01, "worse"),
        (None, None, "no interval"),
    ],
)
def test_a_difference_shows_what_its_interval_and_its_p_allow(
    interval: tuple[float, float] | None, p: float | None, verdict: str
) -> None:
    empty = Pair("best", "start", 0, 0, None, interval, p, None, None, None, 0, 0, None, None, {})
    assert verdict_of(empty) == verdict
    assert verdict_of(None) == "unchanged"
