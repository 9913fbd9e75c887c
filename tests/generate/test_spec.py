"""What a configuration of the original benchmark becomes: its numbers, its models, what is not used is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.generate.spec import Settings, read_configuration
from amemgym.secrets import redact

HIGH = {"llm_model": "writer", "base_url": "http://one/v1", "api_key": "sk-high-0123456789"}


def read(folder: Path, **more: Any) -> Settings:
    (folder / "env.json").write_text(json.dumps({"num_periods": 10, "llm_config_high_temp": HIGH, **more}))
    return read_configuration(str(folder / "env.json"))


@pytest.mark.parametrize(("counted", "periods"), [(10, 11), (10.0, 11), ("10", 11), (0, 1)])
def test_the_initial_period_counts_however_the_number_is_written(counted: Any, periods: int, tmp_path: Path) -> None:
    assert read(tmp_path, num_periods=counted).shape["periods"] == periods


def test_a_judge_at_the_models_address_is_the_judge(tmp_path: Path) -> None:
    found = read(tmp_path, llm_config_low_temp={"llm_model": "judge", "base_url": "http://one/v1"})
    assert found.spec["judge_model"] == "openai:judge" and len(found.remarks) == 1


@pytest.mark.parametrize("model", ["judge", "writer"])
def test_a_judge_at_another_address_is_said_not_to_be_used_and_its_key_is_known(model: str, tmp_path: Path) -> None:
    low = {"llm_model": model, "base_url": "http://two/v1", "api_key": "sk-low-9876543210"}
    found = read(tmp_path, llm_config_low_temp=low, exclude_ids=["x"])
    assert "judge_model" not in found.spec
    assert "not used: exclude_ids, llm_config_low_temp" in found.remarks[-1]
    assert redact("sk-low-9876543210 sk-high-0123456789") == "[key] [key]"
