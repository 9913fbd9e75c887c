"""What an evolution does once in a process, and these tests would do anew with each of their many."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from functools import cache

import pytest

import amemgym.evolving  # noqa: F401 - loads what looks for plug-ins

installed, version = cache(importlib.metadata.entry_points), cache(importlib.metadata.version)


@pytest.fixture(autouse=True, scope="module")
def _installed_once() -> Iterator[None]:
    """Look through what is installed."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in list(sys.modules.items()):
            if name.startswith("amemgym.") and hasattr(module, "entry_points"):
                patch.setattr(module, "entry_points", installed)
            if name.startswith("amemgym.") and getattr(module, "version", None) is importlib.metadata.version:
                patch.setattr(module, "version", version)
        yield
