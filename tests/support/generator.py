"""A language model for tests of generation: it does each stage well, by the words of the request alone.

So the same model serves inside a process and over HTTP. What it writes says each state in a form that its own judge
reads back (`about X: Y.`), which no data set has in it by chance. `Spoiled` makes it fail in a chosen way first.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from amemgym.llm import Completion, Usage
from amemgym.llm import Request as Call
from amemgym.tasks import prompts_for
from tests.support.mock_openai import MockOpenAI, Request, Responder, Response, ok

#: a phrase of the English template that only that stage's request has → the stage
STAGES = {
    '{"questions": [': "questions",
    '{"same": [': "schema",
    '{"state": {': "state",
    '{"summary": "': "updates",
    '{"events": [': "events",
    '{"topics": [': "topics",
    "The topic: ": "distractor",
    "on behalf of somebody": "other",
    "must let the assistant know": "utterance",
    '{"answers": [': "answers",
    '{"revealed": {': "judge utterance",
    "The advice was written for": "judge answer",
}


def stage_of(request: str) -> str:
    """The stage that a request is of."""
    [found] = {stage for phrase, stage in STAGES.items() if phrase in request}
    return found


def good(request: str) -> str:
    """A reply that is right for its stage."""
    return json.dumps(_STAGES[stage_of(request)](request), ensure_ascii=False)


def plain(name: str) -> str:
    """A name as people say it."""
    return name.replace("_", " ")


def said(name: str, value: str) -> str:
    return f"about {plain(name)}: {plain(value)}."


def _questions(request: str) -> Any:
    count, states, values = (
        int(_found(pattern, request))
        for pattern in (r"Think of (\d+) questions", r"exactly (\d+) circumstances", r"exactly (\d+) values")
    )
    done = len(re.findall(r"(?m)^- (?:How|What)", request.partition("not to be repeated:")[2]))
    made = []
    for number in range(done, done + count):
        names = [f"side_{number}_{k}" for k in range(states)]
        if number in (0, 2):
            names[-1] = "shared_side"  # two questions' variables that are one
        variables = {name: [f"{word}_way" for word in WORDS[:values]] for name in names}
        made.append({"question": f"How should I go about matter {number}?", "variables": variables})
    return {"questions": made}


WORDS = ("slow", "quick", "cheap", "grand", "quiet", "loud", "plain", "bright", "early", "late")


def _schema(request: str) -> Any:
    places: dict[str, list[str]] = {}
    values: dict[str, list[str]] = {}
    for place, listed in re.findall(r"(?m)^   (\d+/\w+): (.*)$", request):
        name = place.partition("/")[2]
        places.setdefault(name, []).append(place)
        values[name] = json.loads(f"[{listed}]")
    same = [{"name": n, "values": values[n], "of": p} for n, p in places.items() if len(p) > 1]
    return {"same": same, "rename": {}}


def variables(text: str) -> dict[str, list[str]]:
    """The variables that a request lists with their values."""
    return {n: json.loads(f"[{listed}]") for n, listed in re.findall(r'(?m)^- (\w+): ("[^\n]*")$', text)}


def _state(request: str) -> Any:
    return {"state": {name: values[n % len(values)] for n, (name, values) in enumerate(variables(request).items())}}


def _updates(request: str) -> Any:
    count = int(_found(r"about (\d+) of the variables", request))
    now = variables(request.partition("Their situation now:")[2].partition("Now comes")[0])
    able = variables(request.partition("person's life so far.")[2])
    span = _found(r"the period (\S+) ", request)
    chosen = sorted(able, key=lambda name: (hash_of(name + span), name))[:count]
    new = {}
    for name in chosen:
        others = [value for value in able[name] if value != now[name][0]]
        new[name] = others[hash_of(span + name) % len(others)]
    return {"summary": f"From {span} on there was news.", "updates": new}


def _events(request: str) -> Any:
    changes = [json.loads(line) for line in re.findall(r'(?m)^\{"variable".*$', request)]
    names = [change["variable"] for change in changes]
    groups = [names[at : at + 2] for at in range(0, len(names), 2)]
    return {"events": [{"event": f"Something happened to {plain(g[0])}.", "updates": g} for g in groups]}


def _topics(request: str) -> Any:
    count = int(_found(r"List (\d+) everyday", request))
    done = len(re.findall(r"(?m)^- topic \d+$", request))
    return {"topics": [f"topic {done + n}" for n in range(count)]}


def _utterance(request: str) -> Any:
    told = [json.loads(line) for line in re.findall(r'(?m)^\{"variable".*$', request)]
    words = " ".join(said(one["variable"], one["value"]) for one in told)
    return {"utterance": f"{told[0]['how'].capitalize()} news {words} Can you help?"}


def _distractor(request: str) -> Any:
    return {"utterance": f"Tell me something of {_found('The topic: (.*)', request)}, please."}


def _other(request: str) -> Any:
    told = json.loads(_found(r'(?m)^(\{"variable".*)$', request))
    return {"utterance": f"My sister has {plain(told['value'])} in {plain(told['variable'])}. What should she do?"}


def _answers(request: str) -> Any:
    found = [json.loads(line) for line in re.findall(r"(?m)^\d+\. (\{.*\})$", request)]
    return {"answers": [" ".join(said(n, v) for n, v in one.items()).ljust(160, ".") for one in found]}


def _revealed(request: str) -> Any:
    message = request.partition("message to be checked:")[2].partition("Which of the variables")[0]
    return {"revealed": {n: v for n, values in variables(request).items() for v in values if said(n, v) in message}}


def _variant(request: str) -> Any:
    answer = request.partition("given this advice:")[2].partition("The advice was written")[0]
    found = variables(request)
    return {n: v for n, values in found.items() for v in values if said(n, v) in answer}


_STAGES: dict[str, Callable[[str], Any]] = {
    "questions": _questions,
    "schema": _schema,
    "state": _state,
    "updates": _updates,
    "events": _events,
    "topics": _topics,
    "distractor": _distractor,
    "other": _other,
    "utterance": _utterance,
    "answers": _answers,
    "judge utterance": _revealed,
    "judge answer": _variant,
}


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return sum(ord(sign) * 31**at for at, sign in enumerate(text)) % 9973


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return found[1]


#: makes a spoiled reply of a good one and the request
Spoil = Callable[[str, str], str]


class Spoiled:
    """The good model, but that a stage's first replies are spoiled.

    Args:
        stage: which.
        spoil: makes the spoiled reply of the good one and the request.
        times: how many are; None for all of them.
        where: only requests with this text.
    """

    def __init__(self, stage: str, spoil: Spoil, times: int | None = 1, where: str = "") -> None:
        self._stage, self._spoil, self.times, self._where = stage, spoil, times, where
        self.asked: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def __call__(self, request: str, last: str = "") -> str:
        with self._lock:
            stage = stage_of(request)
            self.asked.append((stage, last))
            reply = good(request)
            if stage == self._stage and self._where in request and (self.times is None or self.times > 0):
                self.times = None if self.times is None else self.times - 1
                return self._spoil(reply, request)
            return reply


def edited(change: Callable[[Any, str], Any]) -> Spoil:
    """A spoiler that changes the reply's JSON, in place or by what it gives back; it is told the request too."""

    def spoil(reply: str, request: str) -> str:
        value = json.loads(reply)
        return json.dumps(change(value, request) or value, ensure_ascii=False)

    return spoil


Model = Callable[[str, str], str]


class InProcess:
    """Such a model as a provider; keeps the requests."""

    identity = "generator"

    def __init__(self, model: Model) -> None:
        self._model = model
        self.calls: list[Call] = []

    async def complete(self, request: Call) -> Completion:
        self.calls.append(request)
        english = request.task.messages(prompts_for("en"))  # which it reads, whatever language it is asked in
        return Completion(self._model(english[0].content, english[-1].content), Usage(10, 2))

    async def aclose(self) -> None:
        return None


def well(request: str, last: str = "") -> str:
    """The good model."""
    return good(request)


def served(model: Model = well) -> Responder:
    """Such a model behind the mock endpoint."""

    def responder(request: Request) -> Response | None:
        if not request.is_chat:
            return None
        texts: Sequence[str] = [str(message["content"]) for message in request.messages]
        return ok(model(texts[0], texts[-1]))

    return responder


def main() -> None:
    """Serve the good model until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    args = parser.parse_args()
    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with MockOpenAI(served(), delay=args.delay, port=args.port) as server:
        print(f"listening on {server.base_url}", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
