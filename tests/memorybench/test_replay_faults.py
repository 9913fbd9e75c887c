"""Replay where something goes wrong, is stopped, or is not what it was: nothing is lost, made up or mixed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import (
    AuthenticationFailed,
    ContentFiltered,
    ContextOverflow,
    RequestRefused,
    RunDirectoryError,
    RunFailed,
    UnknownName,
    UsageError,
)
from amemgym.llm import Request
from amemgym.memory import Item, Memory
from amemgym.memorybench import MemoryBenchResults, predict
from tests.evaluate.echo import Diary, echo, every_model, until
from tests.memorybench.replaying import TEST, TRAIN, Told, predictions, results
from tests.support.points import jsonl, point, trained


def test_a_prompt_that_gets_no_reply_has_no_response(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"20": ContextOverflow("It is too long."), "21": ContentFiltered("It is filtered."), "22": None}
    refused = [RequestRefused("It will not have that.")]

    def answer(request: Request) -> str:
        said = request.messages[-1].content
        if "number 3?" in said:
            raise wrong["20"]  # type: ignore[misc]
        if "number 2 long" in said:
            raise wrong["21"]  # type: ignore[misc]
        if "第9号汤呢" in said:
            if refused:
                raise refused.pop()
            return "<think>Hm.</think>"
        return echo(request)

    jsonl(data / "test.jsonl", [point(19, "Hello?"), *TEST])
    every_model(monkeypatch, answer)
    watcher = Told()
    report = predict(data, data, "rag", out=tmp_path / "out", watcher=watcher, concurrency=1)
    assert (report.groups[0].prompts, report.groups[0].missing) == (4, 3)
    found = predictions(tmp_path / "out", "rag")
    assert found[0]["response"].startswith("Indeed") and "error" not in found[0]
    assert [(one["response"], one["error"]) for one in found[1:]] == [
        (None, "It is too long."),
        (None, "It is filtered."),
        (None, "It will not have that."),
    ]
    [said] = [sentence for sentence in watcher.sentences if "no response" in sentence]
    assert "3 of 4 prompts" in said and "Kitchen 20: It is too long." in said
    predict(data, data, "rag", out=tmp_path / "out")  # what was refused may pass later, and is asked again
    again = predictions(tmp_path / "out", "rag")
    assert again[:3] == found[:3] and (again[3]["response"], "no text" in again[3]["error"]) == (None, True)


class Broken(Memory):
    def write(self, messages: Sequence[Any], now: datetime) -> None:
        raise OSError("the shelf fell down")

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []


def test_an_agent_that_fails_leaves_the_others(data: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"agent 'Broken': .*the shelf fell down.*same command again") as raised:
        predict(data, data, ["rag", Broken], out=tmp_path / "out")
    assert [g.entry.baseline for g in raised.value.report.groups] == ["rag"]  # type: ignore[attr-defined]
    assert [e.baseline for e in MemoryBenchResults.from_local(tmp_path / "out").entries] == ["rag"]


def test_what_was_stopped_goes_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"agents": "rag,awe", "model": "offline"}
    whole = every_model(monkeypatch)
    predict(data, data, out=tmp_path / "whole", **how)
    for calls in (0, 2, len(whole.requests) - 2):
        stopped = every_model(monkeypatch, until(calls))
        with pytest.raises(AuthenticationFailed, match="same command again"):
            predict(data, data, out=tmp_path / f"after {calls}", **how)
        rest = every_model(monkeypatch)
        predict(data, data, out=tmp_path / f"after {calls}", **how)
        assert results(tmp_path / f"after {calls}") == results(tmp_path / "whole")
        assert calls + len(rest.requests) == len(whole.requests) and len(stopped.requests) > calls


def test_another_undertaking_is_not_mixed_in(data: Path, tmp_path: Path) -> None:
    predict(data, data, "rag", out=tmp_path / "out")
    with pytest.raises(RunDirectoryError, match=r"of other agents: agents is rag there, rag,awe here.*reads several"):
        predict(data, data, "rag,awe", out=tmp_path / "out")
    with pytest.raises(RunDirectoryError, match="seed is 42 there, 7 here"):
        predict(data, data, "rag", out=tmp_path / "out", seed=7)
    jsonl(data / "test.jsonl", TEST[:2])
    with pytest.raises(RunDirectoryError, match=r"answered\.prompts is 3 there, 2 here"):
        predict(data, data, "rag", out=tmp_path / "out")
    # what only the evaluation reads makes no other undertaking
    jsonl(data / "test.jsonl", [{**one, "info": {"golden_answer": "another"}} for one in TEST])
    predict(data, data, "rag", out=tmp_path / "out")


def test_lines_of_others_in_the_manifest_stay(data: Path, tmp_path: Path) -> None:
    predict(data, data, "rag", out=tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.jsonl"
    other = manifest.read_text().replace('"rag"', '"other"')
    manifest.write_text(other + manifest.read_text())
    predict(data, data, "rag", out=tmp_path / "out")
    assert [json.loads(line)["baseline"] for line in manifest.read_text().splitlines()] == ["rag", "other"]


class Rag(Diary):
    """Its name is another's but for the case; it fails where it is told to."""

    fails = True

    def write(self, messages: Sequence[Any], now: datetime) -> None:
        if Rag.fails:
            raise OSError("not yet")
        super().write(messages, now)


