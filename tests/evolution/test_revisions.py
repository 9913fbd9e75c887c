"""What a revision may be: a text for the policy's part of the prompt and nothing else. One that is not is refused with
its reason, once; then the policy stays, the history says why, and who watches is told once a period."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.agents import LONGEST_POLICY, Purpose, fault_of, read_policy
from amemgym.errors import ContentFiltered, ContextOverflow, UsageError
from amemgym.evaluate import Examined, RunWatcher
from amemgym.evaluate.results import ExamResult
from amemgym.evolution import Evolution, Revision
from amemgym.evolution.directory import history
from amemgym.evolution.feedback import QUESTIONS
from amemgym.llm import Journal, Line, Request
from amemgym.scenario import Scenario
from amemgym.tasks import FeedbackKind, RevisePolicy, prompts_for
from tests.evolution.people import Learner, evolved, people, person
from tests.support.models import Scripted, line_for, model_of

USERS = [Scenario.model_validate(person(name)) for name in ("Ann", "Ben")]
OPTION = USERS[0].qas[0].answer_choices[1].answer


class Told(RunWatcher):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)


def exams(user: Scenario, option: int | None, copies: int = 1) -> list[Examined]:
    """Every question, answered so; option 1 is right."""
    found = []
    for number in range(len(user.qas) * copies):
        asked = number % len(user.qas)
        order = tuple(range(len(user.qas[asked].answer_choices)))
        found.append(Examined(ExamResult(0, asked, order, 1, (), option, "ok", option == 1), ("a line",)))
    return found


def revised(
    reply: Callable[[Request], str],
    kind: FeedbackKind = "complete",
    purpose: Purpose = "record",
    start: str = "Old.",
    option: int | None = 2,
    journal: Journal | None = None,
) -> tuple[Revision, Scripted, list[str]]:
    """One period's revision by a model that replies so; the model, and what was said."""
    watcher, provider = Told(), Scripted(reply)
    evolution = Evolution("arm", kind, purpose, USERS, start, room=None, seed=0, watcher=watcher)

    async def learn() -> None:
        line = line_for(journal)
        evolution.begin(line, model_of(provider, "evolve", line))
        assert await evolution.policy(0) == start
        for user in USERS:
            await evolution.coach(user).examined(0, exams(user, option, 6))
        assert await evolution.policy(1) == evolution.policies[-1]

    asyncio.run(learn())
    [revision] = evolution.revisions
    return revision, provider, watcher.sentences


def policy(text: Any) -> str:
    return json.dumps({"policy": text})


