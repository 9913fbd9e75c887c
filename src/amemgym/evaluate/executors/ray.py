"""Jobs played by the processes of a Ray cluster, each several at once.

The run's own process holds the directory, its lock, what failed and what is scored; the others write journals and
episodes into the same directory, which all machines share. A process that ends has its jobs handed out again, and who
gets them plays them on from their journals.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from amemgym import files
from amemgym.errors import BudgetSpent, ClusterFailed, EndpointDown, UsageError
from amemgym.evaluate.executors.actor import Player
from amemgym.evaluate.executors.cluster import cluster, first_line, processors
from amemgym.evaluate.executors.orders import SPENT, Note, Order, Reply, as_error, by_reference, split_keys
from amemgym.evaluate.executors.shares import share_of, workers_of
from amemgym.evaluate.jobs import Ended, Failed, Job
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.watch import RunWatcher
from amemgym.evaluate.worker import Setup
from amemgym.llm.circuit import EXHAUSTED
from amemgym.together import first_failure, in_thread
from amemgym.version import __version__

#: processes of one worker that may end one after another, without any that played a job to its end
TRIES = 3
#: seconds that workers have to let go of what they opened
GRACE = 5.0
#: seconds after which it is told that a worker still waits for a place in the cluster
PATIENCE = 15.0


async def play_on_ray(
    setup: Setup,
    directory: RunDirectory,
    run_name: str,
    jobs: Sequence[Job],
    take: Callable[[Ended], None],
    watcher: RunWatcher,
    recorded: Recorded | None = None,
) -> None:
    """Play the jobs. Raises the first failure that ends the run, ClusterFailed where the cluster does."""
    with cluster() as ray:
        count = workers_of(setup.spec, processors(ray), len(jobs))
        played = _Played(ray, setup, directory, run_name, recorded, count)
        await _Scheduler(played, jobs, take, watcher, directory).run()


class _Played:
    """Starts the processes that play.

    Raises UsageError where an agent's class cannot be sent to another process.
    """

    def __init__(
        self, ray: Any, setup: Setup, directory: RunDirectory, run_name: str, recorded: Recorded | None, count: int
    ) -> None:
        self.ray = ray
        self.count = count
        self.setup = setup
        self._recorded = None if recorded is None else ray.put(recorded)
        bare, self._keys = split_keys(setup)
        agents, imported = by_reference(bare.agents)
        path = directory.path.resolve()
        manifest = files.sha256((path / "manifest.json").read_bytes())
        bare = replace(bare, agents=agents)
        self._order = Order(bare, str(path), manifest, __version__, run_name, imported)
        self._packed(self._order)
        self._actor = ray.remote(Player)
        # a process that mostly waits for replies may share a processor
        self._reserved = 1 if count <= processors(ray) else 0

    def start(self, number: int, spent: float) -> Any:
        """A process for worker `number`, whose earlier ones have spent so much of its part of the budget."""
        setup = self._order.setup
        order = replace(self._order, setup=replace(setup, spec=share_of(setup.spec, number, self.count, spent)))
        actor = self._actor.options(
            num_cpus=self._reserved,
            scheduling_strategy="SPREAD",  # so that all machines are used
            max_restarts=0,
            max_concurrency=2 * self.jobs_at_once(number) + 8,  # its jobs, and what is asked beside them
        )
        return actor.remote(self._keys, self._packed(order), self._recorded)

    def jobs_at_once(self, number: int) -> int:
        """As in a run on one machine: as many episodes as calls."""
        return share_of(self.setup.spec, number, self.count).concurrency

    def _packed(self, order: Order) -> bytes:
        try:
            packed: bytes = self.ray.cloudpickle.dumps(order)
        except Exception as error:
            own = ", ".join(f"'{a.name}'" for a in order.setup.agents if a.memory_class is not None)
            raise UsageError(
                f"--executor ray: agent {own} cannot be sent to other processes ({type(error).__name__}:"
                f" {first_line(error)}); name it as file.py:Class, or play it with --executor local"
            ) from error
        return packed


class _Place:
    """One worker's place, which is filled anew when its process ends."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.actor: Any = None
        #: processes that ended here since a job was played to its end
        self.ended = 0
        #: of its part of the budget, in the budget's unit: by processes that ended, and by the one that is there too
        self.spent_before = self.spent = 0.0
        #: whether that is all
        self.is_spent = False
        self.starting = asyncio.Lock()


