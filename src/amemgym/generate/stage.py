"""One stage: ask, check, and where something is wrong ask again with what was wrong, a bounded number of times.

Every call has its place in the user's journal, so a stopped generation is played again from there. A stage that failed
after its last repair is tried afresh the next time: its place then counts the try (`p3/s2~1`), and the replies that
led nowhere stay under the old one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from amemgym.errors import ContextOverflow, GenerationFailed
from amemgym.llm import Door, Line, at
from amemgym.tasks import StageTask, Status, Task
from amemgym.together import side_by_side

T = TypeVar("T")
#: gives what is wrong with a value, a sentence each
Check = Callable[[T], Awaitable[Sequence[str]]]

#: a repair is told at most so many faults at once
MOST_FAULTS = 20
#: what the judge's calls are counted under, before the stage's name
JUDGE = "judge: "


@dataclass(frozen=True)
class Maker:
    """Whoever makes one user: its line, the model and the judge behind it, and how often each stage is repaired.

    `tries` says how often a place has failed for good before; `user` is what errors call the user.
    """

    user: str
    line: Line
    model: Door
    judge: Door
    repairs: int
    tries: Mapping[str, int]

    async def make(self, stage: str, place: str, task: StageTask[T], check: Check[T]) -> T:
        """The stage's value without faults. Raises GenerationFailed, ModelError."""
        name = f"{stage} ({place})"
        faults: tuple[str, ...] = ()
        with at(self._address(place)):
            for _ in range(self.repairs + 1):
                try:
                    answer = await self.line.model(self.model, stage).ask(task)
                    if answer.value is None:
                        faults = (_unreadable(answer.status, task.form),)
                    elif not (faults := tuple(await check(answer.value))):
                        return answer.value
                except ContextOverflow as error:
                    raise GenerationFailed(self.user, name, [str(error)], [place]) from error
                task = replace(task, faults=faults[:MOST_FAULTS], previous=answer.text)
        raise GenerationFailed(self.user, name, faults, [place])

    async def judged(self, stage: str, task: Task[T]) -> T | None:
        """What the judge finds, at the place of the stage that asks; None where its reply cannot be read twice."""
        judge = self.line.model(self.judge, JUDGE + stage)
        found = (await judge.ask(task)).value
        return found if found is not None else (await judge.ask(task)).value

    def _address(self, place: str) -> str:
        tried = self.tries.get(place, 0)
        return f"{place}~{tried}" if tried else place


async def all_made(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. Where stages fail, the others are still made, since a second start takes them from the
    journal; then the failures are raised as one, which names the first. Any other error ends all at once."""

    async def kept(one: Coroutine[Any, Any, T]) -> T | GenerationFailed:
        try:
            return await one
        except GenerationFailed as failure:
            return failure

    results = await side_by_side([kept(one) for one in work])
    failures = [result for result in results if isinstance(result, GenerationFailed)]
    if failures:
        first = failures[0]
        first.places = tuple(place for failure in failures for place in failure.places)
        raise first
    return [result for result in results if not isinstance(result, GenerationFailed)]


def _unreadable(status: Status, form: str) -> str:
    if status is Status.EMPTY:
        return f"the reply is empty; it should be a JSON object of the form {form}"
    return f"the reply is no whole JSON object of the form {form}"
