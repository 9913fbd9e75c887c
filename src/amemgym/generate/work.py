"""The work directory of a generation, beside its output, and the one writer of its files.

    OUT                    the data set: written once all users are through
    OUT.work/
      manifest.json        what is made: shape, people, models, prompts' hashes, fingerprint
      journals/USER.jsonl  every model reply, appended before it is used
      users/USER.json      a finished user
      tries/USER.json      how often a place of that user failed after its last repair
      .lock                held while a process is at work here

All but the journals are written whole or not at all, so a file that is there is finished.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from amemgym import files
from amemgym.clean import clean, differences
from amemgym.errors import RunDirectoryError
from amemgym.generate.personas import Persona
from amemgym.llm import Journal, RoleCount, Usage
from amemgym.llm.journal import usage_of
from amemgym.scenario import Scenario

FORMAT = 1
_WAY = "delete it and run the same command again, its replies are kept"


class WorkDirectory:
    """One generation's files. Raises StorageError, or RunDirectoryError where it holds something else."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out.with_name(f"{out.name}.work")

    @property
    def is_claimed(self) -> bool:
        """Whether a generation was begun here."""
        return files.is_begun(self.path)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the directory. Raises RunDirectoryError where another process does, or where OUT is somebody else's."""
        try:
            if self.out.is_dir():
                raise RunDirectoryError(f"{self.out} is a folder; give the file to write with --out, such as data.json")
            if self.out.exists() and not self.is_claimed:
                raise RunDirectoryError(
                    f"{self.out} is there already and was not made by this command; choose another --out"
                )
        except OSError as error:
            raise files.storage_error(error, self.path) from error
        files.check_begun(self.path, "generation")
        with files.held(self.path):
            yield

    def claim(self, compared: Mapping[str, Any]) -> None:
        """Make the directory this generation's, or find that it is. Raises RunDirectoryError with the difference."""
        told = clean(compared)
        path = self.path / "manifest.json"
        if not path.exists():
            fingerprint = files.sha256(files.canonical_json(told).encode("utf-8"))
            manifest = {"format": FORMAT, "fingerprint": fingerprint, "compared": told}
            files.write_atomically(path, files.pretty_json(manifest))
            return
        there = self._read(path, "restore it, or choose another --out")
        if there.get("format") != FORMAT or not isinstance(there.get("compared"), dict):
            raise RunDirectoryError(f"{path} has another format; choose another --out")
        if changed := differences(there["compared"], told):
            # people are compared by a hash, which says nothing where a setting is what made them others
            changed = [phrase.removeprefix("shape.") for phrase in changed if not phrase.startswith("people")] or [
                "the people are others"
            ]
            raise RunDirectoryError(
                f"{self.path} holds a generation with other settings: {'; '.join(changed[:4])}. Choose another --out,"
                " or repeat that one's command to go on with it"
            )

    def journal(self, number: int, persona: Persona) -> Journal:
        return Journal(self.path / "journals" / f"{_name(number, persona)}.jsonl")

    def user(self, number: int, persona: Persona) -> Scenario | None:
        """A finished user, or None."""
        path = self.path / "users" / f"{_name(number, persona)}.json"
        try:
            if not path.exists():
                return None
            scenario = Scenario.model_validate(self._read(path))
            if scenario.id != persona.id:
                raise RunDirectoryError(f"{path} holds user '{scenario.id}', not '{persona.id}'; {_WAY}")
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise RunDirectoryError(f"{path} is damaged ({first['msg']}); {_WAY}") from error
        return scenario

    def write_user(self, number: int, persona: Persona, scenario: Scenario) -> None:
        path = self.path / "users" / f"{_name(number, persona)}.json"
        files.write_atomically(path, files.compact_json(clean(scenario.model_dump())))

    def tries(self, number: int, persona: Persona) -> dict[str, int]:
        """How often each place failed after its last repair."""
        path = self.path / "tries" / f"{_name(number, persona)}.json"
        found = self._read(path) if path.exists() else {}
        if not all(isinstance(count, int) for count in found.values()):
            raise RunDirectoryError(f"{path} is damaged; delete it and run the same command again")
        return found

    def write_failures(self, number: int, persona: Persona, places: Iterable[str]) -> None:
        """Count one more failure of each place, so that the next start asks there afresh."""
        counts = self.tries(number, persona)
        for place in places:
            counts[place] = counts.get(place, 0) + 1
        path = self.path / "tries" / f"{_name(number, persona)}.json"
        files.write_atomically(path, files.pretty_json(counts))

    def usage(self) -> dict[str, RoleCount]:
        """What each role used, over every reply that was paid for, also those that led nowhere."""
        used: dict[str, RoleCount] = {}
        for role, usage in self._replies():
            count = used.setdefault(role, RoleCount())
            count.calls += 1
            count.add_tokens(usage)
        return used

    def _replies(self) -> Iterator[tuple[str, Usage]]:
        for path in sorted((self.path / "journals").glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                try:
                    record = json.loads(line)
                    yield str(record["role"]), usage_of(record)
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue  # an error's line, or one that a kill cut off

    def _read(self, path: Path, way: str = _WAY) -> dict[str, Any]:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(f"{path} is damaged ({error}); {way}") from error
        if not isinstance(value, dict):
            raise RunDirectoryError(f"{path} is damaged (it holds no JSON object); {way}")
        return value


def _name(number: int, persona: Persona) -> str:
    return f"{number:04d}-{files.slug(persona.id)}"
