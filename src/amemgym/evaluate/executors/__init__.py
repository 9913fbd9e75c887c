"""What schedules a run's jobs: `local` in this process, `ray` over the processes of a cluster.

Either hands out jobs in the order given, tells of each how it ended, and raises the first failure that ends the run,
once nothing is under way any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from amemgym.evaluate.executors.local import play_here
from amemgym.evaluate.jobs import Ended, Job

#: plays jobs, and gives each that ended to the function
Executor: TypeAlias = Callable[[Sequence[Job], Callable[[Ended], None]], Awaitable[None]]

__all__ = ["Executor", "play_here"]
