"""Tables of results: small numbers worked out by hand, gains by formulas of their own, and what must not matter."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from amemgym.errors import DataError, UnknownName
from amemgym.memorybench.comparing.compare import compare
from amemgym.memorybench.comparing.comparison import Gain, ResultTable
from amemgym.memorybench.reading.results import MemoryBenchResults
from tests.support.archive import STATISTICS, Group, normalization_of, write_archive

ALPHA = [1.0, 4.0, 2.0, 8.0, 6.0, 3.0, 7.0, 5.0, 2.0, 4.0]
BETA = [0.3, 0.5, 0.2, 0.6, 0.4, 0.7]
MORE_ALPHA = [2.0, 4.0, 5.0, 9.0, 6.0, 5.0, 7.0, 8.0, 1.0, 6.0]
MORE_BETA = [0.5, 0.4, 0.4, 0.7, 0.6, 0.6]


def groups(**baselines: tuple[Sequence[Any], Sequence[Any]]) -> list[Group]:
    return [Group("m", name, {"Alpha": alpha, "Beta&Gamma": beta}) for name, (alpha, beta) in baselines.items()]


def opened(root: Path, made: Sequence[Group], normalized: bool = True) -> MemoryBenchResults:
    write_archive(root, made)
    if normalized:
        sets = {(group.dataset_type, group.set_name) for group in made}
        value: dict[str, Any] = {}
        for dataset_type, set_name in sets:
            found = normalization_of(STATISTICS, dataset_type, set_name)
            value.setdefault(dataset_type, {}).update(found[dataset_type])
        (root / "normalization.json").write_text(json.dumps(value), encoding="utf-8")
    return MemoryBenchResults.from_local(root)


@pytest.fixture
def results(tmp_path: Path) -> MemoryBenchResults:
    return opened(tmp_path, groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA), a_mem=(ALPHA, BETA)))


def gain_of(table: ResultTable, baseline: str, row: int = 0) -> Gain:
    gain = table.rows[row].cell(baseline).gain
    assert gain is not None
    return gain


def stratified(differences: Sequence[Sequence[float]], weights: Sequence[float]) -> tuple[float, float, float, float]:
    """Value, low, high and the t test's p, by numpy and scipy alone."""
    means = [np.mean(d) for d in differences]
    parts = [w**2 * np.var(d, ddof=1) / len(d) for w, d in zip(weights, differences, strict=True)]
    free = sum(parts) ** 2 / sum(p**2 / (len(d) - 1) for p, d in zip(parts, differences, strict=True))
    value, error = float(np.dot(weights, means)), math.sqrt(sum(parts))
    low, high = stats.t.interval(0.95, free, value, error)
    return value, low, high, float(2 * stats.t.sf(abs(value) / error, free))


def scaled(metric: str) -> list[np.ndarray[Any, Any]]:
    """Differences of the two, normalised by hand."""
    alpha, beta = (np.subtract(more, less) for more, less in ((MORE_ALPHA, ALPHA), (MORE_BETA, BETA)))
    return [alpha / 2.0, beta / 0.1] if metric == "z_score" else [alpha / 10.0, beta / 0.5]


@pytest.mark.parametrize("metric", ["weighted_average", "average", "z_score"])
def test_a_gain_and_its_interval(results: MemoryBenchResults, metric: str) -> None:
    gain = gain_of(compare(results, metric), "mine")
    weights = (0.5, 0.5) if metric == "average" else (10 / 16, 6 / 16)
    value, low, high, p = stratified(scaled(metric), weights)
    assert gain.n == 16 and gain.why is None
    assert gain.value == pytest.approx(value, abs=1e-12)
    assert gain.value == pytest.approx(gain.of_summaries, abs=1e-12)
    assert gain.interval == pytest.approx((low, high), abs=1e-12)
    assert gain.p == pytest.approx(p, abs=1e-12)
    # the other gain of the table has no p, so this one is all there is
    assert gain.p_adjusted == gain.p
    assert gain.verdict == ("better" if low > 0 else "not shown to be better")


