"""Evaluation: the run and its schedule, exams and the upper bound, the run directory."""

from amemgym.evaluate.coach import Coach, Coachings, Examined
from amemgym.evaluate.failed import FailedEpisode, FailedEpisodes
from amemgym.evaluate.imported import Import, import_directory
from amemgym.evaluate.manifest import default_directory, describe_data, make_manifest, resumable, resumable_agent
from amemgym.evaluate.offpolicy import read_recorded, recorded_data
from amemgym.evaluate.results import (
    Conversation,
    EpisodeResult,
    ExamResult,
    ProbeResult,
    UpperBoundAnswer,
    UpperBoundResult,
)
from amemgym.evaluate.run import Run, RunOutcome
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.spec import RunSpec, make_spec, read_config
from amemgym.evaluate.watch import RunWatcher

__all__ = [
    "Coach",
    "Coachings",
    "Conversation",
    "EpisodeResult",
    "ExamResult",
    "Examined",
    "FailedEpisode",
    "FailedEpisodes",
    "Import",
    "ProbeResult",
    "Run",
    "RunDirectory",
    "RunOutcome",
    "RunSpec",
    "RunWatcher",
    "UpperBoundAnswer",
    "UpperBoundResult",
    "default_directory",
    "describe_data",
    "import_directory",
    "make_manifest",
    "make_spec",
    "read_config",
    "read_recorded",
    "recorded_data",
    "resumable",
    "resumable_agent",
]
