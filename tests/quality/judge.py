"""A scripted judge at the mock endpoint: it reads the real prompt, and finds values by words that nobody else uses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from tests.cli.data import SCHEMA
from tests.support.mock_openai import Request, Response, ok

#: what in a turn of the small data (tests/cli/data.py) tells which state
WORDS = {
    "waves": ("home_town", "seaside"),
    "snow": ("home_town", "mountains"),
    "milk": ("daily_diet", "vegan"),
    "herring": ("daily_diet", "fish"),
    "all that comes": ("daily_diet", "anything"),
}
Reply = Callable[[str, bool], str | None]


def parts(request: Request) -> tuple[str, bool]:
    """The text that is judged, and whether it is an answer."""
    prompt = str(request.messages[-1]["content"])
    if found := re.search(r"The user's message to be checked:\n(.*?)\n\nWhich of the variables", prompt, re.DOTALL):
        return found[1], False
    found = re.search(r"They were given this advice:\n(.*?)\n\nThe advice was written", prompt, re.DOTALL)
    assert found, prompt
    return found[1], True


def read(text: str, is_answer: bool) -> str:
    """What a good judge says of the small data."""
    if is_answer:
        values = {value: name for name, some in SCHEMA.items() for value in some}
        return json.dumps({values[word]: word for word in re.findall(r"\w+", text) if word in values})
    told = {name: value for word, (name, value) in WORDS.items() if word in text.lower()}
    return json.dumps({"revealed": told})


def judge(other: Mapping[str, str] | None = None) -> Callable[[Request], Response | None]:
    """A responder; `other` is what it says, word for word, of a text that holds a given phrase."""

    def respond(request: Request) -> Response | None:
        if not request.is_chat:
            return None
        text, is_answer = parts(request)
        said = next((reply for phrase, reply in (other or {}).items() if phrase in text), None)
        return ok(read(text, is_answer) if said is None else said)

    return respond
