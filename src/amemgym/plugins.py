"""Plug-ins of other packages, by entry point. A broken one warns by name when all are listed, and stops nothing."""

from __future__ import annotations

import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from amemgym.errors import UsageError


def plug_ins(kind: str) -> dict[str, EntryPoint]:
    """The entry points of the group `amemgym.<kind>` by name; nothing is loaded."""
    return {point.name: point for point in entry_points(group=f"amemgym.{kind}")}


def loaded_plug_ins(kind: str) -> dict[str, Any]:
    """Everything of a kind that loads; a warning for each that does not."""
    found: dict[str, Any] = {}
    for name in plug_ins(kind):
        try:
            found[name] = load_plug_in(kind, name)
        except UsageError as error:
            warnings.warn(str(error), stacklevel=2)
    return found


def load_plug_in(kind: str, name: str) -> Any:
    """What the entry point names. Raises UsageError where it does not load, KeyError where there is none."""
    try:
        return plug_ins(kind)[name].load()
    except KeyError:
        raise
    except Exception as error:  # it is somebody else's code
        raise UsageError(f"plug-in '{name}' (amemgym.{kind}) does not load: {type(error).__name__}: {error}") from error


def plug_in_version(kind: str, name: str) -> str:
    """The distribution that brings a plug-in and its version: what tells one version of it from another."""
    point = plug_ins(kind)[name]
    return f"{point.dist.name}-{point.dist.version}" if point.dist else point.value
