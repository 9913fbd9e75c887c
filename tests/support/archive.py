"""Small MemoryBench archives, written in the published layouts with numbers worked out here by hand formulas."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

#: data set → (min, max, mean, standard deviation)
Statistics = Mapping[str, tuple[float, float, float, float]]
STATISTICS: Statistics = {"Alpha": (0.0, 10.0, 6.0, 2.0), "Beta&Gamma": (0.2, 0.7, 0.5, 0.1)}


@dataclass(frozen=True)
class Group:
    """A cell, and the items' values of each data set under one metric, or items with metrics of their own."""

    model: str
    baseline: str
    values: Mapping[str, Sequence[Any]]
    exp: str = "off-policy"
    dataset_type: str = "domain"
    set_name: str = "Open-Domain"
    run_id: str = "start_at_2026-01-02-03-04-05"
    metric: str = "score"
    form: str = "legacy"
    run_config: Mapping[str, Any] = field(default_factory=dict)
    statistics: Statistics = field(default_factory=lambda: STATISTICS)

    def files(self) -> dict[str, Any]:
        places = [(name, at, value) for name, values in self.values.items() for at, value in enumerate(values)]
        predicts = [
            {"test_idx": at, "messages": [{"role": "user", "content": f"{name} {at}?"}], "response": f"r{at}"}
            | {"dataset": name}
            for name, at, _ in places
        ]
        details = [{"test_idx": at, "metrics": {self.metric: value}, "dataset": name} for name, at, value in places]
        config = {"memory_system": self.baseline, "dataset_type": self.dataset_type, "set_name": self.set_name}
        llm = {"llm_config": {"model": self.model, **self.run_config}}
        return {
            "run_config.json": {**config, "memory_system_config": llm},
            "predict.json": predicts,
            "evaluate_details.json": details,
            "summary.json": summary_of(self.values, self.statistics, self.form),
        }


def summary_of(values: Mapping[str, Sequence[Any]], statistics: Statistics, form: str = "legacy") -> dict[str, Any]:
    """summary.json as published, of values that are all plain numbers."""
    average, minmax, z = {}, {}, {}
    for name, items in values.items():
        low, high, mu, sigma = statistics[name]
        average[name] = math.fsum(items) / len(items)
        for into, scaled in (
            (minmax, [(item - low) / (high - low) for item in items]),
            (z, [(item - mu) / sigma for item in items]),
        ):
            into[name] = [math.fsum(scaled), len(scaled), math.fsum(scaled) / len(scaled)]
    n = sum(len(items) for items in values.values())
    summary: dict[str, Any] = {
        "average": math.fsum(mean for _, _, mean in minmax.values()) / len(minmax),
        "weighted_average": math.fsum(total for total, _, _ in minmax.values()) / n,
        "z_score": math.fsum(total for total, _, _ in z.values()) / n,
    }
    made = {"average": average, "minmax_normalized_average": minmax, "z_normalized_average": z}
    if form == "legacy":
        return {"summary": summary, **made, "details": {name: list(items) for name, items in values.items()}}
    if form == "judge":
        return {"summary": {"metric": "llm_judge_score", **summary}, **made}
    statistics_of_cases = {name: {"total": len(items), "failed": 0} for name, items in values.items()}
    return {"summary": summary, **made, "case_statistics": statistics_of_cases}


def folder_of(group: Group, layout: str) -> str:
    """The group's folder in one of the published layouts, or in that of an archive with a manifest."""
    place = f"{group.dataset_type}/{group.set_name}/{group.baseline}"
    return {
        "manifest": f"{group.exp}-{group.model}/{place}/{group.run_id}",
        "dashed": f"{group.exp}-{group.model}/{place}/{group.run_id}",
        "nested": f"{group.exp}/{group.model}/{place}/{group.run_id}",
        "results": f"{group.exp}/results/{place}/{group.run_id}",
    }[layout]


def write_archive(root: Path, groups: Sequence[Group], layout: str = "manifest") -> Path:
    """Write the groups below the root, and the manifest where the layout has one; returns the root."""
    lines = []
    for group in groups:
        folder, files = folder_of(group, layout), group.files()
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name, value in files.items():
            (root / folder / name).write_text(json.dumps(value), encoding="utf-8")
        named = {"exp": group.exp, "model": group.model, "dataset_type": group.dataset_type}
        named |= {"set_name": group.set_name, "baseline": group.baseline, "run_id": group.run_id}
        lines.append(json.dumps({**named, "relative_dir": folder, "files": sorted(files)}) + "\n")
    if layout == "manifest":
        (root / "manifest.jsonl").write_text("".join(lines), encoding="utf-8")
    return root


def normalization_of(statistics: Statistics, dataset_type: str, set_name: str) -> dict[str, Any]:
    """The statistics in the published file's form."""
    names = ("dataset_min", "dataset_max", "dataset_mu", "dataset_sigma")
    tables = {key: {name: row[at] for name, row in statistics.items()} for at, key in enumerate(names)}
    return {dataset_type: {set_name: {"summary": tables}}}
