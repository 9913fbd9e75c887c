"""Keys in a run_config are struck out, by the name of their field and by their look; what is no key stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym import secrets
from amemgym.memorybench import MemoryBenchResults
from amemgym.memorybench.reading.redacted import is_secret_name, redacted
from tests.support.archive import Group, write_archive

SECRET_NAMES = [
    *(
        "api_key",
        "API-KEY",
        "apiKey",
        "openai_api_key",
        "llm_api_key",
        "api_key_2",
        "x-api-key",
        "apikeys",
        "key_secret",
    ),
    *(
        "authorization",
        "Authorization",
        "access_token",
        "hf_token",
        "token",
        "authToken",
        "bearer",
        "password",
        "passwd",
    ),
    *(
        "client_secret",
        "secret",
        "secrets",
        "aws_secret_access_key",
        "private_key",
        "deploy_key",
        "credentials",
        "auth",
    ),
    *("openai_key", "subscription-key", "db_password", "cookie", "api_tokens"),
]
#: what looks like a key of nobody known
RANDOM = "zq8f7h3k2l9d"
LOOKS = ["sk-0123456789", "Bearer abcdefgh", "http://a:b@c/?key=d", "api_key='abcdefg'", "plain"]
PLAIN_NAMES = [
    *(
        "max_tokens",
        "tokenizer",
        "key_words",
        "keywords",
        "tokens",
        "total_tokens",
        "pad_token",
        "eos_token",
        "token_limit",
    ),
    *(
        "monkey",
        "keyboard",
        "model",
        "author",
        "key",
        "primary_key",
        "memory_key",
        "api_key_env",
        "secretary",
        "tokenize",
    ),
    *("base_url", "stop_tokens", "api_version", "passage", "per_token"),
]


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_field_of_that_name_holds_a_key(name: str) -> None:
    assert is_secret_name(name)
    assert redacted({"a": [{name: "xyzzy", "model": "Qwen"}]}) == {"a": [{name: "[key]", "model": "Qwen"}]}
    assert redacted({name: {"deep": ["xyzzy"], "n": 3}}) == {name: {"deep": ["[key]"], "n": 3}}


@pytest.mark.parametrize("name", PLAIN_NAMES)
def test_a_field_of_that_name_holds_none(name: str) -> None:
    assert not is_secret_name(name)
    assert redacted({name: "xyzzy"}) == {name: "xyzzy"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sk-proj-abcDEF123_-x", "[key]"),
        ("use sk-0123456789abcdef here", "use [key] here"),
        ("hf_AbCdEfGhIjKlMnOp", "[key]"),
        ("Bearer abcdef.123", "Bearer [key]"),
        ("curl -H 'authorization: bearer abc-def-ghi'", "curl -H 'authorization: bearer [key]'"),
        ("https://me:pass@host/v1", "https://[key]@host/v1"),
        ("http://host/v1?api_key=abc123&x=1", "http://host/v1?api_key=[key]&x=1"),
        ("{'api_key': 'abc123', 'model': 'Q'}", "{'api_key': '[key]', 'model': 'Q'}"),
        ("ghp_0123456789abcdefghij", "[key]"),
        ("AKIAABCDEFGHIJKLMNOP", "[key]"),
        (f"run --api-key {RANDOM}", "run --api-key [key]"),
        (f"OPENAI_KEY={RANDOM} run --token={RANDOM}", "OPENAI_KEY=[key] run --token=[key]"),
        ("export API_KEY=words", "export API_KEY=[key]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [key]"),
        ("use Basic dXNlcjpwYXNz now", "use Basic [key] now"),
        ("https://user:p@ss@host/x", "https://[key]@host/x"),
        ("postgresql://u:pa/ss@h/db", "postgresql://[key]@h/db"),
        ("https://x?apikey=abc&b=1", "https://x?apikey=[key]&b=1"),
        ("https://x?subscription-key=abcdef", "https://x?subscription-key=[key]"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE-x\n-----END RSA PRIVATE KEY----- end", "[key] end"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "[key]"),
        ("xai-0123456789abcdefgh", "[key]"),
        ("npm_0123456789abcdefgh", "[key]"),
        ("sk_live_0123456789", "[key]"),
    ],
)
def test_what_looks_like_a_key_goes_wherever_it_stands(text: str, expected: str) -> None:
    assert redacted({"note": [text]}) == {"note": [expected]}
    assert redacted({text: 1}) == {expected: 1}


@pytest.mark.parametrize(
    "text",
    [
        *("task-oriented", "sk-learn", "hf_endpoint", "Qwen/Qwen3-8B", "http://localhost:8000/v1", "a bearer of news"),
        *("sk-learn-model", "the password: should be long", "Bearer authentication is used", "secret: recipes"),
        *(
            "https://host:8080/a/@user",
            "https://huggingface.co/a/b@main",
            "max_tokens=4096",
            "--model gpt-4o-mini-2024",
        ),
    ],
)
def test_what_does_not_stays(text: str) -> None:
    assert redacted([text]) == [text]


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "OPENAI_API_KEY", "value": RANDOM}],
        ["--api-key", RANDOM],
        {"headers": [["Authorization", RANDOM]]},
        {"openai": {"key": RANDOM, "keys": [RANDOM]}},
        {"api_key_env": RANDOM, "session_id": RANDOM, "user_key": RANDOM, "sas": RANDOM, "signature": RANDOM},
        {"openaikey": "words", "appkey": "words", "sas_token": "words", "password": 12345678},
    ],
)
def test_a_key_goes_wherever_its_name_stands(value: Any) -> None:
    found = json.dumps(redacted(value))
    assert RANDOM not in found and "words" not in found and "1234" not in found
    assert "[key]" in found


@pytest.mark.parametrize(
    "value",
    [
        {
            "think_token": "<think>",
            "user_token": "<|user|>",
            "answer_key": "golden_answer",
            "prompt_key": "input_prompt",
        },
        {"label_key": "label", "content_key": "content", "dict_key": "a", "api_key_env": "OPENAI_KEY_2"},
        {"secret_mode": "off", "authorization_mode": "none", "cookies_enabled": "yes", "session_id": "s1"},
        {"args": ["--max-tokens", "512", "--model", "Qwen3-8B"], "names": ["model", "text", "api_key"]},
        [{"name": "temperature", "value": "none"}],
    ],
)
def test_what_only_sounds_alike_stays(value: Any) -> None:
    assert redacted(value) == value


@pytest.mark.parametrize(
    "part",
    [
        *(
            "a",
            " ",
            "-sk",
            "-eyJ",
            "_hf_",
            "x://",
            "x://a:",
            "?key=",
            "api_key ",
            "bearer ",
            "authorization: ",
            "a=",
            "--a ",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "password:", "A_", "'", "sk-", "a@", "eyJaaaaaaaa."),
    ],
)
def test_a_long_crafted_text_is_read_once(part: str) -> None:
    """Patterns of quadratic time would take minutes."""
    for text in (part * (200_000 // len(part)), part + "a" * 200_000, part + " " * 200_000):
        redacted({"prompt": text})


def test_numbers_and_empty_texts_stay() -> None:
    value = {"max_tokens": 4096, "token": 3, "api_key": "", "secret": None, "password": True}
    assert redacted(value) == value


def test_a_key_known_to_this_process_goes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", {"plainlooking"})
    assert redacted({"note": "it is plainlooking"}) == {"note": "it is [key]"}


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from(SECRET_NAMES + PLAIN_NAMES), st.text() | st.lists(st.sampled_from(LOOKS))))
def test_to_strike_out_twice_changes_nothing(value: Any) -> None:
    assert redacted(redacted(value)) == redacted(value)


def test_whoever_loads_a_configuration_sees_no_key(tmp_path: Path) -> None:
    keys = {"api_key": "very-secret-1", "headers": {"Authorization": "Bearer very-secret-2"}, "max_tokens": 512}
    write_archive(tmp_path, [Group("Q", "mem0", {"Alpha": [1.0]}, run_config=keys)])
    results = MemoryBenchResults.from_local(tmp_path)
    (cell,) = results.select()
    for config in (
        results.run_config(cell),
        results.load_run_config(*cell),
        results.load_json(*cell, "run_config.json"),
    ):
        assert "very-secret" not in json.dumps(config)
        assert config["memory_system_config"]["llm_config"]["max_tokens"] == 512
        assert config["memory_system_config"]["llm_config"]["model"] == "Q"
