"""An import on the command line, and what it remarked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.helpers import Ended, inside, strict_json, succeeded


def imported(small: Path, *more: str | Path) -> tuple[list[str], dict[str, Any]]:
    """The remarks of an import from `results` to `run`, and the scores of its one agent."""
    ended = succeeded(inside("import", "results", "--data", small, "--out", "run", *more))
    remarks = notes(ended)
    assert strict_json(Path("run/manifest.json"))["remarks"][: len(remarks)] == remarks
    return remarks, strict_json(Path("run/scores.json"))["agents"]["native"]


def notes(ended: Ended) -> list[str]:
    """The remarks that were printed, but for the one about tokens, which comes last and says nothing is odd."""
    lines = [line.removeprefix("note: ") for line in ended.err.splitlines() if line.startswith("note: ")]
    return [line for line in lines if not line.startswith("tokens and seconds are those of exams")]
