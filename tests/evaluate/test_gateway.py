"""Memory systems that call a model themselves, in a run: played, stopped, resumed, replayed like every other memory."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import amemgym
from amemgym import secrets
from amemgym.errors import AuthenticationFailed, RunFailed, UsageError
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.tasks import Chat, ExtractFacts, StandIn
from tests.evaluate.echo import copied, echo, episodes, every_model, journaled, until

SMALL: dict[str, Any] = {"users": 1, "periods": 2, "upper_bound": False}


class Lines(Memory):
    """Lets a model of its own note what to keep, and judges by embeddings of its own what is wanted."""

    needs_endpoint = True

    def __init__(self) -> None:
        self.lines: list[Item] = []

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        said = chat.last_said().removeprefix("NOTE: ")
        return StandIn(ExtractFacts((Message("user", said),), datetime.min), lambda found: "; ".join(found or []))

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        for said in messages:
            self.keep(self.post("chat/completions", note(said)), now)

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        self.post("chat/completions", {"messages": [{"role": "user", "content": f"Rewrite: {query}"}]})
        texts = [query, *(line.text for line in self.lines)]
        found = self.post("embeddings", {"input": texts, "encoding_format": "base64"})["data"]
        wanted, *vectors = (np.frombuffer(base64.b64decode(entry["embedding"]), "<f4") for entry in found)
        order = np.argsort(-(np.array(vectors).reshape(-1, len(wanted)) @ wanted), kind="stable")
        return [self.lines[place] for place in order[:k]]

    def keep(self, reply: dict[str, Any], now: datetime) -> None:
        self.lines.append(Item(reply["choices"][0]["message"]["content"], now))

    def post(self, what: str, body: dict[str, Any]) -> Any:
        """Plain HTTP: a client of OpenAI's takes half a second to be made."""
        endpoint = self.tools.endpoint
        assert endpoint is not None
        headers = {"Authorization": f"Bearer {endpoint.api_key}"}
        request = urllib.request.Request(f"{endpoint.base_url}/{what}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=20) as reply:
            return json.load(reply)


class AsyncLines(Lines):
    async def write(self, messages: Sequence[Message], now: datetime) -> None:  # type: ignore[override]
        for said in messages:
            self.keep(await asyncio.to_thread(self.post, "chat/completions", note(said)), now)


def note(said: Message) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"NOTE: {said.content}"}]}


def no_more(request: Request) -> str:
    raise AuthenticationFailed("asked a model, though the journal has it")


def ledgers(directory: Path, agent: str) -> list[Any]:
    return [episode.ledger for episode in episodes(directory, agent)]


def test_a_run_is_played_and_replayed_from_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = set(secrets._known)
    provider = every_model(monkeypatch)
    agents = [Lines, AsyncLines]
    first = amemgym.run("starter", agents, out=tmp_path / "r", **SMALL)
    assert not first.failures
    chats = [request for request in provider.requests if isinstance(request.task, Chat)]
    assert {line["role"] for line in journaled(tmp_path / "r")} >= {"memory write", "memory read", "probe"}
    assert ledgers(tmp_path / "r", "Lines") == [
        {role: {**used, "seconds": one[role]["seconds"]} for role, used in two.items()}
        for one, two in zip(ledgers(tmp_path / "r", "Lines"), ledgers(tmp_path / "r", "AsyncLines"), strict=True)
    ]
    for episode in episodes(tmp_path / "r", "Lines"):
        assert episode.ledger["embedding"]["calls"] > 0
        assert episode.ledger["embedding"]["seconds"] == 0.0
    own = first.scores["agents"]["Lines"]
    played = episodes(tmp_path / "r", "Lines")
    roles = [e.ledger[role] for e in played for role in ("assistant", "memory write", "memory read", "exam")]
    assert own["calls"] == sum(role["calls"] for role in roles), "embeddings are not the model's calls"
    assert own["tokens"]["input"] == sum(role["input"] for role in roles)
    assert chats and all(request.labels is None for request in chats)

    # nothing but the journals is left, and no model can be had
    again = copied(tmp_path / "r", tmp_path / "again")
    shutil.rmtree(again / "episodes")
    every_model(monkeypatch, no_more)
    second = amemgym.run("starter", agents, out=again, **SMALL)
    assert second.scores == first.scores
    assert _contents(again) == _contents(tmp_path / "r")

    new = secrets._known - known
    assert len(new) >= 4, "each run had a token and a path of its own"
    whole = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert not [secret for secret in new if secret.encode() in whole]
    assert not re.search(rb"127\.0\.0\.1", whole)


