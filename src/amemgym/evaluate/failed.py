"""Episodes that failed: at which boundary and why, kept beside the finished ones until they are played again.

A failure is told of in the scores and in every report, also in one that is made later. Playing the episode to its end
takes it away, so a run that was mended equals one that never failed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from amemgym import files
from amemgym.clean import clean
from amemgym.errors import (
    AgentFailed,
    AMemGymError,
    EpisodeTimeout,
    MemoryFailed,
    ModelError,
    RunDirectoryError,
    raised,
)
from amemgym.secrets import redact


@dataclass(frozen=True)
class FailedEpisode:
    """One episode that failed. `boundary` is where: `memory` or `agent` (code from elsewhere), `model` (a call that got
    no reply), `time-out` (of the episode), or `run`."""

    agent: str
    user: int
    user_id: str
    trial: int
    boundary: str
    error: str


_FAILED = TypeAdapter(FailedEpisode)


def boundary_of(error: Exception) -> str:
    """Where an episode's failure came about."""
    if isinstance(error, AgentFailed):
        return error.boundary
    if isinstance(error, MemoryFailed):
        return "memory"
    if isinstance(error, EpisodeTimeout):
        return "time-out"
    return "model" if isinstance(error, ModelError) else "run" if isinstance(error, AMemGymError) else "agent"


def said(error: Exception) -> str:
    """The failure as a sentence, without keys."""
    return redact(str(error) if isinstance(error, AMemGymError) else f"its code raised {raised(error)}")


class FailedEpisodes:
    """The failures in a run directory: failed/AGENT/USER-tTRIAL.json."""

    def __init__(self, directory: Path) -> None:
        self._folder = directory / "failed"

    def write(self, failed: FailedEpisode) -> None:
        """Raises StorageError."""
        path = self._path(failed.agent, failed.user_id, failed.trial)
        files.write_atomically(path, files.pretty_json(clean(asdict(failed))))

    def forget(self, agent: str, user_id: str, trial: int) -> None:
        """The episode is finished after all. Raises StorageError."""
        path = self._path(agent, user_id, trial)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise files.storage_error(error, path) from error

    def all(self) -> list[FailedEpisode]:
        """Every failure, in the order of agents, users and trials. Raises RunDirectoryError."""
        found = []
        for path in sorted(self._folder.glob("*/*.json")):
            try:
                found.append(_FAILED.validate_python(json.loads(path.read_text(encoding="utf-8"))))
            except (OSError, ValueError, ValidationError, RecursionError) as error:
                raise RunDirectoryError(f"{path} is damaged ({type(error).__name__}); delete it and resume") from error
        return sorted(found, key=lambda failed: (failed.agent, failed.user, failed.trial))

    def _path(self, agent: str, user_id: str, trial: int) -> Path:
        return self._folder / files.slug(agent) / f"{files.slug(user_id)}-t{trial}.json"
