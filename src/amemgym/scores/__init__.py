"""Scores: metrics and intervals as pure functions of results, and the summary that scores.json holds."""

from amemgym.scores.by_user import UserScores, by_user
from amemgym.scores.intervals import ratio_interval
from amemgym.scores.metrics import (
    Cell,
    Mean,
    MemoryScore,
    accuracy,
    by_period,
    by_position,
    cells_of,
    memory_score,
    random_accuracy,
    upper_bound_accuracy,
)
from amemgym.scores.summary import OWN_ROLES, summarise

__all__ = [
    "OWN_ROLES",
    "Cell",
    "Mean",
    "MemoryScore",
    "UserScores",
    "accuracy",
    "by_period",
    "by_position",
    "by_user",
    "cells_of",
    "memory_score",
    "random_accuracy",
    "ratio_interval",
    "summarise",
    "upper_bound_accuracy",
]
