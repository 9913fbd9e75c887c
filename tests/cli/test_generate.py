"""`amemgym generate` against a model that answers over HTTP: three users of a data set that validates, the bill, the
settings, and what is refused before anything is asked."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from amemgym import files
from amemgym.scenario import read_dataset
from tests.cli.generating import MODEL, PEOPLE, Made, users
from tests.cli.helpers import (
    KEY,
    contents,
    inside,
    sentence,
    strict_json,
    succeeded,
)
from tests.generate.helpers import jsonl
from tests.support.generator import good, served, stage_of
from tests.support.mock_openai import Request, Response

# --- a model that answers well ---


def test_three_users_are_made_and_the_data_set_can_be_run(made: Made) -> None:
    digest = files.sha256(made.bytes)
    assert f"written to {made.out}: 3 users, 9 questions, sha256 {digest}" in made.printed
    assert "check it: amemgym validate" in made.printed and "run it: amemgym run --data" in made.printed
    checked = succeeded(inside("validate", made.out))
    assert "can be run (3 users, 9 questions" in checked.out and "0 warnings" in checked.out
    assert sorted(users(made.out)) == ["Ada", "Bob", "Cleo"]
    succeeded(inside("run", "--data", made.out, "--agents", "oracle", "--no-upper-bound", "--out", "run"))


def test_each_user_says_how_it_was_made_and_where_no_request_went(made: Made) -> None:
    dataset, _ = read_dataset(made.out, "made")
    for user in dataset:
        assert user.generation is not None
        assert user.generation["model"] == user.generation["judge"] == "openai:mock-model"
        assert (user.generation["source"], user.generation["periods"], user.generation["seed"]) == ("model", 3, 0)
    assert b"127.0.0.1" not in made.bytes


def test_the_bill_counts_every_call_by_stage(made: Made) -> None:
    calls = len([request for request in made.requests if request.is_chat])
    assert f"used: {calls} calls" in made.printed
    rows = {line[:20].strip(): line.split() for line in made.printed.splitlines() if line.startswith(("ans", "judge"))}
    judged = sum(stage_of(str(request.messages[0]["content"])) == "judge answer" for request in made.requests)
    assert rows["judge: answers"][2] == str(judged)
    assert "price unknown" in made.printed


def test_a_second_start_asks_nothing_and_writes_the_same(made: Made, tmp_path: Path) -> None:
    out = tmp_path / "data.json"
    shutil.copytree(f"{made.out}.work", f"{out}.work")
    shutil.copyfile(made.out, out)
    arrived = made.server.arrived
    again = succeeded(inside(*made.command, "--concurrency", "2", "--timeout", "9", "--out", out))
    assert made.server.arrived == arrived
    assert (out.read_bytes(), again.out.replace(str(out), "")) == (made.bytes, made.printed.replace(str(made.out), ""))


def test_another_directory_another_order_of_replies_the_same_bytes(made: Made, tmp_path: Path) -> None:
    made.server.responder = slowed(0.002)
    succeeded(inside(*made.command, "--concurrency", "3", "--out", tmp_path / "data.json"))
    assert (tmp_path / "data.json").read_bytes() == made.bytes


def slowed(most: float) -> Any:
    chance, respond = random.Random(1), served()

    def responder(request: Request) -> Response | None:
        response = respond(request)
        return response and Response(response.status, response.body, response.headers, chance.random() * most)

    return responder


def test_a_key_is_in_no_file(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def echoes(request: str, last: str) -> str:
        reply = good(request)
        return (
            reply.replace("Can you help?", f"Can you help with {KEY}?") if stage_of(request) == "utterance" else reply
        )

    made.server.responder = served(echoes)
    ended = succeeded(inside(*made.command, "--out", tmp_path / "data.json"))
    assert made.server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert all(KEY.encode() not in data for data in contents(tmp_path).values())
    assert KEY not in ended.out + ended.err and b"[key]" in (tmp_path / "data.json").read_bytes()


def test_another_judge_is_asked_what_a_judge_is_asked_and_is_recorded(made: Made, tmp_path: Path) -> None:
    arrived = made.server.arrived
    succeeded(inside(*made.command, "--judge-model", "openai:strict", "--out", tmp_path / "data.json"))
    for request in made.server.requests[arrived:]:
        judges = stage_of(str(request.messages[0]["content"])).startswith("judge")
        assert request.body["model"] == ("strict" if judges else "mock-model")
        assert request.body["temperature"] == (0.0 if judges else 0.7)
    assert strict_json(tmp_path / "data.json")[0]["generation"]["judge"] == "openai:strict"


# --- what is settled before anything is asked ---


def test_an_estimate_asks_nothing_and_writes_nothing(made: Made, tmp_path: Path) -> None:
    arrived = made.server.arrived
    ended = succeeded(inside(*made.command, "--estimate"))
    assert made.server.arrived == arrived and list(tmp_path.iterdir()) == []
    assert "judge: answers" in ended.out and "price unknown for 3 users" in ended.out
    priced = succeeded(inside("generate", "--config", "base", "--model", "openai:gpt-4.1-mini", "--estimate"))
    assert "US$" in priced.out and "unknown" not in priced.out
    free = succeeded(inside("generate", "--source", "bank:base", "--estimate"))
    assert "needs no model" in free.out


REFUSED: dict[str, tuple[list[str], str]] = {
    "no model": ([], "generation needs a language model"),
    "offline": (["--model", "offline"], "which the offline model is not; the scenario bank needs no model"),
    "an offline judge": ([*MODEL, "--judge-model", "offline"], "--judge-model offline: generation needs"),
    "an unknown model": (["--model", "opanai:x"], "unknown model 'opanai:x'"),
    "a model without a name": (["--model", "openai:"], "names no model"),
    "no endpoint": ([*MODEL, "--out", "d.json"], "needs an endpoint"),
    "no out": ([*MODEL, "--base-url", "http://localhost:1/v1"], "--out is missing"),
    "a URL with a password": ([*MODEL, "--base-url", "http://a:b@h/v1"], "holds a user name, a password"),
    "an unknown source": (["--source", "bnak:base"], "unknown source 'bnak:base'"),
    "an unknown set": (["--source", "bank:bsae"], "unknown bank set 'bsae'. Did you mean 'base'"),
    "a model for the bank": (["--source", "bank:base", *MODEL], "--model has no use with --source bank:"),
    "an unknown configuration": (["--config", "bse"], "unknown configuration 'bse'. Did you mean 'base'"),
    "an unknown language": ([*MODEL, "--language", "xx"], "unknown prompt language 'xx'"),
    "no such person file": ([*MODEL, "--personas", "none.jsonl"], "cannot read personas none.jsonl: No such file"),
    "people in no home": ([*MODEL, "--personas", "~nobody-here/p.jsonl"], "there is no such home folder"),
    "a configuration in no home": (["--config", "~nobody-here/c.yaml"], "there is no such home folder"),
    "a place in no home": (["--source", "bank:mini", "--out", "~nobody-here/d.json"], "there is no such home folder"),
    "a life beyond the calendar": (["--source", "bank:base?start=9999-12-01"], "do not lie between the years"),
    "a value out of range": ([*MODEL, "--users", "0"], "'users' input should be greater than or equal to 1"),
    "no date": ([*MODEL, "--start", "soon"], "'start'"),
    "repairs below 0": ([*MODEL, "--repairs", "-1"], "'repairs'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_made_is_one_sentence_before_anything_is_asked(name: str, tmp_path: Path) -> None:
    arguments, words = REFUSED[name]
    assert words in sentence(inside("generate", *arguments), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_person_file_without_the_column_is_named_with_what_it_has(made: Made) -> None:
    path = jsonl(Path("people.jsonl"), [{"name": "Ada", "job": "baker"}] * 3)
    line = sentence(inside(*made.command, "--personas", path, "--out", "d.json"), 2)
    assert "people.jsonl, line " in line and "no column 'persona'" in line and "it has name, job" in line
    few = jsonl(Path("few.jsonl"), PEOPLE[:2])
    line = sentence(inside(*made.command, "--personas", few, "--out", "d.json"), 2)
    assert "few.jsonl has 2 people, and 3 users are wanted" in line


# --- configurations and the bank ---


@pytest.mark.parametrize("ending", ["yaml", "toml", "json"])
def test_a_file_of_settings_is_the_flags_and_flags_override_it(ending: str, made: Made, tmp_path: Path) -> None:
    texts = {
        "yaml": "users: 9\nperiods: 3\nquestions: 3\nchanges: 2\nmodel: openai:mock-model\n",
        "toml": 'users = 9\nperiods = 3\nquestions = 3\nchanges = 2\nmodel = "openai:mock-model"\n',
        "json": '{"users": 9, "periods": 3, "questions": 3, "changes": 2, "model": "openai:mock-model"}',
    }
    file = tmp_path / f"c.{ending}"
    file.write_text(texts[ending])
    more = ["--base-url", made.server.base_url, "--personas", made.people, "--users", "3"]
    succeeded(inside("generate", "--config", file, *more, "--out", tmp_path / "data.json"))
    assert (tmp_path / "data.json").read_bytes() == made.bytes


def test_the_published_configurations_have_their_numbers_and_their_rounds() -> None:
    from amemgym.generate import plan_generation

    base, extra = (plan_generation(name, source="bank:base").shape for name in ("base", "extra"))
    assert (base.users, base.periods, base.questions, base.states, base.max_changes) == (20, 11, 10, 2, 3)
    assert (extra.users, extra.periods, extra.questions, extra.states, extra.max_changes) == (20, 21, 10, 3, 6)
    more = ["--users", "1", "--periods", "2", "--out", "d.json"]
    ended = succeeded(inside("generate", "--config", "extra", "--source", "bank:base", *more))
    assert "run --data d.json --rounds-initial 2 --rounds-later 5" in ended.out
    ended = succeeded(inside("generate", "--source", "bank:extra?users=1&periods=2", "--out", "e.json"))
    assert "run --data e.json --rounds-initial 2 --rounds-later 5" in ended.out
    ended = succeeded(inside("generate", "--config", "base", "--source", "bank:extra", *more[:-1], "f.json"))
    assert "run --data f.json\n" in ended.out


def test_an_unknown_key_in_a_file_names_the_nearest() -> None:
    Path("c.yaml").write_text("perods: 3\n")
    line = sentence(inside("generate", "--config", "c.yaml", *MODEL), 2)
    assert "configuration c.yaml: unknown key 'perods'; the nearest known one is 'periods'" in line
    Path("c.yaml").write_text("api_key: x\n")
    assert "keys are read from the environment alone" in sentence(inside("generate", "--config", "c.yaml"), 2)


def test_a_v1_environment_configuration_is_understood(made: Made, tmp_path: Path) -> None:
    config = {
        "start_date": "2020-10-01",
        "lang": "en",
        "num_user_profiles": 3,
        "num_questions": 3,
        "num_periods": 2,
        "num_months_per_period": 3,
        "num_states_per_question": 2,
        "num_choices_per_state": 3,
        "num_changes_per_period": 2,
        "max_changes_per_state": 3,
        "min_state_variants": 4,
        "num_rounds_init": 1,
        "num_rounds_update": 2,
        "llm_config_high_temp": {
            "base_url": made.server.base_url,
            "api_key": KEY,
            "llm_model": "mock-model",
            "temperature": 0.7,
            "max_tokens": 8192,
        },
        "llm_config_low_temp": {"base_url": made.server.base_url, "llm_model": "mock-model", "temperature": 0.2},
        "exclude_ids": ["x"],
        "seed": 0,
    }
    Path("env.json").write_text(json.dumps(config))
    ended = succeeded(inside("generate", "--config", "env.json", "--personas", made.people, "--out", "data.json"))
    assert Path("data.json").read_bytes() == made.bytes
    assert "v1 environment configuration; taken from it" in ended.err and "not used: exclude_ids" in ended.err
    assert made.server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert all(KEY.encode() not in data for name, data in contents(tmp_path).items() if name != "env.json")


def test_the_bank_needs_no_model_and_flags_override_its_query() -> None:
    first = succeeded(inside("generate", "--source", "bank:mini?seed=7", "--users", "2", "--out", "a.json"))
    succeeded(
        inside("generate", "--source", "bank:mini?users=5&seed=9", "--seed", "7", "--users", "2", "--out", "b.json")
    )
    assert Path("a.json").read_bytes().replace(b"seed=7&users=2", b"") == Path("b.json").read_bytes().replace(
        b"users=2&seed=7", b""
    )
    assert "2 users, 12 questions" in first.out
    succeeded(inside("validate", "a.json"))
    again = succeeded(inside("generate", "--source", "bank:mini?seed=7", "--users", "2", "--out", "a.json"))
    assert again.out == first.out


def test_the_bank_takes_the_shape_of_a_configuration() -> None:
    Path("c.yaml").write_text("source: bank:mini\nperiods: 2\n")
    succeeded(inside("generate", "--config", "c.yaml", "--users", "1", "--out", "a.json"))
    [user] = strict_json(Path("a.json"))
    assert len(user["periods"]) == 2 and len(user["qas"]) == 6


def test_what_a_configuration_says_of_a_model_is_told_to_be_of_no_use_to_the_bank() -> None:
    Path("c.yaml").write_text("language: zh\nmodel: openai:x\nusers: 1\nconcurrency: 2\n")
    ended = succeeded(inside("generate", "--config", "c.yaml", "--source", "bank:mini", "--out", "a.json"))
    assert "c.yaml: not used with bank:mini: language, model" in ended.err


def test_it_stands_in_the_help_with_every_setting() -> None:
    from amemgym.generate import GenerationSpec, Shape

    text = succeeded(inside("generate", "--help")).out
    for name in [*Shape.model_fields, *GenerationSpec.model_fields]:
        assert f"--{name.replace('_', '-')}" in text, name
