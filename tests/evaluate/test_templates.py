"""A run's fingerprint covers every prompt that it sends, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import amemgym
from amemgym import evolving
from amemgym.evaluate.manifest import TEMPLATES
from amemgym.messages import Message
from amemgym.tasks import Prompts, languages


@pytest.mark.parametrize(("protocol", "room"), [("amemgym", None), ("v1", 3)])
def test_what_a_run_sends_is_in_its_manifest(
    protocol: str, room: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: set[str]
) -> None:
    fill, system = Prompts.fill, Prompts.system

    def noted(self: Prompts, template: str, **fields: object) -> str:
        sent.add(template)
        return fill(self, template, **fields)

    def noted_alone(self: Prompts, template: str) -> Message:
        sent.add(template)
        return system(self, template)

    monkeypatch.setattr(Prompts, "fill", noted)
    monkeypatch.setattr(Prompts, "system", noted_alone)
    agents = ["native", "rag", "awe", "awi", "awi-schema", "a_mem"]
    settings = {"users": 1, "periods": 3, "protocol": protocol, "room": room}
    report = amemgym.run("starter", agents, out=str(tmp_path / "run"), **settings)
    manifest = json.loads((report.directory / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["compared"]["prompts"]) == set(TEMPLATES)
    assert sent <= set(TEMPLATES)


def test_every_one_of_them_is_sent(sent: set[str]) -> None:
    """By the runs above together."""
    assert sent == set(TEMPLATES)


def test_an_evolution_s_fingerprint_covers_the_words_of_a_revision() -> None:
    named = {name for name in Prompts("en").hashes() if name.startswith(("feedback_", "revise_"))}
    assert named == set(evolving.TEMPLATES)


@pytest.fixture(scope="module")
def sent() -> set[str]:
    return set()


def test_every_language_has_every_template() -> None:
    names = {language: set(Prompts(language).hashes()) for language in languages()}
    assert len(names) >= 2
    assert all(names["en"] == other for other in names.values())
