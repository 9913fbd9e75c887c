"""A run with a model on this machine, from the command line: real processes, a real model, the least there is to play.

The model's file may be moved: the run goes on with it from where it was.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.cli.data import write
from tests.cli.helpers import environment, inside, sentence, strict_json, succeeded
from tests.cli.warm import WarmProcess, warm
from tests.scenario.build import build_user, question
from tests.support.gguf import MODEL, needs_model

ENVIRONMENT = environment(OMP_NUM_THREADS="1")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """One user with one period, one session and one question of two options."""
    asked = question("Where shall I walk?", ["home"], ("city",), ("coast",))
    user = build_user("ada", {"home": ["city", "coast"]}, [{"home": "coast"}], [asked])
    return write(tmp_path / "tiny.json", [user])


@needs_model
def test_a_run_whose_model_is_moved_and_taken_up_again(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    (here / MODEL.name).symlink_to(MODEL)
    played = ["--data", tiny, "--agents", "native", "--no-probe", "--no-upper-bound", "--max-tokens", "8"]
    played += ["--choice", "rotate"]
    monkeypatch.chdir(here)
    done = warm("run", *played, "--model", f"local:{MODEL.name}", "--out", "../run", env=ENVIRONMENT)
    assert done.code == 0, done.err
    assert "llama" not in done.err and "ggml" not in done.out + done.err  # the library is silent
    run = tmp_path / "run"
    manifest, scores = strict_json(run / "manifest.json"), strict_json(run / "scores.json")
    assert manifest["settings"]["model"] == f"local:{here / MODEL.name}"
    assert manifest["compared"]["model"]["choice"] == "rotate"
    assert scores["model"] == f"local:{MODEL.name}"
    tokens = scores["agents"]["native"]["tokens"]
    assert tokens["input"] > 0 and tokens["output"] > 0 and not tokens["estimated"]
    [episode] = (run / "episodes").rglob("*.json")
    [journal] = (run / "journal").rglob("*.jsonl.gz")
    kept = journal.read_bytes()

    # the file is elsewhere, the exam is not finished: it is played again from the journal, and nothing is asked
    here.rename(there)
    monkeypatch.chdir(tmp_path)
    before = episode.read_bytes()
    episode.unlink()
    resumed = inside("resume", run)
    assert resumed.code == 2 and f"{here / MODEL.name}': no such file" in resumed.err
    succeeded(inside("run", *played, "--model", f"local:{there / MODEL.name}", "--out", run))
    assert (episode.read_bytes(), journal.read_bytes()) == (before, kept)
    assert strict_json(run / "scores.json") == scores


@needs_model
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="this system does not show what a process has read")
def test_an_interrupted_run_ends_at_once(tmp_path: Path) -> None:
    """A model may talk for minutes, as it would for all of this; nobody waits who has pressed Ctrl-C."""
    run = tmp_path / "run"
    settings = ["--data", "starter", "--users", "1", "--agents", "native", "--max-tokens", "8000", "--temperature", "2"]
    process = WarmProcess("run", "--model", f"local:{MODEL}", *settings, "--out", run, env=ENVIRONMENT)
    while process.poll() is None and not reads(process.pid, MODEL):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    ended = process.end()
    assert ended.code == 130 and "Traceback" not in ended.err
    assert not list((run / "episodes").rglob("*.json"))


def reads(pid: int, file: Path) -> bool:
    """Whether a process has a file in its memory."""
    try:
        return str(file) in Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False


def test_models_that_cannot_be_scored_are_refused(tiny: Path, tmp_path: Path) -> None:
    for model in ("offline", "openai:gpt-x"):
        ended = inside("run", "--data", tiny, "--model", model, "--choice", "rotate", "--out", tmp_path / "run")
        assert f"model '{model}' cannot choose by --choice rotate" in sentence(ended, 2)
    assert not (tmp_path / "run").exists()
    ended = inside("run", "--data", tiny, "--choice", "dice", "--out", tmp_path / "run")
    assert "choice" in sentence(ended, 2) and "rotate" in sentence(ended, 2)


def test_an_address_is_of_no_use_to_a_model_on_this_machine(tiny: Path) -> None:
    ended = inside("run", "--data", tiny, "--model", "local:x.gguf", "--base-url", "http://localhost:1/v1")
    assert "the model is on this machine" in sentence(ended, 2)


def test_it_is_listed() -> None:
    assert "local:<file.gguf>" in succeeded(inside("list", "models")).out
