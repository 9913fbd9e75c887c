"""Data points to replay, as files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memorybench.replaying import TEST, TRAIN
from tests.support.points import jsonl


@pytest.fixture
def data(tmp_path: Path) -> Path:
    jsonl(tmp_path / "data" / "train.jsonl", TRAIN)
    jsonl(tmp_path / "data" / "test.jsonl", TEST)
    return tmp_path / "data"
