"""Jobs played in this process, in its event loop: episodes in one lane, upper bounds in another.

An upper bound is no chain of calls, so it takes no episode's place. More episodes are under way than calls may be, as
those that have conversed to their end may still wait for exams; only so many, as each holds its memories meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from amemgym.evaluate.jobs import Ended, Job
from amemgym.evaluate.worker import Worker
from amemgym.llm import Slots
from amemgym.together import few_collections, side_by_side

#: episodes under way for each call that may be
EPISODES_A_CALL = 2


async def play_here(worker: Worker, jobs: Sequence[Job], at_once: int, take: Callable[[Ended], None]) -> None:
    """Play the jobs in order, `at_once` being the calls that may be under way. Raises the first failure that ends the
    run."""

    async def one(job: Job) -> None:
        take(await worker.play(job))

    def lane(wanted: Sequence[Job], number: int) -> Coroutine[Any, Any, list[None]]:
        return side_by_side((one(job) for job in wanted), Slots(number))

    episodes, bounds = ([job for job in jobs if bool(job.agent) is kind] for kind in (True, False))
    with few_collections():
        await side_by_side([lane(episodes, EPISODES_A_CALL * at_once), lane(bounds, at_once)])
