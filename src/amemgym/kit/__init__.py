"""The test kit for memories: rules that a memory has to keep for its scores to mean something, each tried on it.

A rule works on fresh memories, made as a run makes them, with the offline model and simulated times in the past. Each
ends in a verdict: passed, failed (what was seen, and where), or not applicable (why). pytest loads a part of this room
whenever it starts, so nothing is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amemgym.kit.check import check_memory
    from amemgym.kit.verdicts import KitReport, Outcome, Verdict

_WHERE = {"KitReport": "verdicts", "Outcome": "verdicts", "Verdict": "verdicts", "check_memory": "check"}

__all__ = ["KitReport", "Outcome", "Verdict", "check_memory"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'amemgym.kit' has no attribute '{name}'")
    return getattr(import_module(f"amemgym.kit.{_WHERE[name]}"), name)
