"""The table in one line: what is missing is NaN and never 0, and a wrong name is an error with the right ones."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas
import pytest

import amemgym
from amemgym.errors import UnknownName
from amemgym.memorybench import MemoryBenchResults, load_result_summary_table
from tests.support.archive import Group, folder_of, write_archive

TEN = {"Alpha": [10.0]}
MEM0 = Group("Q", "mem0", TEN)
ZERO = Group("Q", "wo_memory", {"Alpha": [0.0]})
TASK = Group("Q", "mem0", {"Alpha": [5.0]}, dataset_type="task", set_name="Long-Long")
OTHER = Group("B", "bm25", {"Alpha": [2.0]})
GROUPS = [TASK, MEM0, ZERO, OTHER]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_archive(tmp_path, GROUPS)


@pytest.fixture
def results(root: Path) -> MemoryBenchResults:
    return MemoryBenchResults.from_local(root)


def test_one_line_gives_a_data_frame(root: Path) -> None:
    table = amemgym.load_result_summary_table("average", root_dir=root)
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["model", "dataset_type", "set_name", "bm25", "mem0", "wo_memory"]
    assert table[["model", "dataset_type", "set_name"]].values.tolist() == [
        ["B", "domain", "Open-Domain"],
        ["Q", "domain", "Open-Domain"],
        ["Q", "task", "Long-Long"],
    ]
    assert table.dtypes[["bm25", "mem0", "wo_memory"]].eq("float64").all()
    assert table.isna()[["bm25", "mem0", "wo_memory"]].values.tolist() == [
        [False, True, True],
        [True, False, False],
        [True, False, True],
    ]
    assert table.loc[1, "wo_memory"] == 0.0  # a score, not a hole
    assert table.loc[1, "mem0"] == 1.0


def test_plain_rows_have_none(results: MemoryBenchResults) -> None:
    rows = results.summary_table("average", as_pandas=False)
    assert rows[2] == {
        "model": "Q",
        "dataset_type": "task",
        "set_name": "Long-Long",
        "bm25": None,
        "mem0": 0.5,
        "wo_memory": None,
    }


def test_filters_and_columns(results: MemoryBenchResults) -> None:
    rows = results.summary_table(
        "z_score",
        exp="off-policy",
        dataset_type="domain",
        set_name="Open-Domain",
        baselines=["wo_memory", "mem0"],
        models=["Q"],
        as_pandas=False,
    )
    assert rows == [{"model": "Q", "wo_memory": -3.0, "mem0": 2.0}]
    assert list(rows[0]) == ["model", "wo_memory", "mem0"]
    assert list(results.summary_table("average", set_name="Long-Long", as_pandas=False)[0]) == [
        "model",
        "dataset_type",
        "set_name",
        "mem0",
    ]
    assert len(results.summary_table("average", baselines="bm25", models="B", as_pandas=False)) == 1


def test_a_value_for_what_is_missing_is_the_caller_s(results: MemoryBenchResults) -> None:
    assert results.summary_table("average", missing_value="-", as_pandas=False)[0]["mem0"] == "-"
    assert results.summary_table("average", missing_value="-").loc[0, "mem0"] == "-"
    table = results.summary_table("average", missing_value=-1)
    assert (table.loc[0, "mem0"], table["mem0"].dtype) == (-1.0, "float64")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"metric": "weigthed_average"}, r"unknown metric 'weigthed_average'\. Did you mean 'weighted_average'\?"),
        ({"metric": "f1"}, r"unknown metric 'f1'\. Known: average, weighted_average, z_score"),
        ({"models": ["q"]}, r"unknown model 'q'\. .*Known: B, Q"),
        ({"set_name": "OpenDomain"}, r"unknown set 'OpenDomain'\. Did you mean 'Open-Domain'\?"),
        ({"dataset_type": "tasks"}, r"unknown dataset type 'tasks'\. Did you mean 'task'\?"),
        ({"baselines": ["mem0", "bm52"]}, r"unknown baseline 'bm52'\. Did you mean 'bm25'\?"),
        ({"exp": "onpolicy"}, r"unknown experiment 'onpolicy'\. Did you mean 'off-policy'\?"),
    ],
)
def test_a_wrong_name_gets_the_right_ones(results: MemoryBenchResults, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UnknownName, match=said):
        results.summary_table(**{"metric": "average"} | given)


def test_the_experiment_is_off_policy_else_the_only_one(tmp_path: Path) -> None:
    both = [replace(MEM0, exp="on-policy", values={"Alpha": [1.0]}), MEM0]
    table = MemoryBenchResults.from_local(write_archive(tmp_path / "a", both)).summary_table("average", as_pandas=False)
    assert [row["mem0"] for row in table] == [1.0]
    (tmp_path / "a" / folder_of(both[0], "manifest") / "summary.json").write_text('{"summary": {"accuracy": 0.5}}')
    said = r"These are of off-policy; 'accuracy' is a metric of on-policy: give exp='on-policy'"
    with pytest.raises(UnknownName, match=said):
        load_result_summary_table("accuracy", root_dir=tmp_path / "a")
    one = MemoryBenchResults.from_local(write_archive(tmp_path / "b", both[:1]))
    several = [tmp_path / "a", write_archive(tmp_path / "d", [replace(MEM0, model="R")])]
    assert len(MemoryBenchResults.combined(several).entries) == 3
    assert list(load_result_summary_table("average", root_dir=several)["mem0"]) == [1.0, 1.0]
    assert one.summary_table("average", as_pandas=False)[0]["mem0"] == pytest.approx(0.1)
    others = [replace(MEM0, exp="on-policy"), replace(MEM0, exp="amemgym")]
    neither = MemoryBenchResults.from_local(write_archive(tmp_path / "c", others))
    with pytest.raises(UnknownName, match=r"Known: amemgym, on-policy\. Say which with exp"):
        neither.summary_table("average")


def summary_of(root: Path, group: Group) -> Path:
    return root / folder_of(group, "manifest") / "summary.json"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no file"),
        ("{", "damaged"),
        ('{"other": 1}', "not a summary in any known format"),
        ("\xff", "damaged"),
    ],
)
def test_a_summary_that_cannot_be_had_is_missing_and_told(root: Path, text: str | None, said: str) -> None:
    summary_of(root, MEM0).unlink() if text is None else summary_of(root, MEM0).write_text(text, encoding="latin-1")
    results = MemoryBenchResults.from_local(root)
    table = results.summary_table("average")
    assert pandas.isna(table.loc[1, "mem0"]) and table.loc[1, "wo_memory"] == 0.0
    (problem,) = results.problems
    assert problem.place == "off-policy/Q/domain/Open-Domain/mem0"
    assert said in problem.text and "summary.json" in problem.text


@pytest.mark.parametrize("value", ["null", "NaN", '"N/A"', "[]"])
def test_what_is_no_number_is_missing(root: Path, value: str) -> None:
    summary_of(root, MEM0).write_text(f'{{"summary": {{"average": {value}, "z_score": 1}}}}', encoding="utf-8")
    assert MemoryBenchResults.from_local(root).summary_table("average", as_pandas=False)[1]["mem0"] is None


def test_a_metric_that_only_one_summary_names_is_known(root: Path) -> None:
    summary_of(root, MEM0).write_text('{"summary": {"f1": "np.float64(0.25)"}}', encoding="utf-8")
    table = MemoryBenchResults.from_local(root).summary_table("f1", as_pandas=False)
    assert [row["mem0"] for row in table] == [None, 0.25, None]


def test_where_no_summary_can_be_read_the_table_is_empty_of_numbers(root: Path) -> None:
    for group in GROUPS:
        summary_of(root, group).unlink()
    results = MemoryBenchResults.from_local(root)
    assert results.summary_table("average")[["bm25", "mem0", "wo_memory"]].isna().all(axis=None)
    assert len(results.problems) == 4
    with pytest.raises(UnknownName, match="Known: average"):
        results.summary_table("averages")


def test_a_summary_that_is_not_shown_is_not_read(root: Path) -> None:
    (root / folder_of(ZERO, "manifest") / "summary.json").write_text("{", encoding="utf-8")
    results = MemoryBenchResults.from_local(root)
    results.summary_table("average", baselines="mem0", as_pandas=False)
    assert results.problems == []


def test_a_table_reads_neither_predictions_nor_details(root: Path) -> None:
    """However large they are; here what they hold cannot be read at all."""
    for name in ("predict.json", "evaluate_details.json", "run_config.json"):
        for path in root.rglob(name):
            path.write_bytes(b"\xff garbage")
    results = MemoryBenchResults.from_local(root)
    assert results.summary_table("average").loc[1, "mem0"] == 1.0
    assert results.problems == []


def test_without_pandas_the_extra_is_named(results: MemoryBenchResults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'amemgym\[pandas\]'"):
        results.summary_table("average")
    assert len(results.summary_table("average", as_pandas=False)) == 3
