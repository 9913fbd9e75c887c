"""A manifest is read line by line: what cannot be used is told with its line, and the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import DataError
from amemgym.memorybench import MemoryBenchResults
from amemgym.memorybench.reading.manifest import split_setting

GOOD: dict[str, Any] = {
    "exp": "off-policy",
    "model": "Qwen3-8B",
    "dataset_type": "domain",
    "set_name": "Academic&Knowledge",
    "baseline": "bm25_message",
    "run_id": "start_at_2026-01-02-03-04-05",
    "relative_dir": "off-policy-Qwen3-8B/domain/Academic&Knowledge/bm25_message",
    "files": ["summary.json"],
}
OTHER = GOOD | {"baseline": "wo_memory"}


def opened(folder: Path, *lines: Any) -> MemoryBenchResults:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "manifest.jsonl").write_text(text, encoding="utf-8")
    (folder / GOOD["relative_dir"]).mkdir(parents=True)
    (folder / GOOD["relative_dir"] / "summary.json").touch()
    return MemoryBenchResults.from_local(folder)


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{not json", "it is not JSON"),
        ("[1, 2]", "it is no JSON object"),
        ("null", "it is no JSON object"),
        ("1" * 5000, "no JSON that can be read"),
        *((without(key), f"it has no '{key}'") for key in GOOD),
        (GOOD | {"model": None}, "its model is null"),
        (GOOD | {"set_name": 3}, "its set_name is a number"),
        (GOOD | {"baseline": " "}, "its baseline is empty"),
        (GOOD | {"run_id": ["a"]}, "its run_id is a list"),
        (GOOD | {"exp": "a\nb"}, "its exp has a control character"),
        (GOOD | {"model": "\ud800"}, "its model has a control character or half a character"),
        (GOOD | {"dataset_type": "dominion"}, "not one of single, domain, task"),
        (GOOD | {"files": "summary.json"}, "its files are no list"),
        (GOOD | {"files": ["summary.json", 1]}, "a name in its files is a number"),
        (GOOD | {"relative_dir": ""}, "its relative_dir is empty"),
        ({**without("exp"), "setting": "no-such-experiment-Qwen"}, "begins with no known experiment"),
        ({**without("exp"), "setting": "off-policy-"}, "begins with no known experiment"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_and_the_rest_goes_on(tmp_path: Path, line: Any, said: str) -> None:
    results = opened(tmp_path, OTHER, line, GOOD | {"baseline": "mem0"})
    assert [entry.baseline for entry in results.entries] == ["wo_memory", "mem0"]
    (problem,) = results.problems
    assert problem.place == f"{tmp_path}/manifest.jsonl, line 2"
    assert said in problem.text
    assert str(problem).isprintable()


def test_a_line_that_is_no_utf8_is_told(tmp_path: Path) -> None:
    (tmp_path / "manifest.jsonl").write_bytes(b'{"exp": "\xff"}\n' + json.dumps(GOOD).encode())
    results = MemoryBenchResults.from_local(tmp_path)
    assert len(results.entries) == 1
    assert "line 1: it is not UTF-8" in str(results.problems[0])


def test_byte_order_mark_line_ends_and_blank_lines_are_fine(tmp_path: Path) -> None:
    lines = ["", json.dumps(GOOD), "", "  ", json.dumps(OTHER), ""]
    (tmp_path / "manifest.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    results = MemoryBenchResults.from_local(tmp_path)
    assert [entry.baseline for entry in results.entries] == ["bm25_message", "wo_memory"]
    assert all("has no file summary.json" in problem.text for problem in results.problems)


@pytest.mark.parametrize(("lines", "said"), [([], "no usable line"), (["{"], r"no usable line; .*line 1: it is not")])
def test_a_manifest_with_no_usable_line_is_an_error(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        opened(tmp_path, *lines)


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("off-policy-Qwen3-8B", ("off-policy", "Qwen3-8B")),
        ("on-policy-a-b", ("on-policy", "a-b")),
        ("stepwise-off-policy-gpt-4.1", ("stepwise-off-policy", "gpt-4.1")),
        ("train-performance-Qwen", ("train-performance", "Qwen")),
        ("off-policy", None),
        ("Qwen3-8B", None),
    ],
)
def test_a_setting_is_split_by_the_longest_known_experiment(setting: str, expected: tuple[str, str] | None) -> None:
    assert split_setting(setting) == expected
    assert split_setting("off-policy-long-Q", ["off-policy", "off-policy-long"]) == ("off-policy-long", "Q")


def test_a_setting_may_name_an_experiment_that_another_line_has(tmp_path: Path) -> None:
    line = {**without("exp"), "setting": "my-exp-Qwen"}
    del line["model"]
    results = opened(tmp_path, GOOD | {"exp": "my-exp"}, line)
    assert [(entry.exp, entry.model) for entry in results.entries] == [("my-exp", "Qwen3-8B"), ("my-exp", "Qwen")]


@pytest.mark.parametrize(("given", "expected"), [("", ""), (7, "7"), (None, ""), (1.5, "1.5")])
def test_a_run_need_not_be_named(tmp_path: Path, given: Any, expected: str) -> None:
    (entry,) = opened(tmp_path, GOOD | {"run_id": given}).entries
    assert entry.run_id == expected


def test_exact_repeats_are_one_entry(tmp_path: Path) -> None:
    results = opened(tmp_path, GOOD, GOOD)
    assert len(results.entries) == 1
    assert results.problems == []
