"""A stand-in for Ray whose actors are objects of this process, and end when a test says so."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


class RayError(Exception):
    pass


class RayActorError(RayError):
    pass


class FakeRay:
    """As much of Ray as a run uses.

    Args:
        processors: CPUs of the cluster.
        dies: told the actor's number (in order of start), the method and how often that actor was called before;
            whether its process ends in that call.
    """

    exceptions = SimpleNamespace(RayError=RayError, RayActorError=RayActorError)
    cloudpickle = pickle

    def __init__(
        self, processors: int = 2, dies: Callable[[int, str, int], bool] = lambda actor, method, before: False
    ) -> None:
        self.processors = processors
        self.dies = dies
        self.actors: list[FakeActor] = []
        self.killed: list[Any] = []

    @contextmanager
    def cluster(self) -> Iterator[FakeRay]:
        yield self

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True}]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.processors)}

    def remote(self, cls: type) -> Any:
        def start(*arguments: Any) -> FakeActor:
            sent = pickle.loads(pickle.dumps(arguments))
            self.actors.append(FakeActor(self, len(self.actors), cls(*sent)))
            return self.actors[-1]

        return SimpleNamespace(options=lambda **options: SimpleNamespace(remote=start))

    def put(self, value: Any) -> Any:
        return copy.deepcopy(value)

    def kill(self, actor: FakeActor) -> None:
        self.killed.append(actor)
        actor.end()


class FakeActor:
    def __init__(self, ray: FakeRay, number: int, player: Any) -> None:
        self.number = number
        self.calls: list[str] = []
        self._ray = ray
        self._player = player
        self._running: set[asyncio.Task[Any]] = set()
        self._is_gone = False

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._call(method, arguments))

    async def _call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        self.calls.append(method)
        if self._is_gone or self._ray.dies(self.number, method, len(self.calls) - 1):
            self.end()
            raise RayActorError("The actor died.\nWorker exit detail: SIGKILL.")
        task = asyncio.ensure_future(getattr(self._player, method)(*pickle.loads(pickle.dumps(arguments))))
        self._running.add(task)
        await asyncio.wait({task})
        self._running.discard(task)
        if self._is_gone:
            raise RayActorError("The actor died.\nWorker exit detail: SIGKILL.")
        return pickle.loads(pickle.dumps(task.result()))

    def end(self) -> None:
        """Its process is gone, with all it does."""
        self._is_gone = True
        for task in self._running:
            task.cancel()
