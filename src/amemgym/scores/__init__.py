"""Scores: metrics and intervals as pure functions of results, and the summary that scores.json holds."""

from amemgym.scores.answers import Answers, Cell, cells_of
from amemgym.scores.by_user import by_user
from amemgym.scores.comparison import Comparison, compare_runs
from amemgym.scores.costs import OWN_ROLES
from amemgym.scores.diagnosis import Failure, Mistake, diagnose, mistake
from amemgym.scores.intervals import clipped, difference_interval, ratio_interval, share_interval
from amemgym.scores.kept import results_of
from amemgym.scores.metrics import (
    Mean,
    MemoryScore,
    accuracy,
    by_period,
    by_position,
    memory_score,
    random_accuracy,
    upper_bound_accuracy,
)
from amemgym.scores.pairs import Pair, compare_agents
from amemgym.scores.power import users_needed
from amemgym.scores.results import Gathering, Results, gathered
from amemgym.scores.summary import summarise, summary_of
from amemgym.scores.warnings import OFFLINE, STAND_IN, models_played, what_is_missing

__all__ = [
    "OFFLINE",
    "OWN_ROLES",
    "STAND_IN",
    "Answers",
    "Cell",
    "Comparison",
    "Failure",
    "Gathering",
    "Mean",
    "MemoryScore",
    "Mistake",
    "Pair",
    "Results",
    "accuracy",
    "by_period",
    "by_position",
    "by_user",
    "cells_of",
    "clipped",
    "compare_agents",
    "compare_runs",
    "diagnose",
    "difference_interval",
    "gathered",
    "memory_score",
    "mistake",
    "models_played",
    "random_accuracy",
    "ratio_interval",
    "results_of",
    "share_interval",
    "summarise",
    "summary_of",
    "upper_bound_accuracy",
    "users_needed",
    "what_is_missing",
]
