"""Where in a run a call is made: period, session, round or question. It is part of every call's address.

The place is a context variable: whoever plays an episode or gives an exam sets it, and every call made inside (the
agent's, its memory's, the simulated user's) has it without passing it through. Concurrent exams each have their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from amemgym.tasks import Labels

#: whether a memory is read, or else written: made, restored, cleared and exported belong to its writing
MemoryUse = Literal["write", "read"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place as text (`p3/s1/r0`, `p3/q7`).

    `examines` is what is asked there where it is no conversation: the role under which an assistant's calls are
    counted. `labels` are the exam's, for a model that solves tasks itself. `memory` is what a memory does that is at
    work there.
    """

    name: str = ""
    examines: str | None = None
    labels: Labels | None = None
    memory: MemoryUse | None = None


NOWHERE = Place()
_current: ContextVar[Place] = ContextVar("amemgym_place", default=NOWHERE)


def here() -> Place:
    """The place of the code that runs now."""
    return _current.get()


@contextmanager
def at(
    name: str, examines: str | None = None, labels: Labels | None = None, memory: MemoryUse | None = None
) -> Iterator[None]:
    """Everything inside happens at that place."""
    token = _current.set(Place(name, examines, labels, memory))
    try:
        yield
    finally:
        _current.reset(token)


def round_name(period: int, session: int, round_: int) -> str:
    return f"p{period}/s{session}/r{round_}"


def question_name(period: int, question: int) -> str:
    return f"p{period}/q{question}"


def probe_name(period: int, question: int) -> str:
    return f"{question_name(period, question)}/probe"
