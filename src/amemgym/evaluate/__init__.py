"""Evaluation: the run and its schedule, exams and the upper bound, the run directory."""

from amemgym.evaluate.coach import Coach, Coachings, Examined
from amemgym.evaluate.examine import Seat, blaming, put_to_copy
from amemgym.evaluate.failed import FailedEpisode, FailedEpisodes
from amemgym.evaluate.forecast import UPPER_BOUND, RoleEstimate, RunEstimate
from amemgym.evaluate.imported import Import, import_directory
from amemgym.evaluate.manifest import (
    default_directory,
    describe_data,
    make_manifest,
    place_of_model,
    priced_models,
    resumable,
    resumable_agent,
)
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
from amemgym.evaluate.shard import Shard, played_users, shard_of, whole
from amemgym.evaluate.spec import FREE_SETTINGS, SHARED_SETTINGS, RunSpec, check_addresses, make_spec, read_config
from amemgym.evaluate.upperbound import variants_of
from amemgym.evaluate.watch import RunWatcher
from amemgym.evaluate.worker import Worker

__all__ = [
    "FREE_SETTINGS",
    "SHARED_SETTINGS",
    "UPPER_BOUND",
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
    "RoleEstimate",
    "Run",
    "RunDirectory",
    "RunEstimate",
    "RunOutcome",
    "RunSpec",
    "RunWatcher",
    "Seat",
    "Shard",
    "UpperBoundAnswer",
    "UpperBoundResult",
    "Worker",
    "blaming",
    "check_addresses",
    "default_directory",
    "describe_data",
    "import_directory",
    "in_play",
    "make_manifest",
    "make_spec",
    "needs_endpoint",
    "place_of_model",
    "played_users",
    "priced_models",
    "put_to_copy",
    "read_config",
    "read_recorded",
    "recorded_data",
    "resumable",
    "resumable_agent",
    "shard_of",
    "variants_of",
    "whole",
]
