"""The table a run ends with says all its numbers, whatever the width, and what must be known to read them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import amemgym
from amemgym.report import print_scores, sparkline
from amemgym.scores.warnings import run_warnings


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("run") / "r"
    return amemgym.run("starter", "native,rag,oracle", users=2, periods=3, out=out).scores


def printed(scores: dict[str, Any], width: int = 80) -> str:
    file = io.StringIO()
    print_scores(Console(file=file, width=width), scores, {"native": 1.25, "rag": 2.5})
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_cut_off(scores: dict[str, Any], width: int) -> None:
    text = printed(scores, width)
    assert "…" not in text.split("data starter")[0]
    for name, agent in scores["agents"].items():
        (line,) = (row for row in text.splitlines() if row.startswith(f"{name} "))
        assert f"{agent['overall']:.3f} ±" in line
        assert f"{agent['memory_score']['ratio_of_means']:.3f} ±" in line
        assert sparkline(agent["by_period"]) in line
        assert f" {agent['n']} " in line
    assert "1.2" in text and "2.5" in text
    for name in ("upper bound", "random"):
        assert f"{scores[name.replace(' ', '_')]:.3f}" in text


def test_the_offline_model_is_named_for_what_it_is(scores: dict[str, Any]) -> None:
    flat = " ".join(printed(scores).split())
    assert "embedded stand-in" in flat
    agents = {n: {**a, "model": a["model"] and "openai:m"} for n, a in scores["agents"].items()}
    real = {**scores, "model": "openai:m", "user_model": "openai:u", "agents": agents}
    real["warnings"] = run_warnings(real)
    flat = " ".join(printed(real).split())
    assert "embedded stand-in" not in flat
    assert "model: openai:m, simulated user: openai:u" in flat
    flat = " ".join(printed({**real, "model": "offline"}).split())
    assert "embedded stand-in" not in flat
    assert "rag: its own model: openai:m" in flat


def test_one_user_has_no_interval_and_the_table_says_why(tmp_path: Path) -> None:
    report = amemgym.run("starter", "oracle", users=1, periods=2, out=tmp_path / "r")
    text = " ".join(printed(report.scores).split())
    assert "±0" not in text
    assert "no intervals: one user" in text


def test_v1_shows_the_mean_of_ratios_first(tmp_path: Path) -> None:
    report = amemgym.run("starter", "rag,oracle", users=2, periods=3, protocol="v1", out=tmp_path / "r")
    text = printed(report.scores)
    (line,) = (row for row in text.splitlines() if row.startswith("rag "))
    assert f"{report['rag']['memory_score']['mean_of_ratios']:.3f}" in line
    assert "protocol v1 (version 1)" in " ".join(text.split())


def test_markup_in_names_is_shown_not_obeyed(scores: dict[str, Any]) -> None:
    agents = {"[red]x[/red]": scores["agents"]["rag"]}
    assert "[red]x[/red]" in printed({**scores, "agents": agents})


def test_a_sparkline() -> None:
    assert sparkline([0, 0.5, 1, None, 1.2, -3]) == "▁▅█ █▁"
    assert len(sparkline([0.5] * 100)) == 24
    assert sparkline([]) == ""
