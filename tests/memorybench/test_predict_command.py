"""`amemgym memorybench predict` as it is typed: what it prints, what it refuses, and that a kill costs nothing."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

from amemgym.memorybench import MemoryBenchResults
from amemgym.memorybench.dialogs.predicting import OFFLINE
from tests.cli.helpers import MODEL, answer, asked, contents, inside, sentence, succeeded
from tests.cli.warm import WarmProcess
from tests.support.mock_openai import MockOpenAI, Request, Response
from tests.support.points import CANARY, jsonl, point, trained


@pytest.fixture
def words(tmp_path: Path) -> list[str | Path]:
    jsonl(tmp_path / "train.jsonl", [trained(at, "like" if at % 2 else "copy") for at in range(4)])
    jsonl(tmp_path / "test.jsonl", [point(10), point(11, "Soup number 2?")])
    return ["memorybench", "predict", "--train", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl"]


def test_the_command(words: list[str | Path], tmp_path: Path) -> None:
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write("".join(json.dumps(point(at, dialog="gone")) + "\n" for at in range(100, 108)))
    ended = succeeded(inside(*words, "--out", tmp_path / "out", "--with", "like"))
    lines = ended.out.splitlines()
    assert lines[0] == "off-policy/offline/single/Kitchen/rag: 2 dialogs remembered, 2 prompts"
    assert lines[-1].endswith("without scores: MemoryBench's evaluators give them")
    assert Path(lines[1].strip()).name == "predict.json" and Path(lines[1].strip()).exists()
    [note] = re.findall(r"note: (.*)line 5: 'dialog' is neither", ended.err)
    assert note.endswith("train.jsonl, 8 times, such as: ") and "line 6" not in ended.err
    assert f"note: {OFFLINE}" in ended.err
    assert {entry.baseline for entry in MemoryBenchResults.from_local(tmp_path / "out").entries} == {
        "rag",
        "bm25_dialog",
    }
    assert CANARY not in ended.out + ended.err
    # predictions have no details and no summary, and can be looked at
    shown = succeeded(inside("memorybench", "show", tmp_path / "out", "--baselines", "rag", "--items", "1"))
    assert "prompt: How long does rice take?" in shown.out and "Kitchen 10" in shown.out and "reply: " in shown.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--with", "share"], "unknown action 'share'"),
        (["--agents", "oracle"], "only chooses among an exam's options"),
        (["--dataset-type", "doman"], "unknown type of set 'doman'"),
        (["--base-url", "http://localhost:1"], "nothing is asked there"),
        (["--test", "nowhere"], "no data points at nowhere"),
        (["--test", "nowhere", "--model", "opnai:x"], "unknown model"),
        (["--test", "nowhere", "--dataset-type", "doman"], "unknown type of set"),
    ],
)
def test_what_is_refused(words: list[str | Path], tmp_path: Path, more: list[str], said: str) -> None:
    assert said in sentence(inside(*words, "--out", tmp_path / "out", *more), 2)
    assert not (tmp_path / "out").exists()


def test_where_nothing_was_written_nothing_else_is_said(words: list[str | Path], tmp_path: Path) -> None:
    more = [*MODEL, "--base-url", "http://127.0.0.1:9/v1", "--attempts", "1", "--agents", "rag"]
    ended = inside(*words, *more, "--out", tmp_path / "out")
    assert ended.code == 1 and "written to" not in ended.out
    assert ended.out == f"no predictions written: no agent finished. {tmp_path / 'out'} has no reply yet\n"
    assert "same command again" in ended.err
    (tmp_path / "file").write_text("mine")
    for out, said in (("file", "is a file"), ("out", "of something else"), (".", "is not empty")):
        other = inside(
            *words, "--seed", "7", "--test", "nowhere" if out != "out" else words[-1], "--out", tmp_path / out
        )
        assert said in sentence(other, 2)


def test_a_kill_costs_nothing(words: list[str | Path], tmp_path: Path) -> None:
    words += [*MODEL, "--agents", "awe-2-0", "--concurrency", "1", "--with", "like"]
    with MockOpenAI(answer) as server:
        succeeded(inside(*words, "--base-url", server.base_url, "--out", tmp_path / "whole"))
        whole = asked(server.requests)
    last = sum(whole.values()) - 1  # all dialogs are heard, and one prompt is answered

    def hanging(request: Request) -> Response | None:
        return Response(hang=True) if request.is_chat and request.order >= last else answer(request)

    killed = tmp_path / "killed"
    with MockOpenAI(hanging) as server:
        process = WarmProcess(*words, "--base-url", server.base_url, "--out", killed)
        server.wait_until(lambda server: server.arrived > last, timeout=60)
        os.kill(process.pid, signal.SIGKILL)
        assert process.end().code == -signal.SIGKILL
        port, first = server.port, asked(server.requests[:last])
    assert not (killed / "manifest.jsonl").exists()
    with MockOpenAI(answer, port=port) as server:
        succeeded(inside(*words, "--base-url", server.base_url, "--out", killed))
        assert first + asked(server.requests) == whole, "nothing is asked twice"
    ours, theirs = (found(tmp_path / name) for name in ("whole", "killed"))
    assert ours == theirs and len(ours) == 1


def found(root: Path) -> list[bytes]:
    """Each agent's predictions; the run's id has the endpoint's port in it."""
    return [data for name, data in contents(root).items() if name.endswith("predict.json")]
