"""Archives of one cell, with a summary that may not be that of its items."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from amemgym.memorybench import Verification
from amemgym.memorybench.aggregating.normalization import group_of
from tests.support.archive import STATISTICS, Group, normalization_of, summary_of, write_archive

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


def zeroed(values: Mapping[str, list[Any]], *places: tuple[str, int]) -> dict[str, list[float]]:
    return {n: [0.0 if (n, at) in places else v for at, v in enumerate(of)] for n, of in values.items()}


def replaced(values: Mapping[str, list[Any]], name: str, *given: Any) -> dict[str, list[Any]]:
    return {**values, name: [*given]}
