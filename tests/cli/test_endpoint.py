"""Against an OpenAI-compatible endpoint: right requests, several at once, another endpoint for the simulated user; what
passes is tried again, what cannot pass stops the run with one sentence and exit code 1, finished work and the journal
kept, and a resume asks for exactly what is missing. No key is written or printed, also where the server sends it back.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Endpoint
from tests.cli.data import EXAMS, SCHEMA, USERS
from tests.cli.helpers import (
    KEY,
    MODEL,
    against,
    amemgym,
    answer,
    asked,
    contents,
    environment,
    finished,
    inside,
    journaled,
    scores,
    sentence,
    stopping,
    strict_json,
    succeeded,
    untouched,
)
from tests.cli.warm import warm
from tests.support.mock_faults import Faults
from tests.support.mock_openai import (
    MockOpenAI,
    Request,
    Responder,
    Response,
    content_filter,
    context_overflow,
    error,
    html,
    none_content,
    ok,
    quota,
    rate_limited,
    sequence,
)

USER_KEY = "sk-user-8Hh3_wY-pQ51Lm"


def text(request: Request) -> str:
    return "\n".join(str(message["content"]) for message in request.messages)


def is_follow_up(request: Request) -> bool:
    return "You play a user" in text(request)


# --- requests ---


def test_requests_are_right(endpoint: Endpoint) -> None:
    kinds: dict[str, int] = {}
    for request in endpoint.requests:
        assert (request.method, request.path) == ("POST", "/v1/chat/completions")
        body, last = request.body, str(request.messages[-1]["content"])
        assert set(body) <= {"model", "messages", "temperature", "max_tokens", "response_format"}
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("mock-model", 0.0, 2048)
        assert all(set(m) == {"role", "content"} for m in request.messages)
        assert all(m["role"] in ("system", "user", "assistant") and m["content"] for m in request.messages)
        assert request.messages[-1]["role"] == "user"
        wants_json = any(word in last for word in ('"answer"', '"facts"', '"operations"', "<value>"))
        assert body.get("response_format") == ({"type": "json_object"} if wants_json else None)
        kind = "choice" if '"answer"' in last else "follow-up" if is_follow_up(request) else "other"
        kind = "probe" if "<value>" in last else kind
        kinds[kind] = kinds.get(kind, 0) + 1
        knows_names = any(variable in text(request) for variable in SCHEMA)
        # the simulated user, the upper bound and a probe are told the state variables; no assistant and no memory is
        assert knows_names is (kind in ("follow-up", "probe") or "This is true of me" in last)
    bounds = USERS * 5
    # two agents; one session of the second period has a second round
    expected = {"choice": 2 * EXAMS + bounds, "probe": 2 * EXAMS, "follow-up": 2 * USERS, "other": kinds["other"]}
    assert kinds == expected


def test_calls_and_tokens_are_counted(endpoint: Endpoint) -> None:
    value = strict_json(endpoint.directory / "scores.json")
    bounds = sum("This is true of me" in text(request) for request in endpoint.requests)
    calls = sum(agent["calls"] + agent["probe_calls"] + agent["user_calls"] for agent in value["agents"].values())
    assert calls + bounds == len(endpoint.requests)
    assert value["agents"]["native"]["tokens"]["input"] > value["agents"]["native"]["tokens"]["output"] > 0
    assert not value["agents"]["native"]["tokens"]["estimated"]
    assert value["model"] == "openai:mock-model"


@pytest.mark.parametrize(("concurrency", "delay"), [(1, 0.01), (4, 0.2)])
def test_as_many_calls_at_once_as_allowed(concurrency: int, delay: float, small: Path) -> None:
    with MockOpenAI(answer, delay=delay) as server:
        succeeded(
            inside(*against(server, small, "--agents", "native", "--periods", "1", "--concurrency", str(concurrency)))
        )
        assert min(2, concurrency) <= server.max_in_flight <= concurrency


def test_another_endpoint_for_the_simulated_user(small: Path, tmp_path: Path) -> None:
    with MockOpenAI(answer) as assistants, MockOpenAI(answer) as users:
        urls = {"OPENAI_BASE_URL": assistants.base_url, "AMEMGYM_USER_BASE_URL": users.base_url}
        keys = {"OPENAI_API_KEY": KEY, "AMEMGYM_USER_API_KEY": USER_KEY}
        arguments = ["run", "--data", small, *MODEL, "--user-model", "openai:user-model", "--agents", "native", "--out"]
        succeeded(warm(*arguments, tmp_path / "run", env=environment(**urls, **keys)))
        for server, key, model, follows_up in (
            (assistants, KEY, "mock-model", False),
            (users, USER_KEY, "user-model", True),
        ):
            assert server.arrived > 0
            for request in server.requests:
                assert request.headers["authorization"] == f"Bearer {key}"
                assert request.body["model"] == model
                assert is_follow_up(request) is follows_up
    for name, data in contents(tmp_path).items():
        assert KEY.encode() not in data and USER_KEY.encode() not in data, name
    compared = strict_json(tmp_path / "run/manifest.json")["compared"]
    assert compared["user_model"]["base_url"] == users.base_url


def test_the_users_own_address_stands_beside_another_for_the_assistants(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the simulated user's key would be sent to the assistants' endpoint."""
    with MockOpenAI(answer) as assistants, MockOpenAI(answer) as users:
        monkeypatch.setenv("AMEMGYM_USER_BASE_URL", users.base_url)
        monkeypatch.setenv("AMEMGYM_USER_API_KEY", USER_KEY)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        succeeded(inside(*against(assistants, small, "--agents", "native")))
        assert {request.headers["authorization"] for request in assistants.requests} == {f"Bearer {KEY}"}
        assert {request.headers["authorization"] for request in users.requests} == {f"Bearer {USER_KEY}"}


