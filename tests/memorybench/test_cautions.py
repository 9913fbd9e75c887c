"""What tables of our own runs must say: the runs' warnings, other settings, other questions, and metrics without a
best."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amemgym.memorybench import MemoryBenchResults, ResultTable, compare
from amemgym.memorybench.problems import Problems, together
from amemgym.memorybench.summary import direction
from amemgym.report.archive import print_cell, result_table_text
from amemgym.report.archive.figure import heat_map
from tests.report.test_figures import texts
from tests.support.archive import Group, write_archive

OFFLINE = "model: offline, a stand-in"
ITEMS = [0.25, 0.5, 1.0, 0.75]
SETTINGS: dict[str, Any] = {
    "format": 1,
    "run": "a",
    "protocol": {"name": "amemgym", "rounds_later": 2},
    "data": {"name": "starter", "sha256": "d" * 64, "played": "e" * 64, "users": 3},
    "model": {"model": "m", "temperature": 0},
    "seed": 3,
    "probe": True,
}


def archive(root: Path, **own: Mapping[str, Any] | None) -> MemoryBenchResults:
    """Memory systems on one set; of one of our runs with these settings and this part of its summary, or (None) not."""
    write_archive(root, [Group("m", name, {"Alpha": ITEMS}, dataset_type="single") for name in own])
    for name, given in own.items():
        folder = next(root.glob(f"*/*/*/{name}/*"))
        told = {"summary": {"accuracy": 0.625, "random": 0.25, "upper_bound": 1.0, "unparsed": 0.1}}
        config = json.loads((folder / "run_config.json").read_text(encoding="utf-8"))
        if given is not None:
            settings = {**SETTINGS, **given}
            told["amemgym"] = settings.pop("told", {})
            config["amemgym"], config["memory_system_config"] = settings, {"llm_config": settings["model"]}
        (folder / "run_config.json").write_text(json.dumps(config), encoding="utf-8")
        (folder / "summary.json").write_text(json.dumps(told), encoding="utf-8")
        items = json.loads((folder / "evaluate_details.json").read_text(encoding="utf-8"))
        for at, item in enumerate(items):
            more = {"random": 0.25, "upper_bound": 1.0, "unparsed": 0.1}
            item |= {"metrics": {"accuracy": item["metrics"]["score"], **more}}
            item |= {"user": f"u{at}", "period": 0, "question": at}
        (folder / "evaluate_details.json").write_text(json.dumps(items), encoding="utf-8")
    return MemoryBenchResults.from_local(root)


def notes(table: ResultTable) -> str:
    assert table.notes[: len(table.warnings)] == table.warnings
    return "\n".join(table.warnings)


def test_warnings_stand_wherever_the_values_do(tmp_path: Path) -> None:
    told = {"warnings": [OFFLINE, OFFLINE], "finished": False}
    ours = {"told": told}
    table = compare(archive(tmp_path, wo_memory=ours, rag={"told": {**told, "warnings": [OFFLINE, "odd"]}}))
    assert table.warnings == (OFFLINE, "the run is not finished", "rag: odd")
    for format in ("text", "md", "latex", "html", "json"):
        assert OFFLINE in result_table_text(table, format), format
    assert OFFLINE in " ".join(texts(heat_map(table, "svg")))
    mixed = compare(archive(tmp_path / "mixed", wo_memory=None, rag=ours, mem0=None))
    assert mixed.warnings == (f"rag: {OFFLINE}", "rag: the run is not finished")
    console = Console(file=io.StringIO(), width=200)
    results = archive(tmp_path / "shown", wo_memory=ours)
    print_cell(console, results, results.select()[0])
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert f"warning: {OFFLINE}" in shown and "warning: the run is not finished" in shown
    # of what is not shown there is nothing to warn of
    other = MemoryBenchResults.from_local(write_archive(tmp_path / "other", [Group("m", "mem0", {"Alpha": ITEMS})]))
    assert compare(MemoryBenchResults.combined([results, other]), "weighted_average").warnings == ()
    # what is damaged is no warning
    odd = archive(tmp_path / "odd", wo_memory={"told": {"warnings": "no list", "finished": "no"}})
    assert compare(odd).warnings == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"protocol": {"name": "v1", "rounds_later": 2}}, "protocol.name is v1 there, amemgym here"),
        ({"protocol": {"name": "amemgym", "rounds_later": 9}}, "protocol.rounds_later is 9 there, 2 here"),
        ({"seed": 4}, "seed is 4 there, 3 here"),
        ({"model": {"model": "m", "temperature": 0.5}}, "model.temperature is 0.5 there, 0 here"),
        ({"data": {**SETTINGS["data"], "played": "f", "users": 2}}, "data.users is 2 there, 3 here"),
        ({"user_model": {"model": "u"}}, "user_model"),
    ],
)
def test_other_settings_are_told(tmp_path: Path, change: Mapping[str, Any], said: str) -> None:
    # mem0 has the same, and another fingerprint, agent and way to look into memory
    same = {"run": "b", "agent": {"name": "mem0"}, "probe": False}
    table = compare(archive(tmp_path, wo_memory={}, bm25_message=change, rag=change, mem0=same, theirs=None))
    assert notes(table).startswith("bm25_message, rag (there) and wo_memory (here) were run with other settings: ")
    assert said in notes(table) and len(table.warnings) == 1
    gain = table.rows[0].cell("rag").gain
    assert gain is not None and gain.n == 4


def test_other_questions_give_no_gain(tmp_path: Path) -> None:
    data = {**SETTINGS["data"], "sha256": "0" * 64, "played": "1" * 64}
    table = compare(archive(tmp_path, wo_memory={}, rag={"data": data}, awi={}))
    assert "rag (there) and wo_memory (here) were not asked the same questions" in notes(table)
    gain, other = (table.rows[0].cell(name).gain for name in ("rag", "awi"))
    assert gain is not None and gain.value is None and gain.n == 0 and "other questions" in str(gain.why)
    assert other is not None and other.n == 4
    assert not any("no interval: they were asked" in note for note in table.notes)


def test_settings_that_cannot_be_read_are_told_and_stop_nothing(tmp_path: Path) -> None:
    results = archive(tmp_path, wo_memory={}, rag={}, awi={})
    next(tmp_path.glob("*/*/*/rag/*/run_config.json")).unlink()
    next(tmp_path.glob("*/*/*/awi/*/run_config.json")).write_text('{"amemgym": {"data": 1, "model": 2}}')
    table = compare(results)
    assert "single/Open-Domain/rag: its settings are not known: " in notes(table)
    assert notes(table).count("single/Open-Domain/rag: ") == 1
    assert "awi (there) and wo_memory (here) were run with other settings" in notes(table)


def test_archives_of_others_are_not_asked_for_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = archive(tmp_path, wo_memory=None, rag=None)
    monkeypatch.setattr(results, "run_config", None)
    assert compare(results).warnings == ()


@pytest.mark.parametrize("metric", ["random", "upper_bound"])
def test_what_says_nothing_good_or_bad_has_no_best(tmp_path: Path, metric: str) -> None:
    assert (direction(metric), direction("unparsed"), direction("accuracy")) == (None, "less", "more")
    table = compare(archive(tmp_path, wo_memory={}, rag={}), metric)
    assert table.standings == () and table.better is None
    assert all(cell.rank is None and not cell.is_best for cell in table.rows[0].cells)
    gain = table.rows[0].cell("rag").gain
    assert gain is not None and gain.verdict is None
    for format in ("text", "md", "latex", "html"):
        said = result_table_text(table, format)
        assert "neither more nor less is better" in said.lower()
        assert not any(word in said for word in ("▲", "▼", "mean rank", ">best<", ">rank ", "best of a row")), format


def test_problems_of_many_places_are_one_line(tmp_path: Path) -> None:
    told = Problems()
    for at in range(5):
        told.tell(f"e/m/s/b{at}", f"2 runs of one cell: start_at_{at}a, start_at_9; taken is start_at_9")
    told.tell("e/m/s/x", "no summary: e/m/s/x: its group has no file")
    first, second = together(told)
    assert first.startswith("5 times in e/m/s (b0, b1, b2 and 2 more), such as: 2 runs of one cell: start_at_0a")
    assert second == "e/m/s/x: no summary: its group has no file"
    results = archive(tmp_path, wo_memory=None, rag=None, awi=None)
    for name in ("rag", "awi"):
        next(tmp_path.glob(f"*/*/*/{name}/*/summary.json")).unlink()
    (note,) = [note for note in compare(results, intervals=False).notes if "no summary" in note]
    assert note.startswith("2 times in off-policy/m/single/Open-Domain (")
    assert note.count("off-policy/m/single/Open-Domain/") <= 1
