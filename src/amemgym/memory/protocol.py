"""What a memory is: something messages are written to and items are read from.

A memory sees messages and simulated times, nothing else of a scenario. To bring your own, subclass `Memory` and write
`write` and `read`; both may be plain or async methods. The rest has defaults that are right for a memory whose whole
content is in its attributes. A memory system that lives elsewhere (a package, a server) says so by `blocking`,
`needs_endpoint` and `packages`, and lets go of what it holds in `close`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from amemgym.llm import Embedder, Endpoint, Lender, Model
from amemgym.memory.packages import check_packages
from amemgym.messages import Message
from amemgym.tasks import Chat, StandIn

#: stands for the query in a form of it, which is what a memory that is searched may be told (`Tools.policy`)
QUERY = "$query"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing remembered: its text, and the simulated time it is from, if it has one."""

    text: str
    time: datetime | None = None

    def line(self) -> str:
        """The item as an assistant is shown it."""
        return f"[{self.time.date().isoformat()}] {self.text}" if self.time else self.text


@dataclass(frozen=True)
class Tools:
    """What a memory may use: a model for agentic writing, an embedder, and the names of the state variables.

    `variables` is empty but in the ablation that is told them (SPEC section 2); values are never told. `endpoint` is an
    OpenAI-compatible address of this memory alone, where it needs one, behind which are the same model and embedder.
    `name` is this memory's alone (of its run and folder, agent, user and trial, and of the exam it was copied for), for
    what a server keeps under it. It belongs in no prompt, as a run that was moved has others.

    `policy` is what the agent was told to remember, or to search by, in place of the memory's own words ("" where it
    was told nothing); it may be another one after a period. `room` is the most it may keep, where that is limited.
    """

    model: Model
    embedder: Embedder
    variables: tuple[str, ...] = ()
    name: str = "episode"
    endpoint: Endpoint | None = None
    policy: str = ""
    room: int | None = None
    lender: Lender | None = field(default=None, repr=False)


class Memory(ABC):
    """The memory of one assistant about one user.

    `tools` is set before anything is written or read. An instance is made for each episode, and another for each exam,
    which gets the content by `restore(snapshot)`; so nothing an exam does can reach the memory that is examined.
    """

    tools: Tools
    #: whether its methods wait (for a disk, a server); then those that are not async are called in a worker thread
    blocking: ClassVar[bool] = False
    #: whether it calls a model by itself, through an address: then `tools.endpoint` is there, and it counts as blocking
    needs_endpoint: ClassVar[bool] = False
    #: whether its snapshot only holds until the next write, so that an exam is taken before the conversation goes on
    snapshot_is_view: ClassVar[bool] = False
    #: packages it needs beside this one: name → the versions that work, as in {"mem0ai": ">=2,<3"}
    packages: ClassVar[Mapping[str, str]] = {}
    #: the extra that brings them, as in `pip install 'amemgym[mem0]'`
    extra: ClassVar[str] = ""
    #: environment variables that decide what it gives back (a server's address; never a key): part of what a run is, as
    #: the packages' versions are
    environment: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def check(cls) -> None:
        """Raises UsageError where it cannot work here (a package is missing, a server is down). It is called before
        anything is played; the default looks at `packages`."""
        check_packages(cls.packages, cls.extra)

    @staticmethod
    def stand_in(chat: Chat) -> StandIn[Any] | None:
        """What the offline model should do when the memory system asks `chat` at its endpoint, or None where that is
        not known (the default): the task that is meant, and how its result is worded as this system expects it."""
        return None

    @abstractmethod
    def write(self, messages: Sequence[Message], now: datetime) -> Awaitable[None] | None:
        """Take in messages, oldest first. `now` is the simulated time."""

    @abstractmethod
    def read(self, query: str, now: datetime, k: int) -> Sequence[Item | str] | Awaitable[Sequence[Item | str]]:
        """At most `k` items for this query, best first (more are cut off); they are shown in order of their times."""

    def snapshot(self) -> object:
        """The whole content, detached from this memory, as something that can be pickled. Default: a deep copy of all
        attributes but `tools`."""
        try:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "tools"})
        except TypeError as error:
            raise TypeError(
                f"{error}; override snapshot and restore, since not every attribute can be copied"
            ) from error

    def restore(self, snapshot: Any) -> None:
        """Replace the content by a snapshot's, which stays as it is (it may be restored again)."""
        tools = self.tools
        vars(self).clear()
        vars(self).update(copy.deepcopy(snapshot))
        self.tools = tools

    def clear(self) -> None:
        """Forget everything. Default: as newly made by the class without arguments."""
        tools = self.tools
        vars(self).clear()
        self.__init__()  # type: ignore[misc]
        self.tools = tools

    def export(self) -> Sequence[Item | str] | None:
        """Everything held, for reports; None where that cannot be told (the default)."""
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of files, connections and what a server keeps; nothing is asked of this memory any more."""


#: makes an empty memory; `tools` are attached by `new_memory`
MemoryMaker = Callable[[], Memory]
