"""What tests of `amemgym generate` share: a small generation against a model that answers well over HTTP."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.cli.helpers import strict_json
from tests.support.mock_openai import MockOpenAI, Request

SMALL = ("--users", "3", "--periods", "3", "--questions", "3", "--changes", "2")
MODEL = ("--model", "openai:mock-model")
PEOPLE = [{"id": name, "name": name, "persona": f"{name} keeps bees"} for name in ("Ada", "Bob", "Cleo")]


def asked(requests: list[Request]) -> Counter[str]:
    return Counter(json.dumps(request.body, sort_keys=True) for request in requests if request.is_chat)


@dataclass
class Made:
    """The endpoint, an unbroken generation against it, and who was made."""

    server: MockOpenAI
    out: Path
    people: Path
    requests: list[Request]
    printed: str

    @property
    def command(self) -> list[str | Path]:
        """The same generation, but for where it is written."""
        return ["generate", *MODEL, "--base-url", self.server.base_url, "--personas", self.people, *SMALL]

    @property
    def bytes(self) -> bytes:
        return self.out.read_bytes()

    def since(self, arrived: int) -> Counter[str]:
        return asked(self.server.requests[arrived:])


def users(path: Path) -> list[str]:
    return [user["id"] for user in strict_json(path)]
