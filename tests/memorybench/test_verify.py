"""Every published number that does not come out is told, with the cause that explains it; a clean archive has none."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench import MemoryBenchResults, Verification, verify
from amemgym.memorybench.normalization import Normalization, group_of
from tests.support.archive import STATISTICS, Group, normalization_of, summary_of, write_archive
from tests.support.shared import shared

VALUES = {"Alpha": [3.0, 7.0, 9.5, 4.25, 0.75], "Beta&Gamma": [0.31, 0.62, 0.45, 0.58]}
#: the same with a data set in parts, and statistics of it
LOCOMO = {"Locomo-0": [0.1, 0.2, 0.9], "Locomo-1": [0.65], "Alpha": [3.0, 7.0]}
WITH_LOCOMO = {**STATISTICS, "Locomo": (0.0, 1.0, 0.5, 0.25)}


def archive(
    root: Path,
    items: Mapping[str, list[Any]],
    summary: dict[str, Any] | None = None,
    statistics: Mapping[str, tuple[float, float, float, float]] = STATISTICS,
    change: Callable[[list[dict[str, Any]]], Any] | None = None,
    metric: str = "score",
    dataset_type: str = "domain",
    set_name: str = "Open-Domain",
) -> Path:
    """One cell with these items, the summary that should be of them, and the statistics."""
    write_archive(root, [Group("qwen", "a_mem", VALUES, dataset_type=dataset_type, set_name=set_name)])
    folder = next(root.rglob("summary.json")).parent
    details = [
        {"test_idx": at, "metrics": {metric: value}, "dataset": name}
        for name, values in items.items()
        for at, value in enumerate(values)
    ]
    if change is not None:
        details = change(details) or details
    (folder / "evaluate_details.json").write_text(json.dumps(details))
    (folder / "summary.json").write_text(json.dumps(summary or summary_of(items, statistics)))
    groups = set(map(group_of, items))
    used = {name: row for name, row in statistics.items() if name in groups}
    (root / "normalization.json").write_text(json.dumps(normalization_of(used, dataset_type, set_name)))
    return root


def causes(made: Verification) -> set[str]:
    return {one.cause for one in made.differences}


def set_cause(made: Verification) -> str:
    """The one cause of every difference of the set's own metrics in the items."""
    found = {one.cause for one in made.differences if one.dataset is None}
    assert len(found) == 1, made.differences
    return found.pop()


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


# --- each known cause, planted and found ---


def zeroed(values: Mapping[str, list[Any]], *places: tuple[str, int]) -> dict[str, list[float]]:
    return {n: [0.0 if (n, at) in places else v for at, v in enumerate(of)] for n, of in values.items()}


def replaced(values: Mapping[str, list[Any]], name: str, *given: Any) -> dict[str, list[Any]]:
    return {**values, name: [*given]}


@pytest.mark.parametrize("form", ["legacy", "judge"])
def test_numpy_values_counted_as_0(tmp_path: Path, form: str) -> None:
    wrong = zeroed(VALUES, ("Alpha", 0), ("Alpha", 2))
    items = replaced(VALUES, "Alpha", "np.float64(3.0)", 7.0, "np.float64(9.5)", 4.25, 0.75)
    made = verify(archive(tmp_path, items, summary_of(wrong, STATISTICS, form)))
    assert causes(made) == {"2 items with numpy values counted as 0"}
    assert {one.metric for one in made.differences} >= {"average", "weighted_average", "z_score", "mean"}


def test_plain_values_that_the_summary_has_as_0(tmp_path: Path) -> None:
    wrong = zeroed(VALUES, ("Alpha", 0), ("Alpha", 2))
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS)))
    assert set_cause(made).startswith("Alpha: 2 items that have a value counted as 0")


def test_values_counted_as_0_are_found_without_the_summarys_values(tmp_path: Path) -> None:
    wrong = zeroed(VALUES, ("Alpha", 0), ("Alpha", 2), ("Beta&Gamma", 1))
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge")))
    expected = "Alpha: 2 items (of value 3 and 9.5) counted as 0; Beta&Gamma: 1 item (of value 0.62) counted as 0"
    assert set_cause(made) == expected


@pytest.mark.parametrize("absent", [None, math.nan, "n/a"])
def test_null_counted_as_0(tmp_path: Path, absent: Any) -> None:
    items = replaced(VALUES, "Alpha", 3.0, absent, 9.5, absent, 0.75)
    wrong = zeroed(VALUES, ("Alpha", 1), ("Alpha", 3))
    made = verify(archive(tmp_path, items, summary_of(wrong, STATISTICS)))
    assert causes(made) == {"2 items without a value (null, NaN or no such metric) counted as 0"}
    assert any("2 items without a value" in str(one) for one in made.warnings)


