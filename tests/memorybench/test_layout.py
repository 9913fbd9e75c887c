"""Without a manifest, groups are recognised by where they lie, whichever folder of theirs is opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import DataError
from amemgym.memorybench import MemoryBenchResults
from amemgym.memorybench.reading.layout import model_in
from tests.support.archive import Group, folder_of, write_archive

GROUPS = [
    Group("Qwen3-8B", "wo_memory", {"Alpha": [1.0, 5.0], "Beta&Gamma": [0.3]}),
    Group("Qwen3-8B", "bm25_message", {"Alpha": [2.0, 5.0], "Beta&Gamma": [0.4]}, form="judge"),
    Group("Qwen3-8B", "mem0", {"Alpha": [2.0, 7.0], "Beta&Gamma": [0.5]}, form="cases"),
    Group("Qwen3-8B", "mem0", {"Alpha": [4.0]}, dataset_type="task", set_name="Long Short&More"),
]


@pytest.mark.parametrize("layout", ["manifest", "dashed", "nested", "results"])
def test_every_layout_gives_the_same_cells_and_scores(tmp_path: Path, layout: str) -> None:
    """With all formats of a summary in it."""
    results = MemoryBenchResults.from_local(write_archive(tmp_path, GROUPS, layout))
    assert sorted(map(str, results.select())) == [
        "off-policy/Qwen3-8B/domain/Open-Domain/bm25_message",
        "off-policy/Qwen3-8B/domain/Open-Domain/mem0",
        "off-policy/Qwen3-8B/domain/Open-Domain/wo_memory",
        "off-policy/Qwen3-8B/task/Long Short&More/mem0",
    ]
    assert results.problems == []
    assert [results.summary(cell).form for cell in results.select()] == ["judge", "cases", "legacy", "legacy"]
    # (1+5)/10/2 = .3 and (.3-.2)/.5 = .2 → .25, and so on
    first, second = results.summary_table("average", as_pandas=False)
    assert [first[name] for name in ("wo_memory", "bm25_message", "mem0")] == pytest.approx([0.25, 0.375, 0.525])
    assert (second["set_name"], second["mem0"], second["wo_memory"]) == ("Long Short&More", pytest.approx(0.4), None)
    for entry in results.entries:
        assert entry.run_id == "start_at_2026-01-02-03-04-05"
        assert set(entry.files) == {"run_config.json", "predict.json", "evaluate_details.json", "summary.json"}


@pytest.mark.parametrize(
    ("layout", "inner"),
    [
        ("dashed", "off-policy-Qwen3-8B"),
        ("dashed", "off-policy-Qwen3-8B/domain"),
        ("dashed", "off-policy-Qwen3-8B/domain/Open-Domain/mem0"),
        ("nested", "off-policy"),
        ("nested", "off-policy/Qwen3-8B"),
        ("results", "off-policy"),
        ("results", "off-policy/results"),
        ("results", "off-policy/results/domain"),
    ],
)
def test_a_folder_within_is_an_archive_too(tmp_path: Path, layout: str, inner: str) -> None:
    whole = MemoryBenchResults.from_local(write_archive(tmp_path, GROUPS, layout))
    within = MemoryBenchResults.from_local(tmp_path / inner)
    assert [entry.cell for entry in within.entries] == [
        entry.cell for entry in whole.entries if f"{entry.relative_dir}/".startswith(f"{inner}/")
    ]
    assert within.summary(within.select()[0]) == whole.summary(within.select()[0])


def test_a_run_folder_is_not_needed(tmp_path: Path) -> None:
    folder = folder_of(GROUPS[0], "dashed").rpartition("/")[0]
    write(tmp_path / folder, {"summary.json": {"summary": {"average": 0.5}}})
    (entry,) = MemoryBenchResults.from_local(tmp_path).entries
    assert (entry.model, entry.baseline, entry.run_id) == ("Qwen3-8B", "wo_memory", "")


def write(folder: Path, files: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value), encoding="utf-8")


def test_of_a_run_with_steps_the_last_is_the_group(tmp_path: Path) -> None:
    """It shares its run's configuration, and its answers go by another name."""
    run = tmp_path / "on-policy/results/domain/S/mem0/start_at_2026-01-02-03-04-05"
    write(run, {"run_config.json": {"llm_config": {"llm_model": "Qwen3-8B"}}})
    for step in (1, 2, 10):
        record = {"test_idx": 0, "dataset": "A"}
        write(
            run / f"step_{step}",
            {
                "train_dialogs.json": [],
                "test_predicts.json": [record | {"response": f"after {step}"}],
                "evaluate_details.json": [record | {"metrics": {"score": step}}],
                "summary.json": {"summary": {"average": step / 10}},
            },
        )
    results = MemoryBenchResults.from_local(tmp_path)
    (entry,) = results.entries
    assert (entry.exp, entry.model) == ("on-policy", "Qwen3-8B")
    assert entry.run_id == "start_at_2026-01-02-03-04-05/step_10"
    assert results.problems == []
    (joined,) = results.join(entry.cell)
    assert joined.predict is not None and joined.predict["response"] == "after 10"
    assert results.load_predict(entry.cell) == [joined.predict]
    assert results.run_config(entry.cell) == {"llm_config": {"llm_model": "Qwen3-8B"}}
    assert results.has_file(entry.cell, "run_config.json") and results.has_file(entry.cell, "predict.json")


