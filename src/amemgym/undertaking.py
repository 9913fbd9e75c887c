"""A directory of an undertaking that is made of several runs: what it is, and that it is the same one as before.

DIR/
  manifest.json   what it is, its settings, and their fingerprint
  .lock           held while a process works here
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from amemgym import files
from amemgym.clean import clean, differences
from amemgym.errors import RunDirectoryError

FORMAT = 1


class Manifest(BaseModel):
    """`what` names the kind (evolution, tuning), `compared` tells one from another, `settings` is what to resume by."""

    what: str
    format: int
    fingerprint: str
    compared: dict[str, Any]
    settings: dict[str, Any]


def make_manifest(what: str, compared: Mapping[str, Any], settings: Mapping[str, Any]) -> Manifest:
    told = clean(compared)
    fingerprint = files.sha256(files.canonical_json(told).encode("utf-8"))
    return Manifest(what=what, format=FORMAT, fingerprint=fingerprint, compared=told, settings=clean(settings))


class Undertaking:
    """Its files. Raises StorageError where the disk refuses, RunDirectoryError where it holds something else."""

    def __init__(self, path: str | Path, what: str) -> None:
        self.path = files.at_home(path)
        self._what = what

    @contextmanager
    def held(self) -> Iterator[None]:
        files.check_begun(self.path, self._what)
        with files.held(self.path):
            yield

    def claim(self, manifest: Manifest) -> None:
        """Make the directory this one's, or find that it already is. Raises RunDirectoryError with the difference."""
        there = self.manifest()
        if there is None:
            self.write("manifest.json", manifest.model_dump())
        elif there.fingerprint != manifest.fingerprint:
            changed = "; ".join(differences(there.compared, manifest.compared)[:3]) or "the fingerprint"
            raise RunDirectoryError(
                f"{self.path} holds the same with other settings: {changed}. Choose another folder with --out"
            )

    def manifest(self) -> Manifest | None:
        """What is there; None where nothing is."""
        path = self.path / "manifest.json"
        try:
            if not path.exists():
                return None
            value = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(value, dict) or value.get("what") != self._what:
                raise RunDirectoryError(f"{self.path} holds no {self._what}, but something else; choose another --out")
            if value.get("format") != FORMAT:
                raise RunDirectoryError(
                    f"{path} has format {value.get('format')!r}, this version reads {FORMAT}; choose another --out"
                )
            return Manifest.model_validate(value)
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError, ValidationError) as error:
            raise RunDirectoryError(f"{path} is damaged; choose another folder with --out") from error

    def write(self, name: str, value: Any) -> Path:
        """A JSON file, whole or not at all."""
        return self.write_text(name, files.pretty_json(clean(value)))

    def write_text(self, name: str, text: str) -> Path:
        files.write_atomically(self.path / name, text)
        return self.path / name


def parts_of(folder: Path) -> list[str]:
    """The names of the run directories in an undertaking's."""
    try:
        return sorted(entry.name for entry in folder.iterdir() if (entry / "manifest.json").is_file())
    except OSError:
        return []


def kind_of(folder: str | Path) -> str | None:
    """What is kept in a folder by its manifest (`evolution`, `tuning`); None for a run, or where it cannot be told."""
    try:
        value = json.loads((files.at_home(folder) / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    what = value.get("what") if isinstance(value, dict) else None
    return what if isinstance(what, str) else None
