"""`amemgym validate`: every fault of a data set, with its place."""

from __future__ import annotations

from typing import Annotated

import typer

from amemgym.cli.console import Output
from amemgym.generate import check_dataset


def validate_command(
    data: Annotated[str, typer.Argument(help="a data set's name, or the path of a v1 JSON file")],
) -> None:
    """Check a data set. Ends with 0 only if it can be run; users, periods, sessions and questions count from 0."""
    dataset, faults = check_dataset(data)
    path = dataset.path or dataset.name
    console = Output(highlight=False, soft_wrap=True)
    for fault in faults:
        console.print(f"{fault.severity}: {fault}", markup=False)
    errors = sum(fault.is_error for fault in faults)
    size = f"{len(dataset)} users, {sum(len(s.qas) for s in dataset)} questions, sha256 {dataset.sha256}"
    if errors:
        counts = f"{_count(errors, 'error')}, {_count(len(faults) - errors, 'warning')}"
        console.print(f"{path}: {counts}; it cannot be run", markup=False)
        raise typer.Exit(2)
    console.print(f"{path}: can be run ({size}; {_count(len(faults), 'warning')})", markup=False)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
