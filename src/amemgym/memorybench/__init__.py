"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

An archive holds groups (`entry`): one memory system with one model on one set. Its files are untrusted: values are read
in one place (`values`), paths never leave the archive, keys are struck out.
"""

from amemgym.memorybench.compare import compare
from amemgym.memorybench.comparison import Gain, ResultTable
from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.items import Item, ItemKey, Joined
from amemgym.memorybench.opening import load_result_summary_table, open_results
from amemgym.memorybench.problems import Problem
from amemgym.memorybench.results import MemoryBenchResults
from amemgym.memorybench.summary import Summary

__all__ = [
    "Cell",
    "Gain",
    "Item",
    "ItemKey",
    "Joined",
    "MemoryBenchResults",
    "Problem",
    "ResultEntry",
    "ResultTable",
    "Summary",
    "compare",
    "load_result_summary_table",
    "open_results",
]
