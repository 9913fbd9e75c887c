"""Runs to export, and a reader of archives that knows the published layout and nothing of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amemgym
from amemgym.api import RunReport
from tests.cli.data import users, write

Cell = tuple[str, str, str, str, str]
CELL = ("exp", "model", "dataset_type", "set_name", "baseline")
AGENTS = "native,rag,uniform,oracle"


def data(folder: Path, name: str = "small.json", change: Callable[[list[dict[str, Any]]], None] | None = None) -> Path:
    """The small data set."""
    found = users()
    if change is not None:
        change(found)
    return write(folder / name, found)


def played(of: Path, out: Path, agents: str = "uniform,oracle", **settings: Any) -> RunReport:
    """A run with the offline model, without probes where none are asked for."""
    return amemgym.run(of, agents, out=out, **{"probe": False, **settings})


def read(root: Path) -> dict[Cell, dict[str, Any]]:
    """Every group by its cell, its files by their names, as a reader does that follows the manifest."""
    found = {}
    for line in (root / "manifest.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        folder = root / entry["relative_dir"]
        files = {name: json.loads((folder / name).read_text(encoding="utf-8")) for name in entry["files"]}
        found[tuple(entry[word] for word in CELL)] = {**files, "run_id": entry["run_id"]}
    return found


def laid_out(root: Path) -> dict[Cell, dict[str, Any]]:
    """The same by the folders alone: <exp>-<model>/<type>/<set>/<baseline>/start_at_*."""
    found = {}
    for folder in sorted(root.glob("*/*/*/*/start_at_*")):
        above, kind, data_set, baseline, run_id = folder.relative_to(root).parts
        exp = next(exp for exp in ("on-policy", "off-policy") if above.startswith(f"{exp}-"))
        files = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}
        found[exp, above.removeprefix(f"{exp}-"), kind, data_set, baseline] = {**files, "run_id": run_id}
    return found


def of(archive: dict[Cell, dict[str, Any]], baseline: str) -> dict[str, Any]:
    """The one group of a baseline."""
    (found,) = (files for cell, files in archive.items() if cell[-1] == baseline)
    return found


def contents(root: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(root.rglob("*")) if path.is_file() and path.name != ".lock")
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