def test_the_same_by_data_sets(results: MemoryBenchResults) -> None:
    table = compare(results, by_dataset=True)
    assert table.metric == "own_mean"
    assert [row.place.dataset for row in table.rows] == ["Alpha", "Beta&Gamma"]
    for row, (less, more) in enumerate(((ALPHA, MORE_ALPHA), (BETA, MORE_BETA))):
        found = table.rows[row].cell("mine")
        gain = gain_of(table, "mine", row)
        assert found.value == pytest.approx(np.mean(more)) and found.n == len(more)
        told = stats.ttest_rel(more, less)
        assert gain.interval == pytest.approx(tuple(told.confidence_interval(0.95)))
        if len(more) > 13:
            assert gain.p == pytest.approx(told.pvalue)
        else:
            flipped = stats.permutation_test(
                (np.subtract(more, less),), np.sum, permutation_type="samples", n_resamples=np.inf
            )
            assert gain.p == pytest.approx(flipped.pvalue)
    normalised = compare(results, "weighted_average", by_dataset=True)
    assert gain_of(normalised, "mine").value == pytest.approx(np.mean(np.subtract(MORE_ALPHA, ALPHA)) / 10)
    interval = gain_of(normalised, "mine").interval
    assert interval is not None
    assert np.multiply(interval, 10) == pytest.approx(gain_of(table, "mine").interval)


def test_one_that_is_the_same_gains_nothing(results: MemoryBenchResults) -> None:
    gain = gain_of(compare(results), "a_mem")
    assert (gain.value, gain.of_summaries, gain.interval, gain.p) == (0.0, 0.0, None, None)
    assert gain.why is not None and "same for every item" in gain.why
    assert gain.verdict == "not shown to be better"


def test_p_is_adjusted_for_all_gains_of_the_table(tmp_path: Path) -> None:
    worse = [value - 1 for value in ALPHA[:-1]] + [ALPHA[-1]]
    made = groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA), bad=(worse, BETA), even=(ALPHA[::-1], BETA))
    table = compare(opened(tmp_path, made))
    gains = [cell.gain for cell in table.rows[0].cells if cell.gain is not None]
    told = stats.false_discovery_control([gain.p for gain in gains])
    assert [gain.p_adjusted for gain in gains] == pytest.approx(told)
    # alone it would be better
    mine = gain_of(table, "mine")
    assert mine.p is not None and mine.p_adjusted is not None and mine.p < 0.05 < mine.p_adjusted
    assert {gain.verdict for gain in gains} == {"worse", "not shown to be better"}


def test_columns_stand_as_published_or_as_given(tmp_path: Path) -> None:
    made = groups(**{name: (ALPHA, BETA) for name in ("zep", "memoryos", "wo_memory", "bm25_dialog", "Other")})
    results = opened(tmp_path, made)
    assert compare(results, intervals=False).baselines == ("wo_memory", "bm25_dialog", "memoryos", "Other", "zep")
    table = compare(results, baselines=["zep", "bm25_dialog"])
    assert table.baselines == ("zep", "bm25_dialog")
    assert gain_of(table, "zep").of_summaries == 0.0  # also without the column it is compared with


def test_ranks_ties_and_what_is_missing(tmp_path: Path) -> None:
    def of(set_name: str, **values: float) -> list[Group]:
        return [Group("m", name, {"Alpha": [value, value]}, set_name=set_name) for name, value in values.items()]

    made = [
        *of("One", wo_memory=2.0, bm25_message=5.0, a_mem=5.0, mem0=1.0),
        *of("Two", wo_memory=3.0, bm25_message=1.0, a_mem=4.0),
        *of("Three", wo_memory=9.0, bm25_message=8.0, a_mem=7.0, mem0=8.0),
    ]
    table = compare(opened(tmp_path, made), intervals=False)
    ranks = {row.place.set_name: [cell.rank for cell in row.cells] for row in table.rows}
    assert ranks == {"One": [3, 1.5, 1.5, 4], "Two": [2, 3, 1, None], "Three": [1, 2.5, 4, 2.5]}
    best = {row.place.set_name: [cell.baseline for cell in row.cells if cell.is_best] for row in table.rows}
    assert best == {"One": ["bm25_message", "a_mem"], "Two": ["a_mem"], "Three": ["wo_memory"]}
    missing = table.rows[2].cell("mem0")
    assert (missing.value, missing.n, missing.rank, missing.is_best, missing.gain) == (None, None, None, False, None)
    # over One and Three, as Two lacks mem0
    standing = {one.baseline: (one.mean_rank, one.wins, one.rows) for one in table.standings}
    assert standing == {
        "wo_memory": (2.0, 1, 2),
        "bm25_message": (2.0, 1, 2),
        "a_mem": (2.75, 1, 2),
        "mem0": (3.25, 0, 2),
    }
    assert not table.has_gains


