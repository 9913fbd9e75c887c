"""One process of a Ray cluster that plays jobs: a worker in an event loop of its own, asked for several jobs at once.

It is told everything as data and replies with data; an exception never leaves it, so that no traceback of its stands in
a log of Ray's.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
from contextlib import suppress
from dataclasses import replace
from typing import Any

from amemgym import files
from amemgym.errors import UsageError, raised
from amemgym.evaluate.executors.orders import Keys, Note, Notes, Order, Reply, told, with_classes, with_keys
from amemgym.evaluate.failed import said
from amemgym.evaluate.jobs import Job
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.worker import Worker
from amemgym.version import __version__

#: seconds that what is told is gathered for
PAUSE = 0.1


class Player:
    """What Ray makes an actor of. Its methods are called side by side."""

    def __init__(self, keys: Keys, order: bytes, recorded: Recorded | None) -> None:
        self._keys = keys
        self._packed = order
        self._recorded = recorded
        self._notes = Notes()
        self._worker: Worker | None = None
        self._playing: set[asyncio.Task[Any]] = set()

    async def begin(self) -> tuple[str, str] | None:
        """Get ready. Gives an error where that cannot be."""
        try:
            self._begin()
        except Exception as error:
            return told(error if hasattr(error, "exit_code") else UsageError(f"{self._here()}: {raised(error)}"))
        return None

    def _begin(self) -> None:
        order: Order = pickle.loads(self._packed)  # noqa: S301 - from the process that started this one
        setup = with_keys(order.setup, self._keys)
        if order.version != __version__:
            raise UsageError(
                f"{self._here()} has amemgym {__version__}, and the run was started by {order.version}; install the"
                " same on every machine"
            )
        directory = RunDirectory(order.directory)
        manifest = directory.path / "manifest.json"
        seen = None
        with suppress(OSError):
            seen = files.sha256(manifest.read_bytes())
        if seen != order.manifest:
            what = "cannot see" if seen is None else "sees another run in"
            raise UsageError(
                f"{self._here()} {what} {manifest}; all machines that play a run must share its directory (choose one"
                " that they do with --out)"
            )
        agents = with_classes(setup.agents, order.imported)
        setup = replace(setup, agents=agents)
        self._worker = Worker(setup, directory.dataset(), directory, self._notes, self._recorded)
        self._worker.begin(order.run_name)

    async def play(self, job: Job, models_answer: bool) -> Reply:
        """Play a job; `models_answer` says that they did to any worker, or before."""
        worker = self._worker
        assert worker is not None
        if models_answer:
            worker.had_replies()
        task = asyncio.ensure_future(worker.play(job))
        self._playing.add(task)
        try:
            ended = await task
        except asyncio.CancelledError:
            return Reply(self._notes.take())
        except Exception as error:
            kind, sentence = told(error)
            sentence = sentence if hasattr(error, "exit_code") else f"{job.name}: {said(error)}"
            return Reply(self._notes.take(), stopped=(kind, sentence))
        finally:
            self._playing.discard(task)
        return Reply(self._notes.take(), ended)

    async def notes(self) -> list[Note]:
        """What there is to tell, as soon as there is something."""
        await self._notes.there.wait()
        await asyncio.sleep(PAUSE)
        return self._notes.take()

    async def aclose(self) -> None:
        """End what is under way, and let go of what was opened to play."""
        for task in self._playing:
            task.cancel()
        await asyncio.gather(*self._playing, return_exceptions=True)
        if self._worker is not None:
            with suppress(Exception):
                await self._worker.aclose()

    def _here(self) -> str:
        return f"the worker on {socket.gethostname()} (process {os.getpid()})"
