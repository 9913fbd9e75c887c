"""Reading a probe's reply: replies as a table, what only looks like a value, and properties that hold for any text.

A value is taken where the reply gives one of the possible ones, written as it was shown or with another case or other
joints between its words. Everything else is no value, and is never guessed.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym.tasks import parse
from amemgym.tasks.parse import Parsed, Status, parse_values

OK, REPAIRED, AMBIGUOUS, INVALID, EMPTY = Status
HOMES = ("city_centre", "coast", "farm")
JOBS = ("ward_nurse", "pilot", "baker")
SCHEMA = {"home": HOMES, "job_title": JOBS}
GOOD = '{"home": "coast", "job_title": "ward_nurse"}'
BOTH = ("coast", "ward_nurse")


def read(reply: str | None, schema: Mapping[str, Sequence[str]] = SCHEMA) -> tuple[tuple[str | None, ...] | None, str]:
    """The values in the order of the schema (None for no value at all), and the status."""
    parsed = parse_values(reply, schema)
    return (None if parsed.value is None else tuple(parsed.value[name] for name in schema)), parsed.status


AS_ASKED = [
    GOOD,
    '{"job_title": "ward_nurse", "home": "coast"}',
    GOOD.replace("{", "{\n  ").replace(", ", ",\n  "),
    f"  {GOOD}\n\n",
    f"```json\n{GOOD}\n```",
    f"Here is what I know:\n```\n{GOOD}\n```\nDone.",
    f"As far as I know: {GOOD}",
    f"{GOOD} I am not sure of the second one.",
    f'<think>{{"home": "farm", "job_title": "pilot"}} or so?</think>\n{GOOD}',
    f"They moved: home: farm.</think>{GOOD}",
    '{"home": "coast", "job_title": "ward_nurse", "note": "said in May, see home: farm"}',
    '{"h\\u006fme": "co\\u0061st", "job_title": "ward_nurse"}',
]


@pytest.mark.parametrize("reply", AS_ASKED)
def test_the_asked_for_form_is_ok(reply: str) -> None:
    assert read(reply) == (BOTH, OK)


OTHER_FORMS = [
    # other JSON
    ("{'home': 'coast', 'job_title': 'ward_nurse'}", BOTH),
    ('{"home": "coast", "job_title": "ward_nurse",}', BOTH),
    ('{"home": "coast", // by the sea\n "job_title": "ward_nurse"}', BOTH),
    # the value in another dress
    ('{"home": "Coast", "job_title": "WARD_NURSE"}', BOTH),
    ('{"home": "coast.", "job_title": "ward nurse"}', BOTH),
    ('{"home": "coast", "job_title": "Ward-Nurse"}', BOTH),
    ('{"home": "  coast ", "job_title": "**ward nurse**"}', BOTH),
    ('{"home": "ｃｏａｓｔ", "job_title": "ward\u00a0nurse"}', BOTH),
    # not all of them
    ('{"home": "coast"}', ("coast", None)),
    ('{"home": "coast", "job_title": null}', ("coast", None)),
    ('{"home": "coast", "job_title": ""}', ("coast", None)),
    ('{"home": "coast", "job_title": "unknown"}', ("coast", None)),
    ('{"home": 2, "job_title": "ward_nurse"}', (None, "ward_nurse")),
    ('{"home": true, "job_title": "ward_nurse"}', (None, "ward_nurse")),
    ('{"home": "ward_nurse", "job_title": "ward_nurse"}', (None, "ward_nurse")),
    ('{"home": "ward_nurse", "job_title": "pilot"}', (None, "pilot")),
    ('{"home": ["coast", "farm"], "job_title": "pilot"}', (None, "pilot")),
    ('{"home": [], "job_title": "pilot"}', (None, "pilot")),
    ('{"home": {"value": "coast"}, "job_title": "pilot"}', (None, "pilot")),
    ('{"home": "the coast", "job_title": "pilot"}', (None, "pilot")),
    ('{"home": "coast or farm", "job_title": "pilot"}', (None, "pilot")),
    ('{"home": "not coast", "job_title": "pilot"}', (None, "pilot")),
    ('{"home": "city", "job_title": "pilot"}', (None, "pilot")),
    ('{"house": "coast", "job_title": "pilot"}', (None, "pilot")),
    # the last of several objects counts, and what it leaves out is left out
    (f'{{"home": "farm", "job_title": "pilot"}} No: {GOOD}', BOTH),
    (f'For example {{"home": "farm"}}. So: {GOOD}', BOTH),
    (f'{GOOD}\n{{"home": "farm"}}', ("farm", None)),
    ('{"home": "farm", "home": "coast", "job_title": "ward_nurse"}', BOTH),
    # lines
    ("home: coast\njob_title: ward_nurse", BOTH),
    ("- **home**: coast\n- **job title**: ward nurse.", BOTH),
    ('"home": "coast",\n"job_title": "ward_nurse"', BOTH),
    ("Home: Coast\nJob-Title: Ward-Nurse", BOTH),
    ("What I know of you:\nhome: coast", ("coast", None)),
    ("home: coast\njob_title: I cannot tell", ("coast", None)),
    ("home: farm\nNo, wait.\nhome: coast", ("coast", None)),
    ("<think>home: farm</think>home: coast", ("coast", None)),
]


@pytest.mark.parametrize(("reply", "values"), OTHER_FORMS)
def test_another_form_is_repaired(reply: str, values: tuple[str | None, ...]) -> None:
    assert read(reply) == (values, REPAIRED)


UNREADABLE = [
    '{"home": "mountains", "job_title": "astronaut"}',
    '{"home": null, "job_title": null}',
    '{"home": 1, "job_title": 2}',
    '{"home": "pilot", "job_title": "coast"}',
    "{}",
    "[]",
    '["coast", "ward_nurse"]',
    f"[{GOOD}, {GOOD}]",
    '{"answer": 2}',
    # broken JSON is not picked over
    '{"home": "coast", "job_title": "ward_nu',
    '{"home": "coast", "job_title": ',
    '{"home": "coast" "job_title": "pilot"}',
    f'{GOOD} No: {{"home": "fa',
    # prose
    "You live at the coast and work as a ward_nurse.",
    "coast",
    "home: the coast, I think",
    "home: coast or farm",
    "home: not the farm",
    "home - coast",
    "I do not know.",
    ":::\n:",
    "home: " + "coast " * 100,
]


@pytest.mark.parametrize("reply", UNREADABLE)
def test_what_only_a_guess_could_read_is_invalid(reply: str) -> None:
    assert read(reply) == (None, INVALID)


@pytest.mark.parametrize("reply", [None, "", "  \n", "<think>hm</think>", "```\n\n```"])
def test_no_text_is_empty(reply: str | None) -> None:
    assert read(reply) == (None, EMPTY)


WRAPPED = [
    f'{{"result": {GOOD}}}',
    f'{{"a": {{"b": {{"c": {GOOD}}}}}}}',
    f'{{"values": {GOOD}}}',
]


@pytest.mark.parametrize("reply", WRAPPED)
def test_an_object_around_the_object_is_looked_into(reply: str) -> None:
    assert read(reply)[0] == BOTH


def test_a_wrapper_is_only_looked_into_where_it_is_no_variable() -> None:
    assert read('{"home": {"job_title": "pilot"}}') == (None, INVALID)
    assert read(f'{{"result": {GOOD}, "other": {GOOD}}}') == (None, INVALID)
    assert read(f'{{"a": {{"b": {{"c": {{"d": {GOOD}}}}}}}}}') == (None, INVALID)


@pytest.mark.parametrize(
    "reply",
    [
        '{"Home": "coast", "JOB_TITLE": "ward_nurse"}',
        '{"home": "coast", "job title": "ward_nurse"}',
        '{"home": "coast", "Job-Title": "ward_nurse"}',
        '{"home": ["coast"], "job_title": "ward_nurse"}',
        '{"home": ["coast"], "job_title": ["ward_nurse"]}',
    ],
)
def test_a_name_in_another_dress_and_a_list_of_one_are_understood(reply: str) -> None:
    assert read(reply)[0] == BOTH


@pytest.mark.parametrize(
    "reply",
    [
        WRAPPED[0],
        '{"Home": "coast", "JOB_TITLE": "ward_nurse"}',
        '{"home": ["coast"], "job_title": "ward_nurse"}',
        '{"home": "farm", "HOME": "coast", "job_title": "ward_nurse"}',
    ],
)
def test_only_the_asked_for_form_is_ok(reply: str) -> None:
    assert read(reply)[1] == REPAIRED


def test_the_name_itself_comes_before_a_name_in_another_dress() -> None:
    assert parse_values('{"home": "coast", "HOME": "farm"}', SCHEMA).value == {"home": "coast", "job_title": None}


def test_an_object_of_something_else_is_no_answer() -> None:
    assert read(f'{GOOD}\n{{"confidence": 0.9}}')[0] == BOTH


def test_the_same_answer_twice_is_one_answer() -> None:
    assert read(f"{GOOD}\n{GOOD}") == (BOTH, OK)


# --- values that are near each other ---

NEAR = {"amount": ("6-12", "6 12", "612")}


@pytest.mark.parametrize("value", NEAR["amount"])
def test_values_that_differ_in_signs_alone_are_told_apart_where_they_are_written_exactly(value: str) -> None:
    assert read(json.dumps({"amount": value}), NEAR) == ((value,), OK)


def test_values_that_differ_in_signs_alone_are_not_guessed() -> None:
    for said in ("6_12", "6–12", "6/12"):
        assert read(json.dumps({"amount": said}), NEAR) == (None, INVALID)
    assert read("amount: 6 12", NEAR) == (("6 12",), REPAIRED)


def test_case_is_not_guessed_where_it_tells_values_apart() -> None:
    schema = {"grade": ("a", "A", "b")}
    assert read('{"grade": "A"}', schema) == (("A",), OK)
    assert read('{"grade": "B"}', schema) == (("b",), REPAIRED)
    assert read('{"grade": " a"}', schema) == (None, INVALID)


@pytest.mark.parametrize("said", [3, "3", 3.0, "30 to 50", "3-50"])
def test_a_number_is_no_value(said: object) -> None:
    assert read(json.dumps({"age": said}), {"age": ("under_30", "30_50", "over_50")}) == (None, INVALID)


def test_a_number_is_a_value_where_one_is_written_like_it_and_never_a_place() -> None:
    schema = {"children": ("2", "0", "1"), "car": ("true", "false")}
    assert read('{"children": 1, "car": true}', schema) == (("1", "true"), REPAIRED)
    assert read('{"children": "1", "car": "true"}', schema) == (("1", "true"), OK)
    assert read('{"children": 3, "car": 1}', schema) == (None, INVALID)
    assert read('{"children": 1.5, "car": null}', schema) == (None, INVALID)


@pytest.mark.parametrize(
    ("said", "known"),
    [(">30", ("<30", "30_50", "50_plus")), ("-5", ("5", "10")), ("C", ("C++", "Java")), ("C#", ("C++", "Java"))],
)
def test_a_sign_that_joins_nothing_is_part_of_the_value(said: str, known: tuple[str, ...]) -> None:
    assert read(json.dumps({"it": said}), {"it": known}) == (None, INVALID)


@pytest.mark.parametrize("names", [("a b", "a-b"), ("home", "Home"), ("+", "-"), ("旅行!", "旅行?")])
def test_variables_whose_names_are_near_keep_their_own_values(names: tuple[str, str]) -> None:
    schema = {name: ("x", "y") for name in names}
    assert read(json.dumps(dict(zip(names, "xy", strict=True))), schema) == (("x", "y"), OK)


def test_a_name_that_could_be_two_variables_and_two_names_that_could_be_one_are_not_guessed() -> None:
    assert read('{"A B": "x"}', {"a b": ("x", "y"), "a-b": ("x", "y")}) == (None, INVALID)
    assert read('{"Home": "farm", "HOME": "coast", "job_title": "pilot"}') == ((None, "pilot"), REPAIRED)


def test_two_variables_may_have_the_same_values() -> None:
    schema = {"lives_in": ("town", "village"), "works_in": ("town", "village")}
    assert read('{"lives_in": "town", "works_in": "village"}', schema) == (("town", "village"), OK)
    assert read('{"works_in": "village"}', schema) == ((None, "village"), REPAIRED)


@pytest.mark.parametrize("said", [".5", "- 5"])
def test_a_sign_before_a_number_is_part_of_it(said: str) -> None:
    assert read(json.dumps({"it": said}), {"it": ("5", "10")}) == (None, INVALID)


def test_a_broken_note_hides_no_answer() -> None:
    assert read(f'{GOOD}\n{{"note": "you told me that your home is wh')[0] == BOTH


# --- long texts ---


def test_a_long_reply_is_read_to_its_end() -> None:
    words = "I have thought about it. " * 8_000
    assert read(words + GOOD) == (BOTH, OK)
    assert read("home: farm?\n" * 16_000 + "home: coast") == (("coast", None), REPAIRED)
    assert read('{"home": "farm"}' * 12_000 + GOOD) == (BOTH, REPAIRED)


PIECES_OF_NOTHING = ['{"home": ', '{"', "{", "[", '"', "home: ", "home", "```", "<think>", ":\n", "\\", "'"]


@pytest.mark.parametrize("piece", PIECES_OF_NOTHING)
def test_a_long_reply_of_nothing_is_invalid_or_empty(piece: str) -> None:
    assert read(piece * (200_000 // len(piece)))[0] is None


def test_no_long_text_is_normalised_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run of combining marks would take quadratic time."""
    longest = 0

    def noted(form: Literal["NFKC"], text: str) -> str:
        nonlocal longest
        longest = max(longest, len(text))
        return unicodedata.normalize(form, text)

    monkeypatch.setattr(parse, "unicodedata", SimpleNamespace(normalize=noted))
    parse.alike.cache_clear()
    name = "home" + "\u0301\u0316" * 500
    for reply in (json.dumps({name: "coast"}), json.dumps({"home": name}), f"{name}: coast", f"home: {name}"):
        assert read(reply, {"home": HOMES, "pet": ("cat", "dog")}) == (None, INVALID)
    assert 0 < longest < 1000