def test_an_agent_has_one_folder_whoever_finishes(data: Path, tmp_path: Path) -> None:
    manifest, lines = tmp_path / "out" / "manifest.jsonl", list[list[str]]()
    for Rag.fails in (True, False, True):
        if Rag.fails:
            with pytest.raises(RunFailed):
                predict(data, data, [Rag, "rag"], out=tmp_path / "out")
        else:
            predict(data, data, [Rag, "rag"], out=tmp_path / "out")
        lines.append(manifest.read_text().splitlines())
    assert [[json.loads(line)["baseline"] for line in one] for one in lines] == [
        ["rag"],
        ["Rag", "rag"],
        ["Rag", "rag"],
    ]
    assert lines[0] == lines[1][1:] and lines[2] == lines[1], "what was finished before stays"


def test_names_are_such_as_readers_take(data: Path, tmp_path: Path) -> None:
    own = type("Own\x07", (Diary,), {})
    predict(data, data, own, out=tmp_path / "out", set_name="Home\n\x1b[1m")
    archive = MemoryBenchResults.from_local(tmp_path / "out")
    assert [entry.cell[3:] for entry in archive.entries] == [("Home\ufffd\ufffd[1m", "Own\ufffd")]
    assert not archive.problems
    with pytest.raises(UsageError, match="two agents would both be"):
        predict(data, data, [own, type("Own\x08", (Diary,), {})], out=tmp_path / "two")


@pytest.mark.parametrize(
    ("agents", "said"),
    [
        ("uniform", "only chooses among an exam's options"),
        ("rag,awi-schema", "there is no scenario; take awi"),
        ("raag", "Did you mean 'rag'"),
        ("rag,rag", "rag twice"),
        ("", "name is empty"),
    ],
)
def test_agents_that_cannot_predict(data: Path, tmp_path: Path, agents: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        predict(data, data, agents, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_data_sets_make_a_set_with_a_name(data: Path, tmp_path: Path) -> None:
    jsonl(data / "train.jsonl", [*TRAIN, trained(1, dataset="Locomo-1")])
    jsonl(data / "test.jsonl", [*TEST, point(20, "Hm?", dataset_name="Locomo-1"), trained(1)])
    with pytest.raises(UsageError, match=r"2 data sets \(Kitchen, Locomo-1\); .*--set-name"):
        predict(data, data, "rag", out=tmp_path / "out")
    with pytest.raises(UsageError, match="--dataset-type"):
        predict(data, data, "rag", out=tmp_path / "out", set_name="Home", dataset_type="single")
    with pytest.raises(UnknownName, match="type of set"):
        predict(data, data, "rag", out=tmp_path / "out", set_name="Home", dataset_type="domian")
    watcher = Told()
    report = predict(
        data, data, "rag", out=tmp_path / "out", set_name="Home & Co", dataset_type="domain", watcher=watcher
    )
    assert report.groups[0].entry.cell[2:] == ("domain", "Home & Co", "rag") and report.sessions == 7
    found = predictions(tmp_path / "out", "rag")
    assert [(one["dataset"], one["test_idx"]) for one in found][3:] == [("Locomo-1", 20), ("Kitchen", 1)]
    said = "\n".join(watcher.sentences)
    assert "1 of the test prompts is among the dialogs" in said and "Locomo-1 are about a corpus" in said


def test_the_prompts_are_in_the_datas_language(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(data / "test.jsonl", [point(1, "第9号汤呢？", lang="zh")])
    provider = every_model(monkeypatch)
    predict(data, data, "rag", out=tmp_path / "zh")
    assert "私人助理" in provider.requests[-1].messages[0].content
    predict(data, data, "rag", out=tmp_path / "en", language="en")
    assert "personal assistant" in provider.requests[-1].messages[0].content