UNUSABLE: dict[str, tuple[Purpose, str, str]] = {
    "empty": ("record", policy(" \n"), "holds no policy"),
    "nothing": ("record", "", "holds no policy"),
    "no JSON": ("record", "What matters is the home.", "holds no policy"),
    "a list": ("record", policy(["home"]), "holds no policy"),
    "too long": ("record", policy("Home. " * LONGEST_POLICY), "at most 4,000 are allowed"),
    "what is filled in": ("record", policy("Read $conversation and keep the home."), "the placeholder $conversation"),
    "in braces": ("facts", policy("Today is ${\nnow}."), "the placeholder ${ now"),
    "the form": ("facts", policy('Keep {"facts": ["home"]}'), "a form of the reply"),
    "a fence": ("facts", policy("```\nhome\n```"), "a form of the reply"),
    "control characters": ("facts", policy("home\x1b[2J"), "cannot be shown"),
    "its marks": ("record", policy("First: <part>the home.</part>"), "it holds <part>"),
    "an option": ("record", policy(f"Tell:  {OPTION.upper()}"), "repeats an answer of the exam"),
    "no query": ("query", policy("what matters"), "hold $query once"),
    "two queries": ("query", policy("$query, that is $query"), "hold $query once"),
    "a query in braces": ("query", policy("about ${query}"), "hold $query once"),
    "another field": ("query", policy("$query $conversation"), "the placeholder $conversation"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_revision_that_cannot_be_used(name: str) -> None:
    purpose, reply, why = UNUSABLE[name]
    start = "of $query" if purpose == "query" else "Old."
    revision, provider, said = revised(lambda request: reply, purpose=purpose, start=start)
    first, second = provider.requests
    assert why not in first.messages[0].content and why in second.messages[0].content
    assert (revision.outcome, revision.policy) == ("unusable", start)
    assert len(revision.refused) == 2 and all(why in reason for reason in revision.refused)
    [sentence] = said
    assert why in sentence and "arm" in sentence and "period 0" in sentence and "\n" not in sentence
    # and one that can be used is taken, with what was refused before it
    good = policy("about $query" if purpose == "query" else "New.")
    mended = revised(lambda r: good if r.task.refused else reply, purpose=purpose, start=start)  # type: ignore[attr-defined]
    assert (mended[0].outcome, mended[0].policy) == ("revised", json.loads(good)["policy"])
    assert len(mended[0].refused) == 1 and mended[2] == []


def test_what_may_stand_in_a_policy() -> None:
    text = "家庭\u3000状况\n- what it costs: $ 5, \u2018and\u2019 why\u00a0so \U0001f469\u200d\U0001f692\n\t- {home}"
    revision, provider, _ = revised(lambda request: policy(text))
    assert (revision.outcome, revision.policy, len(provider.requests)) == ("revised", text, 1)


def test_a_policy_between_its_marks_is_taken_without_them() -> None:
    """The model is shown them, and may well give them back; in the memory's prompts they have no place."""
    revision, provider, _ = revised(lambda request: policy("<part>\nNew.</part>"))
    assert (revision.outcome, revision.policy, len(provider.requests)) == ("revised", "New.", 1)
    nothing, *_ = revised(lambda request: policy("<part> </part>"))
    assert (nothing.outcome, nothing.policy) == ("unusable", "Old.")


def test_a_policy_reads_the_same_from_a_file(tmp_path: Path) -> None:
    revision, *_ = revised(lambda request: policy("\n- home\r\n- diet\r- work \n"))
    (tmp_path / "p.txt").write_text(revision.policy, encoding="utf-8")
    assert read_policy(tmp_path / "p.txt") == revision.policy == "- home\n- diet\n- work"


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet='$query{}":[] \n`', max_size=30), st.sampled_from(["record", "query"]))
def test_whatever_is_no_fault_can_be_filled_in(text: str, purpose: Purpose) -> None:
    if fault_of(text, purpose) is not None:
        return
    form = text.replace("$query", "") if purpose == "query" else text
    assert text.strip() and (purpose == "record" or text.count("$query") == 1)
    assert not any(f"${letter}" in form for letter in "abcdefghijklmnopqrstuvwxyz_") and "```" not in text
    prompt = RevisePolicy(purpose, text, (), LONGEST_POLICY).messages(prompts_for("en"))[0].content
    assert f"<part>{text}</part>" in prompt


def test_a_policy_cannot_grow_without_end() -> None:
    policies = ["Old."]
    while len(policies) < 12:
        revision, *_ = revised(lambda r: policy(r.task.policy + " More words of no use." * 40), start=policies[-1])  # type: ignore[attr-defined]
        policies.append(revision.policy)
    assert len(policies[-1]) <= LONGEST_POLICY and policies[-1] == policies[-2] != policies[1]


