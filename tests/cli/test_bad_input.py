"""Bad input ends in one sentence that names the thing and the way out, with exit code 2 and nothing written: a data
file of another shape, an unknown name, value or flag, a file of settings or an agent that cannot be read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.data import users
from tests.cli.helpers import amemgym, contents, inside, sentence
from tests.cli.warm import warm

LONG = "x" * 300


def changed(*path: str | int, to: Any) -> list[dict[str, Any]]:
    """The small data with one value replaced."""
    value = users()
    inner: Any = value
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = to
    return value


# --- the data ---

DATA: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "white space": (b" \n\n", "is empty"),
    "prose": (b"Dear reader,", "is not JSON"),
    "cut off": (json.dumps(users()).encode()[:-9], "is not JSON"),
    "lines of JSON": (b"{}\n{}\n", "is not JSON"),
    "NaN": (b"[NaN]", "is not JSON"),
    "too deep": (b"[" * 100_000, "is not JSON"),
    "not UTF-8": ('["ü"]'.encode("latin-1"), "is not UTF-8"),
    "a zip file": (b"PK\x03\x04\xff\xfe\x00", "is not UTF-8"),
    "an object": (b'{"users": []}', "holds a JSON object"),
    "a string": (b'"users"', "holds a JSON string"),
    "null": (b"null", "holds a JSON null"),
    "no users": (b"[]", "holds no users"),
    "users that are numbers": (b"[1, 2]", "user 0"),
    "users that are lists": (b"[[]]", "user 0"),
    "users without anything": (b"[{}]", "user 0: 'id' is missing"),
    "a number as id": (json.dumps(changed(1, "id", to=7)).encode(), r"user 1 \(7\).*'id'"),
    "two users of one id": (json.dumps([users()[0]] * 2).encode(), r"user 1 \(Ann-1\).*'Ann-1'"),
    "periods as object": (json.dumps(changed(0, "periods", to={})).encode(), r"user 0 \(Ann-1\).*'periods'"),
    "no periods": (json.dumps(changed(0, "periods", to=[])).encode(), "no periods"),
    "no questions": (json.dumps(changed(0, "qas", to=[])).encode(), "no questions"),
    "no options": (json.dumps(changed(0, "qas", 1, "answer_choices", to=[])).encode(), "question 1.*0 options"),
    "a time that is none": (
        json.dumps(changed(1, "periods", 0, "sessions", 1, "session_time", to="soon")).encode(),
        "user 1.*period 0, session 1.*'soon'",
    ),
    "an unknown value": (
        json.dumps(changed(0, "periods", 1, "state", "daily_diet", to="air")).encode(),
        "period 1.*'daily_diet' is 'air'",
    ),
}


@pytest.mark.parametrize("content, why", DATA.values(), ids=DATA)
def test_a_data_file_of_another_shape(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "data set.json"
    path.write_bytes(content)
    said = sentence(inside("run", "--data", path), 2)
    assert said.startswith(str(path)) and re.search(why, said)
    assert "it should hold a JSON list of users in the v1 format" in said or f"amemgym validate {path}" in said
    # validate says the same of what is no data at all, and lists the faults of what is
    ended = inside("validate", path)
    assert ended.code == 2
    if "it should hold" in said:
        assert sentence(ended, 2) == said
    else:
        assert re.search(rf"(?m)^error: .*{why}", ended.out) or re.search(
            rf"(?m)^error: .*{why.split('.*')[-1]}", ended.out
        )
    assert list(contents(tmp_path)) == [path.name]


def test_data_that_cannot_be_had(tmp_path: Path) -> None:
    for data, why in (
        ("nowhere.json", "no data file at nowhere.json"),
        ("no/where", "no data file at no/where"),
        (tmp_path, f"no data file at {tmp_path}/data.json"),
        ("startr", "unknown data set 'startr'. Did you mean 'starter'?"),
        ("", "data"),
        (LONG, LONG),
        (f"{LONG}/data.json", LONG),
        ("~nobody-of-that-name/data.json", "~nobody-of-that-name/data.json"),
        ("v1.base", "go online, or download v1.base/data.json and give its path with --data"),
    ):
        for command in (["run", "--data", data], ["validate", data]):
            assert why in sentence(inside(*command), 2)
    assert contents(tmp_path) == {}


# --- names, values and flags ---

WRONG: dict[str, str] = {
    # flags and commands
    "run --nope": r"--nope.*amemgym run --help",
    "run --agent native": r"--agent\b.*--agents.*amemgym run --help",
    "run native": r"\(native\).*amemgym run --help",
    "run --users": r"--users.*amemgym run --help",
    "run --users many": r"--users.*integer.*amemgym run --help",
    "run --temperature hot": r"--temperature.*amemgym run --help",
    "list": r"agents.*memories.*models.*data.*amemgym list --help",
    "list cats": r"'cats'.*agents.*amemgym list --help",
    "validate": r"data.*amemgym validate --help",
    "resume": r"directory.*amemgym resume --help",
    "score a b": r"\(b\).*amemgym score --help",
    "play": r"'play'.*amemgym --help",
    "--nope": r"--nope.*amemgym --help",
    # values out of range
    "run --users 0": r"'users'.*1\b.*0",
    "run --users 3 --data DATA": r"--users 3.*2 users",
    "run --periods -1": r"'periods'.*1\b.*-1",
    "run --trials 0": r"'trials'",
    "run --concurrency 0": r"'concurrency'",
    "run --attempts 0": r"'attempts'",
    "run --rounds-later 0": r"'rounds_later'",
    "run --context-tokens 10": r"'context_tokens'.*8192",
    "run --temperature -1": r"'temperature'",
    "run --temperature nan": r"'temperature'",
    "run --temperature inf": r"'temperature'",
    "run --timeout 0": r"'timeout'",
    "run --timeout inf": r"'timeout'",
    # names
    "run --agents natve": r"unknown agent 'natve'. Did you mean 'native'\? Known: .*\brag\b",
    "run --agents ": r"'agents' names no agent.*native,rag",
    "run --agents ,,": r"'agents' names no agent.*native,rag",
    "run --agents rag,rag": r"rag twice",
    "run --agents rag-0-4": r"'rag-0-4'.*freq",
    "run --agents rag-1-4-0": r"'rag-1-4-0'.*topk",
    "run --agents native-2-4": r"'native-2-4'",
    "run --agents lag-x": r"'lag-x'.*lag-L",
    "run --agents none.py:Mine": r"none\.py",
    "run --agents os:path": r"'os:path'.*amemgym\.Memory",
    "run --agents os:Mine": r"'Mine'",
    "run --agents none.json": r"none\.json",
    "run --model gpt-5": r"unknown model 'gpt-5'.*openai:<name>",
    "run --model openai:": r"openai:gpt-\S+",
    "run --user-model gpt-5": r"unknown model 'gpt-5'.*openai:<name>",
    "run --embedder nope": r"unknown embedder 'nope'.*wordllama",
    "run --language xx": r"'xx'.*\ben\b",
    "run --protocol v2": r"unknown protocol 'v2'.*amemgym, v1",
    # addresses
    "run --model openai:m --base-url localhost:8000": r"'localhost:8000'.*http://localhost:8000/v1",
    "run --model openai:m --base-url ftp://host/v1": r"'ftp://host/v1'.*http://",
    "run --model openai:m --base-url http://": r"'http://'.*http://localhost",
    "run --model openai:m --base-url http://[::1/v1": r"\[::1.*http://localhost",
    "run --model openai:m --base-url http://host:port/v1": r"host:port.*http://localhost",
    "run --model openai:m --attempts 1 --base-url http://127.0.0.1:99999/v1": r"99999.*http://localhost",
    # directories
    f"resume {LONG}": LONG,
    f"score {LONG}": LONG,
}


@pytest.mark.parametrize("words", WRONG, ids=lambda words: words[:60].strip())
def test_a_wrong_name_value_or_flag(words: str, small: Path, tmp_path: Path) -> None:
    arguments = [str(small) if word == "DATA" else word for word in words.split(" ")]
    assert re.search(WRONG[words], sentence(inside(*arguments), 2))
    assert contents(tmp_path) == {}, "nothing is begun"


def test_a_model_without_a_key_or_an_address(small: Path) -> None:
    said = sentence(inside("run", "--data", small, "--agents", "native", "--model", "openai:m", "--out", "run"), 2)
    assert re.search(r"'openai:m'.*OPENAI_API_KEY.*--base-url.*offline", said)


def test_a_secret_in_an_address_is_not_repeated(tmp_path: Path) -> None:
    for address in ("http://me:hunter2-hunter2@host/v1", "http://host/v1?key=hunter2-hunter2"):
        said = sentence(inside("run", "--model", "openai:m", "--base-url", address), 2)
        assert "hunter2" not in said and "OPENAI_API_KEY" in said
    assert contents(tmp_path) == {}


# --- files of settings and of agents ---

SETTINGS: dict[str, tuple[str, str]] = {
    "a.yaml": ("agents: [native", "YAML"),
    "b.yaml": ("agnts: [native]", "'agnts'.*'agents'"),
    "c.yaml": ("- native", "names and values"),
    "d.yaml": ("users: many", "'users'"),
    "e.yaml": ("", "names and values"),
    "f.yaml": ("agents: 5", "'agents'"),
    "g.yaml": ("1: 2", "'1'"),
    "h.toml": ("agents = native", "TOML"),
    "i.json": ('{"agents": ', "JSON"),
    "j.json": ("[]", "names and values"),
    "k.txt": ("agents: native", r"\.yaml"),
    "l.yaml": ("num_rounds_init: few", "rounds_initial"),
    "m.yaml": ("num_rounds_init: 1\nllm_config_low_temp: {temperature: hot}", "temperature"),
    "n.yaml": ("num_rounds_init: 1\nllm_config_low_temp: warm", "llm_config_low_temp"),
    "o.yaml": ("timeout: .inf", "'timeout'"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_file_of_settings_that_cannot_be_used(name: str, tmp_path: Path) -> None:
    text, why = SETTINGS[name]
    (tmp_path / name).write_text(text)
    said = sentence(inside("run", "--config", name), 2)
    assert name in said and re.search(why, said)
    assert list(contents(tmp_path)) == [name]


def test_a_file_of_settings_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("agents: [ü]".encode("latin-1"))
    for name in ("none.yaml", ".", "latin.yaml", f"{LONG}.yaml"):
        assert f"configuration {name}" in sentence(inside("run", "--config", name), 2)


AGENTS: dict[str, tuple[str, str]] = {
    "syntax.py:Mine": ("class Mine(:", "SyntaxError"),
    "raises.py:Mine": ("1 / 0", "ZeroDivisionError"),
    "other.py:Mine": ("class Yours: pass", "no class 'Mine'"),
    "plain.py:Mine": ("class Mine: pass", r"subclass of amemgym\.Memory"),
    "half.py:Mine": ("from amemgym import Memory\nclass Mine(Memory):\n    def write(self, m, now): pass", "read"),
    "unmade.py:Mine": (
        "from amemgym import Memory\nclass Mine(Memory):\n    def __init__(self): raise LookupError('lost')\n"
        "    def write(self, m, now): pass\n    def read(self, q, now, k): return []",
        "'Mine': its memory cannot be made without arguments: LookupError: lost",
    ),
    "empty.json": ("", "not JSON"),
    "list.json": ("[]", "'type' and 'name'"),
    "typeless.json": ("{}", "'type'"),
    "type.json": ('{"type": "mem0", "name": "x"}', "'mem0'.*awe"),
    "knobs.json": ('{"type": "awe", "name": "x", "agent_config": {"top_k": 0}}', "top_k"),
    "words.json": ('{"type": "awe", "name": "x", "agent_config": {"top_k": "all"}}', "top_k"),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_that_cannot_be_used(agent: str, tmp_path: Path) -> None:
    text, why = AGENTS[agent]
    file = agent.partition(":")[0]
    (tmp_path / file).write_text(text)
    said = sentence(inside("run", "--agents", f"oracle,{agent}"), 2)
    assert file in said and re.search(why, said)
    assert not list(tmp_path.glob("runs"))


METHODS = {"write": ", m, now", "read": ", q, now, k", "snapshot": "", "restore": ", s", "export": ""}


@pytest.mark.parametrize("method", METHODS)
def test_an_agent_that_fails_stops_no_other(method: str, small: Path, tmp_path: Path) -> None:
    """That is a run's failure: exit 1, with the agent, the user and the line of its code; the others are finished."""
    text = "from amemgym import Memory\n\nclass Mine(Memory):\n"
    text += "    def write(self, m, now): pass\n    def read(self, q, now, k): return []\n"
    text += f"    def {method}(self{METHODS[method]}): raise LookupError('lost')\n"
    (tmp_path / "mine.py").write_text(text)
    ended = inside("run", "--data", small, "--agents", "mine.py:Mine,oracle", "--out", "run")
    said = sentence(ended, 1)
    assert re.search(
        r"^2 episodes or upper bounds did not finish: .*'Mine', user 0.*LookupError: lost.*mine\.py:6", said
    )
    assert "amemgym resume run" in said
    assert re.search(r"(?m)^oracle +1\.000", ended.out)
    assert len(list((tmp_path / "run/episodes").glob("oracle-*/*.json"))) == 2


# --- as processes ---


def test_bad_input_as_processes(tmp_path: Path) -> None:
    (tmp_path / "prose.json").write_text("Dear reader,")
    run, resume = amemgym("run", "--data", "prose.json", cwd=tmp_path), warm("resume", "nowhere")
    for ended, why in ((run, "prose.json is not JSON"), (resume, "nowhere does not exist")):
        assert why in sentence(ended, 2)
        assert ended.out == ""
    assert not list(tmp_path.glob("runs"))
