"""The directory of a search, and the one writer of its files.

    DIR/
      manifest.json      what is searched, on which users: choices, rungs, the run's settings, fingerprint
      trials/NNN/rK/     the run of configuration NNN at rung K, of training users alone
      heldout/start/     the run of the agent as it is named, of the held-out users alone
      heldout/best/      the same of the best configuration, where that is another
      tune.json          what was tried, the best, and what it does on held-out users
      report.md          the same to be read
      .lock              held while a process works here

Each run is an ordinary run directory. Nothing else is kept of the search: what it asks for next follows from what its
runs scored, so to go on is to do it again with the runs that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import clean
from amemgym.evaluate.claimed import ClaimedDirectory


class TuneDirectory(ClaimedDirectory):
    """One search's files. Raises StorageError where the disk refuses, RunDirectoryError for what is no such search."""

    what = "tuning"
    named = "a tuning"

    def trial(self, number: int, rung: int) -> Path:
        """The run of a configuration at a rung, both counted from 0."""
        return self.path / trial_name(number) / f"r{rung}"

    @property
    def start(self) -> Path:
        return self.path / "heldout" / "start"

    @property
    def best(self) -> Path:
        return self.path / "heldout" / "best"

    def write_summary(self, summary: Mapping[str, Any]) -> Path:
        return self.write("tune.json", files.pretty_json(clean(summary)))

    def write_report(self, text: str) -> Path:
        return self.write("report.md", clean(text))


def trial_name(number: int) -> str:
    """Where a configuration's runs are, below the search's directory."""
    return f"trials/{number:03d}"
