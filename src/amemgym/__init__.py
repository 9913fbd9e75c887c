"""AMemGym: how good the long-term memory of a conversational assistant is, and what to compare it with.

    import amemgym

    report = amemgym.run(data="starter", agents=["native", "rag"])
    print(report["rag"]["overall"])

To examine your own memory, subclass `amemgym.Memory` and pass the class as an agent. Nothing heavy is imported until
it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amemgym.version import __version__

if TYPE_CHECKING:
    from amemgym.api import RunReport, compare, import_run, resume, run, score, write_report
    from amemgym.auditing import AuditReport, audit, sample_labels
    from amemgym.datasets import card, write_card
    from amemgym.env import Environment, Episode
    from amemgym.estimating import estimate
    from amemgym.evaluate import RunEstimate
    from amemgym.evolving import EvolveReport, evolve, resume_evolution
    from amemgym.generate import generate_data, load_dataset
    from amemgym.kit import KitReport, check_memory
    from amemgym.memory import Item, Memory
    from amemgym.memorybench import MemoryBenchResults, load_result_summary_table
    from amemgym.merging import merge
    from amemgym.messages import Message
    from amemgym.scenario import Dataset, Scenario, save_dataset
    from amemgym.tuning import TuneReport, tune

_WHERE = {
    "AuditReport": "auditing",
    "Dataset": "scenario",
    "Environment": "env",
    "EvolveReport": "evolving",
    "Episode": "env",
    "Item": "memory",
    "KitReport": "kit",
    "Memory": "memory",
    "MemoryBenchResults": "memorybench",
    "Message": "messages",
    "RunEstimate": "evaluate",
    "RunReport": "api",
    "TuneReport": "tuning",
    "Scenario": "scenario",
    "audit": "auditing",
    "card": "datasets",
    "check_memory": "kit",
    "compare": "api",
    "estimate": "estimating",
    "evolve": "evolving",
    "generate_data": "generate",
    "import_run": "api",
    "load_dataset": "generate",
    "load_result_summary_table": "memorybench",
    "merge": "merging",
    "resume": "api",
    "resume_evolution": "evolving",
    "run": "api",
    "sample_labels": "auditing",
    "save_dataset": "scenario",
    "score": "api",
    "tune": "tuning",
    "write_card": "datasets",
    "write_report": "api",
}

__all__ = [
    "AuditReport",
    "Dataset",
    "Environment",
    "Episode",
    "EvolveReport",
    "Item",
    "KitReport",
    "Memory",
    "MemoryBenchResults",
    "Message",
    "RunEstimate",
    "RunReport",
    "Scenario",
    "TuneReport",
    "__version__",
    "audit",
    "card",
    "check_memory",
    "compare",
    "estimate",
    "evolve",
    "generate_data",
    "import_run",
    "load_dataset",
    "load_result_summary_table",
    "merge",
    "resume",
    "resume_evolution",
    "run",
    "sample_labels",
    "save_dataset",
    "score",
    "tune",
    "write_card",
    "write_report",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(f"module 'amemgym' has no attribute '{name}'")
    value = getattr(import_module(f"amemgym.{_WHERE[name]}"), name)
    globals()[name] = value
    return value
