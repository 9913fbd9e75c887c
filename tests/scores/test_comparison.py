"""A comparison of two runs, against numbers worked out by hand; runs over other exams are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from amemgym.errors import UsageError
from amemgym.scores.comparison import AgentComparison, Comparison, Played, compare_runs
from tests.scores.played import SHA, played

#: three users, one period, four questions
A_ON = [[[1, 1, 1, 1]], [[1, 1, 1, 0]], [[1, 1, 1, 0]]]
A_OFF = [[[1, 1, 0, 0]], [[1, 1, 1, 0]], [[1, 1, 0, 0]]]
B_ON = [[[1, 1, 0, 0]], [[1, 1, 0, 0]], [[1, 1, 0, 0]]]
B_OFF = [[[1, 1, 1, 0]], [[1, 1, 1, 0]], [[1, 1, 1, 0]]]
ORACLE = [[[1, 1, 1, 1]]] * 3


def compared(comparison: Comparison, name: str = "a") -> AgentComparison:
    (found,) = (agent for agent in comparison.agents if agent.name == name)
    return found


def test_by_hand() -> None:
    agents = {"a": A_ON, "b": B_ON, "oracle": ORACLE}
    off = {"a": A_OFF, "b": B_OFF, "oracle": ORACLE}
    found = compare_runs(played(agents, reference=["oracle"]), played(off, reference=["oracle"], off_policy="a"))
    a, b = compared(found), compared(found, "b")
    # 10 of 12 and 7 of 12 right, random 1/2, upper bound 1
    assert (a.on.overall.value, a.off.overall.value) == (pytest.approx(10 / 12), pytest.approx(7 / 12))
    assert (a.on.score.value, a.off.score.value) == (pytest.approx(2 / 3), pytest.approx(1 / 6))
    assert (a.overall.value, a.score.value) == (pytest.approx(-0.25), pytest.approx(-0.5))
    # the users' changes are -1/2, 0 and -1/4: their standard error is 0.25/√3, t of 2 degrees of freedom 4.3027
    assert a.overall.interval == pytest.approx((-0.25 - 0.62105, -0.25 + 0.62105), abs=1e-4)
    assert a.score.interval == pytest.approx((-0.5 - 1.2421, -0.5 + 1.2421), abs=1e-4)
    # of eight choices of signs for -2, 0 and -1, two have a sum of -3
    assert a.overall.p == pytest.approx(0.5)
    # all of b's users change by 1: two of eight have the sum 3 or -3
    assert b.overall.p == pytest.approx(0.25)
    assert (a.overall.p_adjusted, b.overall.p_adjusted) == (pytest.approx(0.5), pytest.approx(0.5))
    assert (a.n, a.users, a.on.overall.n, a.off.score.n) == (12, 3, 12, 12)
    assert (a.on.rank, a.off.rank, a.rank_change) == (1, 2, 1)
    assert (b.on.rank, b.off.rank, b.rank_change) == (2, 1, -1)
    assert (found.tau, found.ranked_by) == (pytest.approx(-1), "memory score")
    assert (found.on.off_policy, found.off.off_policy) == (None, "a")
    assert found.is_finished and found.is_even and found.why_no_interval is None and found.differs == ()


def test_reference_agents_are_listed_and_not_ranked() -> None:
    run = played({"a": A_ON, "oracle": ORACLE}, reference=["oracle"])
    oracle = compared(compare_runs(run, run), "oracle")
    assert oracle.is_reference and oracle.on.overall.value == 1
    assert (oracle.on.rank, oracle.off.rank, oracle.rank_change, oracle.overall.p) == (None,) * 4
    assert compared(compare_runs(run, run)).on.rank == 1


def test_a_run_beside_itself_changes_nothing() -> None:
    run = played({"a": A_ON, "b": B_ON})
    found = compare_runs(run, run)
    assert found.tau == pytest.approx(1)
    for agent in found.agents:
        assert (agent.overall.value, agent.overall.interval, agent.overall.p) == (0, (0, 0), 1)
        assert (agent.score.value, agent.score.interval, agent.rank_change) == (0, (0, 0), 0)


def test_a_change_of_accuracy_lies_in_what_it_can_be() -> None:
    found = compare_runs(played({"a": [[[1] * 4], [[1] * 4]]}), played({"a": [[[0] * 4], [[1, 0, 0, 0]]]}))
    change = compared(found).overall
    assert change.value == pytest.approx(-7 / 8)
    assert change.interval is not None and change.interval[0] == -1 and change.interval[1] < 1


def test_equal_agents_share_a_rank_and_the_next_one_is_left_out() -> None:
    # b's right answers are a's, but of other users
    agents = {"c": B_ON, "a": A_ON, "b": [A_ON[2], A_ON[0], A_ON[1]]}
    found = compare_runs(played(agents), played({"c": A_ON, "a": B_ON, "b": B_ON}))
    ranks = {agent.name: (agent.on.rank, agent.off.rank) for agent in found.agents}
    assert ranks == {"a": (1, 2), "b": (1, 2), "c": (3, 1)}
    # τ-b: of three pairs one is tied in both orders, the other two are the other way round
    assert found.tau == pytest.approx(-1)


def test_tau_is_what_scipy_finds_also_where_one_order_alone_is_tied() -> None:
    # 4, 3, 3, 2 of four questions right beside 2, 3, 4, 4
    on, off = ([[[[1] * right + [0] * (4 - right)]] * 3 for right in rights] for rights in ((4, 3, 3, 2), (2, 3, 4, 4)))
    found = compare_runs(played(dict(zip("abcd", on, strict=True))), played(dict(zip("abcd", off, strict=True))))
    assert found.tau == stats.kendalltau([4, 3, 3, 2], [2, 3, 4, 4]).statistic


def test_no_tau_where_there_is_no_order() -> None:
    assert compare_runs(played({"a": A_ON}), played({"a": A_OFF})).tau is None
    assert compare_runs(played({"a": A_ON, "b": A_ON}), played({"a": A_ON, "b": B_ON})).tau is None


def test_without_an_upper_bound_the_overall_ranks_and_the_reason_is_given() -> None:
    found = compare_runs(played({"a": A_ON, "b": B_ON}, bound=None), played({"a": A_OFF, "b": B_OFF}))
    a = compared(found)
    assert found.ranked_by == "overall"
    assert (a.on.rank, a.off.rank) == (1, 2)
    assert (a.on.score.value, a.on.why_undefined) == (None, "no upper bound was measured")
    assert a.off.score.value == pytest.approx(1 / 6)  # what the other run has, is shown
    assert (a.score.value, a.score.interval) == (None, None)
    assert a.overall.value == pytest.approx(-0.25)


def test_an_upper_bound_at_random_is_no_measure() -> None:
    run = played({"a": A_ON}, bound=0)
    found = compared(compare_runs(run, run))
    assert found.on.score.value is None and found.score.value is None
    assert str(found.on.why_undefined).startswith("ratio of means: the upper bound (0.000) is not clearly above random")
    assert "mean of ratios" not in str(found.on.why_undefined)


def test_an_exam_without_an_answer_on_one_side_counts_on_neither() -> None:
    off = [[[None, 1, 0, 0]], *A_OFF[1:]]
    found = compared(compare_runs(played({"a": A_ON}), played({"a": off})))
    assert (found.n, found.on.overall.n, found.off.overall.n) == (11, 11, 11)
    assert found.on.overall.value == pytest.approx(9 / 11)
    assert found.off.overall.value == pytest.approx(6 / 11)
    assert found.overall.value == pytest.approx(-3 / 11)


def test_an_unfinished_run_is_compared_over_what_both_have() -> None:
    off = played({"a": A_OFF[:2], "b": B_OFF}, users=3)
    found = compare_runs(played({"a": A_ON, "b": B_ON}), off)
    a = compared(found)
    assert (a.n, a.users) == (8, 2)
    assert a.on.overall.value == pytest.approx(7 / 8)
    assert a.overall.value == pytest.approx(-0.25)
    assert (a.off.finished, a.off.planned) == (2, 3)
    assert found.on.is_finished and not found.off.is_finished and not found.is_finished
    assert not found.is_even


def test_an_agent_without_a_finished_episode_has_no_numbers() -> None:
    found = compare_runs(played({"a": A_ON, "b": B_ON}), played({"a": [], "b": B_OFF}))
    a = compared(found)
    assert (a.n, a.users, a.on.overall.value, a.on.rank, a.overall.value, a.overall.p) == (0, 0, None, None, None, None)
    assert (compared(found, "b").on.rank, found.ranked_by) == (1, "memory score")


def test_one_user_has_changes_and_no_intervals() -> None:
    found = compare_runs(played({"a": A_ON[:1]}), played({"a": A_OFF[:1]}))
    a = compared(found)
    assert a.overall.value == pytest.approx(-0.5)
    assert (a.overall.interval, a.overall.p, a.score.interval, a.on.overall.interval) == (None,) * 4
    assert found.why_no_interval == "one user: how users differ cannot be told, so there is no interval"


def test_other_numbers_of_trials_are_compared() -> None:
    found = compare_runs(played({"a": A_ON}), played({"a": A_OFF}, trials=3))
    a = compared(found)
    assert (a.n, a.on.overall.n, a.off.overall.n) == (12, 12, 36)
    assert a.overall.value == pytest.approx(-0.25)
    assert a.overall.interval == pytest.approx((-0.87105, 0.37105), abs=1e-4)
    assert (a.off.finished, a.off.planned) == (9, 9)


def test_trials_that_are_missing_weigh_no_user() -> None:
    """An agent that always answers the same beside itself, some of whose second trials are not finished."""
    on = played({"a": A_ON, "b": B_ON}, trials=2)
    left = np.array([e.trial == 0 or e.user > 0 for e in on.results.episodes])
    found = compare_runs(on, replace(on, results=on.results.only(left)))
    for agent in found.agents:
        assert (agent.overall.value, agent.overall.interval, agent.overall.p) == (0, (0, 0), 1)
        assert (agent.score.value, agent.score.interval) == (0, (0, 0))
        assert agent.off.overall.value == pytest.approx(agent.on.overall.value)
        assert agent.off.overall.interval == pytest.approx(agent.on.overall.interval)
        assert agent.off.score.value == pytest.approx(agent.on.score.value)
        assert agent.off.score.interval == pytest.approx(agent.on.score.interval)
    assert compared(found).on.overall.value == pytest.approx(10 / 12)
    assert compared(found).on.score.value == pytest.approx(2 / 3)
    assert (compared(found).on.overall.n, compared(found).off.overall.n) == (24, 20)


def test_agents_of_one_run_alone_are_named() -> None:
    found = compare_runs(played({"a": A_ON, "b": B_ON, "c": B_ON}), played({"d": B_OFF, "a": A_OFF}))
    assert [agent.name for agent in found.agents] == ["a"]
    assert (found.on.alone, found.off.alone) == (("b", "c"), ("d",))


def test_what_else_differs_is_told() -> None:
    found = compare_runs(played({"a": A_ON}, model="openai:m"), played({"a": A_OFF}, model="openai:n", language="zh"))
    assert (found.on.title, found.off.title) == ("openai:m, on-policy", "openai:n, on-policy")
    assert found.differs == ("language",)
    other = played({"a": A_ON}, agents=[{"name": "a", "topk": 3}])
    assert compared(compare_runs(played({"a": A_ON}), other)).is_other
    assert not compared(found).is_other


def with_data(**data: Any) -> Played:
    run = played({"a": A_ON})
    compared = {**run.manifest["compared"], "data": {**run.manifest["compared"]["data"], **data}}
    return replace(run, manifest={**run.manifest, "compared": compared})


@pytest.mark.parametrize("data", [{"sha256": "cd" * 32}, {"users": 2}, {"periods": 5}])
def test_mixed_data_is_refused_with_both_hashes(data: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        compare_runs(with_data(), with_data(**data))
    said = str(caught.value)
    assert said.startswith("mixed data: ON plays 3 users and 1 periods of lives (sha256 " + SHA + "), OFF plays ")
    assert f"(sha256 {data.get('sha256', SHA)}); compare" in said
    assert f"{data.get('users', 3)} users and {data.get('periods', 1)} periods" in said.split("OFF plays")[1]


def test_other_protocols_and_seeds_are_refused_with_both() -> None:
    imported = {"name": "v1-imported", "version": 1}
    with pytest.raises(UsageError, match=r"ON was played by amemgym \(version 1\), OFF by v1-imported \(version 1\)"):
        compare_runs(played({"a": A_ON}), played({"a": A_ON}, protocol=imported))
    with pytest.raises(UsageError, match=r"ON was played by amemgym \(version 1\), OFF by amemgym \(version 2\)"):
        compare_runs(played({"a": A_ON}), played({"a": A_ON}, protocol={"name": "amemgym", "version": 2}))
    with pytest.raises(UsageError, match="ON has seed 0, OFF has seed 7"):
        compare_runs(played({"a": A_ON}), played({"a": A_ON}, seed=7))


def test_runs_without_a_common_agent_are_refused() -> None:
    with pytest.raises(UsageError, match="no agent is in both runs: ON has a, OFF has b, c"):
        compare_runs(played({"a": A_ON}), played({"b": A_ON, "c": A_ON}))


def test_other_users_of_the_same_data_are_not_compared() -> None:
    """Two imports of one user each play as many users of the same file, and not the same ones."""
    on = played({"a": A_ON})
    off = replace(on, manifest={**on.manifest, "data": {**on.manifest["data"], "played": "f" * 64}})
    with pytest.raises(UsageError, match=rf"other users of lives.*{'ab' * 32} and {'f' * 64}"):
        compare_runs(on, off)


def test_a_run_is_called_by_the_models_of_the_agents_compared() -> None:
    """Agents of v1 files have models of their own, reference agents none."""
    own = [{"name": "a", "model": {"model": "openai:m"}}, {"name": "b", "model": {"model": "openai:n"}}]
    other = {"name": "c"}
    oracle = {"name": "oracle", "reference": True}
    everyone = {"a": A_ON, "b": B_ON, "c": B_ON, "oracle": ORACLE}
    on = played(everyone, model="offline", agents=[*own, other, oracle])
    found = compare_runs(on, played({"oracle": ORACLE, "a": A_ON, "b": B_ON}, model="offline", agents=[oracle, *own]))
    assert (found.on.models, found.on.title) == (("openai:m", "openai:n"), "openai:m, openai:n, on-policy")
    assert (found.on.alone, found.off.alone) == (("c",), ())
    assert compare_runs(on, on).off.models == ("openai:m", "openai:n", "offline")
    alone = played({"oracle": ORACLE}, model="offline", agents=[oracle])
    assert compare_runs(alone, on).on.models == ("offline",)
