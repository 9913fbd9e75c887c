"""Evaluation: the run and its schedule, exams and the upper bound, the run directory."""

from amemgym.evaluate.coach import Coach, Coachings, Examined
from amemgym.evaluate.examine import Seat, blaming, put_to_copy
from amemgym.evaluate.failed import FailedEpisode, FailedEpisodes
from amemgym.evaluate.imported import Import, import_directory
from amemgym.evaluate.manifest import default_directory, describe_data, make_manifest, resumable, resumable_agent
from amemgym.evaluate.offpolicy import Recorded, read_recorded, recorded_data
from amemgym.evaluate.players import Players, in_play, needs_endpoint
from amemgym.evaluate.results import (
    Conversation,
    EpisodeResult,
    ExamResult,
    ProbeResult,
    UpperBoundAnswer,
    UpperBoundResult,
)
from amemgym.evaluate.run import Keeper, Run, RunOutcome
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.spec import FREE_SETTINGS, SHARED_SETTINGS, RunSpec, check_addresses, make_spec, read_config
from amemgym.evaluate.upperbound import variants_of
from amemgym.evaluate.watch import RunWatcher

__all__ = [
    "FREE_SETTINGS",
    "SHARED_SETTINGS",
    "Coach",
    "Coachings",
    "Conversation",
    "EpisodeResult",
    "ExamResult",
    "Examined",
    "FailedEpisode",
    "FailedEpisodes",
    "Import",
    "Keeper",
    "Players",
    "ProbeResult",
    "Recorded",
    "Run",
    "RunDirectory",
    "RunOutcome",
    "RunSpec",
    "RunWatcher",
    "Seat",
    "UpperBoundAnswer",
    "UpperBoundResult",
    "blaming",
    "check_addresses",
    "default_directory",
    "describe_data",
    "import_directory",
    "in_play",
    "make_manifest",
    "make_spec",
    "needs_endpoint",
    "put_to_copy",
    "read_config",
    "read_recorded",
    "recorded_data",
    "resumable",
    "resumable_agent",
    "variants_of",
]
