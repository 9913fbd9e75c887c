"""A user by a language model: sound whatever the shape, repaired where a stage goes wrong, and told why where it cannot
be. The model is scripted and judges too, by what it reads in the texts."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import GenerationFailed
from amemgym.generate.shape import Shape
from amemgym.generate.stage import JUDGE
from amemgym.llm import Journal
from amemgym.scenario import Scenario, find_faults
from tests.generate.helpers import make_user, small
from tests.support.generator import InProcess, Spoil, Spoiled, edited, said, variables, well

# --- what is made is sound ---

DIFFICULTIES: list[dict[str, Any]] = [
    {},
    {"periods": 1},
    {"states": 1, "values": 2, "options": 2},
    {"states": 3, "values": 4, "questions": 12, "periods": 2},
    {"distractors": 4, "others": 2},
    {"temporary": 1.0, "periods": 6},
    {"corrections": 2, "contradictions": 1, "changes": 4},
    {"gaps": 2, "periods": 7},
    {"explicitness": "mixed", "changes": 1},
    {"changes": 0},
]


def sessions(user: Scenario) -> list[Any]:
    return [session for period in user.periods for session in period.sessions]


@pytest.mark.parametrize("more", DIFFICULTIES, ids=lambda more: ",".join(more) or "plain")
def test_what_is_made_is_sound_and_as_large_as_asked(more: dict[str, Any]) -> None:
    shape = small(**more)
    user = make_user(shape=shape)
    assert find_faults([user]) == []  # nor a period in which nothing is said
    assert len(user.periods) == shape.periods and len(user.qas) == shape.questions
    assert all(len(values) == shape.values for values in user.state_schema.values())
    for question in user.qas:
        assert len(question.required_info) == shape.states
        assert len(question.answer_choices) >= min(shape.options, shape.values**shape.states)
    kinds = Counter(session.kind for session in sessions(user))
    quiet = 0 if shape.distractors else sum(not period.updates for period in user.periods)
    assert kinds["distractor"] == shape.distractors * shape.periods + quiet
    assert len({s.query for s in sessions(user) if s.kind == "distractor"}) == kinds["distractor"]
    assert kinds["other"] == shape.others * shape.periods


def test_two_questions_variables_that_are_one_become_one() -> None:
    user = make_user()
    [first, _, third] = [question.required_info for question in user.qas]
    assert "shared_side" in first and "shared_side" in third
    assert len(user.state_schema) == 5


def test_every_utterance_says_what_its_session_tells() -> None:
    for session in sessions(make_user(shape=small(corrections=1, contradictions=1, distractors=1, others=1))):
        told = {**session.exposed_states, **session.retracted_states}
        assert all(said(name, value) in session.query for name, value in told.items())
        assert bool(told) == (session.kind not in ("distractor", "other"))


def test_a_value_told_wrongly_is_mended_later_and_as_asked() -> None:
    user = make_user(shape=small(corrections=1, contradictions=1, changes=3))
    for period in user.periods:
        for at, session in enumerate(period.sessions):
            for name, value in session.retracted_states.items():
                assert value != period.state[name]
                [mended] = [later for later in period.sessions[at + 1 :] if name in later.exposed_states]
                assert mended.kind in ("correction", "contradiction")
                assert mended.query.startswith("Corrected" if mended.kind == "correction" else "Plain")
    kinds = Counter(session.kind for session in user.periods[0].sessions)
    assert kinds["mistake"] == 2 and kinds["correction"] == kinds["contradiction"] == 1


def test_no_value_is_told_as_a_change_to_itself() -> None:
    """Of two values, the wrong one of a change is the one that was so before."""
    provider = InProcess(well)
    make_user(provider=provider, shape=small(values=2, corrections=2, contradictions=1, changes=3, periods=4))
    told = [one for call in provider.calls if call.task.name == "write_utterance" for one in call.task.tell]
    assert any(one.how == "corrected" for one in told) and any(one.how == "lasting" for one in told)
    assert all(one.value != one.before for one in told)


def test_a_temporary_change_is_told_as_one_and_taken_back_in_the_next_period() -> None:
    user = make_user(shape=small(temporary=1.0, periods=4))
    before, during, after = user.periods[:3]
    assert during.updates
    for name in during.updates:
        assert after.state[name] == before.state[name] != during.state[name]
    assert {session.query.split()[0] for session in during.sessions} == {"Temporary"}
    reverted = [session for session in after.sessions if set(session.exposed_states) & set(during.updates)]
    assert reverted and {session.query.split()[0] for session in reverted} == {"Reverted"}


def test_nothing_happens_in_a_gap() -> None:
    user = make_user(shape=small(gaps=1, periods=5))
    assert [bool(period.updates) for period in user.periods] == [True, True, False, True, False]
    assert user.periods[2].period_summary is None and user.periods[1].period_summary


def test_how_openly_a_state_is_told_is_asked_for_and_drawn_where_it_is_mixed() -> None:
    def asked(shape: Shape) -> set[str]:
        provider = InProcess(well)
        make_user(provider=provider, shape=shape)
        return {call.task.level for call in provider.calls if call.task.name == "write_utterance"}

    assert asked(small(explicitness="subtle")) == {"subtle"}
    assert asked(small(explicitness="mixed", questions=10, periods=6)) == {"explicit", "implicit", "subtle"}


def test_the_judge_is_told_nothing_of_what_was_meant() -> None:
    provider = InProcess(well)
    make_user(provider=provider)
    for call in provider.calls:
        if call.task.name == "revealed_states":
            [message] = call.messages
            assert "Something happened" not in message.content and "Ada" not in message.content


def test_in_another_language_every_request_is_in_that_language() -> None:
    provider = InProcess(well)
    user = make_user(provider=provider, language="zh", shape=small(**NOISY))
    assert user == make_user(shape=small(**NOISY))
    for call in provider.calls:
        assert re.search("[一-鿿]{10}", call.messages[0].content), call.task.name


def test_the_wall_clocks_date_is_in_no_request() -> None:
    from datetime import date

    provider = InProcess(well)
    make_user(provider=provider)
    text = "\n".join(message.content for call in provider.calls for message in call.messages)
    assert date.today().isoformat() not in text and "2020-10-01" in text


# --- what goes wrong once is repaired ---


def same_value(reply: Any, request: str) -> None:
    now = variables(request.partition("Their situation now:")[2].partition("Now comes")[0])
    [name, *_] = reply["updates"]
    reply["updates"][name] = now[name][0]


def tells_more(reply: Any, request: str) -> None:
    silent = variables(request.partition("any of these other circumstances:")[2])
    [name, *_] = silent
    reply["utterance"] += " And " + said(name, silent[name][0])


def tells_own(reply: Any, request: str) -> None:
    name, values = next(iter(variables(request).items()))
    reply["utterance"] += " As for me, " + said(name, values[0])


def swapped(reply: Any, request: str) -> None:
    reply["answers"][:2] = reply["answers"][1::-1]


def put(key: str, value: Any) -> Spoil:
    return edited(lambda reply, _: {**reply, key: value})


FAULTS: dict[str, tuple[str, Spoil, str]] = {
    "prose": ("questions", lambda reply, _: "Of course! Here are some questions.", "no whole JSON object"),
    "nothing": ("state", lambda reply, _: "", "the reply is empty"),
    "half an object": ("events", lambda reply, _: reply[: len(reply) // 2], "no whole JSON object"),
    "another object": ("answers", lambda reply, _: '{"replies": []}', "no whole JSON object"),
    "too few questions": ("questions", edited(lambda r, _: {"questions": r["questions"][1:]}), "there are 2 questions"),
    "the same question": (
        "questions",
        edited(lambda r, _: {"questions": [r["questions"][0], *r["questions"][:2]]}),
        "2 questions are the same",
    ),
    "too few variables": (
        "questions",
        edited(lambda r, _: r["questions"][0]["variables"].popitem() and None),
        "question 1 has 1 variables; it should have 2",
    ),
    "too few values": (
        "questions",
        edited(lambda r, _: next(iter(r["questions"][0]["variables"].values())).pop() and None),
        "has 2 values; it should have 3",
    ),
    "values alike": (
        "questions",
        edited(lambda r, _: next(iter(r["questions"][0]["variables"].values())).__setitem__(1, "Slow way")),
        "'slow_way' and 'Slow way' are the same",
    ),
    "one name for two things": ("schema", put("same", []), "the name 'shared_side' is that of 1/shared_side"),
    "a variable that is none": ("schema", put("rename", {"9/none": "other"}), "'9/none' is no variable of a question"),
    "one question's two variables made one": (
        "schema",
        edited(
            lambda r, _: r["same"].append({"name": "x", "values": ["a", "b", "c"], "of": ["2/side_1_0", "2/side_1_1"]})
        ),
        "2 variables of question 2 would become 'x'",
    ),
    "a value forgotten": ("state", edited(lambda r, _: r["state"].popitem() and None), "without a value: "),
    "a value that is none": (
        "state",
        edited(lambda r, _: r["state"].update(side_1_0="odd")),
        "cannot be 'odd'",
    ),
    "an unknown variable": ("updates", edited(lambda r, _: r["updates"].update(mood="good")), "'mood' is no variable"),
    "too few changes": ("updates", put("updates", {}), "0 variables change; about"),
    "no change": ("updates", edited(same_value), "already, so that is no change"),
    "no summary": ("updates", put("summary", " "), "no whole JSON object"),
    "a change unexplained": (
        "events",
        put("events", [{"event": "Rain.", "updates": ["mood"]}]),
        "no event explains",
    ),
    "a change explained twice": (
        "events",
        edited(lambda r, _: {"events": [r["events"][0], *r["events"]]}),
        "it should be in exactly one",
    ),
    "tells too much": ("utterance", edited(tells_more), "gives away that"),
    "tells too little": ("utterance", put("utterance", "Can you help me?"), "does not let one know that"),
    "tells in code": (
        "utterance",
        edited(lambda r, _: {"utterance": r["utterance"] + " It is slow_way."}),
        "holds the name 'slow_way'",
    ),
    "the same topic": ("topics", put("topics", ["rain"] * 6), "6 topics are the same"),
    "a distractor tells": ("distractor", edited(tells_own), "gives away that"),
    "another's state as one's own": ("other", edited(tells_own), "gives away that"),
    "an answer too few": ("answers", edited(lambda r, _: {"answers": r["answers"][1:]}), "one for each situation"),
    "the same answer": ("answers", edited(lambda r, _: {"answers": r["answers"][:1] * 4}), "4 answers are the same"),
    "an answer too long": (
        "answers",
        edited(lambda r, _: {"answers": [r["answers"][0] + " Also" * 60, *r["answers"][1:]]}),
        "about equally long",
    ),
    "answers in the wrong place": ("answers", edited(swapped), "answer 1 reads as if"),
}
NOISY = {"distractors": 2, "others": 1}


@pytest.fixture(scope="module")
def undisturbed() -> Scenario:
    return make_user(shape=small(**NOISY))


@pytest.mark.parametrize("name", FAULTS)
def test_what_goes_wrong_once_is_told_to_the_model_and_repaired(name: str, undisturbed: Scenario) -> None:
    stage, spoil, fault = FAULTS[name]
    model = Spoiled(stage, spoil)
    provider = InProcess(model)
    assert make_user(provider=provider, shape=small(**NOISY)) == undisturbed
    assert model.times == 0
    repairs = [call for call in provider.calls if len(call.messages) > 1]
    assert len(repairs) == 1
    request, previous, told = repairs[0].messages
    assert (request.role, previous.role, told.role) == ("user", "assistant", "user")
    assert fault in told.content and previous.content


JUDGED = ["judge utterance", "judge answer"]


@pytest.mark.parametrize("stage", JUDGED)
def test_a_judge_that_cannot_be_read_once_is_asked_again(stage: str, undisturbed: Scenario) -> None:
    provider = InProcess(Spoiled(stage, lambda reply, _: "Hard to say."))
    assert make_user(provider=provider, shape=small(**NOISY)) == undisturbed
    assert all(len(call.messages) == 1 for call in provider.calls)


@pytest.mark.parametrize(
    ("stage", "fault"), [("judge utterance", "could not be made out"), ("judge answer", "does not show")]
)
def test_where_a_judge_cannot_be_read_the_text_is_not_taken_for_sound(stage: str, fault: str) -> None:
    with pytest.raises(GenerationFailed, match=fault):
        make_user(Spoiled(stage, lambda reply, _: "Hard to say.", times=None))


# --- what goes wrong for good is told ---


@pytest.mark.parametrize("repairs", [0, 2])
def test_a_stage_is_repaired_so_often_and_then_fails_with_user_stage_and_fault(repairs: int) -> None:
    model = Spoiled("updates", edited(same_value), times=None)
    with pytest.raises(GenerationFailed, match=r"^user 0 \(user-a\), updates \(p1/updates\): .*already, so that is"):
        make_user(model, repairs=repairs)
    assert [stage for stage, _ in model.asked].count("updates") == repairs + 1


def test_where_one_stage_fails_the_others_are_made_and_a_second_start_asks_only_there(tmp_path: Path) -> None:
    where = "How should I go about matter 1?"
    broken = Spoiled("answers", lambda reply, _: "no", times=None, where=where)
    journal = Journal(tmp_path / "journal.jsonl")
    with pytest.raises(GenerationFailed) as failed:
        make_user(broken, journal=journal, repairs=1)
    journal.close()
    assert failed.value.places == ("q1",)
    provider = InProcess(well)
    again = Journal(tmp_path / "journal.jsonl")
    user = make_user(provider=provider, journal=again, tries={"q1": 1}, repairs=1)
    again.close()
    assert user == make_user()
    assert {call.task.name for call in provider.calls} == {"write_answers", "recover_variant"}
    assert all(where in call.messages[0].content for call in provider.calls)
    silent = InProcess(well)
    make_user(provider=silent, journal=Journal(tmp_path / "journal.jsonl"), tries={"q1": 1}, repairs=1)
    assert silent.calls == []


def test_without_counting_the_try_the_failed_replies_would_be_replayed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    with pytest.raises(GenerationFailed):
        make_user(Spoiled("schema", lambda reply, _: "no", times=None), journal=journal, repairs=1)
    journal.close()
    with pytest.raises(GenerationFailed):
        make_user(well, journal=Journal(tmp_path / "journal.jsonl"), repairs=1)


def test_an_answer_that_was_right_is_not_judged_again() -> None:
    provider = InProcess(Spoiled("answers", edited(swapped), where="matter 1"))
    user = make_user(provider=provider)
    judged = [call for call in provider.calls if call.task.name == "recover_variant"]
    assert len(judged) == sum(len(question.answer_choices) for question in user.qas)


def test_calls_are_counted_by_stage_and_the_judges_apart(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    make_user(journal=journal)
    journal.close()
    roles = {line.split('"role": "')[1].split('"')[0] for line in path.read_text().splitlines()}
    plain = {"questions", "schema", "initial state", "updates", "events", "utterances", "answers"}
    assert roles == plain | {JUDGE + "utterances", JUDGE + "answers"}
