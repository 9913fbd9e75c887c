"""What is missing, broken or about something else in imported results is named with file, period and question and left
out; everything else is imported; and what cannot be used at all is one sentence with exit code 2."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.data import users, write
from tests.cli.helpers import inside, sentence, strict_json, succeeded
from tests.cli.importing import imported, notes
from tests.support.v1_results import edit, put, write_results

EXAMS, PROBES, TALK = "overall_results.json", "diagnosis_results.json", "interactions/period_01.json"
Edit = Callable[[Any], Any]


@pytest.fixture
def ann(tmp_path: Path) -> Path:
    """The folder that is damaged: one of two users' results with one agent."""
    folders = [write_results(tmp_path / "results/native", user) for user in users()]
    return folders[0]


def talks() -> dict[str, int]:
    """How many periods of conversation each user has in the run directory."""
    found = [strict_json(path) for path in sorted(Path("run/episodes").rglob("*.json"))]
    return {episode["user_id"]: len(episode["conversation"]) for episode in found}


def in_entry(period: int, question: int, **fields: Any) -> Edit:
    """Set fields of an entry; ... takes one away."""

    def change(periods: Any) -> None:
        entry = periods[period][question]
        entry.update(fields)
        for name in [name for name, value in fields.items() if value is ...]:
            del entry[name]

    return change


def assigned(period: int, question: int | None, value: Any) -> Edit:
    """Put something else in place of a period, or of an entry."""

    def change(periods: Any) -> None:
        place, key = (periods, period) if question is None else (periods[period], question)
        place[key] = value

    return change


# --- exams ---


@pytest.mark.parametrize(
    ("change", "n", "remark"),
    [
        (lambda v: v[:1], 9, ": only 1 of 2 periods"),
        (lambda v: [*v, v[1]], 12, ": 3 periods where the scenario has 2; the later ones are left out"),
        (lambda v: [v[0], v[1][:1]], 10, ", period 1: only 1 of 3 questions"),
        (
            lambda v: [v[0], [*v[1], v[1][0]]],
            12,
            ", period 1: 4 questions where the scenario has 3; the later ones are",
        ),
        (assigned(1, None, None), 9, ", period 1: is null, not a list of questions; left out"),
        (assigned(0, None, {"0": []}), 9, ", period 0: is an object, not a list of questions; left out"),
        (assigned(1, 2, None), 11, ", period 1, question 2: is null, not an object; left out"),
        (assigned(1, 0, "x"), 11, ", period 1, question 0: is a text, not an object; left out"),
        (in_entry(0, 1, raw_response=...), 11, ", period 0, question 1: no reply (raw_response is missing); left out"),
        (in_entry(1, 1, raw_response=None), 11, ", period 1, question 1: no reply (raw_response is null); left out"),
        (
            in_entry(0, 0, raw_response={"answer": 1}),
            11,
            ", period 0, question 0: no reply (raw_response is an object)",
        ),
        (in_entry(0, 2, raw_response=True), 11, ", period 0, question 2: no reply (raw_response is a boolean)"),
        (
            in_entry(1, 0, query="What is up?"),
            11,
            ", period 1, question 0: the question 'What is up?' is not the data's",
        ),
        (in_entry(1, 0, query=7), 11, ", period 1, question 0: the question 7 is not the data's"),
        (
            in_entry(1, 1, answer_state=["vegan"]),
            11,
            ", period 1, question 1: answer_state ['vegan'] is not the data's",
        ),
        (
            in_entry(1, 1, answer_state="fish"),
            11,
            ", period 1, question 1: answer_state 'fish' is not the data's ['fish']",
        ),
        (in_entry(0, 1, answer_choice="Eat."), 11, ", period 0, question 1: the right answer 'Eat.' is not the data's"),
        (
            in_entry(0, 1, response_choice="What suits fish."),
            11,
            ", period 0, question 1: option 1, 'What suits fish.',",
        ),
    ],
)
def test_one_thing_odd_about_exams(change: Edit, n: int, remark: str, ann: Path, small: Path) -> None:
    edit(ann / EXAMS, change)
    (said,), native = imported(small)
    assert said.startswith(f"native/Ann-1/{EXAMS}{remark}")
    assert (native["n"], native["failed"], native["invalid"]) == (n, 0, 0)


