"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

An archive holds groups (`entry`): one memory system with one model on one set. Its files are untrusted: values are read
in one place (`values`), paths never leave the archive, keys are struck out.
"""

from amemgym.memorybench.aggregate import Aggregate, aggregate_sums, summarize
from amemgym.memorybench.collected import Collected, CollectedCell, read_collected
from amemgym.memorybench.compare import compare
from amemgym.memorybench.comparison import Gain, ResultTable
from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.export import Exported, ExportedGroup, export_runs
from amemgym.memorybench.items import Item, ItemKey, Joined
from amemgym.memorybench.metric import ItemValues, item_values
from amemgym.memorybench.normalization import Normalization, Statistics, read_normalizations
from amemgym.memorybench.opening import load_result_summary_table, open_results
from amemgym.memorybench.pointfiles import Points, iter_points, load_points
from amemgym.memorybench.points import DataPoint, Feedback, Gold
from amemgym.memorybench.predicting import Predicted, PredictReport, predict
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.replay import Prediction, remember
from amemgym.memorybench.results import MemoryBenchResults
from amemgym.memorybench.sessions import Session, sessions
from amemgym.memorybench.summary import Summary
from amemgym.memorybench.verification import Difference, Verification
from amemgym.memorybench.verify import verify

__all__ = [
    "Aggregate",
    "Cell",
    "Collected",
    "CollectedCell",
    "DataPoint",
    "Difference",
    "Exported",
    "ExportedGroup",
    "Feedback",
    "Gain",
    "Gold",
    "Item",
    "ItemKey",
    "ItemValues",
    "Joined",
    "MemoryBenchResults",
    "Normalization",
    "Points",
    "PredictReport",
    "Predicted",
    "Prediction",
    "Problem",
    "ResultEntry",
    "ResultTable",
    "Session",
    "Statistics",
    "Summary",
    "Verification",
    "aggregate_sums",
    "compare",
    "export_runs",
    "item_values",
    "iter_points",
    "load_points",
    "load_result_summary_table",
    "open_results",
    "predict",
    "read_collected",
    "read_normalizations",
    "remember",
    "sessions",
    "summarize",
    "verify",
]
