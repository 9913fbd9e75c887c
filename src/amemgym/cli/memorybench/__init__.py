"""`amemgym memorybench …`: the commands over archives of MemoryBench results."""

from __future__ import annotations

from amemgym.cli.lazy import lazy_app

#: command → module
MEMORYBENCH = {"table": "table", "show": "show", "verify": "verify", "export": "export", "predict": "predict"}

memorybench_app = lazy_app(
    "memorybench", "Read, check, compare and publish results of MemoryBench.", __name__, MEMORYBENCH
)
