"""`amemgym audit` as people call it: what it prints and writes, what it ends with, and that a kill costs nothing."""

from __future__ import annotations

import csv
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Whole
from tests.cli.data import users, write
from tests.cli.helpers import KEY, PATIENCE, asked, contents, environment, inside, sentence, strict_json, succeeded
from tests.cli.warm import WarmProcess, warm
from tests.quality.judge import judge
from tests.support.mock_openai import MockOpenAI, error


@pytest.fixture
def endpoint() -> Iterator[MockOpenAI]:
    with MockOpenAI(judge()) as server:
        yield server


def asking(server: MockOpenAI, subject: Path, *more: str | Path) -> list[str | Path]:
    return ["audit", subject, "--model", "openai:judge", "--base-url", server.base_url, *more]


def leaky(tmp_path: Path, said: str) -> Path:
    people = users()
    people[0]["periods"][0]["sessions"][0]["query"] = said
    return write(tmp_path / "leaky.json", people)


def test_of_a_run_it_prints_qualities_findings_and_places(tmp_path: Path, whole: Whole, endpoint: MockOpenAI) -> None:
    run = whole.copy(tmp_path / "run")
    path = next(run.glob("episodes/native-*/ann-1-*.json"))
    episode = json.loads(path.read_text("utf-8"))
    episode["conversation"][1][0][2]["content"] = "And with snow at my door?"
    path.write_text(json.dumps(episode), encoding="utf-8")
    ended = succeeded(inside(*asking(endpoint, run, "--out", tmp_path / "out")))
    assert "integrity: later turns without fault" in ended.out and "75.0%" in ended.out
    assert "user 0 (Ann-1), agent native, period 1, session 0, round 1: home_town: found mountains, it is seaside" in (
        ended.out
    )
    assert "“And with snow at my door?”" in ended.out and "stand-in" not in ended.out
    for name in ("findings.jsonl", "audit.json"):
        assert str(tmp_path / "out" / name) in ended.out and (tmp_path / "out" / name).is_file()
    assert strict_json(tmp_path / "out" / "audit.json")["integrity"]["turns"]["n"] == 4
    strict = inside(*asking(endpoint, run, "--out", tmp_path / "out", "--strict"))
    assert (strict.code, strict.out) == (1, ended.out)


def test_the_offline_judge_says_what_it_is(small: Path) -> None:
    ended = succeeded(inside("audit", small))
    assert "offline stand-in" in ended.out and "audits/small-offline-" in ended.out
    again = succeeded(inside("audit", small))
    assert again.out == ended.out


def test_sound_data_passes_strictly(small: Path, endpoint: MockOpenAI) -> None:
    ended = succeeded(inside(*asking(endpoint, small, "--strict")))
    assert "no findings" in ended.out and "100.0%" in ended.out


def test_what_a_turn_holds_cannot_steer_the_terminal(tmp_path: Path, endpoint: MockOpenAI) -> None:
    data = leaky(tmp_path, "The waves\x1b]0;gotcha\x07 are loud, [bold]and[/bold] I gave up milk.")
    ended = succeeded(inside(*asking(endpoint, data)))
    assert "leak: 1" in ended.out and "[bold]and[/bold]" in ended.out
    assert "\x1b" not in ended.out and "\x07" not in ended.out