def _contents(directory: Path) -> dict[str, bytes]:
    found = sorted(p for p in directory.rglob("*.json*") if p.is_file() and "lock" not in p.name)
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_model(monkeypatch)
    whole = amemgym.run("starter", [Lines], out=tmp_path / "whole", probe=False, **SMALL)
    probed = amemgym.run("starter", [Lines], out=tmp_path / "probed", **SMALL)
    costs = ("tokens", "calls", "agent_calls", "memory_calls", "memory_tokens", "embedding_calls", "embedding_tokens")
    assert [probed["Lines"][cost] for cost in costs] == [whole["Lines"][cost] for cost in costs], (
        "a probe costs nothing"
    )
    every_model(monkeypatch, until(30))
    with pytest.raises(AuthenticationFailed):
        amemgym.run("starter", [Lines], out=tmp_path / "r", probe=False, **SMALL)
    before = journaled(tmp_path / "r")
    provider = every_model(monkeypatch)
    resumed = amemgym.run("starter", [Lines], out=tmp_path / "r", probe=False, **SMALL)
    assert resumed.scores == whole.scores
    assert len(provider.requests) + len(before) == len(journaled(tmp_path / "whole"))


def test_offline_the_task_that_is_meant_is_solved(tmp_path: Path) -> None:
    amemgym.run("starter", [Lines], out=tmp_path / "r", probe=False, **SMALL)
    (episode,) = episodes(tmp_path / "r", "Lines")
    assert episode.texts and not any("NOTE" in text or "Rewrite" in text for text in episode.texts)


class Tokens(Lines):
    """Sends what cannot be embedded, and does not care."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        with suppress(OSError):
            self.post("embeddings", {"input": [[1, 2, 3]]})


def test_what_an_endpoint_refuses_ends_that_agent_s_episode_alone(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="has tokens, or no texts") as failed:
        amemgym.run("starter", [Tokens, "rag"], out=tmp_path / "r", **SMALL)
    assert "agent 'Tokens', user 0, period 0" in str(failed.value)
    assert len(episodes(tmp_path / "r", "rag")) == 1


class Slams(Lines):
    """A copy that cannot be let go of once its reading has failed."""

    failed = False

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        self.failed = True
        found = super().read(query, now, k)
        self.failed = False
        return found

    def close(self) -> None:
        if self.failed:
            raise OSError("the door is stuck")


def test_what_stops_a_run_is_not_hidden_by_a_copy_that_cannot_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong_key(request: Request) -> str:
        if "Rewrite" in request.messages[-1].content and len(request.messages) == 1:
            raise AuthenticationFailed("the key is wrong")
        return echo(request)

    every_model(monkeypatch, wrong_key)
    recorded = amemgym.run("starter", ["native"], out=tmp_path / "on", probe=False, **SMALL)
    with pytest.raises(AuthenticationFailed, match="the key is wrong"):  # off-policy only exams read
        amemgym.run(agents=[Slams], out=tmp_path / "r", off_policy=str(recorded.directory), **SMALL)


def test_a_proxy_is_found_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.test:3128")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(UsageError, match="HTTP_PROXY"):
        amemgym.run("starter", [Lines], out=tmp_path / "r", **SMALL)
    assert not (tmp_path / "r").exists()


def test_a_run_without_such_a_memory_starts_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)  # to import it is an error
    every_model(monkeypatch)
    assert not amemgym.run("starter", "rag", out=tmp_path / "r", **SMALL, probe=False).failures
    with pytest.raises(RunFailed, match="aiohttp"):
        amemgym.run("starter", [Lines], out=tmp_path / "s", **SMALL, probe=False)
