"""What is wrong with a text, from what a judge found in it: each kind of fault, and what is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from amemgym.quality.findings import Judged, Verdict, judged
from amemgym.quality.qualities import qualities
from amemgym.quality.turns import Item, Talk, items_of
from amemgym.scenario import Scenario
from tests.scenario.build import small_user

VARIABLES = {"home": ("city", "coast", "farm"), "job": ("nurse", "pilot"), "pet": ("cat", "dog")}
NOW = {"home": "coast", "job": "nurse", "pet": "cat"}
UTTERANCE = Item("exposure", 0, "ada", "Hello.", VARIABLES, {"home": "coast"}, NOW, period=1, session=0, round=0)
LATER = replace(UTTERANCE, quality="integrity", agent="rag", trial=0, round=1)
ANSWER = Item(
    "answers", 0, "ada", "Walk.", {"home": VARIABLES["home"]}, {"home": "coast"}, query="?", question=2, option=1
)


def of(item: Item, found: Any) -> Judged:
    return judged(item, Verdict(item.at, "ok", found))


@pytest.mark.parametrize(
    ("item", "found", "faults"),
    [
        (UTTERANCE, {"home": "coast"}, []),
        (UTTERANCE, {}, [("missing", "home", None)]),
        (UTTERANCE, {"home": "farm"}, [("wrong", "home", "farm")]),
        (UTTERANCE, {"home": "coast", "job": "nurse"}, [("leak", "job", "nurse")]),
        (UTTERANCE, {"home": "coast", "job": "pilot"}, [("contradiction", "job", "pilot")]),
        (UTTERANCE, {"pet": "dog", "home": "city"}, [("wrong", "home", "city"), ("contradiction", "pet", "dog")]),
        (LATER, {}, []),
        (LATER, {"home": "coast"}, []),
        (LATER, {"home": "farm"}, [("contradiction", "home", "farm")]),
        (LATER, {"job": "nurse"}, [("leak", "job", "nurse")]),
        (ANSWER, {"home": "coast"}, []),
        (ANSWER, {"home": "city"}, [("answer", "home", "city")]),
    ],
)
def test_each_kind_of_fault(item: Item, found: dict[str, str], faults: list[tuple[str, str, str | None]]) -> None:
    one = of(item, found)
    assert [(f.kind, f.variable, f.found) for f in one.findings] == faults
    assert one.outcome == ("faulty" if faults else "ok")
    for finding in one.findings:
        assert (finding.user_id, finding.period, finding.question) == (item.user_id, item.period, item.question)
        assert finding.text == item.text and finding.intended == item.intended.get(finding.variable)


def test_a_reply_that_cannot_be_read_and_an_error_are_neither_a_fault_nor_none() -> None:
    unread = judged(UTTERANCE, Verdict(UTTERANCE.at, "invalid", None))
    error = judged(UTTERANCE, Verdict(UTTERANCE.at, "error", None, "filtered"))
    half = of(replace(ANSWER, intended={"home": "coast", "job": "nurse"}), {"home": "farm", "job": None})
    assert [one.outcome for one in (unread, error, half)] == ["unreadable", "error", "undecided"]
    assert not (unread.findings or error.findings or half.findings)
    counted = qualities([unread, error, of(UTTERANCE, {"home": "coast"}), half])
    assert (counted["exposure"]["utterances"]["n"], counted["exposure"]["utterances"]["value"]) == (1, 1.0)
    assert (counted["exposure"]["unreadable"], counted["exposure"]["errors"]) == (1, 1)
    assert counted["answers"]["answers"]["value"] is None
    assert (counted["answers"]["undecided"], counted["answers"]["unreadable"]) == (1, 0)
    assert "no reply of the judge could be read and decided" in counted["answers"]["answers"]["why_undefined"]


def test_a_leak_that_repeats_what_was_told_before_is_marked() -> None:
    before = replace(LATER, told={"job": "nurse"})
    assert [of(item, {"job": "nurse"}).findings[0].told_before for item in (before, LATER)] == [True, False]
    stale = replace(LATER, told={"job": "pilot"})
    assert not of(stale, {"job": "nurse"}).findings[0].told_before


def test_where_the_data_does_not_record_what_sessions_expose_only_contradictions_are_found() -> None:
    silent = replace(LATER, intended={}, recorded=False)
    assert [f.kind for f in of(silent, {"home": "coast", "job": "pilot"}).findings] == ["contradiction"]


def test_shares_are_clustered_by_user() -> None:
    """Two users: 3 of 4 utterances without fault, and by hand 4 of 5 states recovered."""
    other = replace(UTTERANCE, user=1, user_id="ben", intended={"home": "coast", "job": "nurse"})
    some = [
        of(UTTERANCE, {"home": "coast"}),
        of(UTTERANCE, {"home": "coast"}),
        of(UTTERANCE, {"home": "coast"}),
        of(other, {"home": "coast"}),
    ]
    shares = qualities(some)["exposure"]
    assert (shares["utterances"]["value"], shares["utterances"]["n"], shares["utterances"]["users"]) == (0.75, 4, 2)
    assert (shares["states"]["value"], shares["states"]["n"]) == (0.8, 5)
    low, high = shares["states"]["interval"]
    assert 0 <= low < 0.8 < high <= 1
    alone = qualities(some[:1])["exposure"]["states"]
    assert alone["interval"] is None and "one user" in alone["why_no_interval"]
    assert alone["n"] == 1 and qualities([])["exposure"]["states"]["value"] is None


def user(**changes: Any) -> Scenario:
    raw = small_user()
    raw["periods"][1]["sessions"][0] |= changes
    return Scenario.model_validate(raw)


def talk(scenario: Scenario, *said: str) -> Talk:
    """A conversation in which the user says these after each opening."""
    turns = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    for text in said:
        turns += [{"role": "user", "content": text}, {"role": "assistant", "content": "Well."}]
    return Talk("rag", 0, [[turns for _ in period.sessions] for period in scenario.periods])


def test_every_utterance_later_turn_and_answer_is_judged_once() -> None:
    scenario = user()
    items = list(items_of(0, scenario, [talk(scenario, "One.", "Two.")]))
    sessions = sum(len(period.sessions) for period in scenario.periods)
    kinds = [item.quality for item in items]
    assert kinds.count("exposure") == sessions and kinds.count("integrity") == 2 * sessions
    assert kinds.count("answers") == sum(len(question.answer_choices) for question in scenario.qas)
    assert len({item.at for item in items}) == len(items)
    later = next(item for item in items if item.round == 2 and item.period == 1)
    assert [message.content for message in later.before] == ["Hello.", "Yes?", "One.", "Well."]
    assert later.told["home"] == "city" and later.current["home"] == "coast"


def test_a_retracted_value_is_what_its_utterance_should_tell() -> None:
    scenario = user(kind="mistake", exposed_states={}, retracted_states={"home": "farm"})
    item = next(i for i in items_of(0, scenario) if i.period == 1)
    assert item.intended == {"home": "farm"} and not of(item, {"home": "farm"}).findings
    assert [f.kind for f in of(item, {"home": "coast"}).findings] == ["wrong"]


def test_without_records_of_exposure_no_utterance_is_judged() -> None:
    raw = small_user()
    for period in raw["periods"]:
        for session in period["sessions"]:
            session["exposed_states"] = {}
    scenario = Scenario.model_validate(raw)
    items = list(items_of(0, scenario, [talk(scenario, "One.")]))
    assert {item.quality for item in items} == {"integrity", "answers"}
    assert not any(item.recorded for item in items if item.quality == "integrity")


def test_a_conversation_that_ends_early_is_judged_as_far_as_it_goes() -> None:
    scenario = user()
    whole = talk(scenario, "One.")
    short = Talk("rag", 0, whole.conversation[:1])
    assert sum(item.quality == "integrity" for item in items_of(0, scenario, [short])) == len(
        scenario.periods[0].sessions
    )
