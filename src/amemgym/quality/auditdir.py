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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from amemgym import files
from amemgym.clean import clean
from amemgym.errors import RunDirectoryError
from amemgym.evaluate.claimed import ClaimedDirectory
from amemgym.evaluate.results import validated
from amemgym.llm import Journal
from amemgym.quality.findings import Finding, Verdict

FORMAT = 1
WHAT = "audit"


_VERDICTS = TypeAdapter(list[Verdict])


class AuditDirectory(ClaimedDirectory):
    """One audit's files. Raises StorageError where the disk refuses, RunDirectoryError for what is no such audit."""

    what = WHAT
    named = "an audit"
    format = FORMAT

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
        self.write(f"verdicts/{files.slug(user_id)}.json", files.compact_json(clean(told)))

    def write_findings(self, findings: Iterable[Finding]) -> Path:
        return self.write("findings.jsonl", "".join(files.compact_json(clean(f.as_dict())) for f in findings))

    def write_summary(self, summary: Mapping[str, Any]) -> Path:
        return self.write("audit.json", files.pretty_json(clean(summary)))

    def write_agreement(self, agreement: Mapping[str, Any]) -> Path:
        return self.write("agreement.json", files.pretty_json(clean(agreement)))