class _Scheduler:
    def __init__(
        self,
        played: _Played,
        jobs: Sequence[Job],
        take: Callable[[Ended], None],
        watcher: RunWatcher,
        directory: RunDirectory,
    ) -> None:
        self._played = played
        self._lost = played.ray.exceptions.RayActorError
        self._queue = deque(jobs)
        self._total = len(jobs)
        self._take = take
        self._watcher = watcher
        self._models_answer = any(directory.path.glob("episodes/*/*.json"))
        self._places = [_Place(number) for number in range(played.count)]
        self._listeners: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._changed = asyncio.Condition()
        #: jobs in a row that ended as a model could not be reached, with no reply to anyone between them
        self._unreachable = 0
        #: counts the replies before
        self._replies = 0
        self._said: set[str] = set()
        self._spent: BudgetSpent | None = None

    async def run(self) -> None:
        """Play everything. Raises the first failure that ends the run."""
        slots = -(-self._total // len(self._places))  # no worker takes all where there is little to play
        try:
            async with asyncio.TaskGroup() as group:
                for slot in range(slots):
                    for place in self._places:
                        if slot < self._played.jobs_at_once(place.number):
                            group.create_task(self._serve(place))
        except BaseExceptionGroup as failures:
            raise first_failure(failures) from failures
        finally:
            await self._close()
        if self._queue and self._spent is not None:
            raise self._spent

    async def _serve(self, place: _Place) -> None:
        """Have a place play one job after another."""
        while not place.is_spent:
            actor = await self._ready(place)
            job = await self._next(place)
            if job is None:
                return
            try:
                reply: Reply = await actor.play.remote(job, self._models_answer)
            except self._lost as error:
                await self._put_back(job)
                self._died(place, actor, error)
                continue
            except self._played.ray.exceptions.RayError as error:
                raise ClusterFailed(f"the cluster failed while it played {job.name}: {first_line(error)}") from error
            self._tell(place, actor, reply.notes)
            await self._ended(place, job, reply)

    async def _ended(self, place: _Place, job: Job, reply: Reply) -> None:
        if reply.ended is not None:
            place.ended = 0
            self._take(self._heard(reply.ended))
            self._check_outage(reply.ended)
            async with self._changed:
                self._under_way -= 1
                self._changed.notify_all()
            return
        error = as_error(reply.stopped) if reply.stopped else ClusterFailed(f"{job.name} was ended by its worker")
        if isinstance(error, EndpointDown):
            error.silence = self._silence
        if not isinstance(error, BudgetSpent):
            raise error
        # its own part is spent; the others' may not be
        self._spent, place.is_spent = error, True
        await self._put_back(job)

    async def _next(self, place: _Place) -> Job | None:
        """The next job; None once there is none, and none under way that might come back."""
        async with self._changed:
            while not self._queue and self._under_way and not place.is_spent:
                await self._changed.wait()
            if not self._queue or place.is_spent:
                return None
            self._under_way += 1
            return self._queue.popleft()

    async def _put_back(self, job: Job) -> None:
        async with self._changed:
            self._under_way -= 1
            self._queue.appendleft(job)
            self._changed.notify_all()

    async def _check_cluster(self) -> None:
        """Raises ClusterFailed where no machine of the cluster is there any more."""
        try:
            nodes = await asyncio.wait_for(in_thread(self._played.ray.nodes), PATIENCE)
        except Exception:  # then nothing answers that could tell
            nodes = []
        if not any(node["Alive"] for node in nodes):
            raise ClusterFailed("the Ray cluster is gone: none of its machines answers any more")

    async def _ready(self, place: _Place) -> Any:
        """The place's process, started where there is none. Raises what it says it cannot begin for."""
        async with place.starting:
            while place.actor is None:
                place.spent_before = place.spent
                actor = self._played.start(place.number, place.spent)
                beginning = asyncio.ensure_future(_result(actor.begin.remote()))
                try:
                    while not (await asyncio.wait({beginning}, timeout=PATIENCE))[0]:
                        await self._check_cluster()
                        self._say(f"worker {place.number + 1} waits for a place in the cluster")
                    cannot = await beginning
                except self._lost as error:
                    self._died(place, None, error)
                    continue
                except self._played.ray.exceptions.RayError as error:
                    raise ClusterFailed(f"worker {place.number + 1} cannot be started: {first_line(error)}") from error
                except BaseException:
                    beginning.cancel()
                    self._kill(actor)
                    raise
                if cannot is not None:
                    raise as_error(cannot)
                place.actor = actor
                listener = asyncio.ensure_future(self._listen(place, actor))
                self._listeners.add(listener)
                listener.add_done_callback(self._listeners.discard)
            return place.actor

    def _died(self, place: _Place, actor: Any, error: Exception) -> None:
        """A place's process ended. Raises ClusterFailed where that happens again and again."""
        if actor is not place.actor:
            return  # another of its jobs has told
        place.actor = None
        place.ended += 1
        if place.ended >= TRIES:
            raise ClusterFailed(
                f"worker {place.number + 1} of {len(self._places)} ended {TRIES} times before it had played anything to"
                f" its end (the last time: {_why(error)})"
            ) from error
        which = f"worker {place.number + 1} of {len(self._places)}"
        self._watcher.said(f"{which} ended ({_why(error)}); what it played is handed out again")

    async def _listen(self, place: _Place, actor: Any) -> None:
        with suppress(self._played.ray.exceptions.RayError):  # whoever asked it to play hears of its end
            while True:
                self._tell(place, actor, await actor.notes.remote())

    def _tell(self, place: _Place, actor: Any, notes: Sequence[Note]) -> None:
        for name, arguments, named in notes:
            if name == SPENT:
                if actor is place.actor:
                    place.spent = max(place.spent, place.spent_before + arguments[0])
                continue
            if name == "said":
                self._say(*arguments)
                continue
            if name == "called" and arguments[1:] == (False,):
                self._models_answer, self._unreachable = True, 0
                self._replies += 1
            getattr(self._watcher, name)(*arguments, **named)

    def _say(self, sentence: str) -> None:
        """What every worker says is told once."""
        if sentence not in self._said:
            self._said.add(sentence)
            self._watcher.said(sentence)

    @property
    def _silence(self) -> tuple[str, int]:
        """What failures have in common between which no model gave a reply to any worker."""
        return "", self._replies

    def _heard(self, ended: Ended) -> Ended:
        """How a job ended; the silence it ended in is that of all workers, where a worker knows its own alone."""
        if isinstance(ended, Failed) and ended.silence is not None:
            return replace(ended, silence=self._silence)
        return ended

    def _check_outage(self, ended: Ended) -> None:
        """Raises EndpointDown where jobs in a row ended without a reply, whoever played them."""
        if isinstance(ended, Failed) and ended.silence is not None:
            self._unreachable += 1
            if self._unreachable >= EXHAUSTED:
                down = EndpointDown(ended.error)
                down.silence = self._silence
                raise down

    async def _close(self) -> None:
        """End every process that was started."""
        for listener in self._listeners:
            listener.cancel()
        actors = [place.actor for place in self._places if place.actor is not None]
        try:
            if actors:
                await asyncio.wait(
                    {asyncio.ensure_future(_result(actor.aclose.remote())) for actor in actors}, timeout=GRACE
                )
        finally:
            for actor in actors:
                self._kill(actor)

    def _kill(self, actor: Any) -> None:
        with suppress(Exception):
            self._played.ray.kill(actor)


async def _result(reference: Any) -> Any:
    return await reference


def _why(error: Exception) -> str:
    """Ray's account of an actor's end, without the ids it begins with."""
    causes = ("SIGKILL", "OOM", "out of memory", "node", "connection", "exit")
    lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    told = next((line for line in reversed(lines) if any(cause in line for cause in causes)), "its process is gone")
    return told if len(told) <= 160 else f"{told[:157]}…"
