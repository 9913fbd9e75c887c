"""The MemoryBench results archive: read, recomputed, compared, and written from our own runs.

An archive holds groups (`entry`): one memory system with one model on one set. Its files are untrusted: values are read
in one place (`values`), paths never leave the archive, keys are struck out.
"""

from amemgym.memorybench.entry import Cell, ResultEntry
from amemgym.memorybench.export import Exported, ExportedGroup, export_runs
from amemgym.memorybench.summary import Summary

__all__ = ["Cell", "Exported", "ExportedGroup", "ResultEntry", "Summary", "export_runs"]
