"""`amemgym estimate`: the command line of a run with another first word."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

from amemgym.cli.estimate import estimate_command
from amemgym.cli.run import run_command
from tests.cli.helpers import inside, sentence, succeeded

SMALL = ("--agents", "native,awi,oracle", "--users", "1", "--periods", "2")


def test_it_has_every_flag_of_a_run() -> None:
    of_run, own = (inspect.signature(command).parameters for command in (run_command, estimate_command))
    assert list(own) == [*of_run, "sample", "latency", "as_json"]


def test_the_table_ends_with_sums(tmp_path: Path) -> None:
    ended = succeeded(
        inside("estimate", *SMALL, "--model", "openai:gpt-4.1-mini", "--out", tmp_path / "r", "--no-report")
    )
    lines = ended.out.splitlines()
    assert lines[0].split() == ["agent", "role", "calls", "tokens", "in", "tokens", "out", "US$", "US$", "a", "user"]
    assert [line.split()[0] for line in lines if line and not line.startswith(" ")][1:] == [
        "native",
        "awi",
        "upper",
        "all",
    ]
    assert "in all" in ended.out and "longest chain" in ended.out and "--sample" in ended.out
    assert not (tmp_path / "r").exists()


def test_json_is_all_that_is_printed() -> None:
    told = json.loads(succeeded(inside("estimate", *SMALL, "--json")).out)
    assert told["exact"] and set(told["agents"]) == {"native", "awi", "upper bound"}
    assert told["total"]["input"] == sum(role["input"] for role in told["roles"])
    assert told["per_user"] == told["total"]


def test_a_file_of_settings_is_read_as_by_a_run(tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("agents: [awi]\nusers: 1\nperiods: 1\n")
    told = json.loads(succeeded(inside("estimate", "--config", tmp_path / "run.yaml", "--json")).out)
    assert list(told["agents"]) == ["awi", "upper bound"]


def test_what_a_run_would_refuse_is_refused() -> None:
    assert "natve" in sentence(inside("estimate", "--agents", "natve"), 2)
    assert "--sample" in sentence(inside("estimate", "--sample", "-1", *SMALL), 2)
