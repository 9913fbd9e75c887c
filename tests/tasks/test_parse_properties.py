"""What holds of the parser for any text whatever."""

import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.tasks.choice import Choice, parse_choice
from amemgym.tasks.parse import Status, parse_object, parse_text

OPTIONS = (
    "Plan a small indoor dinner.",
    "Book a large venue outside town.",
    "Go hiking with close friends.",
    "Stay home and read.",
)
PREFIXES = ("Go", "Go hiking", "Go hiking with friends", "Stay home")
NUMERIC = ("10", "3", "2")
LETTERS = ("B", "A", "Neither")

OK, REPAIRED, AMBIGUOUS, INVALID, EMPTY = Status


ANY_TEXT = st.one_of(
    st.text(),
    st.text(alphabet=st.sampled_from("{}[]\"'`:,.-/<>\\ \n12349abcnN٣３“”")),
    st.lists(
        st.sampled_from(
            [
                *('{"answer": 2}', '{"answer":', "{'answer': '3'}", "<think>", "</think>", "```json\n"),
                *("the answer is ", "I choose ", "option ", "1", "B", " or ", ", ", "not ", OPTIONS[2]),
                *("{", "}", "[", "]", '"', "\\", "\n", "\ud800", "null", "```"),
            ]
        )
    ).map("".join),
)
PROSE = st.text().filter(lambda text: not set(text) & set("{}<>"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OPTION_LISTS = st.lists(st.text() | st.sampled_from([*OPTIONS, *PREFIXES, *NUMERIC, *LETTERS]), max_size=8)


@given(ANY_TEXT, OPTION_LISTS)
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_choice_within_the_options(reply: str, options: list[str]) -> None:
    choice = parse_choice(reply, options)
    assert (choice.option is None) == (choice.status not in {OK, REPAIRED})
    assert choice.option is None or 1 <= choice.option <= len(options)


@given(ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_any_text_gives_a_value_or_a_status_without_one(reply: str) -> None:
    for parsed in (parse_object(reply), parse_text(reply)):
        assert (parsed.value is None) == (parsed.status not in {OK, REPAIRED})


@given(PROSE, st.integers(1, 4), PROSE)
@settings(deadline=None)
def test_the_asked_for_form_in_prose_is_ok(before: str, option: int, after: str) -> None:
    assert parse_choice(before + json.dumps({"answer": option}) + after, OPTIONS) == Choice(option, OK)


@given(
    ANY_TEXT.filter(lambda text: "</" not in text),
    ANY_TEXT,
    st.sampled_from(["think", "Thinking", "REASONING"]),
)
@settings(max_examples=200, deadline=None)
def test_reasoning_before_a_reply_changes_nothing(reasoning: str, reply: str, name: str) -> None:
    thought = f"<{name}>{reasoning}</{name}>\n{reply}"
    assert parse_choice(thought, OPTIONS) == parse_choice(reply, OPTIONS)
    assert parse_object(thought) == parse_object(reply)
    assert parse_text(thought) == parse_text(reply)


@given(st.dictionaries(st.text(), VALUES, max_size=5), st.sampled_from([None, 2]), st.booleans())
@settings(deadline=None)
def test_an_object_survives_json(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    replies = [text, f"Here it is:\n```json\n{text}\n```\nDone."]
    # among prose, a tag of reasoning is one wherever it stands
    for reply in replies[:1] if re.search(r"<\s*/?\s*(think|reasoning)", text, re.I) else replies:
        parsed = parse_object(reply)
        assert (parsed.value, parsed.status) == (value, OK)


@given(st.integers())
@settings(deadline=None)
def test_an_integer_is_an_option_or_invalid(number: int) -> None:
    choice = parse_choice(json.dumps({"answer": number}), OPTIONS)
    assert choice == (Choice(number, OK) if 1 <= number <= 4 else Choice(None, INVALID))
