"""How well single states are remembered: by hand on small lives, and on agents whose memory is known."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym.env import DEFAULT
from amemgym.evaluate import EpisodeResult, ProbeResult
from amemgym.evaluate.reference import play_reference
from amemgym.scenario import Scenario
from amemgym.scores.metrics import Mean
from amemgym.scores.recall import recall, recall_by, update_lag
from amemgym.scores.states import StateCell, state_cells
from tests.scenario.build import User, build_user, question, valid_users
from tests.scores.results import episode, probe, scenario

#: a busy machine must not fail a test
BUSY = [HealthCheck.too_slow]
HOMES = ["city", "coast", "farm", "hills"]


def life(homes: str, id: str = "ada", values: Sequence[str] = HOMES) -> User:
    """A user whose home is, period by period, the value that begins with that letter (`C` is the coast)."""
    named = {"c": "city", "C": "coast", "f": "farm", "h": "hills"}
    states = [{"home": named[letter], "pet": "cat"} for letter in homes]
    asked = question("Where shall I walk?", ["home"], *[(value,) for value in values])
    return build_user(id, {"home": list(values), "pet": ["cat", "dog"]}, states, [asked])


def found(
    homes: str, known: str, *, user: int = 0, who: Scenario | None = None, trial: int = 0
) -> tuple[Scenario, EpisodeResult]:
    """A life, and what probes found in each period: `+` known, `-` not known, `!` failed, `.` none."""
    who = who or scenario(life(homes, f"user {user}"))
    probes: list[ProbeResult] = []
    for period, sign in enumerate(known):
        values: dict[str, str | None] = {} if sign == "+" else {"home": None}
        if sign != ".":
            probes.append(probe(who, period, 0, values, error="filtered" if sign == "!" else None))
    return who, episode(who, (), probes, user=user, trial=trial)


def cells(*results: tuple[Scenario, EpisodeResult]) -> list[StateCell]:
    return state_cells([result for _, result in results], {who.id: who for who, _ in results})


def values(means: Sequence[Mean]) -> list[tuple[float | None, int]]:
    return [(None if mean.value is None else round(mean.value, 6), mean.n) for mean in means]


# --- what is known of a cell ---


def test_age_changes_and_life_by_hand() -> None:
    some = cells(found("ccCCCc", "++++++"))
    assert [cell.age for cell in some] == [0, 1, 0, 1, 2, 0]
    assert [cell.changes for cell in some] == [0, 0, 1, 1, 1, 2]
    assert [cell.life for cell in some] == [2, 2, 3, 3, 3, 1]
    assert {(cell.user, cell.question, cell.variable, cell.values) for cell in some} == {(0, 0, "home", 4)}


def test_an_update_that_repeats_the_value_makes_it_new() -> None:
    user = life("ccC")
    user["periods"][1]["updates"]["home"] = {"old": "city", "new": "city"}
    some = cells(found("ccC", "+++", who=scenario(user)))
    assert [(cell.age, cell.changes, cell.life) for cell in some] == [(0, 0, 1), (0, 1, 1), (0, 2, 1)]


def test_a_change_without_an_update_counts() -> None:
    user = life("cCC")
    for period in user["periods"]:
        del period["updates"]
    some = cells(found("cCC", "+++", who=scenario(user)))
    assert [(cell.age, cell.changes, cell.life) for cell in some] == [(0, 0, 1), (0, 1, 2), (1, 1, 2)]


def test_failed_and_missing_probes_are_no_cells() -> None:
    some = cells(found("ccCC", "+!.-"))
    assert [(cell.period, cell.right) for cell in some] == [(0, True), (3, False)]


def test_a_variable_counts_once_a_probe_and_not_at_all_where_it_has_no_choice() -> None:
    schema = {"home": HOMES, "planet": ["earth"]}
    states = [{"home": "city", "planet": "earth"}]
    variants = [("city", "earth", "city"), ("farm", "earth", "farm")]
    asked = [
        question("What?", ["home", "planet", "home"], *variants),
        question("Where?", ["home"], ("city",), ("farm",)),
    ]
    who = scenario(build_user("ada", schema, states, asked))
    some = cells((who, episode(who, (), [probe(who, 0, 0), probe(who, 0, 1)])))
    assert [(cell.question, cell.variable) for cell in some] == [(0, "home"), (1, "home")]


# --- recall ---


def test_recall_by_hand() -> None:
    # 3 of 4 right, of 4 values each: (3 − 4/4) / (4 − 4/4)
    mean = recall(cells(found("ccCC", "++-+")))
    assert (mean.value, mean.n) == (pytest.approx(2 / 3), 4)
    # another user is asked among two values: (3 − 1 + 1 − 2/2) / (3 + 2 − 2/2)
    who = scenario(life("cC", "bea", HOMES[:2]))
    mean = recall(cells(found("ccCC", "++-+"), found("cC", "+-", user=1, who=who)))
    assert (mean.value, mean.n) == (pytest.approx(2 / 4), 6)


def test_recall_of_all_nothing_and_no_one() -> None:
    assert recall(cells(found("cCf", "+++"))).value == pytest.approx(1)
    assert recall(cells(found("cCf", "---"))).value == pytest.approx(-1 / 3)
    assert recall([]) == Mean(None, 0)
    assert recall(cells(found("cCf", "!.!"))) == Mean(None, 0)


@pytest.mark.parametrize("choices", [2, 3, 4])
def test_a_guesser_s_recall_is_about_nothing(choices: int) -> None:
    world = random.Random(choices)
    who = scenario(life("cCcCcCcCcC" if choices == 2 else "ccCfCffccC", values=HOMES[:choices]))
    results = [
        episode(
            who,
            (),
            [probe(who, period, 0, {"home": world.choice(HOMES[:choices])}) for period in range(10)],
            user=user,
        )
        for user in range(400)
    ]
    mean = recall(state_cells(results, {who.id: who}))
    assert mean.n == 4000
    assert mean.value == pytest.approx(0, abs=0.05)
    low, high = mean.interval or (1, 1)
    assert -0.08 < low < high < 0.08


def test_recall_by_age_changes_and_life() -> None:
    some = cells(found("ccCCCc", "+-++-+"), found("ff", "-+", user=1))

    def corrected(right: int, n: int) -> tuple[float, int]:
        return round((right - n / 4) / (n - n / 4), 6), n

    assert values(recall_by(some, "age")) == [corrected(3, 4), corrected(2, 3), corrected(0, 1)]
    assert values(recall_by(some, "changes")) == [corrected(2, 4), corrected(2, 3), corrected(1, 1)]
    by_life = [(None, 0), corrected(1, 1), corrected(2, 4), corrected(2, 3)]
    assert values(recall_by(some, "life")) == by_life
    assert recall_by([], "age") == []


def test_great_ages_are_taken_together() -> None:
    means = recall_by(cells(found("c" * 13, "+" * 8 + "+-++-")), "age")
    assert [mean.n for mean in means] == [1] * 8 + [5]
    assert means[-1].value == pytest.approx((3 - 5 / 4) / (5 - 5 / 4))


def test_one_user_has_no_interval() -> None:
    one, two = found("ccCC", "++-+"), found("cfff", "+-++", user=1)
    assert recall(cells(one)).interval is None
    assert recall(cells(one, two)).interval is not None
    lag = update_lag(cells(one))
    assert [mean.interval for mean in (lag.known, lag.mean, *lag.by_lag)] == [None] * (2 + len(lag.by_lag))
    assert update_lag(cells(one, two)).known.interval is not None


# --- update lag ---


def test_update_lag_by_hand() -> None:
    # coast in period 2 (held 3 periods, known one later), city in 5 (held 1, never known)
    lag = update_lag(cells(found("ccCCCc", "++-+--")))
    assert values([lag.known, lag.mean]) == [(0.5, 2), (1.0, 1)]
    assert values(lag.by_lag) == [(0.0, 2), (1.0, 1), (1.0, 1)]


def test_what_is_known_at_once_has_no_lag() -> None:
    lag = update_lag(cells(found("cCCff", "-+-+-")))
    assert values([lag.known, lag.mean]) == [(1.0, 2), (0.0, 2)]
    assert values(lag.by_lag) == [(1.0, 2), (1.0, 2)]


def test_what_is_never_known_has_no_mean() -> None:
    lag = update_lag(cells(found("cCCff", "+----")))
    assert values([lag.known, lag.mean]) == [(0.0, 2), (None, 0)]
    assert values(lag.by_lag) == [(0.0, 2), (0.0, 2)]


def test_a_value_that_is_known_when_it_holds_no_more_is_not_known() -> None:
    who = scenario(life("cCff"))
    late = [probe(who, period, 0, {"home": said}) for period, said in enumerate(["city", "city", "coast", "coast"])]
    lag = update_lag(cells((who, episode(who, (), late))))
    assert values([lag.known, lag.mean]) == [(0.0, 2), (None, 0)]
    assert values(lag.by_lag) == [(0.0, 2), (0.0, 1)]


def test_a_value_that_comes_back_is_another_change() -> None:
    lag = update_lag(cells(found("cCcC", "++--")))
    assert values([lag.known, lag.mean]) == [(round(1 / 3, 6), 3), (0.0, 1)]


def test_the_first_state_is_no_change() -> None:
    for known in ("++++", "----"):
        lag = update_lag(cells(found("cccc", known)))
        assert (lag.known, lag.mean, lag.by_lag) == (Mean(None, 0), Mean(None, 0), [])


def test_a_change_that_was_not_probed_when_new_is_left_out() -> None:
    # of the first change nothing is known before period 2; the second is whole
    for missing in "!.":
        lag = update_lag(cells(found("cCCff", f"+{missing}++-")))
        assert values([lag.known, lag.mean]) == [(1.0, 1), (0.0, 1)]
    lag = update_lag(cells(found("cCCC", "+-!+")))  # found after a gap, it may have been known in it
    assert values([lag.known, lag.mean]) == [(1.0, 1), (None, 0)]


def test_changes_are_told_apart_by_user_trial_and_question() -> None:
    who = scenario(life("cC", "user 0"))
    some = cells(
        found("cC", "++", who=who),
        found("cC", "+-", who=who, trial=1),
        found("cC", "++", user=1),
        found("cC", "+-", user=2),
    )
    assert values([update_lag(some).known]) == [(0.5, 4)]
    asked = question("Where?", ["home"], ("city",), ("coast",))
    twice = scenario(build_user("ada", {"home": HOMES}, [{"home": "city"}, {"home": "coast"}], [asked, asked]))
    both = [probe(twice, period, index, {} if index else {"home": "farm"}) for period in (0, 1) for index in (0, 1)]
    assert values([update_lag(cells((twice, episode(twice, (), both)))).known]) == [(0.5, 2)]


def test_long_lags_are_not_listed() -> None:
    lag = update_lag(cells(found("c" + "C" * 12, "+" * 13)))
    assert len(lag.by_lag) == 8


def test_a_share_s_interval_lies_within_0_and_1() -> None:
    some = cells(*[found("cC", "++" if user else "+-", user=user) for user in range(6)])
    lag = update_lag(some)
    for low, high in [mean.interval or (0, 0) for mean in (lag.known, *lag.by_lag)]:
        assert 0 <= low <= high <= 1


# --- agents whose memory is known ---


def of_reference(name: str, who: Scenario) -> list[StateCell]:
    return state_cells([play_reference(name, 0, who, 0, DEFAULT, 0)], {who.id: who})


LIVES = valid_users().map(scenario) | st.text("cCfh", min_size=1, max_size=9).map(lambda text: scenario(life(text)))


@settings(max_examples=50, deadline=None, suppress_health_check=BUSY)
@given(LIVES)
def test_an_oracle_knows_all_at_once(who: Scenario) -> None:
    some = of_reference("oracle", who)
    assert recall(some).value == pytest.approx(1)
    lag = update_lag(some)
    assert lag.known.value in (1.0, None)
    assert lag.mean.value in (0.0, None)
    assert all(mean.value == 1 for mean in lag.by_lag)


@settings(max_examples=50, deadline=None, suppress_health_check=BUSY)
@given(LIVES)
def test_lag_1_knows_each_change_one_period_later_where_it_still_holds(who: Scenario) -> None:
    some = of_reference("lag-1", who)
    changed = [cell for cell in some if cell.changes and not cell.age]
    lasting = [cell for cell in changed if cell.life >= 2]
    lag = update_lag(some)
    assert (lag.known.n, lag.mean.n) == (len(changed), len(lasting))
    if changed:
        assert lag.known.value == pytest.approx(len(lasting) / len(changed))
        assert lag.by_lag[0].value == 0
    if lasting:
        assert lag.mean.value == 1
        assert all(mean.value == 1 for mean in lag.by_lag[1:])


@settings(max_examples=50, deadline=None, suppress_health_check=BUSY)
@given(LIVES)
def test_frozen_knows_a_change_only_where_it_leads_back(who: Scenario) -> None:
    some = of_reference("frozen", who)
    changed = [cell for cell in some if cell.changes and not cell.age]
    first, states = who.periods[0].state, [period.state for period in who.periods]
    back = [cell for cell in changed if states[cell.period][cell.variable] == first[cell.variable]]
    lag = update_lag(some)
    assert (lag.known.n, lag.mean.n) == (len(changed), len(back))
    assert lag.mean.value in (0.0, None)
    if not changed:
        assert recall(some).value == pytest.approx(1)
