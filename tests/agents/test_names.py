"""Agents by name: what each name means, and one helpful sentence for a name that means nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.agents import parse_agent, read_agent_file
from amemgym.errors import AMemGymError, UnknownName, UsageError
from amemgym.llm import ModelSettings

MEMORY = """
from amemgym import Memory

class Diary(Memory):
    def write(self, messages, now):
        pass

    def read(self, query, now, k):
        return []

class Half(Memory):
    def write(self, messages, now):
        pass

class Other:
    pass
"""


@pytest.mark.parametrize(
    ("name", "memory", "freq", "n_s", "topk"),
    [
        ("rag", "vector", 2, 4, 30),
        ("rag-2-4-30", "vector", 2, 4, 30),
        ("awe-4-0-50", "extract", 4, 0, 50),
        ("awe-8-4", "extract", 8, 4, 30),
        ("awi", "in-context", 2, 4, 30),
        ("awi-6-2-10", "in-context", 6, 2, 10),
        ("awi-schema-6-2", "in-context", 6, 2, 30),
        ("wo_memory", "none", 2, 4, 30),
        ("bm25_message", "bm25-message", 2, 4, 30),
        ("bm25_dialog-1-2-3", "bm25-dialog", 1, 2, 3),
        ("embedder_message", "vector", 2, 4, 30),
        ("embedder_dialog", "vector-dialog", 2, 4, 30),
        ("a_mem-4-0-10", "notes", 4, 0, 10),
    ],
)
def test_numbers_in_a_name(name: str, memory: str, freq: int, n_s: int, topk: int) -> None:
    spec = parse_agent(name)
    assert (spec.memory, spec.habits.freq, spec.habits.n_s, spec.habits.topk) == (memory, freq, n_s, topk)
    assert spec.name == name


def test_native_writes_nothing() -> None:
    spec = parse_agent("native")
    assert spec.memory == "none"
    assert spec.habits.freq is None


def test_only_the_ablation_is_told_the_variables() -> None:
    told = {n: parse_agent(n).told_variables for n in ("native", "rag", "awe", "awi", "awi-schema", "awi-hack")}
    assert told == {
        "native": False,
        "rag": False,
        "awe": False,
        "awi": False,
        "awi-schema": True,
        "awi-hack": True,
    }


@pytest.mark.parametrize(
    "name", ["uniform", "always-1", "always-12", "longest", "shortest", "frozen", "lag-3", "oracle"]
)
def test_reference_agents(name: str) -> None:
    assert parse_agent(name).is_reference


@pytest.mark.parametrize(
    ("name", "fragment"),
    [
        ("nativ", "Did you mean 'native'?"),
        ("awe-0-4-30", "freq is 0"),
        ("awe-2-4-0", "topk is 0"),
        ("native-2-4-30", "no freq, n_s or topk"),
        ("lag-x", "unknown agent 'lag-x'"),
        ("always-0", "unknown agent 'always-0'"),
        ("", "empty"),
        ("nowhere.py:Diary", "no file nowhere.py"),
        ("no_such_module_anywhere:Diary", "cannot be imported"),
    ],
)
def test_a_name_that_means_nothing(name: str, fragment: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_agent(name)
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_memory_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MEMORY)
    spec = parse_agent(f"{path}:Diary-4-2-9")
    assert (spec.habits.freq, spec.habits.n_s, spec.habits.topk) == (4, 2, 9)
    assert spec.memory_type().__name__ == "Diary"
    assert spec.name == "Diary-4-2-9"


@pytest.mark.parametrize(
    ("name", "fragment"), [("Half", "does not implement read"), ("Other", "no subclass"), ("None_", "no class 'None_'")]
)
def test_a_file_without_a_whole_memory(tmp_path: Path, name: str, fragment: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MEMORY)
    with pytest.raises(UsageError, match=fragment):
        parse_agent(f"{path}:{name}")


def test_another_source_is_another_fingerprint(tmp_path: Path) -> None:
    sources = []
    for number, text in enumerate((MEMORY, MEMORY.replace("return []", "return ['x']"))):
        path = tmp_path / f"m{number}" / "mine.py"
        path.parent.mkdir()
        path.write_text(text)
        sources.append(parse_agent(f"{path}:Diary").described())
    assert sources[0] != sources[1]
    assert {**sources[0], "memory_source": 0} == {**sources[1], "memory_source": 0}


def test_the_packages_that_a_memory_of_one_s_own_stands_on_are_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MEMORY.replace("class Diary(Memory):", "class Diary(Memory):\n    packages = {'numpy': '>=1'}"))
    described = []
    for version in ("2.0", "2.1"):
        monkeypatch.setattr("amemgym.memory.packages.version", lambda name, version=version: version)
        described.append(parse_agent(f"{path}:Diary").described())
    assert [one["memory_version"] for one in described] == [{"numpy": "2.0"}, {"numpy": "2.1"}]
    assert {**described[0], "memory_version": 0} == {**described[1], "memory_version": 0}


RUN = ModelSettings(model="offline")


def read(tmp_path: Path, **config: Any) -> Any:
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(config))
    said: list[str] = []
    return read_agent_file(path, RUN, 64_000, said.append), said


@pytest.mark.parametrize(
    ("kind", "memory"),
    [("native", "none"), ("rag", "vector"), ("awe", "extract"), ("awi", "in-context"), ("awi-hack", "in-context")],
)
def test_v1_types(tmp_path: Path, kind: str, memory: str) -> None:
    spec, _ = read(tmp_path, type=kind, name="theirs", agent_config={"update_bsz": 4, "local_length": 8, "top_k": 7})
    assert (spec.name, spec.memory, spec.told_variables) == ("theirs", memory, kind == "awi-hack")
    if kind != "native":
        assert (spec.habits.freq, spec.habits.n_s, spec.habits.topk) == (4, 8, 7)
    assert spec.habits.context_tokens == 64_000
    assert spec.model is None


def test_v1_model_and_key(tmp_path: Path) -> None:
    llm = {"llm_model": "m", "base_url": "http://localhost:1/v1", "api_key": "sk-very-secret", "temperature": 0.7}
    spec, said = read(tmp_path, type="awe", name="a", llm_config=llm, memory_config={"embedder": {}})
    assert spec.model.model == "openai:m"
    assert spec.model.base_url == "http://localhost:1/v1"
    assert spec.model.temperature == 0.7
    assert spec.model.max_tokens == RUN.max_tokens
    assert spec.model.api_key.get_secret_value() == "sk-very-secret"
    assert "sk-very-secret" not in f"{spec} {spec.described()}"
    assert "memory_config is not used" in said[0]


def test_v1_awe_without_a_memory_policy_is_rag(tmp_path: Path) -> None:
    spec, _ = read(tmp_path, type="awe", name="a", agent_config={"enable_llm_mem_policy": False})
    assert spec.memory == "vector"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ('{"type": "awi-evolve", "name": "x"}', "learns from its exams"),
        ('{"type": "zzz"}', "agent type 'zzz'"),
        ('{"name": "x"}', "'type'"),
        ("[1]", "one JSON object"),
        ("{", "is not JSON"),
        ('{"type": "rag", "agent_config": {"update_bsz": 0}}', "at least 1"),
        ('{"type": "rag", "agent_config": {"top_k": "many"}}', "'agent_config.top_k'"),
    ],
)
def test_v1_faults(tmp_path: Path, text: str, fragment: str) -> None:
    path = tmp_path / "agent.json"
    path.write_text(text)
    with pytest.raises(AMemGymError) as caught:
        read_agent_file(path, RUN, 64_000, print)
    assert fragment in str(caught.value)
    assert "agent.json" in str(caught.value)


def test_unknown_names_list_the_known() -> None:
    with pytest.raises(UnknownName, match="Known: native, recent, rag, awe, awi"):
        parse_agent("quatsch")
