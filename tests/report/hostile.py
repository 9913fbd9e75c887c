"""A user and a model whose every text would like to be markup, and is hard to show: the page must show it as it is."""

from __future__ import annotations

import json
from pathlib import Path

from amemgym.llm import Request
from amemgym.tasks import ChooseKnowing, ChooseOption, FollowUp, ProbeStates, Reply
from tests.scenario.build import SCHEMA, STATES, as_bytes, build_user, question
from tests.support.models import Scripted

MARKUP = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=2'><b>--> {{ 7*7 }} &lt;i&gt;"
STRANGE = "\u202eمرحبا\u202c שלום \u2067x 👩‍👩‍👧‍👦 e\u0301\u0323\u0300 \u0000\u0007 ${1}"
EVIL = f"{MARKUP} {STRANGE}"
USER = "ada</script>/ü %2F#"
MODEL = "openai:<img src=x onerror='window.hacked=3'>"
#: 200 KB in one word, and a text of many
LONG = "x" * 100_000 + " long" * 20_000 + EVIL


def evil(text: str) -> str:
    return f"{text}<b onclick=alert(1)>א</b>"


def write_data(path: Path) -> Path:
    """A valid v1 file with one such user."""
    schema = {evil(name): [evil(value) for value in values] for name, values in SCHEMA.items()}
    states = [{evil(name): evil(value) for name, value in state.items()} for state in STATES]
    variants = [(evil("city"),), (evil("coast"),), (evil("farm"),)]
    questions = [question(f"{number} {EVIL}?", [evil("home")], *variants) for number in range(2)]
    for asked in questions:
        for option in asked["answer_choices"]:
            option["answer"] += EVIL
    user = build_user(USER, schema, states[:3], questions)
    user["user_profile"] |= {"name": f"Ada {EVIL}", "formatted_str": f"name: Ada {EVIL}"}
    for period in user["periods"]:
        for session in period["sessions"]:
            session["query"] += EVIL
    path.write_bytes(as_bytes(user))
    return path


def model() -> Scripted:
    """Says what is evil and long, and chooses the first option where it is asked the first question."""

    def answer(request: Request) -> str:
        task = request.task
        if isinstance(task, ChooseOption):
            first = task.question.startswith("0")
            return f"{LONG} {json.dumps({'answer': 1})}" if first else f"{EVIL} no idea"
        if isinstance(task, ChooseKnowing):
            return '{"answer": 1}'
        if isinstance(task, ProbeStates):
            return EVIL
        if isinstance(task, FollowUp):
            return f"And then? {EVIL}"
        return (
            LONG
            if isinstance(task, Reply) and "number 0 of period 1" in task.context.conversation[-1].content
            else EVIL
        )

    return Scripted(answer)
