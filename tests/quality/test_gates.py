"""Leak gates: the published numbers, counts by hand, leaks that were planted, and data that leaks nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import amemgym
from amemgym.quality.advice import advice
from amemgym.quality.gates import NO_CONTEXT, Blind, Gate, GateCounter, Kind, Verdict, corrected, family, places
from amemgym.scenario import Scenario, load_dataset
from amemgym.scores.intervals import ratio_interval
from tests.quality.made import (
    PERIODS,
    QUESTIONS,
    Change,
    gates_of,
    gold_first,
    gold_longest,
    gold_shortest,
    users,
    vectors,
)
from tests.scenario.build import build_user, question, small_user
from tests.support.shared import shared

ORDER = ("always-1", "always-2", "always-3", "always-4", "last")


def failing(gates: dict[str, Gate]) -> set[str]:
    return {name for name, gate in gates.items() if gate.verdict is Verdict.FAILS}


# --- the published set ---


@pytest.fixture(scope="module")
def published() -> dict[str, Gate]:
    return gates_of(load_dataset(shared("data/amemgym-v1.base/data.json")).scenarios)


def test_the_published_numbers(published: dict[str, Gate]) -> None:
    known = {"always-1": 0.25682, "always-2": 0.26273, "always-3": 0.22409, "always-4": 0.17955}
    known |= {"longest": 0.24818, "shortest": 0.21591}
    for name, accuracy in known.items():
        gate = published[name]
        assert gate.accuracy == pytest.approx(accuracy, abs=5e-6)
        assert (gate.n, gate.users) == (2200, 20)
        assert gate.chance == pytest.approx(0.23076, abs=5e-6)
    assert [published[f"always-{k}"].n for k in (5, 6, 7)] == [68 * 11, 12 * 11, 2 * 11]


def test_the_published_order_is_biased(published: dict[str, Gate]) -> None:
    assert failing(published) == {"always-2", "always-4", "last"}
    assert published["always-7"].verdict is Verdict.UNTOLD and published["always-7"].users == 2
    said = " ".join(advice(list(published.values())))
    assert "The order of the options is biased" in said and "protocol amemgym" in said
    assert "more often than by chance at place 2 and less often at place 4 and the last place" in said
    assert "slight" not in said


def test_gold_by_place(published: dict[str, Gate]) -> None:
    table = places(list(published.values()))
    assert [place.place for place in table] == [1, 2, 3, 4, 5, 6, 7]
    assert [place.gold for place in table][:4] == [565, 578, 493, 395]
    assert sum(place.gold for place in table) == 2200
    assert sum(place.expected for place in table) == pytest.approx(2200)


# --- by hand ---


def test_the_small_users_gates() -> None:
    # gold of the first question (4 options) is 0 1 1 2, of the second (3) 2 1 1 1
    gates = gates_of([Scenario.model_validate(small_user(id)) for id in "abc"])
    right = {"always-1": 1, "always-2": 5, "always-3": 2, "always-4": 0, "last": 1, "longest": 5, "shortest": 1}
    assert {name: gates[name].right for name in right} == {name: 3 * count for name, count in right.items()}
    assert gates["always-4"].n == 3 * 4 and gates["always-4"].chance == 1 / 4
    assert gates["last"].n == 3 * 8 and gates["last"].chance == pytest.approx((4 / 4 + 4 / 3) / 8)
    assert gates["longest"].difference == pytest.approx((5 - 7 / 3) / 8)


def test_the_option_most_like_the_question_is_the_one_with_the_greatest_product() -> None:
    user = Scenario.model_validate(small_user())
    asked = np.array([[1, 0], [0, 1]], dtype=np.float32)
    first = np.array([[0, 1], [1, 0], [0.5, 0.5], [-1, 0]], dtype=np.float32)
    second = np.array([[1, 0], [0.5, 0.5], [0, 1]], dtype=np.float32)
    counter = GateCounter(0)
    counter.add(user, asked, [first, second])
    gate = next(gate for gate in counter.result() if gate.name == "most-alike")
    assert gate.right == 2 + 1  # option 1 of the first question, option 2 of the second


def test_a_models_unreadable_and_missing_replies_count_in_nothing() -> None:
    counter = GateCounter(0)
    for id, answers in (
        ("a", [Blind(1), Blind(2)]),
        ("b", [Blind(None), Blind(1)]),
        ("c", [Blind(None, missing=True), Blind(1)]),
    ):
        user = Scenario.model_validate(small_user(id))
        counter.add(user, *vectors(user, np.random.default_rng(0)), answers)
    gate = next(gate for gate in counter.result() if gate.name == NO_CONTEXT)
    assert (gate.right, gate.n, gate.unreadable, gate.missing) == (2 + 1 + 3 + 3, 8 + 4 + 4, 4, 4)
    assert gate.expected == pytest.approx(4 / 4 + 3 * 4 / 3)


def test_each_interval_is_that_of_the_ratio_at_a_level_for_all_gates() -> None:
    scenarios = users(12, seed=3)
    gates = gates_of(scenarios)
    assert len(family(list(gates.values()))) == len(gates) == 1 + 4 + 3 + 2
    level = corrected(len(gates))
    assert level == pytest.approx(1 - 0.05 / 10)
    gained, least = [], 0.0
    for scenario in scenarios:
        for q in range(QUESTIONS):
            golds = [scenario.gold(p, q) for p in range(PERIODS)]
            least += float(np.var([golds.count(option) for option in range(4)]))
        golds = [scenario.gold(p, q) for q in range(QUESTIONS) for p in range(PERIODS)]
        gained.append(golds.count(1) - len(golds) / 4)
    expected = ratio_interval(gained, [QUESTIONS * PERIODS] * 12, level, least)
    assert gates["always-2"].interval == pytest.approx(expected)
    assert gates["always-2"].difference == pytest.approx(sum(gained) / (12 * QUESTIONS * PERIODS))


def test_drawing_is_what_the_reference_agent_does_in_a_run_by_the_protocol_v1(tmp_path: Path) -> None:
    run = amemgym.run("starter", "uniform", seed=5, protocol="v1", upper_bound=False, out=tmp_path / "r")
    gate = gates_of(amemgym.load_dataset("starter").scenarios, seed=5)["uniform"]
    assert gate.accuracy == pytest.approx(run["uniform"]["overall"]) and gate.n == run["uniform"]["n"]
    assert gate.chance == pytest.approx(run.scores["random"])


# --- leaks ---


@pytest.mark.parametrize(
    ("change", "gates", "kind", "words"),
    [
        (gold_first, {"always-1", "always-2", "always-3", "always-4", "last"}, Kind.ORDER, "at place 1 and less often"),
        (gold_longest, {"longest", "shortest"}, Kind.LENGTH, "The length of an option tells"),
        (gold_shortest, {"longest", "shortest"}, Kind.LENGTH, "The length of an option tells"),
    ],
)
def test_a_planted_leak_is_found_and_named(change: Change, gates: set[str], kind: Kind, words: str) -> None:
    found = gates_of(users(30, seed=1, change=change, still=True))
    assert failing(found) == gates
    assert {found[name].kind for name in gates} == {kind}
    name = {"at place 1 and less often": "always-1"}.get(words, change.__name__.removeprefix("gold_"))
    assert found[name].accuracy == 1 and found[name].difference == pytest.approx(0.75)
    assert any(words in sentence for sentence in advice(list(found.values())))


def test_data_without_a_leak_passes_but_for_what_chance_allows() -> None:
    sets = 100
    failed = sum(bool(failing(gates_of(users(10, seed=seed)))) for seed in range(sets))
    # all gates hold together in 95 of 100 or more; more than 12 failures would have a chance below 1 in 500
    assert failed <= 12


def test_without_the_correction_far_more_would_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.quality.gates.corrected", lambda gates: 0.95)
    assert sum(bool(failing(gates_of(users(10, seed=seed)))) for seed in range(40)) > 6


def test_a_slight_difference_that_many_users_show_is_called_slight() -> None:
    gate = Gate("longest", Kind.LENGTH, "", 100_000, 1000, 25_600, 25_000, (0.003, 0.009), Verdict.FAILS)
    assert "The difference is slight, under 0.01" in advice([gate])[0]


# --- what cannot be told ---


def test_one_user_gives_no_interval() -> None:
    gates = gates_of(users(1, seed=0, change=gold_first, still=True))
    assert {gate.verdict for gate in gates.values()} == {Verdict.UNTOLD}
    assert all(gate.interval is None and gate.difference is not None for gate in gates.values())
    (sentence,) = advice(list(gates.values()))
    assert sentence.startswith("It cannot be told whether uniform, first (always-1), ") and "one user" in sentence


def test_two_users_are_too_few() -> None:
    gates = gates_of(users(2, seed=0))
    assert {gate.verdict for gate in gates.values()} == {Verdict.UNTOLD}
    assert "fewer than 3 users" in advice(list(gates.values()))[0]


def test_an_interval_that_holds_whatever_is_true_tells_nothing() -> None:
    """Of three users, one of whom always has gold first and one never."""
    made = users(2, seed=0, change=gold_first, still=True) + users(1, seed=1, change=gold_first, still=True)
    turned = made[0].model_copy(update={"id": "other", "qas": [_reversed(question) for question in made[0].qas]})
    gates = gates_of([turned, *made[1:]])
    assert gates["always-1"].verdict is Verdict.UNTOLD and "as wide as it can be" in (gates["always-1"].why or "")
    assert gates["always-1"].interval == pytest.approx((-0.25, 0.75))


@pytest.mark.parametrize(("count", "periods"), [(7, 29), (11, 15)])
def test_a_difference_of_exactly_nothing_passes(count: int, periods: int) -> None:
    """As many questions as options, gold at another place in each: every user has chance exactly, which would make an
    interval without width; but the order of the options is drawn, and another draw would not hit it so well."""
    values = [f"w{number}" for number in range(count)]
    state = {f"v{number}": "w0" for number in range(count)}
    asked = []
    for place in range(count):
        turned = values[-place:] + values[:-place] if place else values
        asked.append(question(f"Question {place}?", [f"v{place}"], *[(value,) for value in turned]))
    user = build_user("u", dict.fromkeys(state, values), [state] * periods, asked)
    gates = gates_of([Scenario.model_validate({**user, "id": f"u{number}"}) for number in range(3)])
    for name in [f"always-{place}" for place in range(1, count + 1)]:
        low, high = gates[name].interval or (0, 0)
        assert gates[name].difference == pytest.approx(0) and low < -0.05 and high > 0.1
        assert gates[name].verdict is Verdict.PASSES


# --- permutations ---


def _reversed(question: Any) -> Any:
    return question.model_copy(update={"answer_choices": question.answer_choices[::-1]})


def test_another_order_of_options_changes_the_gates_of_order_alone() -> None:
    made = users(6, seed=8, change=gold_first, still=True)
    turned = [user.model_copy(update={"qas": [_reversed(question) for question in user.qas]}) for user in made]
    before, after = amemgym.card(made), amemgym.card(turned)
    for one, other in zip(before.gates, after.gates, strict=True):
        if one.kind not in (Kind.ORDER, Kind.CHANCE):
            assert one == other
    found = [{gate.name: gate.accuracy for gate in card.gates} for card in (before, after)]
    assert found[0]["always-1"] == found[1]["last"] == found[1]["always-4"] == 1
    assert before.size == after.size and before.change == after.change and before.wording == after.wording


def test_the_option_most_like_the_others_is_a_gate() -> None:
    """One that shares with all the others is chosen, wherever it stands; of two options neither is the more alike."""
    scenario = users(1, seed=1)[0]
    counter = GateCounter(0)
    near = np.array([[1, 0, 0], [0.7, 0.7, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    counter.add(scenario, near[:1].repeat(QUESTIONS, 0), [near] * QUESTIONS)
    gate = next(gate for gate in counter.result() if gate.name == "most-typical")
    golds = [scenario.gold(p, q) for q in range(QUESTIONS) for p in range(PERIODS)]
    assert (gate.right, gate.n) == (golds.count(1), len(golds))


def test_few_users_who_happen_to_be_alike_do_not_fail() -> None:
    """Of eight users with one exam each, none has gold first in one of ten sets; that is no leak."""
    failed = 0
    for seed in range(30):
        made = [one.model_copy(update={"qas": one.qas[:1], "periods": one.periods[:1]}) for one in users(8, seed)]
        failed += bool(failing(gates_of(made)))
    assert failed <= 4  # the chance of more is below 1 in 100, if all gates hold together in 95 of 100


def test_few_users_who_all_show_a_leak_fail() -> None:
    gate = gates_of(users(3, seed=0, change=gold_first, still=True))["always-1"]
    low, high = gate.interval or (0, 0)
    # twelve questions with four options each, of which the first is right in all periods
    assert 0 < low < 0.75 == high and gate.verdict is Verdict.FAILS


def test_a_model_whose_replies_cannot_be_read_shows_no_leak() -> None:
    counter = GateCounter(0)
    for user in users(8, seed=1):
        counter.add(user, *vectors(user, np.random.default_rng(0)), [Blind(None)] * QUESTIONS)
    gate = next(gate for gate in counter.result() if gate.name == NO_CONTEXT)
    assert (gate.n, gate.unreadable, gate.verdict) == (0, 8 * QUESTIONS * PERIODS, Verdict.UNTOLD)
    assert gate.accuracy is None and gate.why == "there is no exam that it could answer"
