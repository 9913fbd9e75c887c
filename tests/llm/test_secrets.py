"""No key is ever printed or written, also when a server sends it back; and no address with a password is taken.

Whatever comes from an endpoint (a reply, why it ended, an error, its own name for the model) passes through files and
sentences with every known key struck out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from amemgym.errors import AMemGymError, ContextOverflow, ModelError, UsageError
from amemgym.evaluate.spec import make_spec, read_config
from amemgym.llm import Door, Journal, Line, ModelSettings, at, describe_model, open_model
from amemgym.llm import Request as LLMRequest
from amemgym.llm.openai import OpenAIModel
from amemgym.secrets import STRUCK_OUT, from_environment, redact, remember
from tests.llm.helpers import PROMPTS, Heard, question, reply_to, request_for
from tests.support.mock_openai import MockOpenAI, Request, Response, error, none_content, ok
from tests.support.models import Scripted

KEY = "sk-test-4f9d0c77e1b2"


# ---- holding a key


def test_a_key_does_not_print(caplog: pytest.LogCaptureFixture) -> None:
    key = remember(KEY)
    settings = ModelSettings("openai:m", base_url="http://localhost:1/v1", api_key=key)
    logging.getLogger("tests").warning("%s %r %s", key, key, settings)
    said = f"{key} {key!r} {key!s} {settings} {settings!r} {[key]} {caplog.text}"
    assert KEY not in said and KEY[3:] not in said
    assert key.get_secret_value() == KEY


def test_a_key_is_no_part_of_what_a_manifest_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    one = ModelSettings("openai:m", base_url="http://localhost:1/v1", api_key=remember(KEY))
    two = ModelSettings("openai:m", base_url="http://localhost:1/v1")
    assert KEY not in json.dumps(describe_model(one))
    assert describe_model(one) == describe_model(two)
    assert one != two  # so that each has a door of its own


def test_a_model_does_not_print_its_key() -> None:
    model = OpenAIModel("m", base_url="http://localhost:1/v1", api_key=remember(KEY))
    assert KEY not in repr(model)
    asyncio.run(model.aclose())


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"FIRST": "one-key"}, "one-key"),
        ({"SECOND": "two-key"}, "two-key"),
        ({"FIRST": "one-key", "SECOND": "two-key"}, "one-key"),
        ({"FIRST": "", "SECOND": "two-key"}, "two-key"),
        ({"FIRST": "  \n", "SECOND": " two-key\r\n"}, "two-key"),
    ],
)
def test_the_first_variable_that_is_set_counts(
    environment: dict[str, str], found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FIRST", "SECOND"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    key = from_environment("FIRST", "SECOND")
    assert (key and key.get_secret_value()) == found
    assert redact(f"<{found}>") == (f"<{STRUCK_OUT}>" if found else "<None>")


# ---- striking out


def test_every_known_key_is_struck_out_everywhere() -> None:
    remember(KEY)
    remember("another-key")
    text = f"{KEY}, Bearer {KEY}.{KEY} and another-key\n"
    assert redact(text) == f"{STRUCK_OUT}, Bearer {STRUCK_OUT}.{STRUCK_OUT} and {STRUCK_OUT}\n"
    assert redact(redact(text)) == redact(text)


def test_text_without_a_key_stays_as_it_is() -> None:
    remember(KEY)
    assert redact(f"{KEY[:-1]} \ud800 sk-") == f"{KEY[:-1]} \ud800 sk-"


@pytest.mark.parametrize("placeholder", ["", "x", "EMPTY", "none"])
def test_placeholders_are_no_keys(placeholder: str) -> None:
    assert remember(placeholder).get_secret_value() == placeholder
    assert redact("EMPTY none x") == "EMPTY none x"


def test_a_key_that_begins_another_leaves_nothing_of_it() -> None:
    pairs = [(f"sk-{n:06d}", f"sk-{n:06d}-tail{n}") for n in range(30)]
    for pair in pairs:
        for key in pair:
            remember(key)
    assert redact(" ".join(longer for _, longer in pairs)) == " ".join([STRUCK_OUT] * 30)


# ---- servers that echo the key: in a reply, in why it ended, in any error

ECHOES: dict[str, Callable[[str], Response]] = {
    "reply": lambda key: ok(f"Your header was {key}."),
    "JSON reply": lambda key: ok(json.dumps({"answer": 1, "reason": key})),
    "reasoning": lambda key: ok("Very well.", reasoning=f"The key is {key}"),
    "finish reason": lambda key: ok("Very well.", finish_reason=key),
    "finish reason, no content": lambda key: none_content(key),
    "400": lambda key: error(400, f"Nonsense from {key}"),
    "400 code": lambda key: error(400, "Nonsense", code=key, type=key, param=key),
    "401": lambda key: error(401, f"Incorrect API key provided: {key}. You can find your API key at …"),
    "401 text": lambda key: Response(401, f"unknown {key}"),
    "404": lambda key: error(404, f"No model for {key}"),
    "429": lambda key: error(429, f"Too fast, {key}"),
    "500": lambda key: error(500, f"Traceback: headers={{'authorization': 'Bearer {key}'}}"),
    "502 html": lambda key: Response(502, f"<html>{key}</html>"),
    "overflow": lambda key: error(400, f"{key}: maximum context length", code="context_length_exceeded"),
    "filter": lambda key: error(400, f"{key} is filtered", code="content_filter"),
    "at the cut of a long reason": lambda key: error(400, "x" * 290 + key),
    "no JSON": lambda key: Response(body=f"Hello {key}"),
    "no JSON, at the cut": lambda key: Response(body="x" * 70 + key),
    "other JSON": lambda key: Response(body={"you": key}),
    "parameter": lambda key: error(400, f"temperature is refused for {key}", param="temperature"),
}


def write_all_down(folder: Path, responder: Callable[[Request], Response], settings: dict[str, Any]) -> str:
    """Ask in a conversation and in an exam, with a journal in the folder; everything that a person may get to see."""
    heard = Heard()
    seen: list[str] = []

    async def call(base_url: str) -> None:
        model = open_model(ModelSettings("openai:m", base_url=base_url, timeout=5, **settings), heard.said)
        line = Line(Journal(folder / "episodes" / "journal.jsonl"), PROMPTS)
        asked = line.model(Door(model, 1, attempts=2, first_wait=0.001, watcher=heard), "assistant")
        for place, labels, task in (("p0/s0/r0", None, reply_to()), ("p0/q0", ({"a": "b"},) * 2, question())):
            try:
                with at(place, labels=labels):
                    seen.append(str(await asked.ask(task)))
            except ModelError as failure:
                seen.append(f"{failure} {type(failure).__name__} {failure!r}")
        line.journal.close()
        await model.aclose()

    with MockOpenAI(responder) as server:
        asyncio.run(call(server.base_url))
    assert server.arrived >= 2
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    return "\n".join([*seen, *heard.remarks, *(why for why, _ in heard.retries)])


def files_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ECHOES)
def test_an_echoed_key_is_neither_written_nor_said(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def responder(request: Request) -> Response:
        return ECHOES[name](request.headers["authorization"].removeprefix("Bearer "))

    seen = write_all_down(tmp_path, responder, {})
    assert KEY.encode() not in files_in(tmp_path)
    assert KEY[:9] not in seen  # also where the rest is cut off


def test_the_journal_says_where_a_key_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_all_down(tmp_path, lambda request: ok(f"It was {KEY}!"), {})
    records = [json.loads(line) for line in files_in(tmp_path).splitlines()]
    assert [record["text"] for record in records] == [f"It was {STRUCK_OUT}!"] * 2


def test_the_first_play_reads_what_a_replay_will_read(tmp_path: Path) -> None:
    async def call() -> tuple[str, str]:
        texts = []
        with MockOpenAI(lambda request: ok(f"It was {KEY}!")) as server:
            for _ in range(2):
                model = OpenAIModel("m", base_url=server.base_url, api_key=remember(KEY))
                line = Line(Journal(tmp_path / "j"), PROMPTS)
                answer = await line.model(Door(model, 1), "assistant").ask(reply_to())
                texts.append(answer.text + str(answer.value))
                line.journal.close()
                await model.aclose()
        assert server.arrived == 1
        return texts[0], texts[1]

    first, second = asyncio.run(call())
    assert first == second == f"It was {STRUCK_OUT}!" * 2


@pytest.mark.parametrize("in_exam", [False, True], ids=["conversation", "exam"])
def test_the_journal_strikes_keys_out_for_every_provider(in_exam: bool, tmp_path: Path) -> None:
    """A plug-in may pass on whatever it is told."""
    remember(KEY)

    def answer(wanted: LLMRequest) -> str:
        if wanted.task == reply_to("fail"):
            raise ContextOverflow(f"{KEY} is too long")
        return f"It was {KEY}!"

    async def call() -> list[str]:
        line, said = Line(Journal(tmp_path / "j"), PROMPTS), []
        model = line.model(Door(Scripted(answer), 1), "assistant")
        with at("p0/x", "exam" if in_exam else None):
            said.append((await model.ask(reply_to())).text)
            with pytest.raises(ContextOverflow) as caught:
                await model.ask(reply_to("fail"))
        line.journal.close()
        return [*said, str(caught.value)]

    assert asyncio.run(call()) == [f"It was {STRUCK_OUT}!", f"{STRUCK_OUT} is too long"]
    assert KEY.encode() not in files_in(tmp_path)
    assert files_in(tmp_path).count(STRUCK_OUT.encode()) == 2


def test_a_key_given_in_python_is_known_too(tmp_path: Path) -> None:
    """`ModelSettings(api_key=SecretStr(...))` is a public way to give one."""
    seen = write_all_down(tmp_path, lambda request: ok(f"It was {KEY}!"), {"api_key": SecretStr(KEY)})
    assert KEY.encode() not in files_in(tmp_path)
    assert KEY not in seen


@pytest.mark.parametrize("key", ["sk-first-part\nsk-second-part", "sk-first-part…sk-second-part"])
def test_a_key_that_no_header_can_carry(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two lines pasted, or a key copied from where it is shown shortened: the sentence is about the key, without it."""
    monkeypatch.setenv("OPENAI_API_KEY", key)

    async def call() -> None:
        model = open_model(ModelSettings("openai:m", base_url="http://127.0.0.1:9/v1"), lambda sentence: None)
        try:
            await model.complete(request_for())
        finally:
            await model.aclose()

    with pytest.raises(AMemGymError) as caught:
        asyncio.run(call())
    assert "first-part" not in str(caught.value)
    assert "OPENAI_API_KEY" in str(caught.value)


