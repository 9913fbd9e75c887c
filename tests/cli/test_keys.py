"""Keys on the command line: none is written or printed, and a refused or missing one is named by its variable."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.helpers import (
    KEY,
    against,
    answer,
    contents,
    environment,
    inside,
    sentence,
    stopping,
    succeeded,
)
from tests.cli.warm import warm
from tests.support.mock_openai import (
    MockOpenAI,
    Request,
    Response,
    error,
    ok,
    sequence,
)

USER_KEY = "sk-user-8Hh3_wY-pQ51Lm"


# --- keys ---


def echoing(request: Request) -> Response | None:
    """Sends the key back wherever it can: in replies, in errors that pass, and in the end in one that does not."""
    key = request.headers["authorization"].removeprefix("Bearer ")
    if request.order % 9 == 4:
        return error(500, f"Cannot serve {key}", code=key, headers={"retry-after": "0", "x-key": key})
    if request.order > 70:
        return error(401, f"Incorrect API key provided: {key}.", type=key, param=key)
    last = str(request.messages[-1]["content"])
    if '{"facts"' in last:
        return ok(json.dumps({"facts": [f"The key is {key}.", f"{key}"]}), reasoning=key)
    if '"answer"' in last:
        return ok(json.dumps({"answer": 1, "key": key}), usage={"key": key})
    return ok(f"Your key is {key}, Bearer {key}!", finish_reason=key)


def test_no_file_and_no_word_holds_a_key(small: Path, tmp_path: Path) -> None:
    """The key of the environment, one of a v1 agent's file, and the simulated user's."""
    agent_key = "sk-v1file-0b9C_yy-77"
    with MockOpenAI(echoing) as server:
        config = {"llm_model": "own-model", "base_url": server.base_url, "api_key": agent_key}
        agent = tmp_path / "own.json"
        agent.write_text(json.dumps({"type": "awe", "name": "own", "llm_config": config}))
        keys = {"OPENAI_API_KEY": KEY, "AMEMGYM_USER_API_KEY": USER_KEY}
        arguments = against(server, small, "--agents", f"native,{agent}", "--concurrency", "4")
        arguments += ["--user-base-url", server.base_url, "--out", tmp_path / "run"]
        stopped = warm(*arguments, env=environment(**keys))
        said = sentence(stopped, 1)
        server.responder = lambda request: replace(echoing(replace(request, order=0)) or ok(""))
        resumed = succeeded(warm("resume", tmp_path / "run", env=environment(**keys)))
        sent = {request.headers["authorization"] for request in server.requests}
    assert sent == {f"Bearer {key}" for key in (KEY, USER_KEY, agent_key)}
    written = contents(tmp_path / "run")
    for key in (KEY, USER_KEY, agent_key):
        assert key not in stopped.err + stopped.out + resumed.err + resumed.out
        assert [name for name, data in written.items() if key.encode() in data] == []
    assert "401" in said and "[key]" in said
    journals = b"".join(data for name, data in written.items() if ".jsonl" in name)
    assert journals.count(b"Your key is [key]") > 5, "it came back, and was struck out"


@pytest.mark.parametrize("key", [f"{KEY}\nsk-second-key-123", "sk-ключ-0123456789"])
def test_a_key_that_cannot_be_sent_is_named_not_shown(
    key: str, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two keys pasted, letters that look alike: the sentence says which variable, and holds no part of the key."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with MockOpenAI(answer) as server:
        ended = inside(*stopping(server, small, "--out", "run"))
    assert ended.code in (1, 2)
    said = sentence(ended, ended.code)
    assert "OPENAI_API_KEY" in said
    assert not any(part in said for part in (KEY, "second-key", "ключ"))
    assert server.arrived == 0
    assert not any(KEY.encode() in data for data in contents(tmp_path).values())


def test_a_refused_key_of_the_simulated_user_is_named(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AMEMGYM_USER_API_KEY", USER_KEY)
    with MockOpenAI(answer) as assistants, MockOpenAI(sequence(then=error(401, "No such key."))) as users:
        arguments = against(assistants, small, "--agents", "native", "--user-base-url", users.base_url)
        said = sentence(inside(*arguments, "--out", "run"), 1)
    assert users.base_url in said and "AMEMGYM_USER_API_KEY" in said and "in OPENAI_API_KEY" not in said


def test_without_a_key_the_sentence_says_what_to_set(small: Path) -> None:
    with MockOpenAI(sequence(then=error(401, "A key, please."))) as server:
        said = sentence(inside(*stopping(server, small, "--out", "run")), 1)
    assert re.search(r"no key was given.*set OPENAI_API_KEY", said, re.IGNORECASE)
    assert not re.search(r"Check no key|\band \(and", said)
