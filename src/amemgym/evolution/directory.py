"""The directory of an evolution, and the one writer of its files.

    DIR/
      manifest.json      what evolves: data, agent, kinds of feedback, who trains and who is held out, fingerprint
      training/          the run of the training users, by whose exams the policies are revised
      start.txt          the policy that it begins with
      policies/ARM.json  the history: what each revision came to, and why some were refused
      policies/ARM.txt   the last policy, as `run --policy` takes it
      heldout/           the run of the held-out users
      evolution.json     both curves, and what was gained on held-out users
      report.html        the same to look at

`training` and `heldout` are run directories, with journals of their own. Everything else is written whole or not at
all, and again by whoever starts anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import clean
from amemgym.evaluate.claimed import ClaimedDirectory
from amemgym.evolution.coach import Evolution
from amemgym.messages import whole
from amemgym.secrets import redact

#: what such a directory is called in its manifest
EVOLUTION = "evolution"


class EvolutionDirectory(ClaimedDirectory):
    """One evolution's files. Raises StorageError, or RunDirectoryError where it holds something else."""

    what = EVOLUTION
    named = "an evolution"

    @property
    def training(self) -> Path:
        return self.path / "training"

    @property
    def held_out(self) -> Path:
        return self.path / "heldout"

    @property
    def start(self) -> Path:
        return self.path / "start.txt"

    def write_start(self, policy: str) -> None:
        files.write_atomically(self.start, f"{whole(redact(policy))}\n")

    def write_history(self, evolution: Evolution) -> None:
        name = f"policies/{files.slug(evolution.name)}"
        self._write_json(f"{name}.json", {"agent": evolution.name, **history(evolution)})
        self.write(f"{name}.txt", f"{whole(redact(evolution.policies[-1]))}\n")

    def write_summary(self, summary: Mapping[str, Any]) -> Path:
        return self._write_json("evolution.json", summary)

    def _write_json(self, name: str, value: Any) -> Path:
        return self.write(name, files.pretty_json(clean(value)))


def history(evolution: Evolution) -> dict[str, Any]:
    """The policies in order, and what came of each period."""
    return {"start": evolution.policies[0], "revisions": [asdict(revision) for revision in evolution.revisions]}
