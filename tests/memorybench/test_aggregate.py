"""A set's scores are those of the published formulas, whatever the items' order, and what is missing is never 0."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench import Normalization, aggregate_sums, item_values, read_collected, summarize
from amemgym.memorybench.aggregating.aggregate import overall
from amemgym.memorybench.aggregating.collected import Collected, CollectedCell
from amemgym.memorybench.aggregating.normalization import Statistics, group_of, read_normalizations
from amemgym.memorybench.aggregating.sums import ExactSum
from amemgym.memorybench.summary import SUMMARY_METRICS, DatasetSummary, Sums, read_summary
from tests.support.archive import STATISTICS, normalization_of, summary_of
from tests.support.shared import shared

VALUES = {"Alpha": [3.0, 7.0, 9.5], "Beta&Gamma": [0.2, 0.9]}
NORMALIZATION = normalization_of(STATISTICS, "domain", "Open-Domain")["domain"]["Open-Domain"]


def items(values: dict[str, list[Any]], metric: str = "score") -> list[dict[str, Any]]:
    return [
        {"test_idx": at, "metrics": {metric: value}, "dataset": name}
        for name, of in values.items()
        for at, value in enumerate(of)
    ]


@pytest.fixture(scope="module")
def paper() -> Collected:
    return read_collected(shared("data/memorybench/paper_summary.json"))


def scored(paper: Collected) -> list[CollectedCell]:
    return [cell for cell, summary in paper.summaries.items() if summary.scores["average"] is not None]


def test_every_published_cell_comes_out_of_its_sums(paper: Collected) -> None:
    cells = scored(paper)
    assert len(cells) == 52 and {summary.form for summary in paper.summaries.values()} == {"legacy"}
    for cell in cells:
        summary = paper.summaries[cell]
        sums = {name: (one.minmax, one.z) for name, one in summary.datasets.items()}
        made = aggregate_sums(sums, paper.normalizations[cell[:2]])
        for metric in SUMMARY_METRICS:
            assert made.as_dict()[metric] == pytest.approx(summary.scores[metric], abs=1e-9), (cell, metric)


def test_every_published_cell_comes_out_of_items_made_to_its_sums(paper: Collected) -> None:
    rng = random.Random(7)
    for cell in scored(paper):
        normalization, summary = paper.normalizations[cell[:2]], paper.summaries[cell]
        details = []
        for name, one in summary.datasets.items():
            values = values_of(normalization[name], one, rng)
            parts = [f"Locomo-{at % 10}" if name == "Locomo" else name for at in range(len(values))]
            details += [
                {"test_idx": at, "dataset": part, "metrics": {"llm_judge_score": value, "judge_reason": "…"}}
                for at, (part, value) in enumerate(zip(parts, values, strict=True))
            ]
        rng.shuffle(details)
        made = summarize(iter(details), normalization)
        for metric in SUMMARY_METRICS:
            assert getattr(made, metric) == pytest.approx(summary.scores[metric], abs=1e-9), (cell, metric)
        for name, one in summary.datasets.items():
            assert made.datasets[name].mean == pytest.approx(one.mean, abs=1e-9)
            assert made.datasets[name].minmax.total == pytest.approx(one.minmax.total, abs=1e-9)


def values_of(statistics: Statistics, one: DatasetSummary, rng: random.Random) -> list[float]:
    """Values that differ, with the published sums; both sums are affine in Σs, and must agree on it."""
    assert one.minmax and one.z and one.minmax.total is not None and one.z.total is not None and one.minmax.n
    assert statistics.mu is not None and statistics.sigma is not None
    n = one.minmax.n
    total = one.minmax.total * (statistics.high - statistics.low) + n * statistics.low
    assert one.z.total * statistics.sigma + n * statistics.mu == pytest.approx(total, abs=1e-9)
    noise = [rng.uniform(-1, 1) * (statistics.high - statistics.low) for _ in range(n)]
    return [total / n + one_noise - math.fsum(noise) / n for one_noise in noise]


def test_what_the_spec_tells_of_one_cell(paper: Collected) -> None:
    scores = paper.summaries[CollectedCell("task", "Short-Short", "bm25_dialog")].scores
    assert scores["weighted_average"] == pytest.approx(0.7360432308, abs=1e-10)
    assert scores["z_score"] == pytest.approx(0.0832802201, abs=1e-10)


def test_old_names_are_new_ones_and_what_was_not_run_has_no_score(paper: Collected) -> None:
    assert {cell.baseline for cell in paper.summaries} >= {"bm25_message", "embedder_message"}
    assert sorted(paper.notes) == ["'bm25' is bm25_message", "'embedder' is embedder_message"]
    unscored = {cell: summary for cell, summary in paper.summaries.items() if cell not in scored(paper)}
    for summary in unscored.values():
        assert set(summary.scores.values()) == {None}
    for set_of in (("domain", "Open-Domain"), ("task", "Long-Short")):
        assert CollectedCell(*set_of, "mem0") not in scored(paper)
    # wo_memory has means there, and no sums: they are null, not 0
    own = paper.summaries[CollectedCell("domain", "Open-Domain", "wo_memory")]
    made = aggregate_sums({name: (one.minmax, one.z) for name, one in own.datasets.items()})
    assert made.as_dict() == dict.fromkeys(SUMMARY_METRICS) and "no sums" in made.why["average"]


def test_the_published_statistics_are_read(paper: Collected) -> None:
    assert read_normalizations(shared("data/memorybench/normalization.json")) == paper.normalizations


def test_the_formulas_by_hand() -> None:
    made = summarize(items(VALUES), NORMALIZATION)
    m = [[0.3, 0.7, 0.95], [0.0, 1.4]]
    assert made.average == pytest.approx((sum(m[0]) / 3 + sum(m[1]) / 2) / 2)
    assert made.weighted_average == pytest.approx(sum(map(sum, m)) / 5)
    assert made.z_score == pytest.approx((-1.5 + 0.5 + 1.75 - 3 + 4) / 5)
    assert (made.n, made.missing, made.complete, made.why) == (5, 0, True, {})
    published = summary_of(VALUES, STATISTICS)
    assert made.as_dict(published["details"]).keys() == published.keys()
    for key, table in made.as_dict().items():
        for name, value in table.items():
            assert value == pytest.approx(published[key][name]), (key, name)


numbers = st.floats(-1e6, 1e6)
missing = st.sampled_from([None, math.nan, math.inf, "n/a", [1], {}, ""])
tables = st.fixed_dictionaries({"Alpha": st.lists(numbers, min_size=1), "Beta&Gamma": st.lists(numbers, min_size=1)})


@given(tables, st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_order_and_splitting_change_nothing(values: dict[str, list[float]], rng: random.Random) -> None:
    whole = items(values)
    shuffled = rng.sample(whole, len(whole))
    made = summarize(whole, NORMALIZATION)
    assert summarize(iter(shuffled), NORMALIZATION) == made
    assert summarize({name: iter(of) for name, of in values.items()}, NORMALIZATION).as_dict() == made.as_dict()


@given(tables, st.lists(missing, min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_missing_items_change_no_mean_and_are_counted(values: dict[str, list[float]], absent: list[Any]) -> None:
    made = summarize(items(values), NORMALIZATION)
    more = summarize(items({**values, "Alpha": [*values["Alpha"], *absent]}), NORMALIZATION)
    assert more.as_dict() == made.as_dict()
    assert (more.n, more.missing) == (made.n, len(absent)) and more.datasets["Alpha"].missing == len(absent)
    zeros = summarize({**values, "Alpha": [*values["Alpha"], *[0.0] * len(absent)]}, NORMALIZATION)
    assert zeros.n == made.n + len(absent)


@given(tables)
@settings(max_examples=50, deadline=None)
def test_what_is_written_is_read_back(values: dict[str, list[float]]) -> None:
    made = summarize(values, NORMALIZATION)
    read = read_summary(made.as_dict(details={name: list(of) for name, of in values.items()}), "summary.json")
    assert read.form == "legacy"
    assert read.scores == {name: getattr(made, name) for name in SUMMARY_METRICS}
    for name, one in made.datasets.items():
        assert read.datasets[name] == DatasetSummary(one.mean, one.minmax, one.z)


def test_a_summary_without_scores_is_written_as_null() -> None:
    read = read_summary(summarize({"Alpha": [None, 5]}, NORMALIZATION).as_dict(), "summary.json")
    assert read.scores == dict.fromkeys(SUMMARY_METRICS)
    assert read.datasets["Alpha"].mean == 5


@given(st.lists(st.floats(-1e300, 1e300), max_size=40))
@settings(deadline=None)
def test_the_running_sum_is_that_of_fsum(values: list[float]) -> None:
    made = ExactSum()
    for value in values:
        made.add(value)
    assert made.total == (math.fsum(values) if values else None)
    assert made.n == len(values)


def test_a_sum_beyond_all_floats_is_none_and_no_crash() -> None:
    made = summarize({"Alpha": [1e308, 1e308], "Beta&Gamma": [0.5]}, {"Alpha": {"min": 0, "max": 1}, "Beta&Gamma": B})
    assert made.weighted_average is None and made.why["weighted_average"]


B = {"min": 0, "max": 1, "mean": 0.5, "std": 0.1}


def test_an_absent_data_set_makes_no_score_unless_the_rest_is_asked_for() -> None:
    made = summarize({"Alpha": [5.0], "Beta&Gamma": [None]}, NORMALIZATION)
    assert made.as_dict()["summary"] == dict.fromkeys(SUMMARY_METRICS)
    assert (made.complete, made.absent, made.missing) == (False, ("Beta&Gamma",), 1)
    assert made.why["average"] == "Beta&Gamma: no item has a value"
    rest = summarize({"Alpha": [5.0]}, NORMALIZATION, partial=True)
    assert (rest.average, rest.absent) == (0.5, ("Beta&Gamma",))


@pytest.mark.parametrize(
    ("statistics", "none", "reason"),
    [
        ({"min": 3, "max": 3, "mu": 3, "sigma": 1}, ("average", "weighted_average"), "largest value 3 is not above"),
        ({"min": 0, "max": 3, "mu": 3, "sigma": 0}, ("z_score",), "standard deviation is 0"),
        ({"min": 0, "max": 3}, ("z_score",), "no mean or no standard deviation"),
        ({"min": 0, "max": 3, "mu": None, "sigma": "NaN"}, ("z_score",), "no mean or no standard deviation"),
    ],
)
def test_statistics_that_allow_no_value_give_none(
    statistics: dict[str, Any], none: tuple[str, ...], reason: str
) -> None:
    made = summarize({"Alpha": [3.0, 2.0]}, {"Alpha": statistics})
    assert {name for name in SUMMARY_METRICS if getattr(made, name) is None} == set(none)
    assert all(reason in made.why[name] for name in none)
    assert made.datasets["Alpha"].mean == 2.5


def test_a_data_set_without_statistics_is_told() -> None:
    made = summarize({"Alpha": [3.0], "Other": [1.0]}, {"Alpha": B})
    assert made.average is None and made.why["average"] == "Other: there are no statistics of it"
    assert made.datasets["Other"].mean == 1


@pytest.mark.parametrize(
    ("name", "group"),
    [("Locomo-0", "Locomo"), ("Locomo-9", "Locomo"), ("Locomo", "Locomo"), ("Locomotion", "Locomotion")],
)
def test_locomo_is_one_data_set(name: str, group: str) -> None:
    assert group_of(name) == group


# --- which of an item's metrics ---


def item(dataset: str, at: int, **metrics: Any) -> dict[str, Any]:
    return {"test_idx": at, "dataset": dataset, "metrics": metrics}


@pytest.mark.parametrize(
    ("one", "metrics", "metric", "value"),
    [
        (item("Locomo-3", 0, f1=0.5, accuracy=1), None, "f1", 0.5),
        (item("WritingPrompts", 0, meteor=0.25, rouge=0.5), None, "meteor", 0.25),
        (item("JuDGE", 0, a=1, llm_judge_score=0.75, judge_error=False), None, "llm_judge_score", 0.75),
        (item("Mine", 0, score="np.float64(0.5)", reason="why", lines=[1]), None, "score", 0.5),
        (item("Mine", 0, a=1, b=True), "b", "b", 1.0),
        (item("Locomo-3", 0, f1=0.5, accuracy=1), {"Locomo": "accuracy"}, "accuracy", 1.0),
        (item("Mine", 0, score=np.float64(0.5)), None, "score", 0.5),
        (item("JuDGE", 0, llm_judge_score=0, judge_error=True), None, "llm_judge_score", None),
        (item("NFCats", 0, score=None), None, "score", None),
    ],
)
def test_which_metric_is_an_items_value(one: Any, metrics: Any, metric: str, value: float | None) -> None:
    made = item_values([one], metrics)
    assert made.metrics == {group_of(one["dataset"]): metric}
    assert made.values == {(one["dataset"], 0): value}


def test_of_items_with_one_key_the_first_counts() -> None:
    assert item_values([item("Mine", 0, a=1), item("Mine", 0, a=2)]).values == {("Mine", 0): 1.0}


def test_several_metrics_and_no_choice_are_no_value() -> None:
    made = summarize([item("JuDGE", 0, crime_f1=0.5, penalty=1.0)], {"JuDGE": B})
    assert made.average is None and "crime_f1, penalty" in made.why["average"] and "merged" in made.why["average"]
    assert summarize([item("JuDGE", 0, crime_f1=0.5, penalty=1.0)], {"JuDGE": B}, metrics="penalty").average == 1


def test_a_data_set_is_never_a_mixture_of_metrics() -> None:
    mixed = [item("Mine", 0, a=0.5), item("Mine", 1, b=9.0)]
    assert summarize(mixed, {"Mine": B}).average is None
    judged = [item("Locomo-1", 0, llm_judge_score=0.5), item("Locomo-2", 0, f1=0.25)]
    for order in (judged, judged[::-1]):
        made = summarize(order, {"Locomo": B})
        assert (made.average, made.n, made.missing) == (0.5, 1, 1)
        assert made.datasets["Locomo"].metric == "llm_judge_score"


@pytest.mark.parametrize("error", [True, 1, 2, "True", "timeout", {"type": "x"}, ["e"], math.nan])
def test_a_failed_judge_is_missing_not_0(error: Any) -> None:
    of = [item("X", 0, llm_judge_score=0, judge_error=error), item("X", 1, llm_judge_score=1)]
    made = summarize(of, {"X": B})
    assert (made.average, made.n, made.missing, made.datasets["X"].failed) == (1, 1, 1, 1)
    assert summarize(of, None, metrics="llm_judge_score").metrics["llm_judge_score"].mean == 1


@pytest.mark.parametrize("none", [None, False, 0, "", "false", "False", "0", "None"])
def test_a_judge_that_did_not_fail_counts(none: Any) -> None:
    made = summarize([item("X", 0, llm_judge_score=0, judge_error=none), item("X", 1, llm_judge_score=1)], {"X": B})
    assert (made.average, made.n, made.missing) == (0.5, 2, 0)


def test_a_mean_over_data_sets_of_which_one_is_missing_is_none() -> None:
    """It would count in the number of data sets, and so as 0."""
    made = overall({"A": Sums(None, 2, None), "B": Sums(1.0, 2, 0.5)}, {}, {"minmax": {}, "z": {}}, {})
    assert (made.average, made.weighted_average) == (None, None)


def test_a_mistyped_metric_or_data_set_is_an_error_with_the_right_names() -> None:
    with pytest.raises(UnknownName, match=r"unknown metric 'scor'. Did you mean 'score'"):
        summarize(items(VALUES), NORMALIZATION, metrics="scor")
    with pytest.raises(UnknownName, match=r"unknown data set 'Alhpa'. Did you mean 'Alpha'"):
        summarize(items(VALUES), NORMALIZATION, metrics={"Alhpa": "score"})
    made = summarize(items(VALUES), NORMALIZATION, metrics={"Alpha": "scor"})
    assert "'scor' (they have: score)" in made.why["average"]


def test_one_data_set_has_the_means_of_its_metrics() -> None:
    details = [item("X", 0, a=1.0, b=None, why="…"), item("X", 1, a=False, b=0.5), item("X", 2, b="nan")]
    made = summarize(details, None)
    assert {name: (one.mean, one.n, one.missing) for name, one in made.metrics.items()} == {
        "a": (0.5, 2, 1),
        "b": (0.5, 1, 2),
    }
    assert made.average is None and read_summary(made.as_dict(), "s").scores == {"a": 0.5, "b": 0.5}


# --- bad input ---


@pytest.mark.parametrize("bad", [3, {"test_idx": 1}, {"dataset": "A", "metrics": [1]}, {"dataset": 3, "metrics": {}}])
def test_what_is_no_item_is_an_error_that_names_it(bad: Any) -> None:
    with pytest.raises(DataError, match="item 1 of the details"):
        summarize([item("Alpha", 0, score=1), bad], NORMALIZATION)


@pytest.mark.parametrize("form", ["inner", "summary", "rows"])
def test_statistics_in_every_published_form(form: str) -> None:
    inner = {"dataset_min": {"A": 1}, "dataset_max": {"A": "9"}, "dataset_mu": {"A": 6.5}, "dataset_sigma": {"A": 2}}
    rows = {"A": {"min": 1, "max": 9, "mean": 6.5, "std": 2}}
    value = {"inner": inner, "summary": {"summary": inner}, "rows": rows}[form]
    assert dict(Normalization.from_published(value)) == {"A": Statistics(1.0, 9.0, 6.5, 2.0)}


def test_bad_statistics_name_the_set_and_the_data_set(tmp_path: Any) -> None:
    path = tmp_path / "normalization.json"
    for text, match in (
        ("{", "is damaged"),
        ("[]", "not the statistics of several sets"),
        ('{"task": 3}', "'task' should hold sets"),
        (
            '{"task": {"Short-Short": {"dataset_min": {"JRE-L": 2}}}}',
            "set task/Short-Short, data set 'JRE-L': no dataset_max",
        ),
        ('{"task": {"S": {"dataset_min": {"J": "x"}, "dataset_max": {"J": 1}}}}', "data set 'J': 'x' is no number"),
        ('{"task": {"S": {}}}', "set task/S: no statistics"),
        ('{"task": {"S": {"J": 3}}}', "data set 'J': no statistics"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=match):
            read_normalizations(path)
    with pytest.raises(DataError, match="cannot read"):
        read_normalizations(tmp_path / "none.json")


def test_a_file_of_another_shape_is_no_collected_summary(tmp_path: Any) -> None:
    (tmp_path / "x.json").write_text('{"summary": {"average": 1}}')
    with pytest.raises(DataError, match="not a summary over several baselines"):
        read_collected(tmp_path / "x.json")
