"""The offline model on policies: what a full record loses, and what an exam's feedback adds to what is kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.llm import embedder
from amemgym.llm.offline.policy import Keeper, topics_of
from amemgym.messages import Message
from amemgym.tasks import (
    AnsweredQuestion,
    AskedQuestion,
    CompleteFeedback,
    Feedback,
    QuestionFeedback,
    ReconcileFacts,
    RevisePolicy,
    UpdateRecord,
)
from tests.llm.helpers import NOW
from tests.llm.test_offline import solve

POLICY = "Keep these.\n- daily diet\n- home town\n- commute transport"
DIET, DIET_LATER = "I have given up meat and my daily diet is vegan.", "My daily diet has fish in it again."
HOME, BUS, CHAT = "My home town is by the sea.", "I commute by the city bus.", "What shall I do with the rest?"


def kept(lines: list[str], room: int, policy: str = POLICY) -> list[str]:
    return [lines[place] for place in Keeper(embedder().embed).kept(lines, room, policy)]


def test_a_full_record_loses_what_later_lines_tell_of_too() -> None:
    assert kept([DIET, HOME, BUS, DIET_LATER], 3) == [HOME, BUS, DIET_LATER]
    # of equals, the oldest
    assert kept([HOME, BUS, DIET_LATER], 2) == [BUS, DIET_LATER]
    assert kept([HOME, BUS], 2) == [HOME, BUS]


@pytest.mark.parametrize("policy", ["", "Keep what matters, all of it.", "-no topic\n-"])
def test_without_topics_the_oldest_go(policy: str) -> None:
    assert topics_of(policy) == []
    assert kept([DIET, HOME, BUS, DIET_LATER], 3, policy) == [HOME, BUS, DIET_LATER]
    assert kept([HOME, DIET, BUS, DIET_LATER], 3, policy) == [DIET, BUS, DIET_LATER]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([DIET, DIET_LATER, HOME, BUS, CHAT]), max_size=6), st.integers(1, 6))
def test_no_more_than_there_is_room_for_and_in_order(lines: list[str], room: int) -> None:
    places = Keeper(embedder().embed).kept(lines, room, POLICY)
    assert len(places) == min(room, len(lines)) and all(a < b for a, b in pairwise(places))


def test_a_record_and_a_store_keep_by_the_policy() -> None:
    record = "\n".join([DIET, HOME, BUS])
    said = (Message("user", f"[Current Time: 2022-03-01 09:30:00]\n{DIET_LATER}", NOW),)
    written = solve(UpdateRecord(record, said, NOW, policy=POLICY, room=3)).value
    assert written.splitlines() == [HOME, BUS, DIET_LATER]
    assert solve(UpdateRecord(record, said, NOW, room=3)).value.splitlines() == [HOME, BUS, DIET_LATER]
    record = "\n".join([HOME, DIET, BUS])
    assert solve(UpdateRecord(record, said, NOW, policy=POLICY, room=3)).value.splitlines() == [HOME, BUS, DIET_LATER]

    stored = tuple(enumerate([HOME, DIET, BUS]))
    operations = solve(ReconcileFacts(stored, (DIET_LATER,), NOW, POLICY, 3)).value
    assert [(operation.kind, operation.id) for operation in operations] == [("add", None), ("delete", 1)]
    # the same fact twice, of which one is kept
    twice = solve(ReconcileFacts((), (CHAT, HOME, HOME), NOW, POLICY, 1)).value
    assert [operation.text for operation in twice] == [HOME]


def complete(right: bool, *exposed: str) -> CompleteFeedback:
    question = AnsweredQuestion("Where to?", (), ("Here.", "There."), 1 if right else 2, 1)
    return CompleteFeedback((question,), tuple((name, "a value") for name in exposed))


def learned(policy: str, *exams: Feedback, longest: int = 4000) -> str:
    found: str = solve(RevisePolicy("record", policy, exams, longest)).value
    return found


def test_complete_feedback_adds_what_was_exposed_to_who_answered_wrongly() -> None:
    exams = (complete(True, "pet_kind"), complete(False, "home_town", "daily_diet"), complete(False, "home_town"))
    assert learned("Keep these.", *exams) == "Keep these.\n- home town\n- daily diet"
    assert learned("Keep these.\n- daily diet", *exams) == "Keep these.\n- daily diet\n- home town"
    assert learned("Keep these.", complete(True, "pet_kind")) == "Keep these."
    assert "a value" not in learned("", *exams)


def test_questions_add_their_own_words() -> None:
    asked = AskedQuestion("How should I plan my meals for the coming week?", ("a secret line",))
    assert learned("Keep these.", QuestionFeedback((asked, asked))) == "Keep these.\n- plan meals coming week"


def test_a_policy_stays_within_its_length_and_a_query_as_it_is() -> None:
    exams = tuple(complete(False, *(f"matter_{number}_{k}" for k in range(30))) for number in range(9))
    text = "Keep these."
    for _ in range(12):
        text = learned(text, *exams, longest=400)
    assert len(text) <= 400 and len(topics_of(text)) > 10
    assert solve(RevisePolicy("query", "of $query", exams, 4000)).value == "of $query"
