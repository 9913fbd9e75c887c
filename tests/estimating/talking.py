"""An endpoint that talks at length: replies in prose of a set length that varies, records that grow, facts that are
few. It knows nothing of how a rehearsal's stand-in replies."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym.evaluate import RunEstimate
from amemgym.llm import Completion, Usage
from amemgym.llm import Request as Asked
from tests.support.mock_openai import Request, Response, ok

_WORDS = (
    "about after again along around because before begin better between both bring budget careful change choose "
    "clear close compare consider could course different early easy either enough every example family feel find "
    "first follow friend general good great group habit help however idea important instead keep kind large later "
    "learn level list little local look made main make many matter maybe meet might month more most much need never "
    "next note often once only order other over part people perhaps place plan point practice prepare quality "
    "rather reason result right schedule season several should simple since small some start step still suggest "
    "support take talk than that them then there these think those time together toward under until useful usually "
    "want week well what when where which while with work would year your "
)
WORDS = re.findall("[a-z]+", _WORDS)
#: a record has no more lines than this
LINES = 45


@dataclass(frozen=True)
class Talk:
    """Characters of a reply and of a follow-up, of a fact and of a record's line, on average; `wordy` is a field that
    comes with every answer to a question, `price` the tokens counted for each four characters."""

    reply: int = 2600
    follow_up: int = 250
    fact: int = 65
    line: int = 35
    wordy: int = 0
    price: float = 1.0

    def answer(self, texts: list[str]) -> tuple[str, int, int]:
        """The reply to messages with these texts, tokens in and out."""
        said = self._said(texts)
        return said, round(self.price * sum(map(len, texts)) / 4), round(self.price * len(said) / 4)

    def respond(self, request: Request) -> Response | None:
        """The same as the mock endpoint wants it."""
        if not request.is_chat:
            return None
        said, asked, replied = self.answer([str(message.get("content")) for message in request.messages])
        return ok(said, usage={"prompt_tokens": asked, "completion_tokens": replied})

    def _said(self, texts: list[str]) -> str:
        last = texts[-1]
        draw = random.Random(hashlib.sha256("\n".join(texts).encode()).hexdigest())
        aside = {"why": _prose(draw, last, self.wordy)} if self.wordy else {}
        if '{"facts"' in last:
            facts = [_prose(draw, last, draw.uniform(0.7, 1.3) * self.fact) for _ in range(draw.choice((1, 1, 2)))]
            return json.dumps({"facts": facts})
        if '{"operations"' in last:
            stored = len(re.findall(r"(?m)^\d+: ", last))
            facts = re.findall(r"(?m)^- (?!\")(.*)", last.partition("New facts:")[2].partition("Decide")[0])
            told: list[dict[str, Any]] = [{"event": "add", "text": fact} for fact in facts]
            if stored and draw.random() < 0.15:
                told[0] |= {"event": "update", "id": draw.randrange(stored)}
            return json.dumps({"operations": told})
        if '{"answer"' in last:
            return json.dumps({"answer": draw.randint(1, len(re.findall(r"(?m)^\d+: ", last)))} | aside)
        if "<value>" in last:
            return json.dumps(dict(re.findall(r'(?m)^- ([^:]+): "([^"]+)"', last)) | aside)
        if "The record as it stands:" in last:
            record = last.partition("The record as it stands:\n")[2].partition("\n\nThe latest part")[0]
            lines = [] if record == "(empty)" else record.splitlines()
            if "[Current Time:" in last.partition("The latest part")[2]:
                lines.append(f"note {len(lines)}: {_prose(draw, last, draw.uniform(0.6, 1.1) * self.line)}")
            return "\n".join(lines[-LINES:]) or "note: nothing yet"
        usual = self.follow_up if "Write the user's next message." in last else self.reply
        return _prose(draw, last[-400:], draw.uniform(0.75, 1.25) * usual)


def _prose(draw: random.Random, about: str, length: float) -> str:
    """Words of what was said among others."""
    said = re.findall(r"[a-z]{3,}", about.lower()) or WORDS
    text = ""
    while len(text) < length:
        text += " " + (draw.choice(said) if draw.random() < 0.35 else draw.choice(WORDS))
    return text[1 : round(length) + 1].strip() + "."


class Talker:
    """The same endpoint without a network, as a provider."""

    identity = "talker"

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    async def complete(self, asked: Asked) -> Completion:
        said, *tokens = self._talk.answer([message.content for message in asked.messages])
        return Completion(said, Usage(*tokens))

    async def aclose(self) -> None:
        return None


def used(directory: Path) -> dict[tuple[str, str], tuple[int, int, int]]:
    """(agent, role) → calls, tokens in and out, over all of a finished run."""
    found: dict[tuple[str, str], tuple[int, int, int]] = defaultdict(lambda: (0, 0, 0))
    for agent, ledger in _ledgers(directory):
        for role, count in ledger.items():
            calls, asked, said = found[agent, role]
            found[agent, role] = calls + count["calls"], asked + count["input"], said + count["output"]
    return dict(found)


def _ledgers(directory: Path) -> Iterator[tuple[str, Any]]:
    for path in directory.glob("episodes/*/*.json"):
        episode = json.loads(path.read_text())
        yield episode["agent"], episode["ledger"]
    for path in directory.glob("upper-bound/*/*.json"):
        yield "upper bound", json.loads(path.read_text())["ledger"]


def errors(estimate: RunEstimate, directory: Path) -> dict[str, float]:
    """How far the estimated tokens are from those of the run, relatively, by agent and in all."""
    real, expected = defaultdict(int), defaultdict(int)
    for (agent, _), (_, asked, said) in used(directory).items():
        real[agent] += asked + said
        real["all"] += asked + said
    for role in estimate.roles:
        expected[role.agent] += role.input + role.output
        expected["all"] += role.input + role.output
    assert set(real) == set(expected)
    return {name: expected[name] / real[name] - 1 for name in real}
