"""Jobs played in this process, in its event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from amemgym.evaluate.jobs import Ended, Job
from amemgym.evaluate.worker import Worker
from amemgym.together import first_failure


async def play_here(worker: Worker, jobs: Sequence[Job], at_once: int, take: Callable[[Ended], None]) -> None:
    """Play the jobs, so many at once. Raises the first failure that ends the run."""
    episodes = asyncio.Semaphore(at_once)

    async def one(job: Job) -> None:
        async with episodes:
            take(await worker.play(job))

    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(one(job))
    except BaseExceptionGroup as failures:
        raise first_failure(failures) from failures
