"""What the tests of scenarios are made of: a small valid user in the v1 format, edits of it, and any valid user.

The small user has four periods (the third is quiet), four state variables and two questions. `pet` and `language` are
in no question, so that an edit of them has no say in the gold options; `language` never changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

User = dict[str, Any]
Edit = Callable[[User], None]
State = dict[str, str]

SCHEMA = {
    "home": ["city", "coast", "farm"],
    "job": ["nurse", "pilot", "baker"],
    "pet": ["cat", "dog", "none"],
    "language": ["english", "french"],
}
STATES = [
    {"home": "city", "job": "nurse", "pet": "cat", "language": "english"},
    {"home": "coast", "job": "nurse", "pet": "cat", "language": "english"},
    {"home": "coast", "job": "nurse", "pet": "cat", "language": "english"},
    {"home": "coast", "job": "pilot", "pet": "dog", "language": "english"},
]


def question(query: str, required: Sequence[str], *variants: Sequence[str]) -> User:
    """A question with one option for each variant, in that order."""
    options = [
        {"state": list(variant), "answer": f"Advice {number} for {', '.join(variant)}.", "type": "experience"}
        for number, variant in enumerate(variants)
    ]
    return {"query": query, "required_info": list(required), "answer_choices": options}


QUESTIONS = [
    question(
        "What shall I do on Sunday?",
        ["home", "job"],
        ("city", "nurse"),
        ("coast", "nurse"),
        ("coast", "pilot"),
        ("farm", "baker"),
    ),
    question("Where shall I walk?", ["home"], ("farm",), ("coast",), ("city",)),
]


def build_user(id: str, schema: dict[str, list[str]], states: Sequence[State], questions: Sequence[User]) -> User:
    """A user with that trajectory: one session exposes each update, a quiet period has one that exposes nothing."""
    periods: list[User] = []
    before: State = {}
    for number, state in enumerate(states):
        end = datetime(2020, 10, 1) + timedelta(days=90 * number)
        updates = {k: {"old": before.get(k), "new": v} for k, v in state.items() if before.get(k) != v}
        exposed = [{k: change["new"]} for k, change in updates.items()] or [{}]
        periods.append(
            {
                "period_start": str(end.date() - timedelta(days=90)) if number else None,
                "period_end": str(end.date()),
                "period_summary": None,
                "sessions": [
                    {
                        "event": None,
                        "exposed_states": states_of_session,
                        "query": f"Tell me something, please, number {index} of period {number}.",
                        "messages": [],
                        "session_time": str(end - timedelta(days=len(exposed) - index, hours=4)),
                    }
                    for index, states_of_session in enumerate(exposed)
                ],
                "state": dict(state),
                "updates": updates,
                "update_cnts": {k: number for k in updates},
            }
        )
        before = state
    return {
        "id": id,
        "start_time": "2020-10-01",
        "user_profile": {"uuid": id, "name": "Ada", "age": 36, "formatted_str": "name: Ada\nage: 36"},
        "state_schema": {name: list(values) for name, values in schema.items()},
        "periods": periods,
        "qas": json.loads(json.dumps(questions)),
    }


def small_user(id: str = "ada") -> User:
    """A valid user, new for each call."""
    return build_user(id, SCHEMA, STATES, QUESTIONS)


def as_bytes(*users: Any) -> bytes:
    """A data file that holds these users."""
    return json.dumps(users, ensure_ascii=False).encode("utf-8")


def objects_by_level(user: User) -> dict[str, list[User]]:
    """Every JSON object of a user that the v1 format gives fields to."""
    periods, questions = user["periods"], user["qas"]
    return {
        "user": [user],
        "profile": [user["user_profile"]],
        "period": periods,
        "session": [session for period in periods for session in period["sessions"]],
        "update": [update for period in periods for update in period["updates"].values()],
        "question": questions,
        "option": [option for question in questions for option in question["answer_choices"]],
    }


# --- edits: each names a place by its path, `periods.2.state.pet` ---


def put(path: str, value: Any) -> Edit:
    """Set a field, or an item of a list, that may be new."""
    return lambda user: _at(user, path).__setitem__(_last(path), value)


def drop(path: str) -> Edit:
    """Take a field or an item away."""
    return lambda user: _at(user, path).__delitem__(_last(path))


def edited(*edits: Edit, id: str = "ada") -> User:
    """The small user after these edits."""
    user = small_user(id)
    for edit in edits:
        edit(user)
    return user


def _key(part: str) -> str | int:
    return int(part) if part.isdigit() else part


def _last(path: str) -> Any:
    return _key(path.split(".")[-1])


def _at(user: Any, path: str) -> Any:
    for part in path.split(".")[:-1]:
        user = user[_key(part)]
    return user


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inside:
        yield value, key
        yield from places(child)


# --- any valid user, and any JSON ---

NAMES = st.text(min_size=1, max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=6
)


@st.composite
def valid_users(draw: st.DrawFn, id: str = "ada") -> User:
    """Any trajectory over any schema; the options are the variants lived through and some more, in any order."""
    schema = draw(st.dictionaries(NAMES, st.lists(NAMES, min_size=2, max_size=3, unique=True), min_size=1, max_size=3))
    any_state = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in schema.items()})
    states = draw(st.lists(any_state, min_size=1, max_size=4))
    questions = []
    for number in range(draw(st.integers(1, 3))):
        required = draw(st.permutations(list(schema)))[: draw(st.integers(1, 3))]
        lived = [tuple(state[name] for name in required) for state in states]
        # the first values and the second ones are two variants, so that there are always two options
        padding = [tuple(schema[name][index] for name in required) for index in (0, 1)]
        variants = draw(st.permutations(list(dict.fromkeys([*lived, *padding]))))
        questions.append(question(f"Question {number}?", required, *variants))
    return build_user(id, schema, states, questions)
