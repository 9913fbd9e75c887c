"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

    from amemgym.memorybench import load_result_summary_table

    print(load_result_summary_table("weighted_average"))

An archive holds groups (`entry`): one memory system with one model on one set, in four files. `reading` finds and reads
them, `aggregating` makes scores of items, `verifying` recomputes what is published, `comparing` sets memory systems
beside each other, `exporting` writes our own runs as an archive, and `dialogs` tells MemoryBench's conversations to our
agents. Files are untrusted: one place (`values`) decides what is a number, paths never leave the archive, and keys are
struck out. Nothing is imported until it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amemgym.memorybench.aggregating.aggregate import Aggregate, aggregate_sums, summarize
    from amemgym.memorybench.aggregating.collected import Collected, CollectedCell, read_collected
    from amemgym.memorybench.aggregating.metric import ItemValues, item_values
    from amemgym.memorybench.aggregating.normalization import Normalization, Statistics, read_normalizations
    from amemgym.memorybench.comparing.compare import compare
    from amemgym.memorybench.comparing.comparison import Gain, ResultTable
    from amemgym.memorybench.dialogs.pointfiles import Points, load_points
    from amemgym.memorybench.dialogs.points import DataPoint, Feedback
    from amemgym.memorybench.dialogs.predicting import Predicted, PredictReport, predict
    from amemgym.memorybench.dialogs.replay import Prediction, remember
    from amemgym.memorybench.dialogs.sessions import Session, sessions
    from amemgym.memorybench.entry import Cell, ResultEntry
    from amemgym.memorybench.exporting.export import Exported, ExportedGroup, export_runs
    from amemgym.memorybench.items import Item, ItemKey, Joined
    from amemgym.memorybench.problems import Problem
    from amemgym.memorybench.reading.opening import load_result_summary_table, open_results
    from amemgym.memorybench.reading.results import MemoryBenchResults
    from amemgym.memorybench.summary import Summary
    from amemgym.memorybench.verifying.verification import Difference, Verification
    from amemgym.memorybench.verifying.verify import verify

_WHERE = {
    "Aggregate": "aggregating.aggregate",
    "Cell": "entry",
    "Collected": "aggregating.collected",
    "CollectedCell": "aggregating.collected",
    "DataPoint": "dialogs.points",
    "Difference": "verifying.verification",
    "Exported": "exporting.export",
    "ExportedGroup": "exporting.export",
    "Feedback": "dialogs.points",
    "Gain": "comparing.comparison",
    "Item": "items",
    "ItemKey": "items",
    "ItemValues": "aggregating.metric",
    "Joined": "items",
    "MemoryBenchResults": "reading.results",
    "Normalization": "aggregating.normalization",
    "Points": "dialogs.pointfiles",
    "PredictReport": "dialogs.predicting",
    "Predicted": "dialogs.predicting",
    "Prediction": "dialogs.replay",
    "Problem": "problems",
    "ResultEntry": "entry",
    "ResultTable": "comparing.comparison",
    "Session": "dialogs.sessions",
    "Statistics": "aggregating.normalization",
    "Summary": "summary",
    "Verification": "verifying.verification",
    "aggregate_sums": "aggregating.aggregate",
    "compare": "comparing.compare",
    "export_runs": "exporting.export",
    "item_values": "aggregating.metric",
    "load_points": "dialogs.pointfiles",
    "load_result_summary_table": "reading.opening",
    "open_results": "reading.opening",
    "predict": "dialogs.predicting",
    "read_collected": "aggregating.collected",
    "read_normalizations": "aggregating.normalization",
    "remember": "dialogs.replay",
    "sessions": "dialogs.sessions",
    "summarize": "aggregating.aggregate",
    "verify": "verifying.verify",
}

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


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'amemgym.memorybench' has no attribute '{name}'")
    value = getattr(import_module(f"amemgym.memorybench.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
