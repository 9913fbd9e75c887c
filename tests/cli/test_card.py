"""The card command: the table, the files, exit codes, and a model that is asked no question twice."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Endpoint
from tests.cli.data import users, write
from tests.cli.helpers import MODEL, PATIENCE, amemgym, asked, inside, said, sentence, strict_json, succeeded
from tests.cli.warm import WarmProcess, warm
from tests.quality.made import gold_first
from tests.quality.made import users as made
from tests.scenario.build import as_bytes, edited, put


@pytest.fixture(scope="module")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "leaking.json"
    scenarios = made(6, seed=1, change=gold_first, still=True)
    return write(path, [scenario.model_dump() for scenario in scenarios])


def test_as_a_process(small: Path, tmp_path: Path) -> None:
    ended = succeeded(amemgym("card", small, "--out", tmp_path / "c.html", cwd=tmp_path))
    assert ended.out.startswith("small (sha256 ")
    assert re.search(r"^always-6 +\d\.\d{4} .* 4 +2 +cannot be told *$", ended.out, re.M)
    assert ended.out.splitlines()[-1] == str(tmp_path / "c.html")
    assert [path.name for path in tmp_path.iterdir()] == ["c.html"]


def test_without_a_file_nothing_is_written(small: Path, tmp_path: Path) -> None:
    ended = succeeded(inside("card", small))
    assert "cannot be told" in ended.out and list(tmp_path.iterdir()) == []


def test_the_formats(small: Path, tmp_path: Path) -> None:
    assert succeeded(inside("card", small, "--format", "json")).out.splitlines()[-1] == "card-small.json"
    card = strict_json(tmp_path / "card-small.json")
    assert (card["name"], card["size"]["users"], card["size"]["exams"]) == ("small", 2, 12)
    succeeded(inside("card", small, "--out", "other.json"))
    assert strict_json(tmp_path / "other.json") == card
    succeeded(inside("card", small, "--format", "html"))
    assert (tmp_path / "card-small.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "ends in .json, but the format is html" in sentence(
        inside("card", small, "--format", "html", "--out", "x.json"), 2
    )
    assert "unknown format 'png'" in sentence(inside("card", small, "--format", "png"), 2)


def test_the_data_itself_is_never_replaced(small: Path, tmp_path: Path) -> None:
    (tmp_path / "d.json").write_bytes(small.read_bytes())
    for out in ("d.json", tmp_path / "d.json"):
        assert "is the data itself" in sentence(inside("card", "d.json", "--out", out), 2)
    assert (tmp_path / "d.json").read_bytes() == small.read_bytes()


def test_a_gate_that_fails_is_an_error_only_where_it_is_asked_to_be(leaking: Path, small: Path, tmp_path: Path) -> None:
    ended = succeeded(inside("card", leaking))
    assert "The order of the options is biased" in ended.out
    strict = inside("card", leaking, "--strict", "--format", "json")
    assert strict.code == 1 and said(strict) == []
    assert strict_json(tmp_path / "card-leaking.json")["gates"][1]["verdict"] == "fails"
    assert inside("card", small, "--strict").code == 0


def test_broken_data(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_bytes(as_bytes(edited(put("periods.2.state.pet", "horse"))))
    told = sentence(inside("card", "broken.json"), 2)
    assert "cannot be run: user 0 (ada), period 2: state 'pet' is 'horse'" in told and "amemgym validate" in told
    assert "no data file at" in sentence(inside("card", "none.json"), 2)
    (tmp_path / "prose.json").write_text("Dear reader,")
    assert "is not JSON" in sentence(inside("card", "prose.json"), 2)
    assert "unknown bank set 'bas'" in sentence(inside("card", "bank:bas"), 2)
    assert "unknown model 'gpt-4'" in sentence(inside("card", "starter", "--model", "gpt-4"), 2)
    assert "the model is offline" in sentence(inside("card", "starter", "--base-url", "http://localhost:1/v1"), 2)


def test_a_disk_that_refuses(small: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot write file" in sentence(inside("card", small, "--out", "file/c.html"), 1)
    assert "cannot write file" in sentence(
        inside("card", small, *MODEL, "--base-url", "http://localhost:1/v1", "--work", "file"), 1
    )


def test_a_model_behind_an_endpoint(endpoint: Endpoint, small: Path, tmp_path: Path) -> None:
    command = ["card", small, *MODEL, "--base-url", endpoint.server.base_url, "--format", "json"]
    before = len(endpoint.server.requests)
    first = succeeded(inside(*command))
    assert "note: 6 calls, about " in first.err and "runs/card/openai-mock-model-" in first.err.replace("\n", "")
    assert re.search(r"no-context: openai:mock-model, 6 calls, [\d,]+ tokens in, ", first.out)
    requests = endpoint.since(before)
    assert len(requests) == 6 and max(asked(requests).values()) <= 2  # both users are asked the same
    told = json.dumps([request.messages for request in requests])
    assert "Current Time" not in told and "waves are loud" not in told
    card = (tmp_path / "card-small.json").read_bytes()
    assert succeeded(inside(*command)).out == first.out
    assert len(endpoint.since(before)) == 6 and (tmp_path / "card-small.json").read_bytes() == card


def test_killed_and_called_again_it_asks_for_the_rest_alone(endpoint: Endpoint, leaking: Path, tmp_path: Path) -> None:
    command = ["card", leaking, *MODEL, "--base-url", endpoint.server.base_url, "--concurrency", "1", "--out", "c.json"]
    before = len(endpoint.server.requests)
    endpoint.server.delay = 0.05
    process = WarmProcess(*command, "--work", tmp_path / "work")
    deadline = time.monotonic() + PATIENCE
    while len(endpoint.since(before)) < 6 and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.end()
    endpoint.server.delay = 0.0
    killed = len(endpoint.since(before))
    assert 6 <= killed < 24 and not (tmp_path / "c.json").exists()
    succeeded(warm(*command, "--work", tmp_path / "work"))
    resumed, asked_in_all = (tmp_path / "c.json").read_bytes(), len(endpoint.since(before))
    assert asked_in_all <= 24 + 1  # what was under way when it was killed
    succeeded(warm(*command, "--work", tmp_path / "anew"))
    assert (tmp_path / "c.json").read_bytes() == resumed
    assert len(endpoint.since(before)) == asked_in_all + 24


def test_the_card_of_two_is_told_apart_from_that_of_one(tmp_path: Path) -> None:
    write(tmp_path / "one.json", users()[:1])
    assert "one user: how users differ cannot be told" in succeeded(inside("card", "one.json")).out


@pytest.mark.parametrize("name", ["card.pdf", "card"])
def test_a_file_that_does_not_say_what_to_write(name: str, tmp_path: Path) -> None:
    ended = inside("card", "starter", "--out", tmp_path / name)
    assert ended.code == 2 and "let it end in .html or .json, or add --format" in ended.err
    assert not (tmp_path / name).exists()
