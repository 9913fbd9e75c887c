"""Every published number is recomputed; a clean archive has no difference, and what cannot be checked is told."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym.cli.main import main
from amemgym.errors import DataError, UnknownName, UsageError
from amemgym.memorybench import MemoryBenchResults, Verification, verify
from amemgym.memorybench.aggregating.normalization import Normalization
from tests.memorybench.planted import VALUES, archive, causes, zeroed
from tests.support.archive import STATISTICS, Group, normalization_of, summary_of, write_archive
from tests.support.shared import shared


@pytest.mark.parametrize("form", ["legacy", "judge", "cases"])
def test_a_clean_archive_has_no_difference(tmp_path: Path, form: str) -> None:
    made = verify(archive(tmp_path, VALUES, summary_of(VALUES, STATISTICS, form)))
    assert made.ok and not made.unchecked and not made.warnings
    assert made.cells == 1 and made.numbers > 20
    json.dumps(made.as_dict(), allow_nan=False)


def test_every_published_cell_of_the_paper_comes_out() -> None:
    made = verify(shared("data/memorybench/paper_summary.json"))
    assert made.ok and made.cells == 52
    assert [str(one.cell) for one in made.unchecked] == ["domain/Open-Domain/wo_memory"]
    some = verify(shared("data/memorybench/paper_summary.json"), set_names="Legal", baselines=["mem0"])
    assert some.cells == 1
    with pytest.raises(UnknownName, match="bm25_message"):
        verify(shared("data/memorybench/paper_summary.json"), baselines=["bm25_massage"])


def test_an_altered_number_of_the_paper_is_found(tmp_path: Path) -> None:
    value = json.loads(shared("data/memorybench/paper_summary.json").read_text())
    value["task"]["Short-Short"]["summary"]["z_score"]["bm25"] += 1e-6
    value["domain"]["Legal"]["minmax_normalized_average"]["JuDGE"]["mem0"][0] += 1
    (tmp_path / "paper.json").write_text(json.dumps(value))
    made = verify(tmp_path / "paper.json")
    found = {(str(one.cell), one.metric) for one in made.differences}
    assert ("task/Short-Short/bm25_message", "z_score") in found
    assert ("domain/Legal/mem0", "minmax mean") in found and len({cell for cell, _ in found}) == 2
    assert causes(made) == {"not explained"}


def test_a_file_over_several_baselines_without_any_number(tmp_path: Path) -> None:
    tables = normalization_of(STATISTICS, "domain", "Open-Domain")["domain"]["Open-Domain"]
    tables |= {"average": {}, "minmax_normalized_average": {"Alpha": {}}, "z_normalized_average": {}}
    (tmp_path / "all.json").write_text(json.dumps({"domain": {"Open-Domain": tables}}))
    assert verify(tmp_path / "all.json").checked == (0, 0)
    with pytest.raises(UnknownName, match="a_mem"):
        verify(tmp_path / "all.json", baselines="a_mem")


# --- a set of one data set ---


def test_the_means_of_one_data_set(tmp_path: Path) -> None:
    metrics = [{"f1": 0.5, "acc": None}, {"f1": "np.float64(0.25)", "acc": 1}, {"f1": 1, "acc": True}]

    def give(details: list[dict[str, Any]]) -> Any:
        return [{"test_idx": at, "metrics": of} for at, of in enumerate(metrics)]

    def made_of(name: str, f1: float, acc: float) -> Verification:
        summary = {"summary": {"f1": f1, "acc": acc, "other": 1}}
        return verify(archive(tmp_path / name, {"X": []}, summary, {}, give, dataset_type="single", set_name="X"))

    good, bad = made_of("good", 1.75 / 3, 1.0), made_of("bad", 0.5, 2 / 3)
    assert good.ok and good.numbers == 2
    assert [one.text for one in good.unchecked] == ["metric other: no item has a value of it"]
    assert {one.metric: one.cause for one in bad.differences} == {
        "f1": "1 item with a numpy value counted as 0",
        "acc": "1 item without a value (null, NaN or no such metric) counted as 0",
    }


# --- what cannot be checked, and what is odd ---


def test_without_statistics_only_means_are_checked(tmp_path: Path) -> None:
    root = archive(tmp_path, VALUES, summary_of(zeroed(VALUES, ("Alpha", 0)), STATISTICS))
    (root / "normalization.json").unlink()
    made = verify(root)
    assert "there are no statistics" in made.unchecked[0].text
    assert {(one.metric, one.dataset) for one in made.differences} == {("mean", "Alpha")}
    given = {("domain", "Open-Domain"): Normalization.from_published(STATISTICS_ROWS)}
    assert {one.dataset for one in verify(root, given).differences} == {None, "Alpha"}


STATISTICS_ROWS = {n: dict(zip(("min", "max", "mu", "sigma"), row, strict=True)) for n, row in STATISTICS.items()}


def test_values_that_a_model_merged_are_checked_in_the_summary_alone(tmp_path: Path) -> None:
    def several(details: list[dict[str, Any]]) -> None:
        for one in details:
            if one["dataset"] == "Alpha":
                one["metrics"] = {"crime_f1": 0.5, "penalty": 1.0}

    made = verify(archive(tmp_path, VALUES, summary_of(VALUES, STATISTICS, "cases"), change=several))
    assert not any("case_statistics" in one.text for one in made.warnings)
    assert made.ok and made.numbers > 10
    assert any("several metrics (crime_f1, penalty)" in one.text for one in made.unchecked)
    assert any(one.text.endswith("Alpha cannot be recomputed") for one in made.unchecked)


def test_an_f1_that_no_item_has_is_of_the_mean_precision_and_recall(tmp_path: Path) -> None:
    def give(details: list[dict[str, Any]]) -> Any:
        pairs = enumerate([(1.0, 0.5), (0.0, 0.25)])
        return [{"test_idx": at, "metrics": {"crime_recall": r, "crime_precision": p}} for at, (r, p) in pairs]

    summary = {"summary": {"crime_f1": 2 * 0.5 * 0.375 / 0.875, "crime_recall": 0.5}}
    made = verify(archive(tmp_path, {"JuDGE": []}, summary, {}, give, dataset_type="single", set_name="JuDGE"))
    assert made.ok and made.numbers == 2 and not made.unchecked


JUNK = st.sampled_from([None, math.nan, 1e308, -1, 0, True, "x", "np.float64(1)", [], [1, 2, 3], {}, {"a": None}])


@given(st.randoms(use_true_random=False), st.lists(JUNK, min_size=1, max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_junk_in_any_place_of_the_files_ends_in_no_traceback(
    tmp_path: Path, rng: random.Random, junk: list[Any]
) -> None:
    root = archive(tmp_path, VALUES)
    paths = [next(root.rglob(name)) for name in ("summary.json", "evaluate_details.json", "predict.json")]
    paths.append(root / "normalization.json")
    for one in junk:
        path = rng.choice(paths)
        value = json.loads(path.read_text())
        place = value
        while isinstance(place, dict | list) and place:
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if rng.random() < 0.4 or not isinstance(place[key], dict | list):
                place[key] = one
                break
            place = place[key]
        path.write_text(json.dumps(value))
    json.dumps(verify(root, replies=True).as_dict(), allow_nan=False)


@pytest.mark.parametrize("items", [[1e308, 1e308, 1.7e308], [1e308, -1e308, 1.0], [1e200, -1e200, 1e154]])
def test_numbers_at_the_limits_of_floats_end_in_no_traceback(tmp_path: Path, items: list[float]) -> None:
    summary = summary_of({"Alpha": [1.0, 2.0, 4.0]}, STATISTICS)
    summary["summary"] = {"average": 1e308, "weighted_average": -1e308, "z_score": 1e300}
    summary["average"]["Alpha"] = -1.7e308
    made = verify(archive(tmp_path, {"Alpha": items}, summary))
    assert made.differences
    json.dumps(made.as_dict(), allow_nan=False)


@pytest.mark.parametrize("name", ["summary.json", "evaluate_details.json", "predict.json"])
@pytest.mark.parametrize("damage", ["absent", "cut", "other"])
def test_files_that_are_missing_or_damaged_are_told(tmp_path: Path, name: str, damage: str) -> None:
    root = archive(tmp_path, VALUES)
    path = next(root.rglob(name))
    text = path.read_text()
    path.unlink()
    if damage != "absent":
        path.write_text(text[: len(text) // 2] if damage == "cut" else '{"a": 1}')
    made = verify(root, replies=True)
    assert made.ok and [*made.unchecked, *made.notes][0]
    assert all(one.cell is not None for one in made.unchecked)
    if damage == "absent":
        assert name in made.unchecked[0].text


def test_nulls_and_nan_in_a_summary_are_told_and_are_no_0(tmp_path: Path) -> None:
    summary = summary_of(VALUES, STATISTICS)
    summary["summary"] |= {"average": None, "z_score": math.nan}
    summary["average"]["Alpha"] = None
    made = verify(archive(tmp_path, VALUES, summary))
    assert made.ok
    assert [one.text for one in made.warnings] == [
        "no number is published (null or NaN) where one can be computed: average, z_score, Alpha mean"
    ]


def test_booleans_are_numbers(tmp_path: Path) -> None:
    items = {"DialSim-friends": [True, False, True]}
    statistics = {"DialSim-friends": (0.0, 1.0, 0.5, 0.5)}
    made = verify(archive(tmp_path, items, summary_of({"DialSim-friends": [1.0, 0.0, 1.0]}, statistics), statistics))
    assert made.ok and not made.unchecked


@pytest.mark.parametrize(("metric", "low"), [("score", 1.0), ("llm_judge_score", 0.0)])
def test_scores_by_statistics_of_another_scale_are_warned_of(tmp_path: Path, metric: str, low: float) -> None:
    items = {"Beta&Gamma": [0.5, 0.75]}
    scale = {"Beta&Gamma": (low, 9.0, 6.5, 2.0)}
    made = verify(archive(tmp_path, items, summary_of(items, scale), scale, metric=metric))
    assert made.ok and f"statistics of another scale ({low:g} to 9)" in made.warnings[0].text


def test_a_metric_without_a_formula_is_not_checked(tmp_path: Path) -> None:
    summary = summary_of(VALUES, STATISTICS)
    summary["summary"] |= {"llm_judge_score": 0.9, "other": None}
    made = verify(archive(tmp_path, VALUES, summary))
    assert made.ok
    assert [one.text for one in made.unchecked] == ["metric llm_judge_score: no formula for it over data sets is known"]


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("cases", "warned"),
    [
        ({"Alpha": {"total": 5, "failed": 0}, "Beta&Gamma": {"total": 4}}, 0),
        ({"Alpha": {"total": 50, "failed": 49}, "Beta&Gamma": {"total": 4, "failed": 1}}, 2),
        ({"total": 9, "failed": 0}, 0),
        ({"total": 9, "failed": 1}, 1),
        ([1], 0),
    ],
)
def test_cases_that_contradict_the_items_are_warned_of(tmp_path: Path, cases: Any, warned: int, inside: bool) -> None:
    summary = summary_of(VALUES, STATISTICS)
    (summary["summary"] if inside else summary)["case_statistics"] = cases
    made = verify(archive(tmp_path, VALUES, summary))
    assert made.ok and len(made.warnings) == warned
    assert all(one.text.startswith("case_statistics") for one in made.warnings)


def test_error_replies_that_were_scored_are_warned_of(tmp_path: Path) -> None:
    root = archive(tmp_path, VALUES)
    path = next(root.rglob("predict.json"))
    predicts = [
        {"test_idx": at, "dataset": name, "response": "Error: Unable to generate response." if at == 0 else "fine"}
        for name, of in VALUES.items()
        for at in range(len(of))
    ][:-1]
    path.write_text(json.dumps(predicts))
    texts = [one.text for one in verify(root, replies=True).warnings]
    assert texts == [
        "2 items scored as if 'Error: Unable to generate response.' were an answer (mean 1.655)",
        "1 item not in predict.json, of both files together 9",
    ]
    assert not verify(root).warnings


def test_an_opened_archive_and_filters(tmp_path: Path) -> None:
    opened = MemoryBenchResults.from_local(archive(tmp_path, VALUES))
    assert verify(opened).cells == 1
    assert verify(opened, baselines="a_mem").cells == 1
    with pytest.raises(UnknownName, match="a_mem"):
        verify(opened, baselines="a_men")
    with pytest.raises(UnknownName, match="score"):
        verify(opened, metrics="scores")
    with pytest.raises(UnknownName, match="Alpha"):
        verify(opened, metrics={"Alhpa": "score"})
    assert verify(opened, metrics={"Alpha": "score"}).ok
    with pytest.raises(DataError, match="normalization"):
        verify(opened, tmp_path / "no-normalization.json")
    with pytest.raises(DataError):
        verify(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no archive"):
        verify([])


# --- several archives, and the command ---


def test_each_archive_is_checked_by_its_own_statistics(tmp_path: Path) -> None:
    other = {"Alpha": (1.0, 9.0, 5.0, 1.5), "Beta&Gamma": (0.0, 1.0, 0.5, 0.2)}
    roots = [tmp_path / "a", tmp_path / "b"]
    for root, model, statistics in zip(roots, ("m1", "m2"), (STATISTICS, other), strict=True):
        write_archive(root, [Group(model, "a_mem", VALUES, statistics=statistics)])
        file = root / "configs" / "final_evaluate_summary_wo_details.json"
        file.parent.mkdir()
        file.write_text(json.dumps(normalization_of(statistics, "domain", "Open-Domain")))
    made = verify(roots)
    assert made.ok and made.cells == 2 and len(made.notes) == 2
    assert not verify(roots, roots[0] / "configs" / "final_evaluate_summary_wo_details.json").ok


def test_damaged_statistics_stop_nothing(tmp_path: Path) -> None:
    root = archive(tmp_path, VALUES)
    (root / "normalization.json").write_text("{")
    made = verify(root)
    assert made.ok and "is damaged" in made.warnings[0].text and "no statistics" in made.unchecked[0].text


def command(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["memorybench", "verify", *map(str, arguments)])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_the_command_tells_and_writes_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = archive(tmp_path / "a", VALUES, summary_of(zeroed(VALUES, ("Alpha", 0)), STATISTICS, "judge"))
    out = tmp_path / "found.json"
    code, printed, _ = command(capsys, root, "--json", out)
    assert code == 0 and "as if 1 item (of value 3) was counted as 0" in printed and "all of them" not in printed
    assert "recomputed to 1e-09" in printed and "in 1 cell differ" in printed
    written = json.loads(out.read_text())
    assert (
        not written["ok"] and written["differences"][0]["cause"] == "Alpha: as if 1 item (of value 3) was counted as 0"
    )
    assert command(capsys, root, "--strict")[0] == 1
    assert command(capsys, root, "--strict", "--tolerance", "10")[0] == 0
    assert command(capsys, root, "--item-metric", "Alpha=score,Beta&Gamma=score")[0] == 0


def test_the_command_ends_in_a_sentence_where_it_is_called_wrongly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = archive(tmp_path, VALUES)
    for arguments, said in (
        (["--item-metric", "scor"], "Did you mean 'score'"),
        (["--item-metric", "a=b,c"], "DATASET=NAME"),
        (["--baselines", "mem0"], "a_mem"),
        (["--normalization", tmp_path / "none.json"], "cannot read"),
        (["--item-metric", ","], "--item-metric is empty"),
        (["--models", ""], "--models is empty"),
        (["--tolerance", "nan"], "--tolerance"),
        (["--tolerance", "inf"], "the tolerance is inf"),
    ):
        code, _, error = command(capsys, root, *arguments)
        assert code == 2 and said in error and "Traceback" not in error


def test_names_from_an_archive_move_no_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"Alpha": [1.0], "[red]\x1b[2J": [2.0]}
    statistics = dict.fromkeys(values, (0.0, 9.0, 4.0, 2.0))
    summary = summary_of(values, statistics)
    summary["average"]["[red]\x1b[2J"] += 1
    _, printed, _ = command(capsys, archive(tmp_path, values, summary, statistics))
    assert "\x1b[2J" not in printed and "[red]" in printed


def test_half_characters_and_infinite_differences_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = {"A\ud83d": [1.0, 1e308], "Alpha": [2.0]}
    statistics = {**STATISTICS, "A\ud83d": (0.0, 1.0, 0.5, 0.25)}
    summary = summary_of({**values, "A\ud83d": [1.0, 2.0]}, statistics)
    summary["average"]["A\ud83d"] = -1.7e308
    root, out = archive(tmp_path / "a", values, summary, statistics), tmp_path / "found.json"
    assert command(capsys, root, "--json", out)[0] == 0
    found = [one for one in json.loads(out.read_text())["differences"] if one["published"] == -1.7e308]
    assert found and {one["dataset"] for one in found} == {"A\N{REPLACEMENT CHARACTER}"}
    assert {one["difference"] for one in found if one["source"] == "items"} == {None}


def test_an_archive_that_has_nothing_to_check_is_not_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = archive(tmp_path, VALUES)
    next(root.rglob("summary.json")).unlink()
    code, printed, _ = command(capsys, root, "--strict")
    assert code == 1 and "no number could be checked" in printed
