"""A run's fingerprint covers every prompt that it sends, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import amemgym
from amemgym.evaluate.manifest import TEMPLATES
from amemgym.tasks import Prompts, languages


@pytest.mark.parametrize("protocol", ["amemgym", "v1"])
def test_what_a_run_sends_is_in_its_manifest(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: set[str]
) -> None:
    fill = Prompts.fill

    def noted(self: Prompts, template: str, **fields: object) -> str:
        sent.add(template)
        return fill(self, template, **fields)

    monkeypatch.setattr(Prompts, "fill", noted)
    agents = ["native", "rag", "awe", "awi", "awi-schema", "a_mem"]
    report = amemgym.run("starter", agents, users=1, periods=3, protocol=protocol, out=str(tmp_path / "run"))
    manifest = json.loads((report.directory / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["compared"]["prompts"]) == set(TEMPLATES)
    assert sent <= set(TEMPLATES)


def test_every_one_of_them_is_sent(sent: set[str]) -> None:
    """By the runs above together."""
    assert sent == set(TEMPLATES)


@pytest.fixture(scope="module")
def sent() -> set[str]:
    return set()


def test_every_language_has_every_template() -> None:
    names = {language: set(Prompts(language).hashes()) for language in languages()}
    assert len(names) >= 2
    assert all(names["en"] == other for other in names.values())
