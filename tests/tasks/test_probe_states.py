"""The probe as a request: every name and every possible value is shown once, in the order given, with what is known."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.messages import Message
from amemgym.tasks import Context, ProbeStates, Status, prompts_for
from amemgym.tasks.base import digest

PROMPTS = prompts_for("en")
NOW = datetime(2022, 3, 1, 9, 30)
VARIABLES = {
    "home_town": ("by_the_sea", "inner_city", "$place"),
    "pet": ("two cats, one dog", 'a "parrot"', "none"),
    "größe": ("über_30", "unter_30"),
}


def task(
    variables: dict[str, tuple[str, ...]], context: Context | None = None, now: datetime | None = NOW
) -> ProbeStates:
    return ProbeStates(variables, context or Context(), now)


def asked(probe: ProbeStates) -> str:
    """The message that asks."""
    last = probe.messages(PROMPTS)[-1]
    assert last.role == "user"
    return last.content


def listed(text: str) -> list[tuple[str, list[str]]]:
    """The names and values as they are listed, in order."""
    lines = [line[2:].partition(": ") for line in text.splitlines() if line.startswith("- ")]
    return [(name, json.loads(f"[{values}]")) for name, _, values in lines]


def test_names_and_values_are_listed_in_the_order_given() -> None:
    assert listed(asked(task(VARIABLES))) == [(name, list(values)) for name, values in VARIABLES.items()]
    turned = {name: values[::-1] for name, values in reversed(VARIABLES.items())}
    assert listed(asked(task(turned))) == [(name, list(values)) for name, values in turned.items()]


def test_each_value_stands_there_once_and_each_name_once_more_in_the_form() -> None:
    text = asked(task(VARIABLES))
    for name, values in VARIABLES.items():
        assert text.count(name) == 2
        assert text.count(f"- {name}: ") == text.count(f'"{name}": <value>') == 1
        for value in values:
            assert text.count(json.dumps(value, ensure_ascii=False)) == 1
    form = text.splitlines()[-1]
    assert re.findall(r'"([^"]*)": <value>', form) == list(VARIABLES)


def test_the_form_filled_in_is_ok() -> None:
    probe = task(VARIABLES)
    right = {name: values[-1] for name, values in VARIABLES.items()}
    reply = asked(probe).splitlines()[-1]
    for value in right.values():
        reply = reply.replace("<value>", json.dumps(value), 1)
    parsed = probe.parse(reply)
    assert (parsed.value, parsed.status) == (right, Status.OK)
    assert probe.parse("I do not know.").value is None
    assert probe.wants_json


def test_the_probe_comes_after_memories_and_conversation() -> None:
    talk = (Message("user", "I live by the sea.", NOW), Message("assistant", "How nice.", NOW))
    system, *rest, last = task(VARIABLES, Context(("[2022-01-01] likes cats",), talk)).messages(PROMPTS)
    assert system.role == "system" and "- [2022-01-01] likes cats" in system.content
    assert tuple(rest) == talk
    assert last.content.startswith("[Current Time: 2022-03-01 09:30:00]\n")
    assert "Current Time" not in asked(task(VARIABLES, now=None))


def test_probes_that_differ_in_the_order_of_values_are_two_requests() -> None:
    turned = {name: values[::-1] for name, values in VARIABLES.items()}
    hashes = {digest(probe, probe.messages(PROMPTS)) for probe in (task(VARIABLES), task(turned), task(VARIABLES))}
    assert len(hashes) == 2


NAMES = st.text("abcxyz_ äß漢", min_size=1, max_size=8).map(str.strip).filter(bool)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=4, unique=True), min_size=1, max_size=4))
def test_any_values_can_be_read_back_from_the_request(schema: dict[str, list[str]]) -> None:
    variables = {name: tuple(values) for name, values in schema.items()}
    rows = [row.partition(": ") for row in asked(task(variables)).split("\n") if row.startswith("- ")]
    assert [(name[2:], json.loads(f"[{values}]")) for name, _, values in rows] == list(schema.items())


@pytest.mark.parametrize("value", ["line\nbreak", "tab\t", "quote \" and ' and \\", "${form}", "$now", "{x}"])
def test_no_value_can_break_the_form(value: str) -> None:
    text = asked(task({"thing": (value, "other")}))
    assert listed(text) == [("thing", [value, "other"])]
    assert text.endswith('{"thing": <value>}')
