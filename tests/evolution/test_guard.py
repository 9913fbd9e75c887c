"""A policy holds nothing of one user's own, as it goes into everybody's prompts."""

from __future__ import annotations

import pytest

from amemgym.evolution.guard import copied
from amemgym.tasks import AnsweredQuestion, AskedQuestion, CompleteFeedback, QuestionFeedback

LINE = "[2021-03-04] user: [Current Time: 2021-03-04 09:00] Hi! I moved to a small flat above the old bakery. Any tips?"
ANSWERED = AnsweredQuestion("Where do I sleep?", (LINE,), ("Sleep in the tent by the lake tonight.", "No."), 1, 2)
COMPLETE = CompleteFeedback((ANSWERED,), (("home_kind", "flat_above_bakery"), ("mood", "calm")))
QUESTION = QuestionFeedback((AskedQuestion("Where do I sleep?", (LINE,)),))


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("Keep that they should sleep in  the tent\nby the lake TONIGHT.", "an answer of the exam"),
        ("Homes, such as flat above bakery.", "a state of one user"),
        ("home_kind: flat_above_bakery", "a state of one user"),
        ("Note: I moved to a small flat above the old bakery.", "what one user's memory holds"),
    ],
)
def test_what_is_copied_from_one_user_is_refused(policy: str, why: str) -> None:
    assert why in str(copied(policy, [COMPLETE]))


def test_question_feedback_has_no_states_but_memories() -> None:
    assert copied("Homes, such as flat above bakery.", [QUESTION]) is None
    assert "memory" in str(copied("I moved to a small flat above the old bakery.", [QUESTION]))


@pytest.mark.parametrize("policy", ["- home kind\n- mood: calm or not", "Where they live, how they sleep. No.", "Hi!"])
def test_topics_in_own_words_are_not(policy: str) -> None:
    assert copied(policy, [COMPLETE, QUESTION]) is None
