"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

An archive holds groups (`entry`): one memory system with one model on one set. Its files are untrusted: values are read
in one place (`values`), paths never leave the archive, keys are struck out.
"""

from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.export import Exported, ExportedGroup, export_runs
from amemgym.memorybench.items import Item, ItemKey, Joined
from amemgym.memorybench.opening import load_result_summary_table, open_results
from amemgym.memorybench.pointfiles import Points, iter_points, load_points
from amemgym.memorybench.points import DataPoint, Feedback, Gold
from amemgym.memorybench.predicting import Predicted, PredictReport, predict
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.replay import Prediction, remember
from amemgym.memorybench.results import MemoryBenchResults
from amemgym.memorybench.sessions import Session, sessions
from amemgym.memorybench.summary import Summary

__all__ = [
    "Cell",
    "DataPoint",
    "Exported",
    "ExportedGroup",
    "Feedback",
    "Gold",
    "Item",
    "ItemKey",
    "Joined",
    "MemoryBenchResults",
    "Points",
    "PredictReport",
    "Predicted",
    "Prediction",
    "Problem",
    "ResultEntry",
    "Session",
    "Summary",
    "export_runs",
    "iter_points",
    "load_points",
    "load_result_summary_table",
    "open_results",
    "predict",
    "remember",
    "sessions",
]
