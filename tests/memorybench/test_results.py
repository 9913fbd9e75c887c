"""The methods people know of the published reader, and what is new beside them: typed, streamed, joined."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import AMemGymError, DataError, ResultFileMissing, ResultNotFound, UnknownName, UsageError
from amemgym.memorybench import Cell, Item, ItemKey, MemoryBenchResults, open_results
from tests.support.archive import Group, write_archive

GROUP = Group("Q", "mem0", {"Alpha": [1.0, 3.0], "Beta&Gamma": [0.3]})
CELL = Cell("off-policy", "Q", "domain", "Open-Domain", "mem0")
GROUPS = [
    GROUP,
    Group("Q", "wo_memory", {"Alpha": [1.0]}),
    Group("R", "mem0", {"Alpha": [1.0]}, dataset_type="task", set_name="Long-Long"),
    Group("S", "a_mem", {"Alpha": [1.0]}, exp="on-policy"),
]
KNOWN_METHODS = {
    "summary.json": "load_summary",
    "predict.json": "load_predict",
    "evaluate_details.json": "load_evaluate_details",
    "run_config.json": "load_run_config",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_archive(tmp_path, GROUPS)


@pytest.fixture
def results(root: Path) -> MemoryBenchResults:
    return MemoryBenchResults.from_local(root)


def folder(root: Path) -> Path:
    return root / "off-policy-Q/domain/Open-Domain/mem0" / GROUP.run_id


# --- as people know it ---


def test_what_there_is(results: MemoryBenchResults, root: Path) -> None:
    assert results.list_exps() == ["off-policy", "on-policy"]
    assert results.list_models() == ["Q", "R", "S"]
    assert results.list_models(exp="off-policy") == ["Q", "R"]
    assert results.list_set_names("off-policy", "Q", "domain") == ["Open-Domain"]
    assert results.list_set_names() == ["Long-Long", "Open-Domain"]
    assert results.list_set_names("off-policy", "R", "domain") == []
    assert results.list_set_names(dataset_type="single") == []
    assert results.list_baselines("off-policy", "Q", "domain", "Open-Domain") == ["mem0", "wo_memory"]
    assert results.list_baselines(exp="on-policy") == ["a_mem"]
    assert (results.repo_id, results.repo_type, results.local_root) == ("local", "dataset", root)
    assert (results.revision, results.cache_dir) == (None, None)
    assert len(results.entries) == 4
    entry = results.get_entry(*CELL)
    assert entry in results.entries
    assert entry.files == ["evaluate_details.json", "predict.json", "run_config.json", "summary.json"]


def test_files_come_as_they_stand(results: MemoryBenchResults, root: Path) -> None:
    words = CELL._asdict()
    for name, loaded in {
        "summary.json": results.load_summary(**words),
        "predict.json": results.load_predict(*CELL),
        "evaluate_details.json": results.load_evaluate_details(*CELL),
        "run_config.json": results.load_run_config(*CELL),
    }.items():
        assert loaded == json.loads((folder(root) / name).read_text(encoding="utf-8"))
        assert loaded == results.load_json(*CELL, filename=name)
    assert results.load_summary(CELL) == results.load_summary(**words)


@pytest.mark.parametrize(
    "method", ["get_entry", *KNOWN_METHODS.values(), "iter_predict", "iter_evaluate_details", "join"]
)
def test_a_cell_that_is_not_there_is_a_key_error_with_the_near_name(results: MemoryBenchResults, method: str) -> None:
    with pytest.raises(KeyError) as caught:
        getattr(results, method)("off-policy", "Q", "domain", "Open-Domain", "mem1")
    assert isinstance(caught.value, ResultNotFound)
    assert str(caught.value) == (
        "no results for off-policy/Q/domain/Open-Domain/mem1:"
        " unknown baseline 'mem1'. Did you mean 'mem0'? Known: mem0, wo_memory."
    )
    with pytest.raises(ResultNotFound, match="domain has no results for set 'Long-Long', but for Open-Domain"):
        getattr(results, method)("off-policy", "Q", "domain", "Long-Long", "mem0")


def test_a_file_that_is_not_listed_is_a_missing_file(results: MemoryBenchResults, root: Path) -> None:
    (folder(root) / "notes.json").write_text("{}", encoding="utf-8")
    for name in ("notes.json", "gone.json", "../summary.json", "/etc/passwd", ""):
        with pytest.raises(FileNotFoundError, match="listed are: evaluate_details") as caught:
            results.load_json(*CELL, name)
        assert isinstance(caught.value, ResultFileMissing)


def test_a_file_that_is_listed_but_absent_names_file_cell_and_way_out(results: MemoryBenchResults, root: Path) -> None:
    (folder(root) / "predict.json").unlink()
    with pytest.raises(ResultFileMissing) as caught:
        results.load_predict(*CELL)
    said = str(caught.value)
    assert str(CELL) in said and "mem0/start_at_2026-01-02-03-04-05/predict.json" in said
    assert "though it is listed; fetch the archive again" in said
    assert not results.has_file(CELL, "predict.json")
    assert results.has_file(CELL, "summary.json") and results.has(CELL)
    assert not results.has(CELL._replace(model="Z")) and not results.has_file(CELL._replace(model="Z"), "summary.json")


@pytest.mark.parametrize(
    "ask",
    [
        lambda results: results.list_models("of-policy"),
        lambda results: results.list_set_names("of-policy"),
        lambda results: results.list_baselines(exp="of-policy"),
        lambda results: results.select("of-policy"),
        lambda results: results.summary_table("average", exp="of-policy"),
        lambda results: results.experiment("of-policy"),
    ],
)
def test_a_mistyped_experiment_gets_the_nearest(results: MemoryBenchResults, ask: Any) -> None:
    with pytest.raises(UnknownName, match=r"unknown experiment 'of-policy'\. Did you mean 'off-policy'\?"):
        ask(results)


def test_cells_are_selected_by_name(results: MemoryBenchResults) -> None:
    assert len(results.select()) == 4
    assert [cell.baseline for cell in results.select("off-policy", models="Q")] == ["mem0", "wo_memory"]
    assert results.select(set_names=["Long-Long"], baselines=["mem0", "a_mem"])[0].model == "R"
    assert results.select("on-policy", baselines="mem0") == []
    for wrong in ({"models": ["q"]}, {"dataset_type": "domian"}, {"set_names": "Open"}, {"baselines": ["mem0", "mem"]}):
        with pytest.raises(UnknownName, match="Known: "):
            results.select(**wrong)


# --- damage ---


def test_missing_numbers_of_a_file_are_none(results: MemoryBenchResults, root: Path) -> None:
    (folder(root) / "summary.json").write_text('{"summary": {"average": NaN, "z_score": 1}}', encoding="utf-8")
    assert results.load_summary(CELL) == {"summary": {"average": None, "z_score": 1}}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("summary.json", "{", "damaged"),
        ("summary.json", "[]", "is not an object"),
        ("summary.json", '{"score": 1}', "not a summary in any known format"),
        ("predict.json", "{}", "is not a list"),
        ("evaluate_details.json", '[{"a": 1}', "damaged"),
        ("run_config.json", "[]", "is not an object"),
    ],
)
def test_a_damaged_file_is_named(results: MemoryBenchResults, root: Path, name: str, text: str, said: str) -> None:
    (folder(root) / name).write_text(text, encoding="utf-8")
    method = KNOWN_METHODS[name]
    with pytest.raises(DataError, match=said) as caught:
        getattr(results, method)(*CELL)
    assert name in str(caught.value) and "\n" not in str(caught.value)


# --- line by line ---


def test_items_have_keys_and_metrics(results: MemoryBenchResults) -> None:
    assert list(results.items(CELL)) == [
        Item(ItemKey("Alpha", 0), {"score": 1.0}),
        Item(ItemKey("Alpha", 1), {"score": 3.0}),
        Item(ItemKey("Beta&Gamma", 0), {"score": 0.3}),
    ]
    assert list(results.iter_predict(CELL)) == results.load_predict(CELL) == list(results.iter_predict(*CELL))
    assert list(results.iter_evaluate_details(CELL)) == results.load_evaluate_details(CELL)


def rewrite(path: Path, change: Any) -> None:
    records = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(change(records)), encoding="utf-8")


def test_a_join_is_by_data_set_and_number(results: MemoryBenchResults, root: Path) -> None:
    rewrite(folder(root) / "evaluate_details.json", lambda records: records[::-1])
    found = {joined.key: joined for joined in results.join(CELL)}
    assert set(found) == {("Alpha", 0), ("Alpha", 1), ("Beta&Gamma", 0)}
    for key, joined in found.items():
        assert joined.predict is not None and joined.details is not None
        assert joined.predict["messages"][0]["content"] == f"{key.dataset} {key.test_idx}?"
        assert (joined.details["dataset"], joined.details["test_idx"]) == key


def test_what_one_file_alone_has_comes_with_none(results: MemoryBenchResults, root: Path) -> None:
    rewrite(folder(root) / "evaluate_details.json", lambda records: records[:1])
    rewrite(folder(root) / "predict.json", lambda records: [{**records[0], "test_idx": "0"}, *records[:2]])
    found = {joined.key: (joined.predict is not None, joined.details is not None) for joined in results.join(CELL)}
    assert found == {("Alpha", "0"): (True, False), ("Alpha", 0): (True, True), ("Alpha", 1): (True, False)}
    rewrite(folder(root) / "predict.json", lambda records: [])
    (only,) = results.join(CELL)
    assert only.predict is None and only.details is not None
    assert results.problems == []


def test_numbers_as_text_in_one_file_are_told(results: MemoryBenchResults, root: Path) -> None:
    rewrite(
        folder(root) / "predict.json", lambda records: [{**one, "test_idx": str(one["test_idx"])} for one in records]
    )
    assert len(list(results.join(CELL))) == 6
    (problem,) = results.problems
    assert problem.place == str(CELL) and problem.text.startswith("3 of its items would be joined if test_idx were")


def test_what_cannot_be_read_of_a_summary_is_told(results: MemoryBenchResults, root: Path) -> None:
    value = {"summary": {"average": 0.5}, "minmax_normalized_average": {"Alpha": [1, 2]}}
    (folder(root) / "summary.json").write_text(json.dumps(value), encoding="utf-8")
    assert results.summary(CELL).datasets["Alpha"].minmax is None
    assert results.problems[0].text == "minmax_normalized_average of Alpha is no sum, n and mean, and is left out"


def test_names_in_an_error_move_no_cursor(results: MemoryBenchResults) -> None:
    with pytest.raises(UnknownName) as caught:
        results.select(models="\x1b[2J\u202eQ")
    assert str(caught.value).isprintable() and "\\u001b[2J\\u202eQ" in str(caught.value)


def test_of_an_item_that_comes_twice_the_first_is_kept_and_told(results: MemoryBenchResults, root: Path) -> None:
    rewrite(
        folder(root) / "evaluate_details.json",
        lambda records: [*records, {**records[1], "metrics": {"score": 9}}, records[0]],
    )
    for _ in range(2):  # told once, however often it is read
        assert [item.metrics["score"] for item in results.items(CELL)] == [1.0, 3.0, 0.3]
    (problem,) = results.problems
    assert problem.place.endswith("evaluate_details.json")
    assert problem.text == (
        "left out 2 of its elements, which have the dataset and test_idx of an earlier one (the first: Alpha 1)"
    )


def test_what_is_no_item_is_left_out_and_told(results: MemoryBenchResults, root: Path) -> None:
    bad = [3, None, {"test_idx": 1}, {"dataset": "Alpha"}, {"dataset": "Alpha", "test_idx": True}]
    good = [
        {"dataset": "Alpha", "test_idx": 2.0, "metrics": None},
        {"dataset": "Alpha", "test_idx": "x", "metrics": {}},
    ]
    rewrite(folder(root) / "evaluate_details.json", lambda records: [*bad, *good])
    assert list(results.items(CELL)) == [Item(ItemKey("Alpha", 2), {}), Item(ItemKey("Alpha", "x"), {})]
    assert "left out 5 of its elements" in results.problems[0].text
    assert "the first: element 0" in results.problems[0].text


def test_a_group_of_one_data_set_need_not_name_it(tmp_path: Path) -> None:
    write_archive(tmp_path, [Group("Q", "mem0", {"Alpha": [1.0]}, dataset_type="single", set_name="Alpha")])
    path = next(tmp_path.rglob("evaluate_details.json"))
    path.write_text('[{"test_idx": 7, "metrics": {"f1": 0.5}}]', encoding="utf-8")
    results = MemoryBenchResults.from_local(tmp_path)
    assert list(results.items(results.select()[0])) == [Item(ItemKey("Alpha", 7), {"f1": 0.5})]


def test_the_first_item_needs_no_whole_file(results: MemoryBenchResults, root: Path) -> None:
    whole = (folder(root) / "predict.json").read_text(encoding="utf-8")
    (folder(root) / "predict.json").write_text(whole[: whole.index("}, {") + 3] + " garbage" * 100_000)
    lines = results.iter_predict(CELL)
    assert next(lines)["response"] == "r0"
    with pytest.raises(DataError, match=r"predict\.json is damaged at element 1"):
        next(lines)


# --- where archives are ---


def test_a_manifest_s_path_stands_for_its_folder(root: Path) -> None:
    assert len(open_results(root / "manifest.jsonl").entries) == 4
    assert len(open_results(str(root)).entries) == 4


def test_a_home_is_a_home(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent))
    assert len(open_results(f"~/{root.name}").entries) == 4


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ([], "no archive is given"),
        ("", "is an empty text"),
        ("hub:A/B@", "the revision after the @ is missing"),
        ("hub:THUIR", "hub:THUIR: a repository on Hugging Face is written hub:OWNER/NAME"),
        (__file__, "test_results.py is a file, and an archive is a folder"),
        ("gone", "no results archive at gone"),
        ("OWNER/NAME", "on Hugging Face it would be hub:OWNER/NAME"),
        ("a\0b", "cannot read|no results archive"),
        ("x" * 5000, "cannot read|no results archive"),
    ],
)
def test_what_is_no_archive_is_one_sentence(sources: Any, said: str) -> None:
    with pytest.raises(AMemGymError, match=said) as caught:
        open_results(sources)
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)


def test_no_archives_cannot_be_combined() -> None:
    with pytest.raises(DataError, match="at least one"):
        MemoryBenchResults.combined([])
    with pytest.raises(UsageError):
        open_results([])


def test_import_and_plain_rows_need_nothing_heavy(root: Path) -> None:
    code = (
        "import sys, amemgym.memorybench as m\n"
        f"m.open_results({str(root)!r}).summary_table('average', as_pandas=False)\n"
        "print([name for name in ('pandas', 'huggingface_hub', 'pydantic', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
