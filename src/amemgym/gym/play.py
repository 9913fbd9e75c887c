"""An episode that is played in the background and stops wherever the policy has to act.

What plays is an ordinary coroutine, the same that a run would be: where an assistant would ask its model (or a memory
decide what to keep) it awaits `Policy.act`, and goes on when the environment's next `step` brings the action. So
nothing of an agent is written a second time for Gymnasium.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from amemgym.together import Background

Shown = TypeVar("Shown")
Action = TypeVar("Action")


@dataclass(frozen=True)
class Turn(Generic[Shown]):
    """What the policy is shown, what it earned since its last action, and whether the episode is over."""

    shown: Shown
    reward: float = 0.0
    info: dict[str, Any] = field(default_factory=dict)
    over: bool = False


class Policy(Generic[Shown, Action]):
    """Who acts, as the coroutine that plays sees it."""

    def __init__(self) -> None:
        self._reward = 0.0
        self._feedback: dict[str, Any] = {}
        self._turn: asyncio.Future[Turn[Shown]] = asyncio.get_running_loop().create_future()
        self._action: asyncio.Future[Action] | None = None

    def earn(self, reward: float, **feedback: Any) -> None:
        """What the last action led to; it is given with the next turn."""
        self._reward += reward
        self._feedback |= feedback

    async def act(self, shown: Shown, **info: Any) -> Action:
        """Show something, and wait for the action."""
        self._action = asyncio.get_running_loop().create_future()
        self._turn.set_result(self._made(shown, info, over=False))
        return await self._action

    def end(self, shown: Shown, **info: Any) -> None:
        """Nothing more is asked."""
        self._turn.set_result(self._made(shown, info, over=True))

    def _made(self, shown: Shown, info: dict[str, Any], over: bool) -> Turn[Shown]:
        turn = Turn(shown, self._reward, info | self._feedback, over)
        self._reward, self._feedback = 0.0, {}
        return turn

    async def turn_after(self, action: Action | None, playing: asyncio.Task[None]) -> Turn[Shown]:
        """Go on (with an action, where one is awaited) until the next turn. Raises what the playing raised."""
        if self._action is not None and action is not None:
            self._turn = asyncio.get_running_loop().create_future()
            self._action.set_result(action)
        awaited: list[asyncio.Future[Any]] = [self._turn, playing]
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        if not self._turn.done() or self._turn.result().over:
            await playing  # which raises why there is no turn, or lets go of what it held
        return self._turn.result()


Playing = Callable[[Policy[Shown, Action]], Coroutine[Any, Any, None]]


class Play(Generic[Shown, Action]):
    """Episodes one after the other, for code that is not asynchronous."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._policy: Policy[Shown, Action] | None = None
        self._task: asyncio.Task[None] | None = None
        self._ends = False

    @property
    def is_open(self) -> bool:
        """Whether an action is awaited."""
        return self._task is not None and not self._ends

    def begin(self, playing: Playing[Shown, Action]) -> Turn[Shown]:
        """End the episode under way, and play another up to its first turn."""
        self.stop()

        async def start() -> Turn[Shown]:
            policy: Policy[Shown, Action] = Policy()
            self._policy, self._task = policy, asyncio.ensure_future(playing(policy))
            return await policy.turn_after(None, self._task)

        return self._turn(start)

    def act(self, action: Action) -> Turn[Shown]:
        """Give an action where one is awaited; the turn that follows."""

        async def go_on() -> Turn[Shown]:
            assert self._policy is not None and self._task is not None
            return await self._policy.turn_after(action, self._task)

        return self._turn(go_on)

    def stop(self) -> None:
        """End the episode under way."""
        task, self._task, self._ends = self._task, None, False
        if task is None:
            return

        async def cancel() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):  # what it raised was raised when it was asked
                await task

        self._background.call(cancel)

    def _turn(self, work: Callable[[], Coroutine[Any, Any, Turn[Shown]]]) -> Turn[Shown]:
        try:
            turn = self._background.call(work)
        except BaseException:  # also an interrupt: who goes on would not know from where
            self.stop()
            raise
        self._ends = turn.over
        return turn