def test_a_failed_judge_counted_as_0(tmp_path: Path) -> None:
    def fail(details: list[dict[str, Any]]) -> None:
        details[1]["metrics"] |= {"llm_judge_score": 0, "judge_error": True}

    wrong = zeroed(VALUES, ("Alpha", 1))
    root = archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge"), change=fail, metric="llm_judge_score")
    made = verify(root)
    assert causes(made) == {"1 item whose judge failed counted as 0"}
    assert "1 item without a score since the judge failed" in [one.text for one in made.warnings]


def test_normalised_by_the_statistics_of_another_set(tmp_path: Path) -> None:
    other = {"Alpha": (1.0, 9.0, 5.0, 1.5), "Beta&Gamma": (0.0, 1.0, 0.5, 0.2)}
    root = archive(tmp_path, VALUES, summary_of(VALUES, other))
    both = normalization_of(STATISTICS, "domain", "Open-Domain") | normalization_of(other, "task", "Long-Long")
    (root / "normalization.json").write_text(json.dumps(both))
    made = verify(root)
    assert causes(made) == {"normalised by other statistics: those of set task/Long-Long"}
    assert {one.source for one in made.differences} == {"items", "summary's values"}


def test_normalised_by_its_own_values(tmp_path: Path) -> None:
    import statistics as st

    own = {n: (min(of), max(of), st.fmean(of), st.pstdev(of)) for n, of in VALUES.items()}
    made = verify(archive(tmp_path, VALUES, summary_of(VALUES, own, "judge")))
    assert {one.cause for one in made.differences if one.source == "items"} == {
        "normalised by other statistics: those of its own values"
    }


def test_values_not_normalised(tmp_path: Path) -> None:
    raw = dict.fromkeys(STATISTICS, (0.0, 1.0, 0.0, 1.0))
    made = verify(archive(tmp_path, VALUES, summary_of(VALUES, raw)))
    assert set_cause(made) == "values not normalised"


def test_an_incomplete_set_averaged(tmp_path: Path) -> None:
    some = {"Alpha": VALUES["Alpha"]}
    root = archive(tmp_path, some, summary_of(some, STATISTICS))
    (root / "normalization.json").write_text(json.dumps(normalization_of(STATISTICS, "domain", "Open-Domain")))
    made = verify(root)
    assert causes(made) == {"a set that is not complete averaged over the data sets that are there"}
    assert {one.recomputed for one in made.differences} == {None}


def test_statistics_that_allow_no_value_counted_as_0(tmp_path: Path) -> None:
    flat = {**STATISTICS, "Alpha": (5.0, 5.0, 5.0, 0.0)}
    wrong = summary_of(VALUES, STATISTICS, "judge")
    wrong["minmax_normalized_average"]["Alpha"] = wrong["z_normalized_average"]["Alpha"] = [0.0, 5, 0.0]
    beta, z = (wrong[f"{kind}_normalized_average"]["Beta&Gamma"] for kind in ("minmax", "z"))
    wrong["summary"] |= {"average": beta[2] / 2, "weighted_average": beta[0] / 9, "z_score": z[0] / 9}
    made = verify(archive(tmp_path, VALUES, wrong, flat))
    assert causes(made) == {"0 taken as the normalised value where the statistics allow none (Alpha)"}
    assert {one.recomputed for one in made.differences} == {None}


def test_values_clipped(tmp_path: Path) -> None:
    items = replaced(VALUES, "Alpha", 12.0, 7.0, -1.0)
    inside = replaced(VALUES, "Alpha", 10.0, 7.0, 0.0)
    right, wrong = summary_of(items, STATISTICS), summary_of(inside, STATISTICS)
    right["minmax_normalized_average"] = wrong["minmax_normalized_average"]
    right["summary"] |= {name: wrong["summary"][name] for name in ("average", "weighted_average")}
    made = verify(archive(tmp_path, items, right))
    assert {one.cause for one in made.differences if one.source != "summary's sums"} == {
        "normalised values clipped to 0..1"
    }


def test_an_item_twice_counted_twice(tmp_path: Path) -> None:
    wrong = replaced(VALUES, "Alpha", *VALUES["Alpha"], 3.0)
    root = archive(
        tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge"), change=lambda details: [*details, details[0]]
    )
    made = verify(root)
    assert causes(made) == {"1 item with the dataset and test_idx of an earlier one counted too"}
    assert any("dataset and test_idx of an earlier" in note for note in made.notes)


def test_an_item_twice_of_which_the_last_counted(tmp_path: Path) -> None:
    wrong = replaced(VALUES, "Alpha", 7.0, 9.5, 4.25, 0.75, 8.0)
    again = {"test_idx": 0, "dataset": "Alpha", "metrics": {"score": 8.0}}
    root = archive(tmp_path, VALUES, summary_of(wrong, STATISTICS), change=lambda details: [*details, again])
    assert causes(verify(root)) == {"1 item counted in place of an earlier one with their key"}


