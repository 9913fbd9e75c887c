"""Of several runs of a cell one counts, by a rule that is given; it is always told which were there."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench import MemoryBenchResults, compare, load_result_summary_table, open_results, verify
from tests.support.archive import Group, write_archive

VALUES = {"Alpha": [1.0]}
OLD = Group("Q", "mem0", VALUES, run_id="start_at_2026-01-02-03-04-05")
NEW = replace(OLD, run_id="start_at_2026-01-10-00-00-00", values={"Alpha": [2.0]})
NAMELESS = replace(OLD, run_id="second try")


def opened(root: Path, groups: list[Group], choose: str = "latest", layout: str = "manifest") -> MemoryBenchResults:
    return MemoryBenchResults.from_local(write_archive(root, groups, layout), choose=choose)


@pytest.mark.parametrize(("choose", "expected"), [("latest", NEW), ("first", NEW), ("last", OLD)])
@pytest.mark.parametrize("layout", ["manifest", "dashed"])
def test_the_rule_decides_and_tells(tmp_path: Path, choose: str, expected: Group, layout: str) -> None:
    """The order of folders is that of their names."""
    if layout == "dashed" and choose != "latest":
        expected = OLD if choose == "first" else NEW
    results = opened(tmp_path, [NEW, OLD], choose, layout)
    (entry,) = results.entries
    assert entry.run_id == expected.run_id
    (problem,) = results.problems
    assert problem.place == "off-policy/Q/domain/Open-Domain/mem0"
    assert OLD.run_id in problem.text and NEW.run_id in problem.text
    assert f"taken is {expected.run_id}" in problem.text
    assert f"choose='{choose}'" in problem.text


def test_a_file_s_time_has_no_say(tmp_path: Path) -> None:
    write_archive(tmp_path, [OLD, NEW], "dashed")
    for number, path in enumerate(sorted(tmp_path.rglob("*"), reverse=True)):
        os.utime(path, (10**9 + number, 10**9 + number))
    (entry,) = MemoryBenchResults.from_local(tmp_path).entries
    assert entry.run_id == NEW.run_id


def test_a_later_step_of_the_same_run_is_later(tmp_path: Path) -> None:
    steps = [replace(OLD, run_id=f"{OLD.run_id}/step_{number}") for number in (2, 10, 9)]
    (entry,) = opened(tmp_path, steps).entries
    assert entry.run_id.endswith("step_10")


@pytest.mark.parametrize("groups", [[OLD, NAMELESS], [NAMELESS, OLD], [NAMELESS, replace(OLD, run_id="x")]])
def test_without_a_time_nobody_guesses(tmp_path: Path, groups: list[Group]) -> None:
    """The archive is open; the cell is there by name, missing in a table, and an error where it is read."""
    said = r"not all ids have a time such as .*choose=.first. or .last., or --choose first"
    results = opened(tmp_path, [*groups, replace(OLD, baseline="wo_memory")])
    cell, other = results.select()
    assert [entry.cell for entry in results.entries] == [other]
    assert results.summary_table("average", as_pandas=False)[0] | {"wo_memory": 1} == {
        **{"model": "Q", "dataset_type": "domain", "set_name": "Open-Domain"},
        **{"mem0": None, "wo_memory": 1},
    }
    for read in (results.summary, results.load_predict, results.get_entry, lambda cell: list(results.items(cell))):
        with pytest.raises(DataError, match=said):
            read(cell)
    assert not results.has_file(cell, "summary.json")
    assert any(problem.place == str(cell) and "choose=" in problem.text for problem in results.problems)
    assert any("choose=" in remark.text for remark in verify(results).unchecked)
    assert compare(results, "average").rows[0].cells[1].value is None
    assert len(opened(tmp_path, groups, "first").entries) == 1
    (tmp_path / "other").mkdir()
    both = open_results([tmp_path, write_archive(tmp_path / "other", [replace(OLD, baseline="x")])], "first")
    assert {entry.baseline for entry in both.entries} == {"mem0", "x"}


def test_nor_where_two_began_at_once(tmp_path: Path) -> None:
    twin = replace(OLD, run_id=f"{OLD.run_id} again")
    results = opened(tmp_path, [OLD, twin])
    with pytest.raises(DataError, match="two began at the same time"):
        results.summary(results.select()[0])
    with pytest.raises(DataError, match="two began at the same time"):
        both = MemoryBenchResults.combined([results, opened(tmp_path / "x", [replace(OLD, model="R")])])
        both.summary(both.select(models="Q")[0])
    frame = load_result_summary_table("average", root_dir=tmp_path, choose="last")
    assert frame["mem0"].notna().all()
    assert opened(tmp_path, [OLD, twin, NEW]).entries[0].run_id == NEW.run_id


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("start_at_2026-01-02-03-04-05", "2026-01-02_03-04-06"),
        ("20260102_030405", "run 2026-01-02T03:04:06"),
        ("gpt-4o-2027-08-06_20260102_030405", "20260102T030406.5Z"),
        ("2026-01-02", "20260103"),
        ("2026-01-02_03-04-05", "2026-01-03"),
        ("2026-01-02", "2026-01-02_03-04-05"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T03:04:06Z"),
        ("12345678", "87654321"),
    ],
)
def test_times_as_people_write_them(tmp_path: Path, earlier: str, later: str) -> None:
    """A day alone is neither before nor after an hour of it, and a number that is no date is no time."""
    results = opened(tmp_path, [replace(OLD, run_id=later), replace(OLD, run_id=earlier)])
    undecided = earlier in ("12345678", "2026-01-02T03:04:05+02:00") or later == f"{earlier}_03-04-05"
    assert [entry.run_id for entry in results.entries] == ([] if undecided else [later])


def test_of_many_runs_a_few_are_named(tmp_path: Path) -> None:
    line = {"exp": "off-policy", "model": "Q", "dataset_type": "domain", "set_name": "S", "baseline": "mem0"}
    lines = [json.dumps(line | {"run_id": at, "relative_dir": "a", "files": []}) + "\n" for at in range(20_000)]
    (tmp_path / "manifest.jsonl").write_text("".join(lines))
    results = MemoryBenchResults.from_local(tmp_path, choose="last")
    assert [entry.run_id for entry in results.entries] == ["19999"]
    assert "20000 runs of one cell: 0, 1, 2" in results.problems[0].text and len(results.problems[0].text) < 300


def test_two_runs_can_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"off-policy/Q/domain/Open-Domain/mem0: 2 runs.*{OLD.run_id}.*{NEW.run_id}"):
        opened(tmp_path, [OLD, NEW], "error")
    assert len(opened(tmp_path / "one", [OLD], "error").entries) == 1


def test_an_unknown_rule_is_named(tmp_path: Path) -> None:
    for choose in (lambda: opened(tmp_path, [OLD], "latests"), lambda: MemoryBenchResults.from_hf(choose="latests")):
        with pytest.raises(UnknownName, match="Did you mean 'latest'"):
            choose()


# --- several archives as one ---


def test_several_archives_are_one(tmp_path: Path) -> None:
    write_archive(tmp_path / "a", [replace(OLD, baseline="wo_memory")])
    write_archive(tmp_path / "b", [NEW, replace(NEW, model="R")], "dashed")
    results = open_results([tmp_path / "a", str(tmp_path / "b")])
    assert [(entry.model, entry.baseline) for entry in results.entries] == [
        ("Q", "wo_memory"),
        ("Q", "mem0"),
        ("R", "mem0"),
    ]
    first, second = results.summary_table("average", as_pandas=False)
    assert (first["wo_memory"], first["mem0"]) == pytest.approx((0.1, 0.2))
    assert (second["wo_memory"], second["mem0"]) == (None, pytest.approx(0.2))
    assert results.problems == []
    assert results.place_of(results.entries[1].cell) == str(tmp_path / "b")


@pytest.mark.parametrize(("choose", "taken"), [("latest", "b"), ("first", "a"), ("last", "b")])
def test_a_cell_in_two_archives_is_chosen_by_the_same_rule(tmp_path: Path, choose: str, taken: str) -> None:
    write_archive(tmp_path / "a", [OLD])
    write_archive(tmp_path / "b", [NEW])
    results = open_results([tmp_path / "a", tmp_path / "b"], choose)
    (entry,) = results.entries
    assert results.place_of(entry.cell) == str(tmp_path / taken)
    (problem,) = results.problems
    assert f"{OLD.run_id} in {tmp_path / 'a'}, {NEW.run_id} in {tmp_path / 'b'}" in problem.text
    with pytest.raises(DataError, match="2 runs"):
        open_results([tmp_path / "a", tmp_path / "b"], "error")


def test_the_same_archive_twice_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_archive(tmp_path, [OLD])
    monkeypatch.chdir(tmp_path)
    results = open_results([tmp_path, "."])
    assert len(results.entries) == 1
    assert results.problems == []


def test_problems_of_each_are_kept(tmp_path: Path) -> None:
    write_archive(tmp_path / "a", [OLD, NEW])
    write_archive(tmp_path / "b", [replace(OLD, baseline="x"), replace(NEW, baseline="x")])
    assert [problem.place[-4:] for problem in open_results([tmp_path / "a", tmp_path / "b"]).problems] == [
        "mem0",
        "in/x",
    ]
