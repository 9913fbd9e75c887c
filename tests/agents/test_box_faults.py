"""Every way a call to an assistant can end is one sentence that names the address and the way out; its key goes to that
address alone, and into no sentence."""

from __future__ import annotations

import asyncio
import json
import re
import socket

import pytest

from amemgym.errors import (
    AuthenticationFailed,
    EndpointUnavailable,
    ModelError,
    NotAnEndpoint,
    RequestRefused,
    UsageError,
)
from amemgym.llm import AGENT_KEY, Request, box_settings, describe_model, open_model, reach
from amemgym.messages import Message
from amemgym.tasks import Act, prompts_for
from tests.support.box import BoxServer, Fault

KEY = "sk-box-Vh3_wY-pQ51Lm"


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    from amemgym import secrets

    for name in (AGENT_KEY, "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(secrets, "_known", set())


def act(url: str, timeout: float = 60.0) -> str:
    """The reply to a first message."""
    settings = box_settings(url, timeout)
    assert settings is not None
    task = Act("e", (), Message("user", "Hello."))

    async def ask() -> str:
        box = open_model(settings, lambda sentence: None)
        try:
            return (await box.complete(Request(task, task.messages(prompts_for("en"))))).text
        finally:
            await box.aclose()

    return asyncio.run(ask())


def fails(fault: Fault, timeout: float = 60.0) -> ModelError:
    with BoxServer(lambda call: fault if call.name == "act" else None) as server:
        with pytest.raises(ModelError) as caught:
            act(server.url, timeout)
        assert server.url in str(caught.value)
    return caught.value


#: what is answered → the error, and what its sentence says
ENDINGS: dict[str, tuple[Fault, type[ModelError], str]] = {
    "500": (Fault(500, "oops"), EndpointUnavailable, r"says 500 to /act \('oops'\)"),
    "429": (Fault(429, "", {"Retry-After": "7"}), EndpointUnavailable, "says 429 to /act"),
    "401": (Fault(401, "no"), AuthenticationFailed, f"401.*no key was given, set {AGENT_KEY}"),
    "404": (Fault(404), RequestRefused, "404.*check the URL, and that it answers POST /act as in docs/http-agents.md"),
    "405": (Fault(405), RequestRefused, "405.*check the URL"),
    "501": (Fault(501), RequestRefused, "501.*check the URL"),
    "400": (Fault(400, '{"error": "what?"}'), RequestRefused, "400.*what\\?.*docs/http-agents.md"),
    "redirect": (Fault(302, "", {"Location": "/other"}), RequestRefused, "302.*give the address it redirects to"),
    "HTML": (Fault(body="<html>Sign in</html>"), NotAnEndpoint, "to /act is no JSON.*Sign in.*docs/http-agents.md"),
    "nothing": (Fault(204, ""), NotAnEndpoint, "is no JSON"),
    "not UTF-8": (Fault(body=b'{"reply": "\xff"}'), NotAnEndpoint, "is no JSON"),
    "a list": (Fault(body="[]"), NotAnEndpoint, "is no JSON object"),
    "deep": (Fault(body="[" * 100_000), NotAnEndpoint, "is no JSON"),
    "no reply": (Fault(body="{}"), NotAnEndpoint, "has no text 'reply'"),
    "reply null": (Fault(body='{"reply": null}'), NotAnEndpoint, "has no text 'reply'"),
    "reply a list": (Fault(body='{"reply": ["Hi"]}'), NotAnEndpoint, "has no text 'reply'.*Hi"),
    "usage a number": (Fault(body='{"reply": "Hi", "usage": 7}'), NotAnEndpoint, "'usage'"),
    "usage in part": (Fault(body='{"reply": "Hi", "usage": {"input": 7}}'), NotAnEndpoint, "'usage'"),
    "usage beyond all": (
        Fault(body='{"reply": "Hi", "usage": {"input": 1' + "0" * 400 + ', "output": 1}}'),
        NotAnEndpoint,
        "'usage'",
    ),
    "usage below 0": (Fault(body='{"reply": "Hi", "usage": {"input": 7, "output": -1}}'), NotAnEndpoint, "'usage'"),
    "cut off": (Fault(body="{", headers={"Content-Length": "99"}), EndpointUnavailable, "cannot be reached"),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_every_ending_is_a_sentence(case: str) -> None:
    fault, kind, words = ENDINGS[case]
    error = fails(fault)
    assert type(error) is kind
    assert re.search(words, str(error)), str(error)


def test_a_wait_that_is_asked_for_is_passed_on() -> None:
    error = fails(Fault(503, "", {"Retry-After": "7"}))
    assert isinstance(error, EndpointUnavailable) and error.retry_after == 7.0


def test_a_server_that_hangs() -> None:
    error = fails(Fault(None), timeout=0.05)
    assert isinstance(error, EndpointUnavailable)
    assert re.search(r"did not answer /act within 0\.05 s; --timeout", str(error))


def test_an_answer_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.llm.transport.LONGEST_ANSWER", 2_000_000)
    fits = json.dumps({"reply": "x" * 1_999_000})
    with BoxServer(lambda call: Fault(body=fits) if call.name == "act" else None) as server:
        assert len(act(server.url)) == 1_999_000
    error = fails(Fault(body=json.dumps({"reply": "x" * 3_000_000})))
    assert isinstance(error, NotAnEndpoint) and "longer than 2 MB" in str(error)


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(EndpointUnavailable, match=r"cannot be reached.*check that it runs and that the URL"):
            act(f"http://127.0.0.1:{taken.getsockname()[1]}")


def test_reach_sees_whether_it_answers() -> None:
    with BoxServer() as server:
        settings = box_settings(server.url)
        assert settings is not None
        asyncio.run(reach(settings))
        assert [(call.name, call.is_about_a_conversation) for call in server.calls] == [("reset", False)]
        server.fault = lambda call: Fault(body="<html>")
        with pytest.raises(NotAnEndpoint):
            asyncio.run(reach(settings))


# --- the key, and where calls go ---


def test_the_key_goes_to_the_address_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AGENT_KEY, KEY)
    with BoxServer() as elsewhere, BoxServer() as server:
        act(server.url)
        assert {call.headers["authorization"] for call in server.calls} == {f"Bearer {KEY}"}
        server.fault = lambda call: Fault(307, "", {"Location": f"{elsewhere.url}/{call.name}"})
        with pytest.raises(RequestRefused):
            act(server.url)
        assert elsewhere.calls == []
        server.fault = lambda call: Fault(401, f"No such key: {KEY}")
        with pytest.raises(
            AuthenticationFailed, match=rf"No such key: \[key\].*check the key in {AGENT_KEY}"
        ) as caught:
            act(server.url)
        settings = box_settings(server.url)
    assert settings is not None
    assert KEY not in f"{caught.value} {describe_model(settings)} {settings}"


def test_without_a_key_none_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with BoxServer() as server:
        act(server.url)
    assert all("authorization" not in call.headers for call in server.calls)


def test_a_key_that_cannot_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AGENT_KEY, "sk-one\nsk-two")
    with pytest.raises(UsageError, match=AGENT_KEY):
        act("http://127.0.0.1:1")


def test_a_proxy_is_for_addresses_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with BoxServer() as proxy, BoxServer() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        act(server.url)
        assert (len(server.calls), len(proxy.calls)) == (2, 0)
        act("http://assistant.invalid/bot")
        assert [call.path for call in proxy.calls] == [f"http://assistant.invalid/bot/{n}" for n in ("reset", "act")]
        monkeypatch.setenv("no_proxy", "assistant.invalid")
        with pytest.raises(EndpointUnavailable):
            act("http://assistant.invalid/bot")
