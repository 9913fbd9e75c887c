"""How tests of generation make one user inside the process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from amemgym.generate.personas import Persona
from amemgym.generate.pipeline import Pipeline
from amemgym.generate.shape import Shape, make_shape
from amemgym.generate.stage import Maker
from amemgym.llm import Door, Journal, Line
from amemgym.scenario import Scenario
from amemgym.tasks import prompts_for
from tests.support.generator import InProcess, Model, well

PERSON = Persona("user-a", {"name": "Ada", "description": "keeps bees"}, "name: Ada\ndescription: keeps bees")


def small(**more: Any) -> Shape:
    """A shape that is soon made."""
    return make_shape({"users": 1, "periods": 3, "questions": 3, "changes": 2, **more})


def make_user(
    model: Model = well,
    shape: Shape | None = None,
    *,
    provider: InProcess | None = None,
    journal: Journal | None = None,
    tries: Mapping[str, int] | None = None,
    repairs: int = 3,
    language: str = "en",
) -> Scenario:
    """One user by that model, which judges too."""
    provider = provider or InProcess(model)

    async def work() -> Scenario:
        door = Door(provider, 8, attempts=1)
        line = Line(journal or Journal(None), prompts_for(language))
        maker = Maker("user 0 (user-a)", line, door, door, repairs, tries or {})
        return await Pipeline(0, PERSON, shape or small(), maker, {"source": "model"}).scenario()

    return asyncio.run(work())


def jsonl(path: Path, people: Sequence[Mapping[str, Any]]) -> Path:
    """People as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in people), encoding="utf-8")
    return path
