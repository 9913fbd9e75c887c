"""How long an episode may take: one that takes longer fails alone, and a resume plays it on from its journal.

Its time begins when it is let in, and stands while all that it asks waits for its turn at an endpoint. So neither a
long queue, nor a limit of requests a minute, nor an outage ends an episode.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from amemgym.errors import EpisodeTimeout, FatalModelError, StorageError
from amemgym.llm import Stopwatch


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[Stopwatch | None]:
    """What runs inside may take so long by the stopwatch. Raises EpisodeTimeout, once it has ended."""
    if seconds is None:
        yield None
        return
    stopwatch = Stopwatch()
    limit = asyncio.timeout(None)

    async def watch() -> None:
        while (left := seconds - stopwatch.seconds()) > 0:  # noqa: ASYNC110 - the stopwatch may have stood
            await asyncio.sleep(left)
        limit.reschedule(asyncio.get_running_loop().time())

    try:
        async with limit:
            watching = asyncio.create_task(watch())
            try:
                yield stopwatch
            finally:
                watching.cancel()
    except Exception as error:  # also what came of being cancelled
        if not limit.expired() or isinstance(error, FatalModelError | StorageError):
            raise
        raise EpisodeTimeout(
            f"it is not finished after {seconds:g} s (--episode-timeout); what it was replied is kept"
        ) from error
