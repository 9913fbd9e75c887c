"""What feedback tells, and of whom: questions alone never tell an option, an answer, a choice or a state; nothing of a
held-out user reaches a revision or a policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from amemgym.evaluate import Examined
from amemgym.evaluate.results import ExamResult
from amemgym.evolution.feedback import feedback_of
from amemgym.evolving import EvolveReport
from amemgym.scenario import Scenario
from amemgym.tasks import AskedQuestion, CompleteFeedback, FeedbackKind, QuestionFeedback, RevisePolicy, prompts_for
from tests.evolution.people import OPTION, VALUE, VARIABLE, Learner, evolved, people, person, sides

NAMES = ("Ann", "Ben", "Cleo", "Dora")


@pytest.fixture(scope="module")
def monkey() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@dataclass(frozen=True)
class Played:
    report: EvolveReport
    model: Learner
    data: Path


def play(language: str, folder: Path, monkey: pytest.MonkeyPatch) -> Played:
    model, data = Learner(), people(folder / "data.json", [person(name, 2) for name in NAMES])
    return Played(evolved(model, monkey, data, folder / "out", language=language), model, data)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory, monkey: pytest.MonkeyPatch) -> Played:
    return play("en", tmp_path_factory.mktemp("played"), monkey)


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory, monkey: pytest.MonkeyPatch) -> Played:
    return play("zh", tmp_path_factory.mktemp("played"), monkey)


@pytest.fixture(params=["english", "chinese"])
def played(request: pytest.FixtureRequest) -> Played:
    found: Played = request.getfixturevalue(request.param)
    return found


def test_question_feedback_has_no_place_for_what_it_must_not_tell() -> None:
    assert [field.name for field in fields(QuestionFeedback)] == ["asked"]
    assert [field.name for field in fields(AskedQuestion)] == ["query", "memories"]


def exam(user: Scenario, question: int, option: int | None) -> Examined:
    order = tuple(reversed(range(len(user.qas[question].answer_choices))))
    result = ExamResult(0, question, order, 1, (), option, "ok", option == 1, False, None, f"reply {OPTION}", 0)
    return Examined(result, (f"memory for {question}",))


@pytest.mark.parametrize("purpose", ["record", "facts", "query"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["question", "complete"])
def test_what_a_revision_is_told(purpose: str, language: str, kind: FeedbackKind) -> None:
    user = Scenario.model_validate(person("Ann"))
    exams = {user.id: [exam(user, 0, 2), exam(user, 1, 1), exam(user, 2, None)]}
    policy = "about: $query" if purpose == "query" else "What matters."
    told = feedback_of(kind, [user], 0, exams, 0)
    text = RevisePolicy(purpose, policy, told, 4000).messages(prompts_for(language))[0].content  # type: ignore[arg-type]
    for number, asked in enumerate(user.qas):
        assert asked.query in text and f"memory for {number}" in text
        # the options in the order in which they were shown, counted from 1
        for place, choice in enumerate(reversed(asked.answer_choices), 1):
            assert (f"{place}. {choice.answer}" in text) is (kind == "complete")
    for name, value in user.periods[0].state.items():
        assert (f"{name}: {value}" in text) is (kind == "complete")
    if kind == "question":
        assert not any(mark in text for mark in (OPTION, VALUE, VARIABLE))
    else:
        chosen = {"en": "Chosen: {}. Right: {}.", "zh": "所选：{}。正确：{}。"}[language]
        assert [chosen.format(choice, 1) in text for choice in (2, 1, "–")] == [True] * 3
        assert chosen.format(3, 1) not in text
    assert policy in text and "reply" not in text.replace("reply, which", "").replace("Reply with", "")


def test_questions_alone_tell_nothing_in_a_whole_evolution(played: Played) -> None:
    texts = [t for r, t in zip(played.model.revisions(), played.model.revision_texts(), strict=True) if _asks(r)]
    training, _ = sides(played.data)
    assert len(texts) == 2, "one after each period"
    for text in texts:
        assert all(f"{name} do on Sunday?" in text for name in training)
        assert not any(mark in text for mark in (OPTION, VALUE, VARIABLE))


def test_complete_feedback_tells_what_was_exposed_shown_chosen_and_right(played: Played) -> None:
    training, _ = sides(played.data)
    users = {user["id"]: user for user in json.loads(played.data.read_text())}
    told = [
        (r, t) for r, t in zip(played.model.revisions(), played.model.revision_texts(), strict=True) if not _asks(r)
    ]
    for period, (task, text) in enumerate(told):
        assert len(task.exams) == len(training)
        for name, feedback in zip(training, task.exams, strict=True):
            user = users[f"{name}-id"]
            assert isinstance(feedback, CompleteFeedback)
            assert dict(feedback.exposed) == {v: c["new"] for v, c in user["periods"][period]["updates"].items()}
            assert [asked.query for asked in feedback.asked] == [q["query"] for q in user["qas"]]
            for asked, question in zip(feedback.asked, user["qas"], strict=True):
                right = [user["periods"][period]["state"][name] for name in question["required_info"]]
                gold = next(c["answer"] for c in question["answer_choices"] if c["state"] == right)
                assert asked.options[asked.right - 1] == gold and asked.choice == 1
                assert sorted(asked.options) == sorted(c["answer"] for c in question["answer_choices"])
                assert all(f"{place}. {option}" in text for place, option in enumerate(asked.options, 1))
                # by the policy of this period, and as the memory was when it was examined
                assert any(f"in period {period}, message" in line for line in asked.memories)


def test_nothing_of_held_out_users_reaches_a_revision_or_a_policy(played: Played) -> None:
    training, held_out = sides(played.data)
    files = sorted((played.report.directory / "policies").iterdir())
    assert len(files) == 4 and len(played.model.revision_texts()) == 4
    for text in [*played.model.revision_texts(), *(file.read_text() for file in files)]:
        assert not any(name in text for name in held_out)
    assert all(any(name in text for text in played.model.revision_texts()) for name in training)


def test_other_held_out_users_leave_the_policies_as_they_are(
    english: Played, tmp_path: Path, monkey: pytest.MonkeyPatch
) -> None:
    _, held_out = sides(english.data)
    users = [person(f"{name}other" if name in held_out else name, 3) for name in NAMES]
    for name, user in zip(NAMES, users, strict=True):
        user["id"] = f"{name}-id"
        if name not in held_out:
            user.update(person(name, 2))
    data = people(tmp_path / "data.json", users)
    model = Learner()
    other = evolved(model, monkey, data, tmp_path / "out")
    assert model.revision_texts() == english.model.revision_texts()
    assert _policies(other) == _policies(english.report)
    assert other.held_out.scores != english.report.held_out.scores


def _policies(report: EvolveReport) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (report.directory / "policies").iterdir()}


def _asks(task: RevisePolicy) -> bool:
    return isinstance(task.exams[0], QuestionFeedback)