def test_order_does_not_matter(tmp_path: Path, results: MemoryBenchResults) -> None:
    """Neither that of items in the files, nor that of columns."""
    shuffled = write_archive(
        tmp_path / "again", groups(mine=(MORE_ALPHA, MORE_BETA), a_mem=(ALPHA, BETA), wo_memory=(ALPHA, BETA))
    )
    for path in shuffled.glob("**/mine/**/evaluate_details.json"):
        items = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps([items[at] for at in np.random.default_rng(3).permutation(len(items))]))
    statistics = tmp_path / "normalization.json"
    again = compare(MemoryBenchResults.from_local(shuffled), normalization=statistics)
    assert again == compare(results)
    turned = compare(results, baselines=["mine", "a_mem", "wo_memory"])
    assert {c.baseline: c for c in turned.rows[0].cells} == {c.baseline: c for c in again.rows[0].cells}


def test_what_both_gain_is_no_gain(tmp_path: Path) -> None:
    """A constant added to every item of both changes values and no gain."""

    def shifted(values: Sequence[float]) -> list[float]:
        return [value + 0.25 for value in values]

    plain = opened(tmp_path / "a", groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)))
    moved = opened(
        tmp_path / "b",
        groups(wo_memory=(shifted(ALPHA), shifted(BETA)), mine=(shifted(MORE_ALPHA), shifted(MORE_BETA))),
    )
    one, other = gain_of(compare(plain), "mine"), gain_of(compare(moved), "mine")
    assert other.value == pytest.approx(one.value) and other.interval == pytest.approx(one.interval)
    assert compare(plain).rows[0].cell("mine").value != compare(moved).rows[0].cell("mine").value


def edited(root: Path, baseline: str, change: Any) -> None:
    for path in root.glob(f"**/{baseline}/**/evaluate_details.json"):
        items = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps(change(items)), encoding="utf-8")


def test_only_items_that_both_have_count(tmp_path: Path) -> None:
    results = opened(tmp_path, groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)))
    before = gain_of(compare(results), "mine")

    def without(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        items[0]["metrics"]["score"] = None
        return items[:-1]

    edited(tmp_path, "mine", without)
    table = compare(MemoryBenchResults.from_local(tmp_path))
    gain = gain_of(table, "mine")
    assert gain.n == 14
    value, low, high, _ = stratified([scaled("")[0][1:], scaled("")[1][:-1]], (9 / 14, 5 / 14))
    assert gain.value == pytest.approx(value) and gain.interval == pytest.approx((low, high))
    assert gain.of_summaries == before.of_summaries
    assert any("differs from what the summaries say" in note for note in table.notes)


def test_several_metrics_of_an_item_are_no_value(tmp_path: Path) -> None:
    """A model merged them into the one that the summary has, so there is no interval, and the reason is told."""
    results = opened(tmp_path, groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)))

    def doubled(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for item in items:
            if item["dataset"] == "Alpha":
                item["metrics"] |= {"rouge": 0.5, "meteor": 0.25}
        return items

    for baseline in ("wo_memory", "mine"):
        edited(tmp_path, baseline, doubled)
    results = MemoryBenchResults.from_local(tmp_path)
    table = compare(results)
    gain = gain_of(table, "mine")
    assert (gain.interval, gain.p, gain.n) == (None, None, 0)
    assert gain.value == gain.of_summaries == pytest.approx(0.13125)
    assert gain.why is not None and "Alpha" in gain.why
    assert any(note.startswith("1 gain has no interval: Alpha") for note in table.notes)
    by_dataset = compare(results, by_dataset=True)
    assert gain_of(by_dataset, "mine", 0).interval is None
    assert gain_of(by_dataset, "mine", 1).interval is not None
    named = compare(results, metrics={"Alpha": "score"})
    assert gain_of(named, "mine").interval is not None


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        ("statistics", "no statistics to normalise"),
        ("details", "evaluate_details.json"),
        ("reference", "no results of wo_memory"),
    ],
)
def test_without_what_it_needs_a_gain_has_no_interval(tmp_path: Path, harm: str, why: str) -> None:
    made = groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA))
    results = opened(tmp_path, made[1:] if harm == "reference" else made, normalized=harm != "statistics")
    if harm == "details":
        for path in tmp_path.glob("**/mine/**/evaluate_details.json"):
            path.unlink()
    gain = gain_of(compare(results), "mine")
    assert gain.interval is None and gain.p is None and gain.p_adjusted is None
    assert gain.why is not None and why in gain.why
    assert gain.value == (None if harm == "reference" else pytest.approx(0.13125))
    if harm == "statistics":  # own values need none
        assert gain_of(compare(results, by_dataset=True), "mine").interval is not None


