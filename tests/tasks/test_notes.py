"""Replies to the tasks of notes: what is read, what is left out and then said to be repaired, and what is not read."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.tasks import (
    DescribeNote,
    Description,
    Evolution,
    EvolveNotes,
    Note,
    NoteUpdate,
    Parsed,
    Status,
    prompts_for,
)

NOTE = Note("user: I take the $tram", datetime(2022, 5, 1), Description(("tram",), ("travel",), "On the {tram}."))
DESCRIBE, EVOLVE = DescribeNote("user: I take the $tram"), EvolveNotes(NOTE, (NOTE, NOTE))


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        (
            '{"keywords": ["tram", "work"], "tags": ["travel"], "context": "On the\\n tram."}',
            Description(("tram", "work"), ("travel",), "On the tram."),
            Status.OK,
        ),
        ('{"keywords": [], "tags": [], "context": ""}', Description(), Status.OK),
        (
            'Sure: {"keywords": ["tram", 7, "", "tram"], "tags": [null], "context": "x"}',
            Description(("tram",), (), "x"),
            Status.REPAIRED,
        ),
        ('{"keywords": "tram", "tags": [], "context": "x"}', None, Status.INVALID),
        ('{"keywords": ["tram"], "tags": ["x"]}', None, Status.INVALID),
        ('{"keywords": ["tram"], "tags": ["x"], "context": ["x"]}', None, Status.INVALID),
        ("tram, work", None, Status.INVALID),
        ("", None, Status.EMPTY),
        (None, None, Status.EMPTY),
    ],
)
def test_a_description(reply: str | None, value: Description | None, status: Status) -> None:
    assert DESCRIBE.parse(reply) == Parsed(value, status)


@pytest.mark.parametrize(
    ("reply", "value", "status"),
    [
        (
            '{"links": [1], "tags": ["a"], "updates": [{"id": 0, "context": "c", "tags": ["b"]}]}',
            Evolution((1,), ("a",), (NoteUpdate(0, "c", ("b",)),)),
            Status.OK,
        ),
        ('{"links": [], "tags": [], "updates": []}', Evolution((), (), ()), Status.OK),
        ('{"links": ["1", 0, 1], "updates": []}', Evolution((1, 0)), Status.REPAIRED),
        ('{"links": [2, -1, true, 0.5, [], {}], "tags": [], "updates": []}', Evolution((), ()), Status.REPAIRED),
        (
            '{"links": [], "tags": "x", "updates": [{"id": 2, "tags": []}, {"id": "1", "tags": ["b"]}, {"id": 0}, 7]}',
            Evolution((), None, (NoteUpdate(1, None, ("b",)),)),
            Status.REPAIRED,
        ),
        (
            '{"links": [], "tags": [], "updates": [{"id": 1, "context": "x"}, {"id": 1, "context": "y"}]}',
            Evolution((), (), (NoteUpdate(1, "y"),)),
            Status.REPAIRED,
        ),
        ('{"updates": [{"id": 1, "context": "y"}]}', Evolution((), None, (NoteUpdate(1, "y"),)), Status.REPAIRED),
        ('{"tags": ["a"]}', None, Status.INVALID),
        ('{"links": null, "updates": "none"}', None, Status.INVALID),
        ('{"links": [0', None, Status.INVALID),
        ("<think>0</think>", None, Status.EMPTY),
    ],
)
def test_an_evolution(reply: str, value: Evolution | None, status: Status) -> None:
    assert EVOLVE.parse(reply) == Parsed(value, status)


@given(st.text() | st.text('{}[]":,linksupdatetags01 '))
def test_no_reply_is_too_odd(reply: str) -> None:
    for task in (DESCRIBE, EVOLVE):
        parsed = task.parse(reply)
        assert (parsed.value is None) == (parsed.status not in (Status.OK, Status.REPAIRED))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_requests_show_texts_as_they_are(language: str) -> None:
    prompts = prompts_for(language)
    (described,), (evolved,) = DESCRIBE.messages(prompts), EVOLVE.messages(prompts)
    assert "\nuser: I take the $tram\n" in described.content
    shown = "content: user: I take the $tram\ncontext: On the {tram}.\nkeywords: tram\ntags: travel"
    assert evolved.content.count(shown) == 3
    assert evolved.content.index("id: 0\n") < evolved.content.index("id: 1\n")
    for word in ('"keywords"', '"tags"', '"context"'):
        assert word in described.content
    for word in ('"links"', '"tags"', '"updates"', '"id"', '"context"'):
        assert word in evolved.content