def test_left_out_is_not_wrong(ann: Path, small: Path) -> None:
    """Period 1, question 1 is wrong in both users; without Ann's, one wrong answer less is counted."""
    edit(ann / EXAMS, in_entry(1, 1, raw_response=None))
    assert imported(small)[1]["overall"] == 8 / 11


def test_several_questions_of_a_period_are_one_sentence(ann: Path, small: Path) -> None:
    edit(ann / EXAMS, lambda v: [v[0], [{**entry, "raw_response": None} for entry in v[1]]])
    edit(ann / PROBES, lambda v: [[None, None, v[0][2]], v[1]])
    remarks, native = imported(small)
    assert remarks == [
        f"native/Ann-1/{EXAMS}, period 1, questions 0, 1, 2: no reply (raw_response is null); left out",
        f"native/Ann-1/{PROBES}, period 0, questions 0, 1: is null, not an object; left out",
    ]
    assert native["n"] == 9


def test_what_is_not_there_contradicts_nothing(ann: Path, small: Path) -> None:
    """Other versions write other fields beside the reply."""
    edit(ann / EXAMS, lambda v: [[{"raw_response": e["raw_response"], "new": {"a": [1]}} for e in row] for row in v])
    bare = {"new": None, "results": [{"info_type": "home_town"}, {"score": 1.0}, None]}
    edit(ann / PROBES, lambda v: [[{"raw_response": e["raw_response"]} | bare for e in row[:1]] + row[1:] for row in v])
    remarks, native = imported(small)
    assert remarks == []
    assert (native["n"], native["undiagnosed"], native["diagnosis"]["write"]) == (12, 0, 4 / 12)


# --- files ---


UNREADABLE: list[tuple[bytes | None, str]] = [
    (None, "missing"),
    (b"", "is empty"),
    (b" \n", "is empty"),
    (b'[[{"raw_response": "', "is not JSON (Unterminated string"),
    (b"\xff\xfe[]", "is not UTF-8 text (byte 0)"),
    (b"{}", "holds an object, not a list of periods"),
    (b"null", "holds null, not a list of periods"),
    (b'"[]"', "holds a text, not a list of periods"),
    (b"[" * 100_000, "is not JSON ("),
]


@pytest.mark.parametrize(("raw", "why"), UNREADABLE)
def test_a_file_of_exams_that_cannot_be_read(raw: bytes | None, why: str, ann: Path, small: Path) -> None:
    damage(ann / EXAMS, raw)
    (first, second), native = imported(small)
    assert first.startswith(f"native/Ann-1/{EXAMS}: {why}")
    assert first.endswith("; nothing to score, so the user is skipped")
    assert second == "data 'small': nothing to score of 1 of its 2 users (Ann-1); left out"
    assert native["n"] == 6


@pytest.mark.parametrize(("raw", "why"), UNREADABLE)
def test_a_file_of_probes_that_cannot_be_read(raw: bytes | None, why: str, ann: Path, small: Path) -> None:
    damage(ann / PROBES, raw)
    (said,), native = imported(small)
    assert said.startswith(f"native/Ann-1/{PROBES}: {why}")
    assert said.endswith("; wrong answers cannot be diagnosed")
    assert (native["n"], native["undiagnosed"], native["diagnosis"]["write"]) == (12, 2, 2 / 12)


def damage(path: Path, raw: bytes | None) -> None:
    path.unlink()
    if raw is not None:
        path.write_bytes(raw)


def test_what_is_no_file_is_not_waited_for(ann: Path, small: Path) -> None:
    damage(ann / EXAMS, None)
    os.mkfifo(ann / EXAMS)
    damage(ann / PROBES, None)
    (ann.parent / "Ben-1" / PROBES).unlink()
    (ann.parent / "Ben-1" / PROBES).mkdir()
    remarks, native = imported(small)
    assert remarks[:2] == [
        f"native/Ann-1/{EXAMS}: is no file; nothing to score, so the user is skipped",
        f"native/Ben-1/{PROBES}: is no file; wrong answers cannot be diagnosed",
    ]
    assert native["diagnosis"] is None
    assert strict_json(Path("run/manifest.json"))["compared"]["probe"] is False