def test_statistics_can_be_given(tmp_path: Path) -> None:
    results = opened(tmp_path / "a", groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)), normalized=False)
    wider = {name: (low, low + 2 * (high - low), mu, s) for name, (low, high, mu, s) in STATISTICS.items()}
    path = tmp_path / "wider.json"
    path.write_text(json.dumps(normalization_of(wider, "domain", "Open-Domain")), encoding="utf-8")
    gain = gain_of(compare(results, normalization=path), "mine")
    assert gain.value == pytest.approx(0.13125 / 2)
    with pytest.raises(DataError, match="nowhere"):
        compare(results, normalization=tmp_path / "nowhere.json")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"metric": "weighted_averag"}, "unknown metric 'weighted_averag'. Did you mean 'weighted_average'"),
        ({"metric": "own_mean"}, "--by-dataset"),
        ({"models": ["n"]}, "unknown model 'n'"),
        ({"set_names": ["Open-Doman"]}, "Did you mean 'Open-Domain'"),
        ({"baselines": ["wo_memory", "mem1"]}, "mem1"),
    ],
)
def test_unknown_names_list_the_near_ones(results: MemoryBenchResults, wrong: Mapping[str, Any], said: str) -> None:
    with pytest.raises(UnknownName, match=said):
        compare(results, **wrong)


def test_a_summary_that_cannot_be_read_is_missing_and_told(tmp_path: Path) -> None:
    opened(tmp_path, groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)))
    for path in tmp_path.glob("**/mine/**/summary.json"):
        path.write_text("[]")
    table = compare(MemoryBenchResults.from_local(tmp_path))
    cell = table.rows[0].cell("mine")
    assert (cell.value, cell.n, cell.gain) == (None, None, None)
    assert any("mine" in note and "summary" in note for note in table.notes)


def test_values_have_intervals_of_their_items(results: MemoryBenchResults) -> None:
    """Data sets are strata; one data set alone is the t interval of its items."""
    alpha, beta = np.divide(MORE_ALPHA, 10.0), np.subtract(MORE_BETA, 0.2) / 0.5
    cell = compare(results).rows[0].cell("mine")
    value, low, high, _ = stratified([alpha, beta], (10 / 16, 6 / 16))
    assert cell.value == pytest.approx(value) and cell.interval == pytest.approx((low, high))
    by_dataset = compare(results, by_dataset=True).rows[0].cell("mine")
    told = stats.t.interval(0.95, 9, np.mean(MORE_ALPHA), stats.sem(MORE_ALPHA))
    assert by_dataset.interval == pytest.approx(tuple(told))
    without = compare(results, intervals=False)
    assert without.rows[0].cell("mine").interval is None
    assert "intervals need the items: --gains reads them" in without.notes


def test_a_value_that_its_items_do_not_have_has_no_interval(tmp_path: Path) -> None:
    opened(tmp_path, groups(wo_memory=(ALPHA, BETA), mine=(MORE_ALPHA, MORE_BETA)))
    edited(tmp_path, "mine", lambda items: items[2:])
    cell = compare(MemoryBenchResults.from_local(tmp_path)).rows[0].cell("mine")
    assert cell.interval is None and cell.why is not None and "another mean" in cell.why


