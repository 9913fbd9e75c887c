"""The directory of an audit, and the one writer of its files.

    DIR/
      manifest.json        what is judged and by whom: data hash, conversations, judge, prompt hashes, fingerprint
      journal/USER.jsonl   every reply of the judge, appended before it is used
      verdicts/USER.json   what the judge said of a finished user's texts
      findings.jsonl       one line a fault, with its place and text
      audit.json           the qualities of what is finished
      agreement.json       agreement with people's labels, where they were given
      .lock                held while a process works here

All but the journals are written whole or not at all. Known API keys are struck out of everything that is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter

from amemgym import files
from amemgym.clean import clean, differences
from amemgym.errors import RunDirectoryError
from amemgym.evaluate.results import validated
from amemgym.llm import Journal
from amemgym.quality.findings import Finding, Verdict

FORMAT = 1
WHAT = "audit"


class _Manifest(BaseModel):
    fingerprint: str
    compared: dict[str, Any]


_MANIFEST = TypeAdapter(_Manifest)
_VERDICTS = TypeAdapter(list[Verdict])


class AuditDirectory:
    """One audit's files. Raises StorageError where the disk refuses, RunDirectoryError for what is no such audit."""

    def __init__(self, path: str | Path) -> None:
        self.path = files.at_home(path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the directory. Raises RunDirectoryError where another process does, or where it is no audit's."""
        files.check_begun(self.path, "audit")
        with files.held(self.path):
            yield

    def claim(self, manifest: Mapping[str, Any]) -> None:
        """Make the directory this audit's, or find that it already is. Raises RunDirectoryError with the difference."""
        there = self._manifest()
        if there is None:
            self._write("manifest.json", files.pretty_json(clean(manifest)))
        elif there["fingerprint"] != manifest["fingerprint"]:
            changed = "; ".join(differences(there["compared"], manifest["compared"])[:3]) or "the fingerprint"
            raise RunDirectoryError(
                f"{self.path} holds an audit of something else: {changed}. Choose another folder with --out"
            )

    def journal(self, user_id: str) -> Journal:
        return Journal(self.path / "journal" / f"{files.slug(user_id)}.jsonl")

    def verdicts(self, user_id: str, places: Sequence[str]) -> list[Verdict] | None:
        """A finished user's verdicts, one for each of these places in order; None where the user is not finished."""
        path = self.path / "verdicts" / f"{files.slug(user_id)}.json"
        try:
            if not path.exists():
                return None
            found = validated(_VERDICTS, json.loads(path.read_text(encoding="utf-8")))
            if [verdict.at for verdict in found] != list(places):
                raise ValueError("it is not of this user's texts")
            return found
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(
                f"{path} is damaged ({error}); delete it and audit again, its journal is kept"
            ) from error

    def write_verdicts(self, user_id: str, verdicts: Iterable[Verdict]) -> None:
        told = [vars(verdict) for verdict in verdicts]
        self._write(f"verdicts/{files.slug(user_id)}.json", files.compact_json(clean(told)))

    def write_findings(self, findings: Iterable[Finding]) -> Path:
        return self._write("findings.jsonl", "".join(files.compact_json(clean(f.as_dict())) for f in findings))

    def write_summary(self, summary: Mapping[str, Any]) -> Path:
        return self._write("audit.json", files.pretty_json(clean(summary)))

    def write_agreement(self, agreement: Mapping[str, Any]) -> Path:
        return self._write("agreement.json", files.pretty_json(clean(agreement)))

    def _manifest(self) -> dict[str, Any] | None:
        path = self.path / "manifest.json"
        try:
            if not path.exists():
                return None
            manifest = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(manifest, dict) or manifest.get("what") != WHAT:
                raise RunDirectoryError(f"{self.path} holds no audit, but something else; choose another --out")
            if manifest.get("format") != FORMAT:
                raise RunDirectoryError(
                    f"{path} has format {manifest.get('format')!r}, this version reads {FORMAT}; choose another --out"
                )
            validated(_MANIFEST, manifest)
            return manifest
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(f"{path} is damaged ({error}); choose another folder with --out") from error

    def _write(self, name: str, text: str) -> Path:
        files.write_atomically(self.path / name, text)
        return self.path / name
