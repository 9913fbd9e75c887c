"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

An archive holds groups (`entry`): one memory system with one model on one set. Its files are untrusted: values are read
in one place (`values`), paths never leave the archive, keys are struck out.
"""

from amemgym.memorybench.aggregate import Aggregate, aggregate_sums, summarize
from amemgym.memorybench.collected import Collected, CollectedCell, read_collected
from amemgym.memorybench.compare import compare
from amemgym.memorybench.comparison import Gain, ResultTable
from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.items import Item, ItemKey, Joined
from amemgym.memorybench.metric import ItemValues, item_values
from amemgym.memorybench.normalization import Normalization, Statistics, read_normalizations
from amemgym.memorybench.opening import load_result_summary_table, open_results
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.results import MemoryBenchResults
from amemgym.memorybench.summary import Summary
from amemgym.memorybench.verification import Difference, Verification
from amemgym.memorybench.verify import verify

__all__ = [
    "Aggregate",
    "Cell",
    "Collected",
    "CollectedCell",
    "Difference",
    "Gain",
    "Item",
    "ItemKey",
    "ItemValues",
    "Joined",
    "MemoryBenchResults",
    "Normalization",
    "Problem",
    "ResultEntry",
    "ResultTable",
    "Statistics",
    "Summary",
    "Verification",
    "aggregate_sums",
    "compare",
    "item_values",
    "load_result_summary_table",
    "open_results",
    "read_collected",
    "read_normalizations",
    "summarize",
    "verify",
]