@pytest.mark.parametrize("form", ["legacy", "judge"])
def test_items_left_out(tmp_path: Path, form: str) -> None:
    wrong = replaced(VALUES, "Alpha", 3.0, 9.5, 0.75)
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, form)))
    expected = {
        "legacy": "Alpha: 2 items left out of the summary's own values",
        "judge": "Alpha: 2 items (of value 4.25 and 7) left out",
    }
    assert set_cause(made) == expected[form]


def test_items_that_the_details_do_not_have_counted_as_0(tmp_path: Path) -> None:
    wrong = replaced(VALUES, "Alpha", *VALUES["Alpha"], 0.0, 0.0)
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge")))
    assert set_cause(made) == "2 items more than evaluate_details has counted as 0"


def test_the_parts_of_locomo_averaged_apart(tmp_path: Path) -> None:
    apart = {name: WITH_LOCOMO[group_of(name)] for name in LOCOMO}
    wrong = summary_of(LOCOMO, apart)
    made = verify(archive(tmp_path, LOCOMO, wrong, WITH_LOCOMO))
    assert set_cause(made) == "the parts of Locomo averaged as data sets of their own"
    assert {(one.metric, one.source) for one in made.differences} == {("average", "items")}


def test_means_swapped(tmp_path: Path) -> None:
    wrong = summary_of(VALUES, STATISTICS)
    summary = wrong["summary"]
    summary["average"], summary["weighted_average"] = summary["weighted_average"], summary["average"]
    made = verify(archive(tmp_path, VALUES, wrong))
    assert causes(made) == {"the mean over data sets and the mean over items swapped"}


def test_numbers_rounded(tmp_path: Path) -> None:
    values = {name: [value / 7 for value in of] for name, of in VALUES.items()}
    wrong = summary_of(values, STATISTICS)
    wrong["summary"] = {name: round(value, 4) for name, value in wrong["summary"].items()}
    made = verify(archive(tmp_path, values, wrong))
    assert causes(made) == {"rounded to 4 digits"}


def test_two_causes_together(tmp_path: Path) -> None:
    values = {name: [value / 7 for value in of] for name, of in VALUES.items()}
    items = replaced(values, "Alpha", f"np.float64({3 / 7!r})", None, *values["Alpha"][2:])
    wrong = summary_of(zeroed(values, ("Alpha", 0), ("Alpha", 1)), STATISTICS, "judge")
    wrong["summary"] |= {name: round(wrong["summary"][name], 5) for name in ("average", "z_score")}
    made = verify(archive(tmp_path, items, wrong))
    both = (
        "1 item with a numpy value counted as 0, and 1 item without a value (null, NaN or no such metric) counted as 0"
    )
    found = {one.cause for one in made.differences if one.source == "items"}
    assert found == {both, f"{both}, and rounded to 5 digits"}


def test_a_data_set_left_out_of_the_summary(tmp_path: Path) -> None:
    some = {"Alpha": VALUES["Alpha"]}
    made = verify(archive(tmp_path, VALUES, summary_of(some, STATISTICS)))
    assert "Beta&Gamma left out of the summary" in causes(made)


def test_what_nothing_explains_is_not_explained(tmp_path: Path) -> None:
    wrong = summary_of(VALUES, STATISTICS)
    wrong["summary"]["average"] += 0.0123456789012
    made = verify(archive(tmp_path, VALUES, wrong))
    assert causes(made) == {"not explained"} and not any(one.explained for one in made.differences)
    assert made.differences[0].difference == pytest.approx(0.0123456789012)
    assert verify(tmp_path, tolerance=0.1).ok


def test_another_order_is_no_difference(tmp_path: Path) -> None:
    summary = summary_of(VALUES, STATISTICS)
    summary["details"] = {name: of[::-1] for name, of in summary["details"].items()}
    assert verify(archive(tmp_path, VALUES, summary, change=lambda details: details[::-1])).ok


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

    made = verify(archive(tmp_path, VALUES, summary_of(VALUES, STATISTICS), change=several))
    assert made.ok and made.numbers > 10
    assert any("several metrics (crime_f1, penalty)" in one.text for one in made.unchecked)
    assert any(one.text.endswith("Alpha cannot be recomputed") for one in made.unchecked)


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


def test_scores_by_statistics_of_another_scale_are_warned_of(tmp_path: Path) -> None:
    items = {"Beta&Gamma": [0.5, 0.75]}
    scale = {"Beta&Gamma": (1.0, 9.0, 6.5, 2.0)}
    made = verify(archive(tmp_path, items, summary_of(items, scale), scale, metric="llm_judge_score"))
    assert made.ok and "statistics of another scale (1 to 9)" in made.warnings[0].text


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
