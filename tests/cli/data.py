"""A small data set in the v1 format: two users, two periods, three questions with two to six options."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

SCHEMA = {"home_town": ["seaside", "mountains"], "daily_diet": ["vegan", "fish", "anything"]}
STATES = [
    {"home_town": "seaside", "daily_diet": "vegan"},
    {"home_town": "seaside", "daily_diet": "fish"},
]
SAID = {
    "seaside": "The waves are loud at my window since I moved; how do I sleep?",
    "mountains": "Snow lies before my door; which boots shall I get?",
    "vegan": "I gave up milk and meat; what goes on my bread?",
    "fish": "I have begun to eat herring again; how do I cook it?",
    "anything": "I eat all that comes; what shall I cook?",
}
#: users, questions of each, and exams of one agent
USERS, QUESTIONS, EXAMS = 2, 3, 12


def user(name: str) -> dict[str, Any]:
    """One user; the names differ, the life is the same."""
    periods, before = [], dict.fromkeys(SCHEMA)
    for number, state in enumerate(STATES):
        changed = [variable for variable in state if state[variable] != before[variable]]
        sessions = [
            {
                "event": None,
                "exposed_states": {variable: state[variable]},
                "query": f"{SAID[state[variable]]} ({name})",
                "messages": [],
                "session_time": f"2021-0{4 * number + index + 2}-05 10:00:00",
            }
            for index, variable in enumerate(changed)
        ]
        periods.append(
            {
                "period_start": f"2021-0{4 * number + 1}-01",
                "period_end": f"2021-0{4 * number + 4}-30",
                "sessions": sessions,
                "state": state,
                "updates": {variable: {"old": before[variable], "new": state[variable]} for variable in changed},
            }
        )
        before = dict(state)
    return {
        "id": f"{name}-1",
        "start_time": "2021-01-01",
        "user_profile": {"name": name, "formatted_str": f"name: {name}"},
        "state_schema": SCHEMA,
        "periods": periods,
        "qas": [
            question("What shall I do on Sunday?", "home_town"),
            question("What shall I eat tonight?", "daily_diet"),
            question("Where shall I eat on Sunday?", "home_town", "daily_diet"),
        ],
    }


def question(query: str, *required: str) -> dict[str, Any]:
    """A question with an option for each variant."""
    variants = itertools.product(*(SCHEMA[variable] for variable in required))
    options = [{"state": list(v), "answer": f"What suits {' and '.join(v)}.", "type": "experience"} for v in variants]
    return {"query": query, "required_info": list(required), "answer_choices": options}


def users() -> list[dict[str, Any]]:
    """Both, new for each call."""
    return json.loads(json.dumps([user("Ann"), user("Ben")]))


def write(path: Path, value: Any) -> Path:
    """A data file."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path