def test_a_long_value_is_known_where_it_is_exact() -> None:
    long = "word " * 200
    schema = {"story": (long, "short")}
    assert read(json.dumps({"story": long}), schema) == ((long,), OK)
    assert read(json.dumps({"story": long.upper()}), schema) == (None, INVALID)


# --- properties ---

#: a busy machine must not fail a test
BUSY = [HealthCheck.too_slow]
CHARACTERS = st.characters(exclude_categories=["Cs"])
PIECES = st.text(CHARACTERS, max_size=8) | st.sampled_from(
    ["<think>", "</think>", "```", "{", "}", '"a":', '{"a": 1}', "\\", "[", "'", "“", "a:b", ", ", "\n"]
)
TEXTS = st.lists(PIECES, max_size=3).map("".join)
SCHEMAS = st.dictionaries(TEXTS, st.lists(TEXTS, max_size=4, unique=True), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def held_to(parsed: Parsed[dict[str, str | None]], schema: Mapping[str, Sequence[str]]) -> None:
    """What holds of every reading."""
    assert (parsed.value is None) == (parsed.status not in {OK, REPAIRED})
    if parsed.value is not None:
        assert list(parsed.value) == list(schema)
        assert all(value is None or value in schema[name] for name, value in parsed.value.items())
        assert any(value is not None for value in parsed.value.values())
        assert parsed.status == REPAIRED or None not in parsed.value.values()


@settings(max_examples=60, deadline=None, suppress_health_check=BUSY)
@given(st.text() | TEXTS | JSON.map(json.dumps), SCHEMAS)
def test_any_text_gives_possible_values_or_none(reply: str, schema: dict[str, list[str]]) -> None:
    held_to(parse_values(reply, schema), schema)


@settings(max_examples=60, deadline=None, suppress_health_check=BUSY)
@given(SCHEMAS, st.data())
def test_a_reply_about_these_variables_gives_possible_values_or_none(
    schema: dict[str, list[str]], data: st.DataObject
) -> None:
    near = [change(v) for values in schema.values() for v in values for change in (str, str.upper, str.strip)]
    said = st.sampled_from(near) | JSON if near else JSON
    reply = {data.draw(st.sampled_from([n, n.upper(), n + "_"])): data.draw(said | st.lists(said)) for n in schema}
    held_to(parse_values(json.dumps(reply), schema), schema)
    lines = "\n".join(f"{name}: {value}" for name, value in reply.items())
    held_to(parse_values(lines, schema), schema)


@settings(max_examples=60, deadline=None, suppress_health_check=BUSY)
@given(
    SCHEMAS.filter(lambda schema: any(schema.values())),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.sampled_from(["", "<think>So {</think>", '<think>{"a": 1}</think>\n']),
)
def test_a_right_reply_in_the_asked_for_form_is_always_ok(
    schema: dict[str, list[str]], place: int, ascii_only: bool, indent: int | None, before: str
) -> None:
    # numbered, so that no two names differ in their signs alone
    numbered = {f"v{number} {name}": values for number, (name, values) in enumerate(schema.items()) if values}
    right = {name: values[place % len(values)] for name, values in numbered.items()}
    parsed = parse_values(before + json.dumps(right, ensure_ascii=ascii_only, indent=indent), numbered)
    assert (parsed.value, parsed.status) == (right, OK)
