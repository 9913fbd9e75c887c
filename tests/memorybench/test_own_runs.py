"""Tables and checks of exported runs: what they say of a pair is what the run's own scores say of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from amemgym.api import RunReport
from amemgym.errors import ContentFiltered, DataError, UnknownName
from amemgym.llm import Request
from amemgym.memorybench import Gain, MemoryBenchResults, ResultTable, compare, export_runs, verify
from amemgym.report.archive import result_table_text
from amemgym.scores.intervals import ONE_USER
from amemgym.tasks import ChooseKnowing, ChooseOption
from tests.cli.data import user
from tests.memorybench.exporting import data, played
from tests.support.models import Scripted, sensible

AGENTS = "uniform,native,always-1,oracle"
METRICS = {"accuracy": ("difference", "interval"), "memory_score": ("memory_score_difference", "memory_score_interval")}


def answer(request: Request) -> str:
    """Some questions end in an error, in one trial or the other: which depends on how the options stand."""
    if isinstance(request.task, ChooseKnowing):
        right = f"What suits {' and '.join(value for _, value in request.task.known)}."
        return json.dumps({"answer": request.task.options.index(right) + 1})
    if isinstance(request.task, ChooseOption) and request.task.options[0] < request.task.options[-1]:
        if "Sunday" in request.task.question:
            raise ContentFiltered("Not this one.")
        return "maybe"
    return sensible(request)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """Five users, two trials, and answers that are missing in one of them."""
    folder = tmp_path_factory.mktemp("run")
    of = data(folder, change=lambda users: users.extend(user(name) for name in ("Cy", "Di", "Eve")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("amemgym.llm.doors.open_model", lambda settings, say: Scripted(answer))
        return played(of, folder / "run", AGENTS, trials=2, upper_bound=True)


@pytest.fixture(scope="module")
def archive(run: RunReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "mine"
    export_runs(run.directory, out)
    return out


def opened(root: Path) -> MemoryBenchResults:
    return MemoryBenchResults.from_local(root)


def gain_of(table: ResultTable, baseline: str) -> Gain:
    gain = table.rows[0].cell(baseline).gain
    assert gain is not None
    return gain


def scores_of(run: RunReport) -> dict[str, Any]:
    return dict(json.loads((Path(run.directory) / "scores.json").read_text(encoding="utf-8")))


def edited(archive: Path, to: Path, change: Any, name: str = "evaluate_details.json", baseline: str = "*") -> Path:
    """A copy whose files of that name are changed."""
    shutil.copytree(archive, to)
    for path in to.glob(f"*/*/*/{baseline}/*/{name}"):
        value = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(change(value) or value), encoding="utf-8")
    return to


@pytest.mark.parametrize("metric", METRICS)
def test_a_gain_is_the_pair_of_the_runs_own_scores(run: RunReport, archive: Path, metric: str) -> None:
    pairs = scores_of(run)["pairs"]
    assert len(pairs) == 6
    value, interval = METRICS[metric]
    seen = set()
    for pair in pairs:
        gain = gain_of(compare(opened(archive), metric, against=pair["a"]), pair["b"])
        assert pair[value] is not None and gain.value == pytest.approx(-pair[value], abs=1e-12)
        low, high = pair[interval]
        assert gain.interval == pytest.approx((-high, -low), abs=1e-12)
        assert (gain.users, gain.p) == (pair["users"], pytest.approx(pair["p"], abs=1e-12))
        assert gain.n == pair["n"]
        seen.add(pair["n"])
    # some have no answer in either trial, which leaves those that both have
    assert max(seen) == 5 * 6


def test_values_have_the_intervals_of_the_scores_with_and_without_items(run: RunReport, archive: Path) -> None:
    agents = scores_of(run)["agents"]
    bare = edited(archive, archive.parent / "bare", lambda summary: summary.pop("amemgym") and None, "summary.json")
    for table in (compare(opened(archive), intervals=False), compare(opened(archive)), compare(opened(bare))):
        assert table.metric == "accuracy" and table.users
        for name, scores in agents.items():
            cell = table.rows[0].cell(name)
            assert (cell.value, cell.n, cell.users) == (scores["overall"], scores["n"], 5)
            assert cell.interval == pytest.approx(tuple(scores["interval"]), abs=1e-12)
    score = compare(opened(bare), "memory_score")
    for name, scores in agents.items():
        cell, told = score.rows[0].cell(name), scores["memory_score"]
        assert cell.n == told["n"]
        assert cell.interval == pytest.approx(tuple(told["intervals"]["ratio_of_means"]), abs=1e-12)
    without = compare(opened(bare), intervals=False)
    assert without.rows[0].cell("native").n == agents["native"]["n"] and not without.has_intervals
    assert any("--gains" in note for note in without.notes)


def test_of_one_user_there_is_no_interval(tmp_path: Path) -> None:
    played(data(tmp_path, change=lambda users: users.pop()), tmp_path / "run", "uniform,oracle")
    export_runs(tmp_path / "run", tmp_path / "mine")
    table = compare(opened(tmp_path / "mine"), against="uniform")
    cell, gain = table.rows[0].cell("oracle"), gain_of(table, "oracle")
    assert (cell.interval, gain.interval, gain.p, gain.users) == (None, None, None, 1)
    assert cell.why == gain.why == ONE_USER and gain.n == 6
    assert any(ONE_USER in note for note in table.notes)


def test_what_gains_are_over(archive: Path) -> None:
    table = compare(opened(archive))
    assert not table.has_gains and "gain over" not in result_table_text(table, "text")
    assert any("--against" in note and "uniform" in note for note in table.notes)
    with pytest.raises(UnknownName, match="Did you mean 'uniform'"):
        compare(opened(archive), against="unifrom")
    over = compare(opened(archive), against="uniform")
    assert over.rows[0].cell("uniform").gain is None and over.rows[0].cell("native").gain is not None
    for format, said in (
        ("text", "gain over uniform"),
        ("md", "Gain over uniform"),
        ("latex", "% gain over uniform"),
        ("html", "Gains over <bdi>uniform</bdi>"),
    ):
        assert said in result_table_text(over, format), format


def test_one_data_set_is_no_table_by_data_sets(archive: Path) -> None:
    with pytest.raises(DataError, match="leave by_dataset"):
        compare(opened(archive), by_dataset=True)


def test_of_failures_less_is_better(tmp_path: Path) -> None:
    played(data(tmp_path), tmp_path / "run", "native,oracle", probe=True)
    export_runs(tmp_path / "run", tmp_path / "mine")
    table = compare(opened(tmp_path / "mine"), "write_failure", against="oracle")
    (row,) = table.rows
    assert {cell.baseline: (cell.value, cell.is_best) for cell in row.cells} == {
        "native": (pytest.approx(1 / 3), False),
        "oracle": (0.0, True),
    }
    assert {one.baseline: one.mean_rank for one in table.standings} == {"oracle": 1.0, "native": 2.0}
    assert gain_of(table, "native").value == pytest.approx(1 / 3) and gain_of(table, "native").better == "less"
    assert Gain(-0.5, (-0.7, -0.3), 0.01, 9, -0.5, None, 0.01, 9, better="less").verdict == "better"
    assert "less is better" in result_table_text(table, "text")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda items: [item.pop("user") for item in items[:3]] and None, "some of its items have a user"),
        (lambda items: [item.pop("user") for item in items] and None, "say no user"),
        (
            lambda items: [item.update(user=f"{item['user']}x") for item in items] and None,
            "no item has a value in both",
        ),
    ],
)
def test_users_that_do_not_fit_give_no_gain(archive: Path, tmp_path: Path, change: Any, why: str) -> None:
    table = compare(opened(edited(archive, tmp_path / "odd", change, baseline="native")), against="uniform")
    gain = gain_of(table, "native")
    assert gain.interval is None and gain.n == 0 and gain.why is not None and why in gain.why
    assert gain_of(table, "oracle").interval is not None


def test_every_number_of_an_export_is_verified(archive: Path) -> None:
    made = verify(archive)
    assert made.ok and made.cells == 4 and made.unchecked == []
    assert made.numbers == 4 * len(json.loads(next(archive.rglob("summary.json")).read_text())["summary"])


@pytest.mark.parametrize("metric", ["memory_score", "memory_score_mean_of_ratios"])
def test_a_wrong_memory_score_is_found(archive: Path, tmp_path: Path, metric: str) -> None:
    def worse(summary: dict[str, Any]) -> None:
        summary["summary"][metric] -= 0.01

    made = verify(edited(archive, tmp_path / "wrong", worse, "summary.json", "native"))
    (difference,) = made.differences
    assert (difference.metric, difference.explained) == (metric, False)
    assert difference.difference == pytest.approx(-0.01)


def test_undefined_memory_scores_are_null_and_agree(archive: Path, tmp_path: Path) -> None:
    def low(items: list[dict[str, Any]]) -> None:
        for item in items:
            item["metrics"]["upper_bound"] = item["metrics"]["random"]

    def null(summary: dict[str, Any]) -> None:
        summary["summary"] |= dict.fromkeys(("memory_score", "memory_score_mean_of_ratios"))
        del summary["summary"]["upper_bound"]

    flat = edited(archive, tmp_path / "flat", low)
    told = [one for one in verify(flat).differences if one.metric == "memory_score"]
    assert len(told) == 4 and all(one.recomputed is None and "not clearly above" in one.cause for one in told)
    made = verify(edited(flat, tmp_path / "null", null, "summary.json"))
    assert made.ok and made.unchecked == [] and made.warnings == []
    # a number that can be had and is not published is told
    odd = verify(edited(archive, tmp_path / "lost", null, "summary.json"))
    assert odd.ok and any("memory_score" in one.text for one in odd.warnings)


def test_items_that_do_not_say_their_period_leave_the_mean_of_ratios_open(archive: Path, tmp_path: Path) -> None:
    def older(items: list[dict[str, Any]]) -> None:
        for item in items:
            del item["period"]

    made = verify(edited(archive, tmp_path / "older", older))
    assert {one.text for one in made.unchecked} == {
        "metric memory_score_mean_of_ratios: its items do not say their user and period"
    }


def test_the_intervals_that_a_summary_claims_must_fit_its_scores(archive: Path, tmp_path: Path) -> None:
    def odd(summary: dict[str, Any]) -> None:
        summary["amemgym"]["intervals"]["accuracy"] = [2.0, 3.0]
        summary["amemgym"]["n"] = "many"

    table = compare(opened(edited(archive, tmp_path / "odd", odd, "summary.json")), intervals=False)
    assert all(cell.interval is None and cell.n for cell in table.rows[0].cells)