def test_exams_without_any_reply_are_nothing_to_score(ann: Path, small: Path) -> None:
    edit(ann / EXAMS, lambda v: [[{**entry, "raw_response": None} for entry in row] for row in v])
    remarks, native = imported(small)
    assert f"native/Ann-1/{EXAMS}: holds no exam that can be scored; the user is skipped" in remarks
    assert native["n"] == 6


# --- probes ---


@pytest.mark.parametrize(
    ("change", "undiagnosed", "remark"),
    [
        (in_entry(1, 1, raw_response=None), 1, ", period 1, question 1: no reply (raw_response is null); left out"),
        (assigned(1, 2, []), 1, ", period 1, question 2: is a list, not an object; left out"),
        (in_entry(1, 1, results=[{"info_type": "pet"}]), 1, ", period 1, question 1: asks for 'pet', which the data's"),
        (
            in_entry(1, 1, results=[{"info_type": "daily_diet", "answer_state": "vegan"}]),
            1,
            ", period 1, question 1: says daily_diet is 'vegan', which in the data is 'fish'; left out",
        ),
        (lambda v: v[:1], 2, ": only 1 of 2 periods"),
        (
            in_entry(0, 0, results=[{"info_type": "home_town", "response_state": "mountains"}]),
            0,
            ": 1 of 6 replies are read otherwise here than was recorded (first: period 0, question 0)",
        ),
    ],
)
def test_one_thing_odd_about_probes(change: Edit, undiagnosed: int, remark: str, ann: Path, small: Path) -> None:
    edit(ann / PROBES, change)
    (said,), native = imported(small)
    assert said.startswith(f"native/Ann-1/{PROBES}{remark}")
    assert (native["n"], native["overall"], native["undiagnosed"]) == (12, 8 / 12, undiagnosed)


def test_an_unreadable_probe_knows_nothing(ann: Path, small: Path) -> None:
    """It is a reply, so it tells: what it does not name is not known."""
    edit(ann / PROBES, lambda v: [[{**entry, "raw_response": "Hm.", "results": "?"} for entry in row] for row in v])
    remarks, native = imported(small)
    assert (remarks, native["undiagnosed"], native["diagnosis"]["write"]) == ([], 0, 4 / 12)


# --- conversations ---


@pytest.mark.parametrize(
    ("name", "change", "periods", "remark"),
    [
        ("", None, 0, "interactions: missing; no conversation"),
        (TALK, None, 1, "interactions: no file for period 1 (of 2); the conversation ends before it"),
        ("interactions/period_00.json", None, 0, "interactions: no file for period 0 (of 2); the conversation ends"),
        (TALK, lambda v: v[:-1], 1, f"{TALK}: only 0 of 1 sessions; the conversation ends before it"),
        (TALK, lambda v: {"sessions": v}, 1, f"{TALK}: holds an object, not a list of sessions; the conversation"),
        (TALK, lambda v: ["Hello"], 1, f"{TALK}: session 0 is a text, not a list of messages; the conversation ends"),
        (TALK, lambda v: [["Hello"]], 1, f"{TALK}: session 0, message 0 has no role and content; the conversation"),
        (TALK, lambda v: v[0][1].update(content=None), 1, f"{TALK}: session 0, message 1 has no role and content"),
        (TALK, lambda v: v[0][1].update(role="bot"), 1, f"{TALK}: session 0, message 1 has no role and content"),
    ],
)
def test_a_conversation_ends_where_it_is_not_whole(
    name: str, change: Edit | None, periods: int, remark: str, ann: Path, small: Path
) -> None:
    if change is not None:
        edit(ann / name, change)
    elif name:
        (ann / name).unlink()
    else:
        shutil.rmtree(ann / "interactions")
    (said,), native = imported(small)
    assert said.startswith(f"native/Ann-1/{remark}")
    assert (native["n"], talks()) == (12, {"Ann-1": periods, "Ben-1": 2})
    # nor is it taken for a whole one
    told = sentence(inside("run", "--off-policy", "run", "--agents", "native", "--out", "fed"), 2)
    assert "'native' has no whole conversation with user Ann-1" in told