def test_a_request_that_is_too_long_tells_of_half_as_many_questions() -> None:
    def reply(request: Request) -> str:
        assert isinstance(request.task, RevisePolicy)
        if sum(len(exam.asked) for exam in request.task.exams) > 7:
            raise ContextOverflow("too long")
        return policy("New.")

    revision, provider, said = revised(reply)
    told = [sum(len(exam.asked) for exam in r.task.exams) for r in provider.requests]  # type: ignore[attr-defined]
    assert told == [QUESTIONS, QUESTIONS // 2, QUESTIONS // 4]
    assert (revision.outcome, revision.questions, said) == ("revised", told[-1], [])

    def never(request: Request) -> str:
        raise ContextOverflow("too long")

    revision, provider, said = revised(never)
    assert (revision.outcome, revision.questions, len(provider.requests)) == ("unusable", 1, 5)
    assert "too long" in said[0]


def test_a_refusal_by_a_filter_is_kept_and_ends_the_period_alone(tmp_path: Path) -> None:
    def filtered(request: Request) -> str:
        raise ContentFiltered("the filter refused it")

    journal = tmp_path / "coach.jsonl"
    revision, provider, said = revised(filtered, journal=Journal(journal))
    assert (revision.outcome, revision.policy, len(provider.requests)) == ("unusable", "Old.", 1)
    assert "the filter refused it" in said[0]
    again, provider, _ = revised(lambda request: policy("New."), journal=Journal(journal))
    assert again == revision and provider.requests == []


def test_nothing_wrong_is_nothing_to_ask() -> None:
    revision, provider, said = revised(lambda request: policy("New."), option=1)
    assert (revision.outcome, revision.policy, provider.requests, said) == ("nothing wrong", "Old.", [], [])
    # questions alone do not tell whether they were answered well
    assert revised(lambda request: policy("New."), "question", option=1)[0].outcome == "revised"
    # an unreadable choice is none
    assert revised(lambda request: policy("New."), option=None)[0].outcome == "revised"
    assert revised(lambda request: policy("Old."))[0].outcome == "unchanged"


def test_what_is_added_to_a_history_is_no_part_of_the_revision() -> None:
    evolution = Evolution("arm", "complete", "record", USERS, "Old.", room=None, seed=0, watcher=Told())
    evolution.revisions.append(Revision(0, "revised", "New.", 1, 1))
    told = history(evolution)
    told["revisions"][0]["score"] = 0.5
    assert history(evolution)["revisions"][0].keys() == told["revisions"][0].keys() - {"score"}


def test_exams_that_ended_in_an_error_are_not_told_of() -> None:
    watcher, provider = Told(), Scripted(lambda request: policy("New."))
    evolution = Evolution("arm", "complete", "record", USERS, "Old.", room=None, seed=0, watcher=watcher)
    failed = [
        Examined(ExamResult(0, n, (0, 1, 2), 1, (), None, "error", False, error="filtered"), ()) for n in range(3)
    ]

    async def learn() -> None:
        line: Line = line_for()
        evolution.begin(line, model_of(provider, "evolve", line))
        await evolution.coach(USERS[0]).examined(0, failed)
        await evolution.coach(USERS[1]).examined(0, exams(USERS[1], 2))

    asyncio.run(learn())
    [request] = provider.requests
    assert "Ann" not in request.messages[0].content and "Ben" in request.messages[0].content


def test_complete_feedback_tells_of_wrong_answers_first() -> None:
    watcher, provider = Told(), Scripted(lambda request: policy("New."))
    evolution = Evolution("arm", "complete", "record", USERS, "Old.", room=None, seed=3, watcher=watcher)

    async def learn() -> None:
        line = line_for()
        evolution.begin(line, model_of(provider, "evolve", line))
        await evolution.coach(USERS[0]).examined(0, exams(USERS[0], 1, 20))
        await evolution.coach(USERS[1]).examined(0, exams(USERS[1], 2, 4))

    asyncio.run(learn())
    [request] = provider.requests
    asked = [question for exam in request.task.exams for question in exam.asked]  # type: ignore[attr-defined]
    assert len(asked) == QUESTIONS and sum(not question.is_right for question in asked) == 12


def test_an_evolution_of_unusable_revisions_goes_on_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watcher, model = Told(), Learner(lambda task: "I would rather not.")
    data = people(tmp_path / "data.json", [person(name, 2) for name in ("Ann", "Ben")])
    report = evolved(model, monkeypatch, data, tmp_path / "out", feedback="question", watcher=watcher)
    arm = report.summary["arms"]["awi-2-0+question"]
    assert [step["outcome"] for step in arm["revisions"]] == ["unusable"] * 2
    assert {step["policy"] for step in arm["revisions"]} == {arm["start"]}
    assert [sentence.split(" (")[0] for sentence in watcher.sentences if "no usable" in sentence] == [
        f"awi-2-0+question: no usable revision after period {period}" for period in (0, 1)
    ]
    assert (
        arm["used"]["evolve"]["unreadable"] == {"invalid": 4} or sum(arm["used"]["evolve"]["unreadable"].values()) == 4
    )
    assert arm["training"]["overall"] == report.summary["none"]["training"]["overall"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b" \n"])
def test_a_policy_file_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes(content)
    if content.strip():
        with pytest.raises(UsageError, match="UTF-8"):
            read_policy(tmp_path / "p.txt")
    else:
        assert fault_of(read_policy(tmp_path / "p.txt"), "facts") == "it is empty"
