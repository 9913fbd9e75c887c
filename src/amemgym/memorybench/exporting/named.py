"""What a group that we write is called, and what its run_config.json says it is of: a played run's and a prediction's.

A name stands in the manifest as it is, but for what readers refuse: keys, control characters, half characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import category

from amemgym.clean import clean
from amemgym.memorybench.entry import Cell

#: of a fingerprint, what a run is called by
_DIGITS = 16
#: characters of a name
_LONGEST = 500


def manifest_name(text: str) -> str:
    """A name as it may stand in a manifest: of one line, without a key."""
    told: str = clean(text)
    return "".join("\N{REPLACEMENT CHARACTER}" if category(sign) == "Cc" else sign for sign in told)[:_LONGEST]


def run_id_of(fingerprint: str) -> str:
    """A run's name: of what was run, not of when; it begins as the folders of runs do in the published layout."""
    return f"start_at_{fingerprint[:_DIGITS]}"


def cell_of(exp: str, dataset_type: str, set_name: str, agent: Mapping[str, Any], compared: Mapping[str, Any]) -> Cell:
    """An agent's cell; `agent` and `compared` are as the manifest of our own describes them."""
    model = agent.get("model") or compared["model"]
    return Cell(exp, manifest_name(model["model"]), dataset_type, set_name, manifest_name(agent["name"]))


def run_config(
    cell: Cell, agent: Mapping[str, Any], compared: Mapping[str, Any], own: Mapping[str, Any]
) -> dict[str, Any]:
    """What was run, in the published keys as far as they say it, and whole as our manifest compares it: no path, no
    name of a machine's user. `own` is what only this kind of group has."""
    settings = {name: value for name, value in agent.items() if name != "model"}
    told = {name: value for name, value in compared.items() if name not in ("agents", "amemgym")}
    return {
        "memory_system": cell.baseline,
        "dataset_type": cell.dataset_type,
        "set_name": cell.set_name,
        "memory_system_config": {**settings, "llm_config": agent.get("model") or compared["model"]},
        "amemgym": {"version": compared["amemgym"], **told, **own, "agent": agent},
    }
