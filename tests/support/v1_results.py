"""Result directories as the original benchmark writes them, for users in the v1 format, and edits of them.

The assistant in them remembers what it was first told and nothing later: so the exams after period 0 are right, and
later ones as long as nothing changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

User = dict[str, Any]
Value = Any


def write_results(folder: Path, user: User) -> Path:
    """One user's results with one agent, in `folder`/<user id>."""
    place = folder / user["id"]
    (place / "interactions").mkdir(parents=True)
    put(place / "overall_results.json", [exams(user, period) for period in range(len(user["periods"]))])
    put(place / "diagnosis_results.json", [probes(user, period) for period in range(len(user["periods"]))])
    for period in range(len(user["periods"])):
        put(place / f"interactions/period_{period:02d}.json", talk(user, period))
    return place


def exams(user: User, period: int) -> list[dict[str, Any]]:
    """The exam after a period, answered from the state after period 0."""
    return [_exam(question, variant(user, period, question), variant(user, 0, question)) for question in user["qas"]]


def _exam(question: dict[str, Any], true: list[str], believed: list[str]) -> dict[str, Any]:
    options = question["answer_choices"]
    variants = [option["state"] for option in options]
    gold, chosen = variants.index(true), variants.index(believed)
    reply = f'```json\n{{\n    "answer": {chosen + 1}\n}}\n```'
    return {
        "query": question["query"],
        "answer": gold,
        "answer_state": true,
        "answer_choice": options[gold]["answer"],
        "raw_response": reply,
        "response": chosen + 1,
        "response_state": believed,
        "response_choice": options[chosen]["answer"],
        "json_error": False,
        "llm_usage_statistics": {"input_tokens": 100, "output_tokens": 114, "time_elapsed": 0.25},
        "scores": {"accuracy": float(gold == chosen)},
    }


def probes(user: User, period: int) -> list[dict[str, Any]]:
    now, first = user["periods"][period]["state"], user["periods"][0]["state"]
    return [
        {
            "query": "What are these now?",
            "raw_response": json.dumps({name: first[name] for name in question["required_info"]}),
            "results": [
                {"info_type": name, "answer_state": now[name], "response_state": first[name], "write_pos": 0}
                for name in question["required_info"]
            ],
        }
        for question in user["qas"]
    ]


def talk(user: User, period: int) -> list[list[dict[str, str]]]:
    """The conversation of a period: one round a session."""
    return [
        [
            {"role": "user", "content": f"[Current Time: {session['session_time']}]\n{session['query']}"},
            {"role": "assistant", "content": "Indeed."},
        ]
        for session in user["periods"][period]["sessions"]
    ]


def upper_bound(users: Sequence[User]) -> dict[str, Any]:
    """The upper-bound file's content: every option's variant is answered right. Its `answer` counts from 1."""

    def rows(question: dict[str, Any]) -> list[dict[str, Any]]:
        found = [_exam(question, option["state"], option["state"]) for option in question["answer_choices"]]
        return [{**entry, "answer": entry["answer"] + 1} for entry in found]

    return {"order": [user["id"] for user in users], "results": [[rows(q) for q in user["qas"]] for user in users]}


def variant(user: User, period: int, question: dict[str, Any]) -> list[str]:
    state = user["periods"][period]["state"]
    return [state[name] for name in question["required_info"]]


def put(path: Path, value: Value) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def edit(path: Path, change: Callable[[Value], Value]) -> None:
    """Change a JSON file: in place, or to what `change` returns."""
    value = json.loads(path.read_text(encoding="utf-8"))
    changed = change(value)
    put(path, value if changed is None else changed)
