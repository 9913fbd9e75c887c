"""Why an answer is wrong, by hand for each way memory can fail; and that all ways together make up all answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from amemgym.evaluate import EpisodeResult, ProbeResult
from amemgym.scenario import Scenario
from amemgym.scores import Cell, accuracy, cells_of
from amemgym.scores.diagnosis import Failure, Mistake, diagnose, last_update, mistake
from amemgym.scores.metrics import failure_shares, mistake_shares
from tests.scenario.build import SCHEMA, User, build_user, question
from tests.scores.results import any_results, episode, exam, probe, scenario

#: a busy machine must not fail a test
BUSY = [HealthCheck.too_slow]
STATES = [
    {"home": "city", "job": "nurse", "pet": "cat", "language": "english"},
    {"home": "coast", "job": "nurse", "pet": "cat", "language": "english"},
    {"home": "coast", "job": "nurse", "pet": "dog", "language": "english"},
    {"home": "coast", "job": "pilot", "pet": "dog", "language": "english"},
    {"home": "coast", "job": "pilot", "pet": "cat", "language": "english"},
]
#: `home` changes in period 1, `job` in period 3; the last two variants never come true
VARIANTS = [("city", "nurse"), ("coast", "nurse"), ("coast", "pilot"), ("farm", "baker"), ("city", "baker")]
QUESTIONS = [
    question("What shall I do?", ["home", "job"], *VARIANTS),
    question("Where shall I walk?", ["home"], ("farm",), ("coast",), ("city",)),
]
HOME, JOB = {"home": "farm"}, {"job": "baker"}
#: period → what the probe of question 0 said wrongly (no entry: all right), or None where there is no such probe
Said = Mapping[int, Mapping[str, str | None] | None]


def user() -> User:
    return build_user("ada", SCHEMA, STATES, QUESTIONS)


ADA = scenario(user())


def probes(said: Said, who: Scenario = ADA) -> list[ProbeResult]:
    periods = [period for period in range(len(who.periods)) if said.get(period, {}) is not None]
    return [probe(who, period, 0, said.get(period)) for period in periods]


def failure(said: Said, period: int = 4, who: Scenario = ADA) -> Failure | None:
    """The failure behind one wrong answer to question 0."""
    wrong = exam(who, period, 0, ("farm", "baker"))
    return diagnose(episode(who, [wrong], probes(said, who)), who)[period, 0]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # all is known now
        ({}, Failure.UTILIZATION),
        ({1: HOME, 2: HOME, 3: HOME | JOB}, Failure.UTILIZATION),
        ({1: None, 2: None, 3: None}, Failure.UTILIZATION),
        # home is not known now, and was or was not when it was new
        ({4: HOME, 1: HOME}, Failure.WRITE),
        ({4: HOME}, Failure.READ),
        ({4: HOME, 2: HOME, 3: HOME}, Failure.READ),
        ({4: HOME, 0: {"home": "coast"}}, Failure.READ),
        # the same of job, which was new in period 3
        ({4: JOB, 3: JOB}, Failure.WRITE),
        ({4: JOB, 1: JOB, 2: JOB}, Failure.READ),
        # only what is wrong now is asked for when it was new
        ({4: HOME, 3: JOB}, Failure.READ),
        ({4: JOB, 1: HOME}, Failure.READ),
        ({4: HOME, 1: JOB}, Failure.READ),
        # two are wrong: one that was never written decides
        ({4: HOME | JOB}, Failure.READ),
        ({4: HOME | JOB, 1: HOME}, Failure.WRITE),
        ({4: HOME | JOB, 3: JOB}, Failure.WRITE),
        ({4: HOME | JOB, 1: HOME, 3: JOB}, Failure.WRITE),
        # no readable value is a wrong one
        ({4: {"home": None}, 1: {"home": None}}, Failure.WRITE),
        ({4: {"home": None}}, Failure.READ),
        # a probe that would tell is missing
        ({4: None}, None),
        ({4: HOME, 1: None}, None),
        ({4: HOME | JOB, 1: None}, None),
        ({4: HOME | JOB, 1: None, 3: JOB}, Failure.WRITE),
        ({4: JOB, 1: None}, Failure.READ),
    ],
)
def test_the_failure_behind_a_wrong_answer(said: Said, expected: Failure | None) -> None:
    assert failure(said) == expected


def test_a_state_that_is_wrong_when_it_is_new_was_not_written() -> None:
    assert failure({3: JOB}, period=3) == Failure.WRITE
    assert failure({1: HOME}, period=1) == Failure.WRITE
    assert failure({0: HOME}, period=0) == Failure.WRITE
    assert failure({1: JOB}, period=1) == Failure.READ  # new in period 0, and known then
    assert failure({0: JOB, 1: JOB}, period=1) == Failure.WRITE


def test_a_failed_probe_tells_nothing() -> None:
    wrong = exam(ADA, 4, 0, ("farm", "baker"))
    others = probes({4: None, 1: None})
    for lost in (4, 1):
        kept = probe(ADA, 5 - lost, 0, HOME)
        found = [*others, kept, probe(ADA, lost, 0, HOME, error="filtered")]
        assert diagnose(episode(ADA, [wrong], found), ADA) == {(4, 0): None}
    assert diagnose(episode(ADA, [wrong]), ADA) == {(4, 0): None}


def test_another_question_s_probe_tells_nothing() -> None:
    wrong = exam(ADA, 4, 0, ("farm", "baker"))
    others = [probe(ADA, period, 1, HOME) for period in range(5)]
    assert diagnose(episode(ADA, [wrong], others), ADA) == {(4, 0): None}
    assert diagnose(episode(ADA, [wrong], [*others, *probes({})]), ADA) == {(4, 0): Failure.UTILIZATION}


@pytest.mark.parametrize("status", ["invalid", "ambiguous", "empty"])
@pytest.mark.parametrize("guess", [None, ("farm", "baker")])
def test_an_unreadable_reply_is_unparsed_whatever_is_known(status: str, guess: tuple[str, ...] | None) -> None:
    """Under protocol v1 a guess stands in place of it."""
    unread = exam(ADA, 4, 0, guess, status)
    for said in ({}, {4: HOME}, {4: HOME, 1: HOME}, dict.fromkeys(range(5))):
        assert diagnose(episode(ADA, [unread], probes(said)), ADA) == {(4, 0): Failure.UNPARSED}
    assert mistake(unread, ADA) is None


def test_a_guess_that_is_right_is_no_failure() -> None:
    lucky = exam(ADA, 4, 0, ("coast", "pilot"), "invalid")
    assert lucky.correct
    assert diagnose(episode(ADA, [lucky], probes({4: HOME})), ADA) == {}
    assert mistake(lucky, ADA) is None


def test_right_answers_and_errors_have_no_failure() -> None:
    right, failed = exam(ADA, 4, 0, ("coast", "pilot")), exam(ADA, 3, 0, None, "error", error="filtered")
    found = episode(ADA, [right, failed], probes({4: HOME, 1: HOME}))
    assert diagnose(found, ADA) == {}
    assert len(cells_of([found], scenarios={"ada": ADA})) == 1


def test_a_repaired_reply_is_an_answer() -> None:
    assert diagnose(episode(ADA, [exam(ADA, 4, 0, ("farm", "baker"), "repaired")], probes({})), ADA) == {
        (4, 0): Failure.UTILIZATION
    }


# --- the last update ---


def test_the_last_update_is_that_of_the_variable() -> None:
    assert [last_update(ADA, period, "home") for period in range(5)] == [0, 1, 1, 1, 1]
    assert [last_update(ADA, period, "job") for period in range(5)] == [0, 0, 0, 3, 3]
    assert [last_update(ADA, period, "pet") for period in range(5)] == [0, 0, 2, 2, 4]
    assert [last_update(ADA, period, "language") for period in range(5)] == [0] * 5


def test_an_update_that_repeats_the_value_is_an_update() -> None:
    repeated = user()
    repeated["periods"][2]["updates"]["home"] = {"old": "coast", "new": "coast"}
    who = scenario(repeated)
    assert [last_update(who, period, "home") for period in range(5)] == [0, 1, 2, 2, 2]
    assert failure({4: HOME, 2: HOME}) == Failure.READ
    assert failure({4: HOME, 2: HOME}, who=who) == Failure.WRITE
    assert failure({4: HOME, 1: HOME}, who=who) == Failure.READ


def test_a_change_without_an_update_is_one_too() -> None:
    bare = user()
    for period in bare["periods"]:
        del period["updates"]
    who = scenario(bare)
    assert [last_update(who, period, "home") for period in range(5)] == [0, 1, 1, 1, 1]
    assert failure({4: HOME, 1: HOME}, who=who) == Failure.WRITE


def test_a_variable_that_is_required_twice_is_one_variable() -> None:
    twice = build_user("ada", SCHEMA, STATES, [question("?", ["home", "home"], ("city", "city"), ("coast", "coast"))])
    who = scenario(twice)
    for said, expected in (
        ({}, Failure.UTILIZATION),
        ({4: HOME}, Failure.READ),
        ({4: HOME, 1: HOME}, Failure.WRITE),
    ):
        found = [probe(who, period, 0, said.get(period)) for period in range(5)]
        wrong = exam(who, 4, 0, ("city", "city"))
        assert diagnose(episode(who, [wrong], found), who) == {(4, 0): expected}
        assert mistake(wrong, who) == Mistake.STALE


# --- what the wrong option is ---


def test_the_mistake_is_told_by_the_variant_of_the_chosen_option() -> None:
    expected: dict[tuple[int, tuple[str, str]], Mistake] = {
        (0, ("coast", "nurse")): Mistake.FUTURE,
        (0, ("coast", "pilot")): Mistake.FUTURE,
        (1, ("city", "nurse")): Mistake.STALE,
        (1, ("coast", "pilot")): Mistake.FUTURE,
        (4, ("city", "nurse")): Mistake.STALE,
        (4, ("coast", "nurse")): Mistake.STALE,
        (4, ("farm", "baker")): Mistake.NEVER,
        (0, ("farm", "baker")): Mistake.NEVER,
        (2, ("city", "baker")): Mistake.NEVER,
    }
    for (period, variant), kind in expected.items():
        for order in ((0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (2, 4, 0, 3, 1)):
            assert mistake(exam(ADA, period, 0, variant, order=order), ADA) == kind
    assert mistake(exam(ADA, 4, 0, ("coast", "pilot")), ADA) is None
    assert mistake(exam(ADA, 4, 0, None, "invalid"), ADA) is None


def test_what_was_and_will_be_again_is_stale() -> None:
    again = [*STATES[:2], STATES[0], STATES[1]]
    who = scenario(build_user("ada", SCHEMA, again, QUESTIONS))
    assert mistake(exam(who, 1, 0, ("city", "nurse")), who) == Mistake.STALE  # true in 0 and 2
    assert mistake(exam(who, 0, 0, ("coast", "nurse")), who) == Mistake.FUTURE
    assert mistake(exam(who, 2, 0, ("coast", "nurse")), who) == Mistake.STALE
    assert mistake(exam(who.limited(1), 0, 0, ("coast", "nurse")), who.limited(1)) == Mistake.NEVER


# --- all of it together ---


def shares(cells: Sequence[Cell]) -> tuple[float, float]:
    """Everything that an answer can be, by why it is wrong and by what it is."""
    right = accuracy(cells).value or 0.0
    failures = {name: share.value or 0.0 for name, share in failure_shares(cells).items()}
    mistakes = {name: share.value or 0.0 for name, share in mistake_shares(cells).items()}
    unknown = sum(not cell.exam.correct and cell.failure is None for cell in cells) / len(cells)
    return math.fsum([right, unknown, *failures.values()]), math.fsum([right, failures["unparsed"], *mistakes.values()])


def test_shares_by_hand() -> None:
    exams = [
        exam(ADA, 0, 0, ("city", "nurse")),
        exam(ADA, 1, 0, ("city", "nurse")),
        exam(ADA, 2, 0, ("coast", "pilot")),
        exam(ADA, 3, 0, None, "empty"),
        exam(ADA, 4, 0, ("farm", "baker")),
        exam(ADA, 1, 1, ("farm",)),
        exam(ADA, 2, 1, None, "error", error="filtered"),
        exam(ADA, 4, 1, ("coast",)),
    ]
    found = probes({1: HOME, 2: {}, 4: HOME})
    cells = cells_of([episode(ADA, exams, found)], scenarios={"ada": ADA})
    assert {name: round((share.value or 0) * 7, 9) for name, share in failure_shares(cells).items()} == {
        "write": 2,
        "read": 0,
        "utilization": 1,
        "unparsed": 1,
    }
    assert {name: round((share.value or 0) * 7, 9) for name, share in mistake_shares(cells).items()} == {
        "stale": 1,
        "future": 1,
        "never": 2,
    }
    assert {share.n for share in failure_shares(cells).values()} == {7}
    assert shares(cells) == pytest.approx((1, 1))
    assert [cell.failure for cell in cells].count(None) == 3  # two right ones, and one that no probe tells


def test_each_user_s_answers_are_held_against_their_own_life() -> None:
    bea = scenario(build_user("bea", SCHEMA, STATES[::-1], QUESTIONS))
    episodes = [
        episode(who, [exam(who, 1, 0, ("city", "nurse"))], [probe(who, 1, 0)], user=number)
        for number, who in enumerate((ADA, bea))
    ]
    cells = cells_of(episodes, scenarios={"ada": ADA, "bea": bea})
    assert [cell.mistake for cell in cells] == [Mistake.STALE, Mistake.FUTURE]
    assert failure_shares(cells)["utilization"].interval is not None
    assert failure_shares(cells[:1])["utilization"].interval is None
    assert {cell.failure for cell in cells_of(episodes)} == {None}


@settings(max_examples=80, deadline=None, suppress_health_check=BUSY)
@given(any_results())
def test_all_failures_and_all_mistakes_make_up_all_answers(drawn: tuple[Scenario, EpisodeResult]) -> None:
    who, found = drawn
    cells = cells_of([found], scenarios={who.id: who})
    assert len(cells) == sum(result.error is None for result in found.exams)
    if not cells:
        return
    by_failure, by_mistake = shares(cells)
    assert abs(by_failure - 1) < 1e-9
    assert abs(by_mistake - 1) < 1e-9
    for cell in cells:
        assert not (cell.exam.correct and (cell.failure or cell.mistake))
        assert (cell.failure == Failure.UNPARSED) == (cell.exam.is_invalid and not cell.exam.correct)
        assert (cell.mistake is None) == (cell.exam.correct or cell.exam.is_invalid)


@settings(max_examples=40, deadline=None, suppress_health_check=BUSY)
@given(any_results())
def test_the_failure_is_what_its_definition_says(drawn: tuple[Scenario, EpisodeResult]) -> None:
    """SPEC section 3, once more in other words."""
    who, found = drawn
    said = {(p.period, p.question): p.values for p in found.probes if p.error is None}
    exams = {(result.period, result.question): result for result in found.exams}
    for (period, index), why in diagnose(found, who).items():
        if exams[period, index].option is None or exams[period, index].guessed:
            assert why == Failure.UNPARSED
            continue
        known: dict[str, list[bool | None]] = {}  # variable → known now, known when it was new
        for name in who.qas[index].required_info:
            since = max([0, *(p for p in range(1, period + 1) if name in who.periods[p].updates)])
            known[name] = [
                said[p, index][name] == who.periods[p].state[name] if (p, index) in said else None
                for p in (period, since)
            ]
        wrong = [new for now, new in known.values() if now is False]
        told = all(now is not None for now, _ in known.values())
        assert (why == Failure.UTILIZATION) == (told and not wrong)
        assert (why == Failure.WRITE) == (told and False in wrong)
        assert (why == Failure.READ) == (told and bool(wrong) and all(wrong))
        assert (why is None) == (not told or (None in wrong and False not in wrong))