def test_a_run_with_results_of_its_own_is_the_group(tmp_path: Path) -> None:
    run = tmp_path / "on-policy/Qwen/domain/S/mem0/start_at_2026-01-02-03-04-05"
    for folder in (run, run / "step_1", run / "step_2"):
        write(folder, {"summary.json": {"summary": {"average": 0.5}}})
    (entry,) = MemoryBenchResults.from_local(tmp_path).entries
    assert entry.run_id == "start_at_2026-01-02-03-04-05"


def test_other_names_of_steps_are_in_order_too(tmp_path: Path) -> None:
    run = tmp_path / "stepwise-off-policy/Qwen/domain/S/mem0/start_at_2026-01-02-03-04-05"
    for name in ("begin", "[0,100)", "[100,200)", "[20,30)"):
        write(run / name, {"summary.json": {"summary": {"average": 0.5}}})
    (entry,) = MemoryBenchResults.from_local(tmp_path).entries
    assert entry.relative_dir.endswith("/[100,200)")


def test_hidden_folders_and_caches_are_passed_over(tmp_path: Path) -> None:
    write_archive(tmp_path, GROUPS[:1], "dashed")
    place = "domain/S/mem0/start_at_2026-01-02-03-04-05"
    for name in (".cache/off-policy-Qwen", "off-policy/memory_cache", "__pycache__/off-policy-Q", ".git/off-policy-Q"):
        write(tmp_path / name / place, {"summary.json": {"summary": {"average": 0.5}}})
    results = MemoryBenchResults.from_local(tmp_path)
    assert [entry.baseline for entry in results.entries] == ["wo_memory"]
    assert results.problems == []


@pytest.mark.parametrize("inner", ["", "off-policy-Qwen", "off-policy-Qwen/domain", "off-policy-Qwen/domain/my_cache"])
def test_a_set_and_a_baseline_may_be_called_a_cache(tmp_path: Path, inner: str) -> None:
    place = tmp_path / "off-policy-Qwen/domain/my_cache"
    for name in ("kvcache", "mem0"):
        write(place / name, {"summary.json": {"summary": {"average": 0.5}}})
        write(place / name / "run/cache", {"summary.json": {"summary": {"average": 0.5}}})
    results = MemoryBenchResults.from_local(tmp_path / inner)
    assert [str(cell) for cell in results.select()] == [
        f"off-policy/Qwen/domain/my_cache/{name}" for name in ("kvcache", "mem0")
    ]
    assert results.problems == []


def test_a_guess_at_experiment_and_model_is_told(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write(tmp_path / "x/myexp-Qwen/domain/S" / name, {"summary.json": {"summary": {"average": 0.5}}})
    results = MemoryBenchResults.from_local(tmp_path)
    assert {(entry.exp, entry.model) for entry in results.entries} == {("x", "myexp-Qwen")}
    (problem,) = results.problems
    assert problem.place == f"{tmp_path}/x/myexp-Qwen"
    assert "taken to be 'x' and its model 'myexp-Qwen'" in problem.text


def test_results_in_no_known_layout_are_told(tmp_path: Path) -> None:
    write_archive(tmp_path, GROUPS[:1], "dashed")
    write(tmp_path / "mine" / "today", {"summary.json": {"summary": {"average": 0.5}}})
    write(tmp_path / "off-policy-Q" / "domain" / "S", {"summary.json": {"summary": {"average": 0.5}}})
    results = MemoryBenchResults.from_local(tmp_path)
    assert [problem.place.removeprefix(str(tmp_path)) for problem in results.problems] == [
        "/mine/today",
        "/off-policy-Q/domain/S",
    ]
    assert "in no known layout" in results.problems[0].text


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no manifest\.jsonl, and no folder such as"):
        MemoryBenchResults.from_local(tmp_path)


@pytest.mark.parametrize("config", ["{}", "nonsense", None])
def test_a_group_whose_model_nobody_names_has_a_placeholder(tmp_path: Path, config: str | None) -> None:
    folder = tmp_path / "off-policy/results/domain/S/mem0/start_at_2026-01-02-03-04-05"
    write(folder, {"summary.json": {"summary": {"average": 0.5}}})
    if config is not None:
        (folder / "run_config.json").write_text(config, encoding="utf-8")
    results = MemoryBenchResults.from_local(tmp_path)
    assert results.list_models() == ["unknown-model"]
    assert "no model is named in it; the group is listed under 'unknown-model'" in results.problems[-1].text
    assert "run_config.json" in results.problems[-1].place


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"memory_system_config": {"llm_config": {"model": "Qwen"}}}, "Qwen"),
        ({"memory_system_config": {"embedder": {"model": "e5"}, "llm_config": {"llm_model": "Qwen"}}}, "Qwen"),
        ({"model": "top", "a": {"llm_config": {"model": "Qwen"}}}, "Qwen"),
        ({"a": {"b": {"model": "deep"}}, "llm_model": "top"}, "top"),
        ({"evaluator": {"llm_config": {"model": "judge"}}, "judge_config": {"model": "judge"}}, None),
        ({"model": {"model": "Qwen"}}, "Qwen"),
        ({"model": None, "llm_config": {"model": 3}}, None),
        ([], None),
    ],
)
def test_which_model_answers(config: Any, expected: str | None) -> None:
    assert model_in(config) == expected
