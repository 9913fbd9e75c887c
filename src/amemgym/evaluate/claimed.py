"""A directory that is one undertaking's: its manifest says which, and whoever comes with other settings is refused.

`manifest.json` is written first, whole. Its `compared` part decides whether two undertakings are the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, TypeAdapter

from amemgym import files
from amemgym.clean import clean, differences
from amemgym.errors import RunDirectoryError
from amemgym.evaluate.results import validated

#: differences that are told
TOLD = 3


class _Manifest(BaseModel):
    fingerprint: str
    compared: dict[str, Any]
    settings: dict[str, Any] = {}


_MANIFEST = TypeAdapter(_Manifest)


class ClaimedDirectory:
    """One undertaking's files. Raises StorageError where the disk refuses, RunDirectoryError for what is another's."""

    #: what its manifest calls it, and the same with its article
    what: ClassVar[str]
    named: ClassVar[str]
    format: ClassVar[int] = 1

    def __init__(self, path: str | Path) -> None:
        self.path = files.at_home(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory. Raises RunDirectoryError where another process does, or where it is somebody else's."""
        files.check_begun(self.path, self.what)
        with files.held(self.path):
            yield

    @property
    def is_claimed(self) -> bool:
        """Whether something was begun here."""
        return files.is_begun(self.path)

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Make the directory this undertaking's, or find that it already is. Raises RunDirectoryError with the
        difference."""
        told = clean(manifest)
        there = self.manifest()
        if there is None:
            self.write("manifest.json", files.pretty_json(told))
        elif there["fingerprint"] != told["fingerprint"]:
            changed = "; ".join(differences(there["compared"], told["compared"])[:TOLD]) or "the fingerprint"
            raise RunDirectoryError(
                f"{self.path} holds {self.named} of something else: {changed}. Choose another folder with --out"
            )

    def write(self, name: str, text: str) -> Path:
        """Write a file, whole or not at all."""
        files.write_atomically(self.path / name, text)
        return self.path / name

    def manifest(self) -> dict[str, Any] | None:
        """What is there; None where nothing is."""
        path = self.path / "manifest.json"
        try:
            if not path.exists():
                return None
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(manifest, dict) or manifest.get("what") != self.what:
                raise RunDirectoryError(f"{self.path} holds no {self.what}, but something else; choose another --out")
            if manifest.get("format") != self.format:
                raise RunDirectoryError(
                    f"{path} has format {manifest.get('format')!r}, this version reads {self.format}; choose another"
                    " --out"
                )
            validated(_MANIFEST, manifest)
            return manifest
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(f"{path} is damaged ({error}); choose another folder with --out") from error


def made_manifest(what: str, compared: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest: `compared` tells one undertaking from another, `settings` is what to resume by."""
    told = clean(compared)
    fingerprint = files.sha256(files.canonical_json(told).encode("utf-8", "surrogatepass"))
    return {
        "what": what,
        "format": ClaimedDirectory.format,
        "fingerprint": fingerprint,
        "compared": told,
        "settings": clean(settings),
    }


def default_directory(what: str, data: str, fingerprint: str) -> Path:
    """runs/<what>-<data>-<fingerprint>: two undertakings never share one."""
    readable = files.slug(f"{what} {data}").rpartition("-")[0]
    return Path("runs") / f"{readable}-{fingerprint[:8]}"


def parts_of(folder: Path) -> list[str]:
    """The run directories in an undertaking's, by their places in it; those of trials, which are many, are too deep."""
    try:
        found = [manifest.parent for depth in ("*", "*/*") for manifest in folder.glob(f"{depth}/manifest.json")]
        return sorted(run.relative_to(folder).as_posix() for run in found)
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
