"""Where an endpoint and its key come from: flags, the environment, and an endpoint of the simulated user's own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amemgym.errors import (
    AuthenticationFailed,
    UsageError,
)
from amemgym.evaluate.spec import make_spec
from amemgym.llm import ModelSettings, open_model
from amemgym.llm.openai import OpenAIModel
from tests.llm.helpers import request_for
from tests.support.mock_openai import (
    MockOpenAI,
    Response,
    error,
)


def completion(message: Any, **fields: Any) -> Response:
    """A completion whose message is anything."""
    return Response(body={"object": "chat.completion", "choices": [{"index": 0, "message": message, **fields}]})


# ---- where the endpoint and the key come from


def reached(settings: ModelSettings) -> None:
    """Open the model and ask it once."""

    async def call() -> None:
        model = open_model(settings, lambda sentence: None)
        try:
            await model.complete(request_for())
        finally:
            await model.aclose()

    asyncio.run(call())


# given as flags, given in the environment → where the assistants' and the simulated user's calls go
A, B, C, D = "--base-url", "--user-base-url", "OPENAI_BASE_URL", "AMEMGYM_USER_BASE_URL"
WHERE: dict[tuple[str, ...], tuple[str, str]] = {
    (A,): (A, A),
    (C,): (C, C),
    (A, B): (A, B),
    (A, C): (A, A),
    (B, C): (C, B),
    (C, D): (C, D),
    (A, D): (A, D),
    (B, C, D): (C, B),
    (A, B, C, D): (A, B),
}


@pytest.mark.parametrize("given", WHERE, ids=" ".join)
def test_which_endpoint_is_asked(given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    urls = {name: f"http://{name.strip('-').replace('_', '-').lower()}.test/v1" for name in given}
    for name in {C, D} & set(given):
        monkeypatch.setenv(name, urls[name])
    spec = make_spec({"model": "openai:m", "base_url": urls.get(A), "user_base_url": urls.get(B)})
    found = (spec.model_settings().resolved_url(), spec.user_settings().resolved_url())
    assert found == tuple(urls[name] for name in WHERE[given])


def test_two_endpoints_each_get_their_own_key_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-assistant")
    monkeypatch.setenv("AMEMGYM_USER_API_KEY", " sk-user\n")
    with MockOpenAI() as ours, MockOpenAI() as theirs:
        spec = make_spec(
            {
                "model": "openai:big/model:7b",
                "base_url": ours.base_url,
                "user_model": "openai:small",
                "user_base_url": theirs.base_url,
                "user_temperature": 1.0,
            }
        )
        reached(spec.model_settings())
        reached(spec.user_settings())
    (one,), (two,) = ours.requests, theirs.requests
    assert (one.headers["authorization"], one.body["model"], one.body["temperature"]) == (
        "Bearer sk-assistant",
        "big/model:7b",
        0.0,
    )
    assert (two.headers["authorization"], two.body["model"], two.body["temperature"]) == (
        "Bearer sk-user",
        "small",
        1.0,
    )


def test_without_a_key_of_its_own_the_user_has_the_assistants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-assistant")
    with MockOpenAI() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        reached(make_spec({"model": "openai:m"}).user_settings())
    assert server.requests[0].headers["authorization"] == "Bearer sk-assistant"


def test_a_refused_key_is_named_by_the_variable_it_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_USER_API_KEY", "sk-user-0001")
    with MockOpenAI(lambda request: error(401, "Bad key.")) as server:
        settings = make_spec({"model": "openai:m", "base_url": server.base_url}).user_settings()
        with pytest.raises(AuthenticationFailed, match="AMEMGYM_USER_API_KEY"):
            reached(settings)


def test_no_endpoint_at_all() -> None:
    with pytest.raises(UsageError, match=r"openai:m.*set OPENAI_API_KEY, or give --base-url.*--model offline"):
        open_model(ModelSettings("openai:m"), lambda sentence: None)


@pytest.mark.parametrize("url", [None, ""])
def test_a_key_alone_means_the_clients_own_endpoint(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """`OPENAI_BASE_URL=` in an .env file is no address."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0001")
    if url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    model = open_model(ModelSettings("openai:m"), lambda sentence: None)
    assert isinstance(model, OpenAIModel)
    assert model.base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize("model", ["openai", "openai:"])
def test_a_model_without_a_name(model: str) -> None:
    with pytest.raises(UsageError, match="names no model; write openai:<name>"):
        open_model(ModelSettings(model, base_url="http://localhost:1/v1"), lambda sentence: None)
