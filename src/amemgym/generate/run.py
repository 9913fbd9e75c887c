"""A whole generation by a language model: users side by side, each from its journal, and at the end the data set.

A user whose stage failed after its repairs is reported and leaves the others alone; what no call can mend (a wrong key,
a full disk) stops everything. Either way what is finished and every reply is kept, and the same call again goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amemgym import files
from amemgym.errors import (
    AMemGymError,
    FatalModelError,
    GenerationFailed,
    RunDirectoryError,
    StorageError,
    UsageError,
)
from amemgym.generate.estimate import estimate
from amemgym.generate.personas import Persona
from amemgym.generate.pipeline import Pipeline
from amemgym.generate.shape import Shape
from amemgym.generate.spec import GenerationSpec
from amemgym.generate.stage import Maker
from amemgym.generate.watch import GenerationWatcher
from amemgym.generate.work import WorkDirectory
from amemgym.llm import Doors, Line, ModelSettings, describe_model, model_title
from amemgym.tasks import prompts_for
from amemgym.together import side_by_side
from amemgym.version import __version__

#: the templates that decide what is made
TEMPLATES = (
    "repair",
    "make_questions",
    "merge_schema",
    "choose_state",
    "choose_updates",
    "explain_updates",
    "list_topics",
    "write_utterance",
    "write_distractor",
    "write_about_other",
    "write_answers",
    "revealed_states",
    "recover_variant",
)


@dataclass
class Outcome:
    """Numbers of finished users, and a sentence for each that is not."""

    finished: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


class Generation:
    """One generation over a claimed work directory.

    Args:
        spec: how to make it.
        shape: what to make.
        people: who the users are.
        model, judge: how the models are reached.
        work: where everything is kept.
        watcher: is told what happens.
    """

    def __init__(
        self,
        spec: GenerationSpec,
        shape: Shape,
        people: Sequence[Persona],
        model: ModelSettings,
        judge: ModelSettings,
        work: WorkDirectory,
        watcher: GenerationWatcher,
    ) -> None:
        self._spec = spec
        self._shape = shape
        self._people = people
        self._model = model
        self._judge = judge
        self._work = work
        self._watcher = watcher
        self._prompts = prompts_for(spec.language)
        self._doors = Doors(spec.limits(), watcher)
        self._outcome = Outcome()

    def compared(self) -> dict[str, Any]:
        """Everything that can change the data."""
        people = [[person.id, dict(person.fields), person.text] for person in self._people]
        return {
            "amemgym": __version__,
            "shape": self._shape.model_dump(),
            "people": files.sha256(files.canonical_json(people).encode("utf-8", "surrogatepass")),
            "model": describe_model(self._model),
            "judge": describe_model(self._judge),
            "language": self._spec.language,
            "repairs": self._spec.repairs,
            "prompts": self._prompts.hashes(TEMPLATES),
        }

    def check(self) -> None:
        """Raises UsageError or UnknownName where the model or the judge cannot be called; writes nothing."""
        for settings in (self._model, self._judge):
            self._doors.to(settings)

    async def make(self) -> Outcome:
        """Make every user that is not finished. Raises what stops everything."""
        costs = estimate(self._shape, [person.text for person in self._people], self._prompts, None, None)
        self._watcher.begins(self._work.out)
        self._watcher.planned(len(self._people), sum(cost.calls for cost in costs))
        users = asyncio.Semaphore(self._spec.concurrency)

        async def one(number: int, person: Persona) -> None:
            async with users:
                await self._guarded(number, person)

        try:
            await side_by_side([one(number, person) for number, person in enumerate(self._people)])
        finally:
            await self._doors.aclose()
        self._outcome.finished.sort()
        self._outcome.failures.sort()
        return self._outcome

    async def _guarded(self, number: int, person: Persona) -> None:
        """Make a user; what ends it alone is noted, what would end every other one too is raised."""
        try:
            await self._one(number, person)
        except (FatalModelError, StorageError, UsageError, RunDirectoryError):
            raise
        except GenerationFailed as error:
            self._work.write_failures(number, person, error.places)
            self._outcome.failures.append(str(error))
        except AMemGymError as error:
            self._outcome.failures.append(f"{self._name(number, person)}: {error}")

    async def _one(self, number: int, person: Persona) -> None:
        if self._work.user(number, person) is None:
            line = Line(self._work.journal(number, person), self._prompts)
            model, judge = self._doors.to(self._model), self._doors.to(self._judge)
            tries = self._work.tries(number, person)
            maker = Maker(self._name(number, person), line, model, judge, self._spec.repairs, tries)
            try:
                scenario = await Pipeline(number, person, self._shape, maker, self._described()).scenario()
            finally:
                line.journal.close()
            self._work.write_user(number, person, scenario)
        self._outcome.finished.append(number)
        self._watcher.made(person.id)

    def _name(self, number: int, person: Persona) -> str:
        return f"user {number} ({person.id})"

    def _described(self) -> dict[str, Any]:
        made = {"source": "model", "model": model_title(self._model.model), "judge": model_title(self._judge.model)}
        return {**made, "language": self._spec.language, **self._shape.described()}
