"""Self-evolution: after each period the assistant sees how its exams went, and rewrites what it is told to remember.

There is one policy for all training users. When the last of them has been examined on a period, the model is asked to
revise it, and everybody plays the next period by the new one. A revision that cannot be used is refused with its reason
and asked for once more; then the policy stays as it was for that period, and the history says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from amemgym.agents import LONGEST_POLICY, Purpose, fault_of
from amemgym.errors import ContentFiltered, ContextOverflow
from amemgym.evaluate import Examined, RunWatcher
from amemgym.evolution.feedback import QUESTIONS, feedback_of
from amemgym.evolution.guard import copied
from amemgym.llm import EVOLVE, Line, Model, at
from amemgym.scenario import Scenario
from amemgym.tasks import CompleteFeedback, Feedback, FeedbackKind, RevisePolicy

#: tries of a revision: the first, and one more with the reason why it was refused
TRIES = 2
Outcome = Literal["revised", "unchanged", "nothing wrong", "unusable"]


@dataclass(frozen=True)
class Revision:
    """What came of one period: the policy after it, and why it is not another one. `questions` of so many `users` were
    told of; `refused` are the reasons why replies could not be used."""

    period: int
    outcome: Outcome
    policy: str
    questions: int
    users: int
    refused: tuple[str, ...] = ()


class Evolution:
    """The evolution of one arm: a `Coaching` for its training users.

    Args:
        name: the arm's.
        users: the training users; each plays one episode.
        start: the policy that it begins with.
        room: the most that a memory may keep.
        seed: which questions are told of.
        watcher: is told of revisions that cannot be used.
    """

    def __init__(
        self,
        name: str,
        feedback: FeedbackKind,
        purpose: Purpose,
        users: Sequence[Scenario],
        start: str,
        *,
        room: int | None,
        seed: int,
        watcher: RunWatcher,
    ) -> None:
        self.name = name
        self._feedback = feedback
        self._purpose = purpose
        self._users = list(users)
        self._room = room
        self._seed = seed
        self._watcher = watcher
        self._exams: dict[int, dict[str, Sequence[Examined]]] = {}
        #: by period, the policy it is played by
        self._policies: dict[int, asyncio.Future[str]] = {}
        self._start = start
        self.revisions: list[Revision] = []

    @property
    def policies(self) -> tuple[str, ...]:
        """The policy of each period, and after the last one."""
        return (self._start, *(revision.policy for revision in self.revisions))

    def begin(self, line: Line, model: Model) -> None:
        self.line = line
        self._model = model
        self._of(0).set_result(self._start)

    def coach(self, scenario: Scenario) -> _TrainingCoach:
        return _TrainingCoach(self, scenario.id)

    async def policy(self, period: int) -> str:
        # whoever is cancelled cancels nobody else
        return await asyncio.shield(self._of(period))

    async def examined(self, user_id: str, period: int, exams: Sequence[Examined]) -> None:
        """A user was examined; who is the last has the policy revised. Raises ModelError."""
        taken = self._exams.setdefault(period, {})
        taken[user_id] = exams
        if len(taken) == sum(period < len(user.periods) for user in self._users):
            # of finished episodes all periods are told at once, perhaps before a shorter one's are
            policy = await self.policy(period)
            # what a filter refuses of this it would refuse again, as in an exam, so the journal keeps it
            with at(f"p{period}/coach", EVOLVE):
                revision = await self._revise(period, policy)
            self.revisions.append(revision)
            self._of(period + 1).set_result(revision.policy)

    def _of(self, period: int) -> asyncio.Future[str]:
        if period not in self._policies:
            self._policies[period] = asyncio.get_running_loop().create_future()
        return self._policies[period]

    async def _revise(self, period: int, policy: str) -> Revision:
        told = self._told(period, QUESTIONS)
        questions, users = sum(len(exam.asked) for exam in told), len(told)
        if not any(map(_teaches, told)):
            return Revision(period, "nothing wrong", policy, questions, users)
        refused: list[str] = []
        while len(refused) < TRIES:
            task = RevisePolicy(self._purpose, policy, told, LONGEST_POLICY, self._room, refused[-1] if refused else "")
            try:
                answer = await self._model.ask(task)
            except ContextOverflow as overflow:
                if questions <= 1:
                    refused.append(str(overflow))
                    break
                told = self._told(period, questions // 2)
                questions, users = sum(len(exam.asked) for exam in told), len(told)
                continue
            except ContentFiltered as filtered:
                refused.append(str(filtered))
                break
            if answer.value is None:
                refused.append("the reply holds no policy")
            elif fault := fault_of(answer.value, self._purpose) or copied(answer.value, told):
                refused.append(fault)
            else:
                outcome: Outcome = "unchanged" if answer.value == policy else "revised"
                return Revision(period, outcome, answer.value, questions, users, tuple(refused))
        self._watcher.said(
            f"{self.name}: no usable revision after period {period} ({refused[-1]}); it goes on as it was told before"
        )
        return Revision(period, "unusable", policy, questions, users, tuple(refused))

    def _told(self, period: int, questions: int) -> tuple[Feedback, ...]:
        return feedback_of(self._feedback, self._users, period, self._exams[period], self._seed, questions)


@dataclass(frozen=True)
class _TrainingCoach:
    """Accompanies one training user's episode."""

    evolution: Evolution
    user_id: str

    async def policy(self, period: int) -> str:
        return await self.evolution.policy(period)

    async def examined(self, period: int, exams: Sequence[Examined]) -> None:
        await self.evolution.examined(self.user_id, period, exams)


def _teaches(exam: Feedback) -> bool:
    """Whether there is something to learn from it: complete feedback without a wrong answer has nothing."""
    return any(not q.is_right for q in exam.asked) if isinstance(exam, CompleteFeedback) else bool(exam.asked)
