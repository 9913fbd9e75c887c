"""`amemgym list`: what can be named."""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import Annotated

import typer
from rich.table import Table

from amemgym.agents import agent_names
from amemgym.cli.console import Output
from amemgym.generate import all_data_names
from amemgym.llm import model_names
from amemgym.memory import known_memories


class Kind(StrEnum):
    agents = "agents"
    memories = "memories"
    models = "models"
    data = "data"


_NAMES = {Kind.agents: agent_names, Kind.models: model_names, Kind.data: all_data_names}
_HINTS = {
    Kind.agents: "A name may end in -freq-n_s-topk (awe-2-4-30). Also: a v1 configuration (.json), file.py:Class.",
    Kind.memories: "Each is an agent of that name too. Your own: subclass amemgym.Memory; use it as file.py:Class.",
    Kind.models: "",
    Kind.data: "Also: the path of a v1 JSON file; bank sets with settings (bank:base?users=1000&seed=7).",
}


def list_command(kind: Annotated[Kind, typer.Argument(help="what to list")]) -> None:
    """List agents, memories, models or data sets by name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table = _table(kind)
    console = Output(highlight=False, markup=False)
    console.print(table)
    if _HINTS[kind]:
        console.print(_HINTS[kind])
    for warning in caught:
        console.print(f"warning: {warning.message}")


def _table(kind: Kind) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    if kind is Kind.memories:
        for name, known in known_memories().items():
            table.add_row(name, known.origin, known.missing or known.about)
    else:
        for name, text in _NAMES[kind]().items():
            table.add_row(name, text)
    return table