# ---- addresses

PASSWORD = "hunter2-long"
WITH_PASSWORD = [
    f"http://me:{PASSWORD}@host.test/v1",
    f"https://:{PASSWORD}@host.test/v1",
    f"https://{PASSWORD}@host.test/v1",
    f"https://host.test/v1?api_key={PASSWORD}",
    f"https://me:{PASSWORD}@host.test:8000/v1?x=y",
    f"ftp://me:{PASSWORD}@host.test/v1",
    f"me:{PASSWORD}@host.test:8000/v1",
    f"//me:{PASSWORD}@host.test/v1",
]


@pytest.mark.parametrize("way", ["flag", "environment"])
@pytest.mark.parametrize("url", WITH_PASSWORD)
def test_an_address_with_a_password_is_refused_without_repeating_it(
    url: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    if way == "environment":
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    settings = ModelSettings("openai:m", base_url=url if way == "flag" else None)
    for use in (lambda: open_model(settings, lambda sentence: None), lambda: describe_model(settings)):
        with pytest.raises(UsageError) as caught:
            use()
        assert PASSWORD not in str(caught.value)


def test_a_refused_address_says_where_the_key_belongs() -> None:
    settings = make_spec({"model": "openai:m", "base_url": WITH_PASSWORD[0]})
    with pytest.raises(UsageError, match=r"host\.test holds .*the key in OPENAI_API_KEY"):
        settings.model_settings().resolved_url()
    settings = make_spec({"model": "openai:m", "user_base_url": WITH_PASSWORD[0]})
    with pytest.raises(UsageError, match="the key in AMEMGYM_USER_API_KEY"):
        settings.user_settings().resolved_url()


@pytest.mark.parametrize(
    "url",
    [
        "localhost:8000/v1",
        "host.test/v1",
        "http://",
        "http:///v1",
        "ws://host.test",
        "http://[::1",
        "http://h.test:port",
    ],
)
def test_what_is_no_address_is_a_sentence(url: str) -> None:
    with pytest.raises(UsageError, match="should look like http://localhost:8000/v1"):
        open_model(ModelSettings("openai:m", base_url=url), lambda sentence: None)


@pytest.mark.parametrize("url", ["http://localhost:8000/v1", "https://host.test/api/v1/", "http://[::1]:8000/v1"])
def test_plain_addresses_are_taken(url: str) -> None:
    assert ModelSettings("openai:m", base_url=url).resolved_url() == url


# ---- configuration files


def test_a_key_among_the_settings_is_refused_without_repeating_it() -> None:
    with pytest.raises(UsageError, match="'api_key': keys are read from the environment alone") as caught:
        make_spec({"api_key": KEY})
    assert KEY not in str(caught.value)


def test_the_key_of_a_v1_file_is_used_and_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "env.json"
    llm = {"llm_model": "m", "base_url": "http://localhost:1/v1", "api_key": KEY}
    path.write_text(json.dumps({"num_rounds_init": 2, "llm_config_low_temp": llm}))
    given, key, remarks = read_config(path)
    assert key is not None and key.get_secret_value() == KEY
    assert KEY not in f"{given} {key} {remarks}"
    assert redact(KEY) == STRUCK_OUT
    spec = make_spec(given)
    assert spec.user_settings(key).api_key is key
    assert KEY not in f"{spec!r} {spec.model_dump_json()} {spec.user_settings(key)}"


def test_a_fault_in_a_v1_file_does_not_repeat_its_key(tmp_path: Path) -> None:
    path = tmp_path / "env.json"
    path.write_text(json.dumps({"num_rounds_init": 1, "llm_config_low_temp": {"api_key": [KEY], "max_tokens": KEY}}))
    with pytest.raises(UsageError, match="llm_config_low_temp") as caught:
        read_config(path)
    assert KEY not in str(caught.value)
    assert KEY not in "".join(traceback.format_exception_only(caught.value))