def single(root: Path, **metrics: Sequence[float]) -> MemoryBenchResults:
    """Two memory systems on one data set, whose items have several metrics."""
    write_archive(root, [Group("m", name, {"Alpha": ALPHA}, dataset_type="single") for name in ("wo_memory", "mine")])
    for at, baseline in enumerate(("wo_memory", "mine")):
        found = {name: [value + at * 0.1 * (n % 3) for n, value in enumerate(of)] for name, of in metrics.items()}
        for path in root.glob(f"**/{baseline}/**/summary.json"):
            means = {name: math.fsum(of) / len(of) for name, of in found.items()}
            path.write_text(json.dumps({"summary": {**means, "merged": 0.5}}))
        edited(
            root,
            baseline,
            lambda items, found=found: [
                {**item, "metrics": {name: of[n] for name, of in found.items()}}
                for n, item in enumerate(items[: len(BETA)])
            ],
        )
    return MemoryBenchResults.from_local(root)


def test_a_set_of_one_data_set_is_measured_by_the_metric_of_its_items(tmp_path: Path) -> None:
    results = single(tmp_path, accuracy=BETA, f1=MORE_BETA)
    table = compare(results)
    assert table.metric == "accuracy" and any("f1, merged" in note for note in table.notes)
    for metric, values in (("accuracy", BETA), ("f1", MORE_BETA)):
        table = compare(results, metric)
        gain, cell = gain_of(table, "mine"), table.rows[0].cell("wo_memory")
        told = stats.ttest_1samp([0.1 * (n % 3) for n in range(6)], 0)
        assert gain.value == pytest.approx(0.1) and gain.n == cell.n == 6 and gain.users is None
        assert gain.interval == pytest.approx(tuple(told.confidence_interval(0.95)))
        assert cell.interval == pytest.approx(stats.t.interval(0.95, 5, np.mean(values), stats.sem(values)))
        assert compare(results, metric, intervals=False).rows[0].cell("mine").n == 6
    merged = compare(results, "merged")
    assert merged.rows[0].cell("mine").n is None and gain_of(merged, "mine").why == "no item has a value of merged"


def test_without_a_usual_metric_one_has_to_be_named(tmp_path: Path) -> None:
    results = single(tmp_path, f1=BETA, rouge=MORE_BETA)
    with pytest.raises(UnknownName, match=r"Known: f1, merged, rouge\..*--metric"):
        compare(results)


def test_sets_that_lack_the_usual_metric_are_told(tmp_path: Path, results: MemoryBenchResults) -> None:
    both = MemoryBenchResults.combined([results, single(tmp_path / "more", accuracy=BETA)])
    table = compare(both, intervals=False)
    assert "mine" not in table.baselines or any(row.cell("mine").value is not None for row in table.rows)
    left_out = [row.place for row in compare(both, "accuracy", intervals=False).rows]
    assert left_out and not set(left_out) & {row.place for row in table.rows}
    said = f"left out, as no summary has weighted_average: {left_out[0]}; --metric has accuracy"
    assert any(note.startswith(said) for note in table.notes)


def test_a_summary_without_counts_is_counted(tmp_path: Path) -> None:
    opened(tmp_path, groups(wo_memory=(ALPHA, BETA)))
    for path in tmp_path.glob("**/summary.json"):
        path.write_text('{"summary": {"score": 0.5}}')
    table = compare(MemoryBenchResults.from_local(tmp_path), "score", intervals=False)
    assert [(cell.value, cell.n) for cell in table.rows[0].cells] == [(0.5, 16)]


def test_experiments_are_rows_of_their_own(tmp_path: Path) -> None:
    made = [replace(group, exp=exp) for exp in ("off-policy", "on-policy") for group in groups(wo_memory=(ALPHA, BETA))]
    table = compare(opened(tmp_path, made), intervals=False)
    assert [row.place.exp for row in table.rows] == ["off-policy", "on-policy"]
    assert table.words[0] == "exp"
    assert compare(opened(tmp_path, made), exp="on-policy", intervals=False).words[0] == "model"
