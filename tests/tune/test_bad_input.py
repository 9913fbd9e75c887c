"""What cannot be searched is refused in one sentence, before anything is written."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from amemgym.memory import packages
from tests.cli.helpers import inside, sentence

CASES = {
    "--agent nobody --topk 5,10": "unknown agent 'nobody'",
    "--agent native --topk 5,10": "agent 'native' has nothing to search: it keeps the whole conversation",
    "--agent oracle --topk 5,10": "agent 'oracle' is a reference agent",
    "--agent http:127.0.0.1:9 --topk 5,10": "runs behind an address",
    "--agent mine.json --topk 5,10": "is a file with settings of its own",
    "--agent awi --topk 5,10": "--topk: agent 'awi' picks no items",
    "--agent rag --rooms 5,10": "--rooms: agent 'rag' keeps no record",
    "--agent bm25_message --policies none,a.txt": "--policies: agent 'bm25_message' cannot be told",
    "--agent awe --policies none,missing.txt": "cannot read the policy missing.txt",
    "--agent awe": "nothing to search for agent 'awe': give two choices or more of a setting, such as --freq 2,4,8",
    "--topk 5": "nothing to search",
    "--topk ,": "'topk' is an empty list",
    "--freq 0,2": "'freq' holds 0; each is from 1 to 9999",
    "--topk 0,5": "'topk' holds 0",
    "--n-s 0,10000": "'n_s' holds 10000",
    "--topk five": "'topk.0' input should be a valid integer",
    "--topk 5,5": "'topk' names 5 twice",
    "--topk 5,10 --trials 1": "'trials' input should be greater than or equal to 2",
    "--topk 5,10 --training 3": "leave none to learn from or measure on",
    "--topk 5,10 --training 0": "'training' should be a share between 0 and 1",
    "--topk 5,10 --training 1.5": "'training' should be a share between 0 and 1",
    "--topk 5,10 --training all": "'training",
    "--topk 5,10 --users 1": "has 1 user; to learn from some and measure on others takes 2",
    "--topk 5,10 --users 99": "--users 99",
    "--topk 5,10 --data nowhere.json": "no data file at nowhere.json",
    "--topk 5,10 --eta 1": "'eta' input should be greater than or equal to 2",
    "--topk 5,10 --rungs 0": "'rungs' input should be greater than or equal to 1",
    "--topk 5,10 --model other": "other",
    "--topk 5,10 --base-url http://127.0.0.1:9": "nothing is asked there",
}


@pytest.mark.parametrize("words", CASES)
def test_one_sentence_and_nothing_written(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CASES[words] in sentence(inside("tune", *words.split()), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(packages, "version", missing)
    said = sentence(inside("tune", "--topk", "5,10"), 2)
    assert said == "the package optuna is not installed; install it with: pip install 'amemgym[tune]'"


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    said = sentence(inside("tune", "--topk", "5,10", "--out", tmp_path), 2)
    assert "is not empty and holds no tuning" in said
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_configuration_file_is_read_and_its_names_are_checked(tmp_path: Path) -> None:
    (tmp_path / "search.yaml").write_text("n-s: [0, 4]\ntopk: [0]\n", encoding="utf-8")
    said = sentence(inside("tune", "--config", tmp_path / "search.yaml"), 2)
    assert "configuration" in said and "'topk' holds 0" in said
    (tmp_path / "search.yaml").write_text("top_k: [5]\n", encoding="utf-8")
    said = sentence(inside("tune", "--config", tmp_path / "search.yaml"), 2)
    assert "unknown setting of a tuning 'top_k'. Did you mean 'topk'?" in said
