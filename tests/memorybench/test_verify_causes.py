"""Each known cause of a wrong number is found where it is planted, and named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from amemgym.memorybench import verify
from amemgym.memorybench.aggregating.normalization import group_of
from amemgym.memorybench.verifying.causes import explain
from amemgym.memorybench.verifying.recompute import Key
from tests.memorybench.planted import LOCOMO, VALUES, WITH_LOCOMO, archive, causes, replaced, set_cause, zeroed
from tests.support.archive import STATISTICS, normalization_of, summary_of


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
    alpha, beta = "2 items (of value 3 and 9.5) were counted as 0", "1 item (of value 0.62) was counted as 0"
    assert set_cause(made) == f"Alpha: as if {alpha}; Beta&Gamma: as if {beta}"


@pytest.mark.parametrize(
    ("alpha", "cause"),
    [
        ([1.0, 2.0, 3.0, 5.0, 5.0], "not explained"),  # 1 and 2 fit as well
        ([3.0, 1.5, 1.5, 5.0, 8.0], "not explained"),
        ([3.0, 1.5, 6.0, 5.0, 8.0], "Alpha: as if 1 item (of value 3) was counted as 0"),
        ([3.0, 0.0, 6.0, 5.0, 8.0], "Alpha: as if 1 item (of value 3) was counted as 0"),
    ],
)
def test_items_are_named_only_where_no_others_fit(tmp_path: Path, alpha: list[float], cause: str) -> None:
    values = replaced(VALUES, "Alpha", *alpha)
    wrong = zeroed(values, ("Alpha", alpha.index(3.0)))
    made = verify(archive(tmp_path, values, summary_of(wrong, STATISTICS, "judge")))
    assert set_cause(made) == cause
    assert all(one.explained == (cause != "not explained") for one in made.differences)


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


def test_a_set_is_checked_by_its_own_statistics(tmp_path: Path) -> None:
    other = {"Alpha": (1.0, 9.0, 5.0, 1.5), "Beta&Gamma": (0.0, 1.0, 0.5, 0.2)}
    root = archive(tmp_path, VALUES)
    both = normalization_of(other, "task", "Long-Long") | normalization_of(STATISTICS, "domain", "Open-Domain")
    (root / "normalization.json").write_text(json.dumps(both))
    assert verify(root).ok


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
        "judge": "Alpha: as if 2 items (of value 4.25 and 7) were left out",
    }
    assert set_cause(made) == expected[form]


def test_items_without_a_number_that_were_counted(tmp_path: Path) -> None:
    more = [{"dataset": "Alpha", "metrics": {"score": value}} for value in (3.0, 8.0)]
    wrong = replaced(VALUES, "Alpha", *VALUES["Alpha"], 3.0, 8.0)
    root = archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge"), change=lambda details: [*details, *more])
    assert causes(verify(root)) == {"2 items without a test_idx counted"}


def test_a_number_of_an_item_is_the_same_as_a_float(tmp_path: Path) -> None:
    again = {"test_idx": 0.0, "dataset": "Alpha", "metrics": {"score": 8.0}}
    wrong = replaced(VALUES, "Alpha", *VALUES["Alpha"], 8.0)
    root = archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge"), change=lambda details: [*details, again])
    assert causes(verify(root)) == {"1 item with the dataset and test_idx of an earlier one counted too"}


def test_items_that_the_details_do_not_have_counted_as_0(tmp_path: Path) -> None:
    wrong = replaced(VALUES, "Alpha", *VALUES["Alpha"], 0.0, 0.0)
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS, "judge")))
    assert set_cause(made) == "2 items more than evaluate_details has counted as 0"


def test_a_published_n_that_is_no_count_of_items_fills_no_memory(tmp_path: Path) -> None:
    wrong = summary_of(VALUES, STATISTICS, "judge")
    for kind in ("minmax", "z"):
        total = wrong[f"{kind}_normalized_average"]["Alpha"][0]
        wrong[f"{kind}_normalized_average"]["Alpha"] = [total, 200_005, total / 200_005]
    made = verify(archive(tmp_path, VALUES, wrong))
    assert not any("counted as 0" in one.cause for one in made.differences)


def test_the_parts_of_locomo_averaged_apart(tmp_path: Path) -> None:
    apart = {name: WITH_LOCOMO[group_of(name)] for name in LOCOMO}
    wrong = summary_of(LOCOMO, apart)
    made = verify(archive(tmp_path, LOCOMO, wrong, WITH_LOCOMO))
    assert set_cause(made) == "the parts of Locomo averaged as data sets of their own"
    assert {(one.metric, one.source) for one in made.differences} == {("average", "items")}


def test_a_part_of_locomo_is_checked_by_itself(tmp_path: Path) -> None:
    apart = {name: WITH_LOCOMO[group_of(name)] for name in LOCOMO}
    wrong = summary_of(LOCOMO, apart)
    wrong["average"]["Locomo-0"] += 0.0123456789012
    found = [one for one in verify(archive(tmp_path, LOCOMO, wrong, WITH_LOCOMO)).differences if one.dataset]
    assert {(one.dataset, one.source) for one in found} == {("Locomo-0", "items"), ("Locomo-0", "summary's values")}


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


def test_known_causes_together_are_named_before_the_summarys_own_values(tmp_path: Path) -> None:
    items = replaced(VALUES, "Alpha", "np.float64(3.0)", None, *VALUES["Alpha"][2:])
    made = verify(archive(tmp_path, items, summary_of(zeroed(VALUES, ("Alpha", 0), ("Alpha", 1)), STATISTICS)))
    assert set_cause(made).startswith("1 item with a numpy value counted as 0, and 1 item without a value")


def test_other_values_in_the_summary_are_told_and_explain_nothing(tmp_path: Path) -> None:
    wrong = replaced(VALUES, "Alpha", 3.25, *VALUES["Alpha"][1:])
    made = verify(archive(tmp_path, VALUES, summary_of(wrong, STATISTICS)))
    assert "1 item with other values in the summary" in set_cause(made)
    assert not any(one.explained for one in made.differences)


def test_a_data_set_left_out_of_the_summary(tmp_path: Path) -> None:
    some = {"Alpha": VALUES["Alpha"]}
    made = verify(archive(tmp_path, VALUES, summary_of(some, STATISTICS)))
    assert "Beta&Gamma left out of the summary" in causes(made)


def test_what_comes_out_as_it_should_has_no_cause() -> None:
    key = Key("average")
    assert explain(lambda way: {key: 0.123456789123}, [], {key: 0.123456789123}, 1e-9) == {}


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