# --- faults that pass ---


def test_faults_in_the_middle_pass(endpoint: Endpoint, tmp_path: Path) -> None:
    arrived, faults = (
        endpoint.server.arrived,
        {
            0: error(500, "oops"),
            9: error(503, "busy", headers={"retry-after": "0"}),
            17: rate_limited(0.1),
            25: Response(drop=True),
            33: replace(ok("cut"), truncate=True),
            40: html(502),
        },
    )
    endpoint.server.responder = lambda request: faults.get(request.order - arrived) or answer(request)
    ended = warm(*endpoint.arguments, "--out", tmp_path / "run")
    succeeded(ended)
    assert re.search(r"(?m)^note: .*500: oops\. Trying again in \d", ended.err)
    assert scores(tmp_path / "run") == scores(endpoint.directory)
    assert endpoint.server.arrived - arrived == len(endpoint.requests) + len(faults)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("as it is now, going by what you know of me", none_content()),
        ("as it is now, going by what you know of me", context_overflow()),
        ("This is true of me", content_filter()),
    ],
    ids=["an exam without content", "an exam too long", "an upper bound filtered"],
)
def test_one_question_without_an_answer_is_no_failure(
    words: str, refusal: Response, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Of an exam or of the upper bound. The others count, and a resume does not ask it again."""
    refused = next(r for r in endpoint.requests if words in str(r.messages[-1]["content"]))
    endpoint.server.responder = lambda r: refusal if r.body == refused.body else answer(r)
    succeeded(inside(*endpoint.arguments, "--out", "run"))
    first, arrived = scores(tmp_path / "run"), endpoint.server.arrived
    assert first != scores(endpoint.directory)
    for name in finished(tmp_path / "run"):
        Path("run", name).unlink()
    succeeded(inside("resume", "run"))
    assert (scores(tmp_path / "run"), endpoint.server.arrived) == (first, arrived)


#: with this seed each of the twelve faults happens; where the words of a request have changed, a few may not
SEED, SOME = 44, 8


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long before a call is tried again."""
    sleep = asyncio.sleep

    async def short(seconds: float, *more: Any) -> Any:
        return await sleep(min(seconds, 0.01), *more)

    monkeypatch.setattr(asyncio, "sleep", short)


@pytest.mark.usefixtures("hurried")
def test_an_endpoint_that_fails_in_every_way(endpoint: Endpoint, tmp_path: Path) -> None:
    """Three calls in ten do: the scores are those of a run without faults, byte for byte. What hangs or stalls for a
    minute costs the time-out."""
    server, before, faults = endpoint.server, endpoint.server.arrived, Faults(0.3, SEED)
    server.faults = faults
    patient = ["--attempts", "20", "--timeout", "0.4", "--concurrency", "16"]
    succeeded(inside(*endpoint.arguments, "--out", "run", *patient))
    arrived, failed = server.arrived - before, sum(faults.happened.values())
    assert sum(map(bool, faults.happened.values())) >= SOME, faults.happened
    assert arrived >= len(endpoint.requests) + failed and failed > 0.2 * arrived
    assert scores(tmp_path / "run") == scores(endpoint.directory)


# --- faults that do not pass ---


def test_a_refused_key_in_the_middle_stops_the_run(endpoint: Endpoint, tmp_path: Path) -> None:
    directory, arrived = tmp_path / "run", endpoint.server.arrived
    allowed, lock = [len(endpoint.requests) * 3 // 4], threading.Lock()

    def responder(request: Request) -> Response | None:
        with lock:
            allowed[0] -= 1
            refused = allowed[0] < 0
        return error(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key") if refused else answer(request)

    endpoint.server.responder = responder
    run = [*endpoint.arguments, "--concurrency", "2", "--out", directory]
    ended = warm(*run, env=environment(OPENAI_API_KEY=KEY))
    said = sentence(ended, 1)
    assert "401" in said and "OPENAI_API_KEY" in said and endpoint.server.base_url in said
    assert f"amemgym resume {directory}" in said and "kept" in said
    assert KEY not in ended.err + ended.out
    assert not (directory / "scores.json").exists()
    kept, before = finished(directory), journaled(directory)
    assert before.total() == len(endpoint.requests) * 3 // 4
    assert endpoint.server.arrived - arrived <= before.total() + 8 < len(endpoint.requests), "it stops at once"
    assert kept, "something was finished before"
    times = untouched(directory / "episodes") | untouched(directory / "upper-bound")

    endpoint.server.responder, arrived = answer, endpoint.server.arrived
    succeeded(warm("resume", directory, env=environment(OPENAI_API_KEY="sk-another-key")))
    assert scores(directory) == scores(endpoint.directory)
    assert before + asked(endpoint.since(arrived)) == asked(endpoint.requests), (
        "what the journal has is not asked again"
    )
    assert kept.items() <= finished(directory).items()
    now = untouched(directory / "episodes") | untouched(directory / "upper-bound")
    assert times.items() <= now.items(), "what is finished is not written anew"


def test_one_call_that_never_passes_stops_its_episode_alone(endpoint: Endpoint, tmp_path: Path) -> None:
    """The others are finished and scored; once the endpoint has recovered, resume mends the rest."""
    bad = next(r for r in endpoint.requests if is_follow_up(r) and "name: Ben" in text(r))
    directory, arrived = tmp_path / "run", endpoint.server.arrived
    endpoint.server.responder = lambda r: error(500, "oops") if r.body == bad.body else answer(r)
    ended = inside(*endpoint.arguments, "--attempts", "2", "--out", directory)
    said = sentence(ended, 1)
    assert re.search(
        rf"^\d episodes or upper bounds did not finish: agent '\w+', user 1: .*500: oops.*amemgym resume {directory}",
        said,
    )
    assert re.search(r"(?m)^oracle +1\.000", ended.out)
    assert re.search(r"only 1 of 2 episodes are finished", ended.out)
    assert len(finished(directory)) in (8, 9)
    before = journaled(directory)
    endpoint.server.responder, arrived = answer, endpoint.server.arrived
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)
    assert before + asked(endpoint.since(arrived)) == asked(endpoint.requests)


def completion(**message: Any) -> Response:
    return Response(body={"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


#: an answer to every call → what the sentence must say of it, and of the way out
STOPPING: dict[str, tuple[Response, str, str]] = {
    "401": (error(401, "No such key."), "401: No such key", "OPENAI_API_KEY"),
    "403": (error(403, "Not yours."), "403: Not yours", "OPENAI_API_KEY"),
    "no money": (quota(), "429: You exceeded your quota", "resume"),
    "402": (error(402, "Pay."), "402: Pay", "resume"),
    "unknown model": (error(404, "No model mock-model."), "404: No model mock-model", "model name"),
    "400": (error(400, "Bad."), "400: Bad", "resume"),
    "418": (error(418, "A teapot."), "418: A teapot", "resume"),
    "500": (error(500, "oops"), "500: oops", "resume"),
    "502 in HTML": (html(502), "502: ", "resume"),
    "a day of Retry-After": (rate_limited(86_400), "429: Slow down", "resume"),
    "closes": (Response(drop=True), "cannot be reached", "base URL"),
    "breaks off": (replace(ok("x"), truncate=True), "cannot be reached", "base URL"),
    "hangs": (Response(hang=True), r"did not answer within 1 s", "resume"),
    "a sign-in page": (html(), "no chat completion.*Sign in", "base URL"),
    "prose": (Response(body="Hello!"), "no chat completion.*Hello!", "base URL"),
    "nothing": (Response(), "no chat completion", "base URL"),
    "204": (Response(204), "no chat completion", "base URL"),
    "half JSON": (
        Response(body='{"a":', headers={"content-type": "application/json"}),
        "no chat completion",
        "base URL",
    ),
    "a list": (Response(body=[]), "no chat completion", "base URL"),
    "a number": (Response(body=5), "no chat completion", "base URL"),
    "an object": (Response(body={}), "no chat completion", "base URL"),
    "no choices": (Response(body={"choices": []}), "no chat completion", "base URL"),
    "choices as text": (Response(body={"choices": "x"}), "no chat completion", "base URL"),
    "a choice of null": (Response(body={"choices": [None]}), "no chat completion", "base URL"),
    "an empty choice": (Response(body={"choices": [{}]}), "no chat completion", "base URL"),
    "a message of text": (Response(body={"choices": [{"message": "x"}]}), "no chat completion", "base URL"),
}


@pytest.mark.parametrize("case", STOPPING)
def test_an_endpoint_that_refuses_or_answers_nonsense(case: str, small: Path, tmp_path: Path) -> None:
    response, what, way_out = STOPPING[case]
    with MockOpenAI(sequence(then=response)) as server:
        impatient = ["--timeout", "1"] if case == "hangs" else []
        ended = inside(*stopping(server, small, "--out", "run", *impatient))
        said = sentence(ended, 1)
    assert re.search(what, said) and re.search(way_out, said)
    assert server.base_url in said
    assert 1 <= server.arrived <= 16
    assert not (tmp_path / "run/scores.json").exists()
    assert journaled(tmp_path / "run").total() == 0


#: an answer to every call that ends its episode alone
FAILING: dict[str, tuple[Response, str]] = {
    "filtered": (content_filter(), "content filter"),
    "filtered reply": (content_filter(200), "content filter"),
    "too long": (context_overflow(), "does not fit"),
}


@pytest.mark.parametrize("case", FAILING)
def test_an_endpoint_that_answers_no_conversation(case: str, small: Path, tmp_path: Path) -> None:
    response, what = FAILING[case]
    with MockOpenAI(sequence(then=response)) as server:
        ended = inside(*stopping(server, small, "--out", "run"))
    said = sentence(ended, 1)
    assert re.search(
        rf"2 episodes or upper bounds did not finish: agent 'native', user 0: .*{what}.*amemgym resume run", said
    )
    assert len(list((tmp_path / "run/episodes").glob("oracle-*/*.json"))) == USERS
    assert re.search(r"(?m)^oracle +1\.000", ended.out)


@pytest.mark.parametrize("response", [none_content(), completion(role="assistant", content=5)], ids=["none", "number"])
def test_an_endpoint_that_never_says_anything(response: Response, small: Path, tmp_path: Path) -> None:
    with MockOpenAI(sequence(then=response)) as server:
        said = sentence(inside(*stopping(server, small, "--out", "run")), 1)
    assert re.search("without content.*--max-tokens.*amemgym resume run", said)
    assert server.arrived <= 16


def test_endpoints_that_fail_as_processes(small: Path) -> None:
    """Also the words of other packages are not seen: one sentence, and nothing else."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    common = ["run", "--data", small, "--agents", "native,oracle", *MODEL, "--attempts", "1", "--base-url"]
    with MockOpenAI(sequence(then=Response(hang=True))) as hangs:
        for play, url, patience, what in (
            (amemgym, closed, "60", "cannot be reached"),
            (warm, hangs.base_url, "0.3", "did not answer"),
        ):
            ended = play(*common, url, "--timeout", patience)
            said = sentence(ended, 1)
            assert url in said and what in said
            assert ended.out == ""


def test_broken_signs_in_a_reply_stop_nothing(small: Path, tmp_path: Path) -> None:
    """Half an emoji has no UTF-8, so it cannot be sent back to the endpoint, nor written."""
    responder: Responder = lambda r: ok("Yes \ud83d\x00\u2028!") if "(Ann)" in text(r)[-120:] else answer(r)  # noqa: E731
    with MockOpenAI(responder) as server:
        succeeded(inside(*against(server, small, "--agents", "native,awe", "--out", "run")))
        assert any("Yes" in text(request) for request in server.requests), "it was part of a conversation"
    strict_json(tmp_path / "run/scores.json")