def test_more_conversation_than_the_scenario_has(ann: Path, small: Path) -> None:
    shutil.copy(ann / TALK, ann / "interactions/period_2.json")
    (ann / "interactions/notes.txt").write_text("?")
    (ann / "interactions/period_1.json").write_text("of two files for one period, the first counts")
    assert imported(small)[0] == ["native/Ann-1/interactions: periods beyond the scenario's 2 are left out"]
    assert talks() == {"Ann-1": 2, "Ben-1": 2}


def test_times_are_those_said_else_the_scenario_s(ann: Path, small: Path) -> None:
    said = {"role": "user", "content": "[Current Time: 2021-06-07 08:09:10]\nHello", "name": "Ann"}
    nothing, wrong = {"role": "user", "content": "Hello"}, {"role": "user", "content": "[Current Time: 2021-13-07]\nHi"}
    put(ann / TALK, [[said], [nothing]])
    edit(ann / "interactions/period_00.json", lambda v: [[wrong], [nothing]])
    assert imported(small)[0] == []
    (first,) = Path("run/episodes").rglob("ann*.json")
    times = [[session[0]["time"] for session in period] for period in strict_json(first)["conversation"]]
    # a session that the scenario does not have is at the period's end
    assert times == [["2021-02-05 10:00:00", "2021-03-05 10:00:00"], ["2021-06-07 08:09:10", "2021-08-30 00:00:00"]]


# --- other data ---


def test_a_user_whose_questions_are_others_is_refused_by_name(ann: Path, small: Path) -> None:
    edit(ann / EXAMS, lambda v: [[{**entry, "query": "Who?"} for entry in row] for row in v])
    (first, _), native = imported(small)
    assert first == (
        f"native/Ann-1/{EXAMS}: none of its 6 exams is of this user in the data (period 0, question 0: the question"
        " 'Who?' is not the data's); these seem to be results on another data set; give --data the scenarios they were"
        " made on; the user is skipped"
    )
    assert native["n"] == 6


def test_where_no_user_matches_the_data_are_others(ann: Path, tmp_path: Path) -> None:
    other, strangers = users(), users()
    for user in other:
        for question in user["qas"]:
            question["query"] = f"Tell me: {question['query']}"
    for user in strangers:
        user["id"] += "-x"
    for name, data in (("other", other), ("strangers", strangers)):
        told = sentence(inside("import", "results", "--data", write(tmp_path / f"{name}.json", data)), 2)
        assert "these seem to be results on another data set; give --data" in told and "native/Ann-1" in told
    assert not Path("runs").exists()


def test_where_nothing_can_be_used(ann: Path, small: Path) -> None:
    for user in ("Ann-1", "Ben-1"):
        (ann.parent / user / EXAMS).write_text("[]")
    told = sentence(inside("import", "results", "--data", small), 2)
    assert told.startswith(f"nothing of results can be imported: native/Ann-1/{EXAMS}: only 0 of 2 periods (and ")
    assert not Path("runs").exists()


# --- remarks ---


def test_many_remarks_are_in_the_manifest(ann: Path, small: Path, tmp_path: Path) -> None:
    for number in range(30):
        shutil.copytree(ann, ann.parent / f"Eve-{number:02d}")
    ended = succeeded(inside("import", "results", "--data", small, "--out", "run"))
    kept = strict_json(Path("run/manifest.json"))["remarks"]
    assert len(kept) == 31
    assert notes(ended) == [*kept[:20], "11 more remarks: run/manifest.json, remarks"]
    assert all(re.fullmatch(r"native/Eve-\d\d: no user of data 'small'; skipped", remark) for remark in kept[:30])
