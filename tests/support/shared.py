"""Where published data lies, beside the project; tests that need it are skipped, with the reason, where it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared"


def shared(path: str) -> Path:
    """A file of the shared folder; skips the test where it is absent."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"published data is not here: shared/{path}")
    return found