def test_no_key_is_written(tmp_path: Path, endpoint: MockOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    data = leaky(tmp_path, f"The waves are loud, and I gave up milk. {KEY}")
    ended = succeeded(inside(*asking(endpoint, data, "--out", tmp_path / "out")))
    assert KEY not in ended.out and endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    for name, held in contents(tmp_path / "out").items():
        assert KEY.encode() not in held, name


def test_labels_from_template_to_agreement(tmp_path: Path, small: Path, endpoint: MockOpenAI) -> None:
    template = tmp_path / "template.csv"
    ended = succeeded(inside("audit", small, "--labels-template", template, "--sample", "4", "--seed", "3"))
    assert "4 turns to be labelled" in ended.out and not Path("audits").exists()
    rows = list(csv.DictReader(template.read_text("utf-8-sig").splitlines()))
    assert len(rows) == 4
    filled = tmp_path / "filled.csv"
    with open(filled, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for rater in ("ann", "ben"):
            writer.writerows([{**row, "label": "ok", "rater": rater} for row in rows])
        writer.writerow({**rows[0], "label": "leak", "rater": "cyd"})
        writer.writerow({**rows[0], "period": "7", "label": "ok", "rater": "ann"})
    ended = succeeded(inside(*asking(endpoint, small, "--labels", filled, "--out", tmp_path / "out")))
    assert "9 labels by ann, ben, cyd; Gwet's AC1" in ended.out
    assert "all, judge–human: " in ended.out and ", 88.9%, n 9" in ended.out
    assert "all, human–human: " in ended.out and "period 7" in ended.out
    filled.write_text(filled.read_text("utf-8").replace(rows[0]["text"], "Something else.", 1), "utf-8")
    other = inside(*asking(endpoint, small, "--labels", filled, "--out", tmp_path / "out"))
    assert other.code == 2 and "line 2: its text is not that of user" in other.err
    found = strict_json(tmp_path / "out" / "agreement.json")
    assert found["turns"]["judge_human"]["n"] == 9 and found["turns"]["human_human"]["n"] == 4


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--sample", "3"], "--sample 3 needs --labels-template FILE"),
        (["--labels", "x.csv", "--labels-template", "y.csv"], "cannot be combined"),
        (["--labels", "none.csv"], "cannot read none.csv"),
        (["--labels-template", "x.csv", "--sample", "0"], "a sample has at least 1 turn"),
        (["--users", "5"], "has 2 users"),
        (["--model", "gpt-4"], "unknown model 'gpt-4'"),
        (["--language", "xx"], "unknown prompt language 'xx'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_calls_end_with_one_sentence(small: Path, more: list[str], said: str) -> None:
    assert said in sentence(inside("audit", small, *more), 2)


def test_a_bad_label_is_told_before_anything_is_asked(tmp_path: Path, small: Path, endpoint: MockOpenAI) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("user,period,session,round,label\nAnn-1,0,0,0,good\n")
    assert "line 2, column 'label'" in sentence(inside(*asking(endpoint, small, "--labels", labels)), 2)
    assert endpoint.requests == []


def test_a_wrong_key_is_one_sentence(small: Path, endpoint: MockOpenAI) -> None:
    endpoint.responder = lambda request: error(401, "Wrong key.")
    assert "run the same command again" in sentence(inside(*asking(endpoint, small)), 1)


def test_a_killed_audit_goes_on_where_it_was(tmp_path: Path, small: Path, endpoint: MockOpenAI) -> None:
    """Killed twice as replies come in, it ends as an unbroken one, byte for byte, and asks for nothing that it has."""
    unbroken = tmp_path / "unbroken"
    succeeded(warm(*asking(endpoint, small, "--out", unbroken, "--concurrency", "2")))
    requests = asked(endpoint.requests)
    endpoint.requests.clear()
    endpoint.delay, out, kept = 0.05, tmp_path / "out", 0
    for more in (5, 8):
        process = WarmProcess(*asking(endpoint, small, "--out", out, "--concurrency", "2"), env=environment())
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and journal_lines(out) < kept + more:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)
        process.end()
        kept = journal_lines(out)
    endpoint.delay, before = 0.0, len(endpoint.requests)
    succeeded(warm(*asking(endpoint, small, "--out", out, "--concurrency", "2")))
    assert len(endpoint.requests) - before == sum(requests.values()) - kept
    for name in ("audit.json", "findings.jsonl"):
        assert (out / name).read_bytes() == (unbroken / name).read_bytes()


def journal_lines(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in out.glob("journal/*.jsonl"))


def test_an_interrupt_says_how_to_go_on(tmp_path: Path, small: Path, endpoint: MockOpenAI) -> None:
    endpoint.delay = 0.2
    process = WarmProcess(*asking(endpoint, small, "--out", tmp_path / "out"), env=environment())
    endpoint.wait_until(lambda server: server.in_flight > 1, PATIENCE)
    os.killpg(process.pid, signal.SIGINT)
    assert "what is judged is kept; run the same command again" in sentence(process.end(), 130)
