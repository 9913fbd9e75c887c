"""The episode as a state machine: `reset`, then `step` with a reply to each observation until it is done.

An observation is a user message or an exam question. A reply to a message moves the conversation on; a reply to a
question is graded, and its reward is 1 or 0. Exams do not touch the conversation, so whoever plays may also take a
whole exam at once (`take_exam`), let the conversation go on and grade the answers later (`grade`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from amemgym.agents import ExamQuestion
from amemgym.env.exam import ExamItem, Grade, each_item, exam_item, grade
from amemgym.env.probe import ProbeItem, each_probe
from amemgym.env.rules import DEFAULT, Rules
from amemgym.env.user import SimulatedUser
from amemgym.errors import UsageError
from amemgym.llm import Model, at, round_name
from amemgym.messages import Message
from amemgym.scenario import Scenario
from amemgym.tasks import Status, parse_choice


@dataclass(frozen=True)
class UserTurn:
    """The user says something. The message's time is simulated."""

    message: Message
    period: int
    session: int
    round: int


@dataclass(frozen=True)
class ExamTurn:
    """The exam after a period asks a question; the reply should be `{"answer": <number from 1>}`."""

    question: ExamQuestion
    period: int
    index: int


Observation = UserTurn | ExamTurn


@dataclass(frozen=True)
class Step:
    """What a reply led to. `observation` is None when the episode is over; `reward` is set after an exam reply."""

    observation: Observation | None
    reward: float | None = None
    info: dict[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.observation is None


class Episode:
    """One simulated user's months with one assistant.

    Args:
        user_model: the model that role-plays the user after each session's opening.
        rules: the protocol.
    """

    def __init__(self, user_model: Model, rules: Rules = DEFAULT) -> None:
        self._user_model = user_model
        self._rules = rules
        self._scenario: Scenario | None = None
        self._observation: Observation | None = None

    async def reset(self, scenario: Scenario, seed: int = 0) -> Step:
        """Start anew with a scenario; the seed decides the order of options (and v1's guesses)."""
        self._scenario = scenario
        self._seed = seed
        self._user = SimulatedUser(scenario, self._user_model, self._rules)
        #: the conversation: periods → sessions → messages
        self.conversation: list[list[list[Message]]] = []
        return Step(self._open_period(0))

    async def step(self, reply: str) -> Step:
        """Take the reply to the last observation. Raises UsageError before reset or after the end."""
        observation = self._observation
        if isinstance(observation, UserTurn):
            return Step(await self._converse(observation, reply))
        if isinstance(observation, ExamTurn):
            return self._answer(observation, reply)
        raise UsageError("the episode is over or has not begun; call reset(scenario, seed) first")

    def take_exam(self) -> tuple[list[ExamItem], Step]:
        """The whole exam that is due, and what comes after it. Raises UsageError where none is due."""
        period, following = self.pass_exam()
        return self.exam(period), following

    def pass_exam(self) -> tuple[int, Step]:
        """The period whose exam is due, and what comes after it, for who has the exam taken elsewhere. Raises
        UsageError where none is due."""
        observation = self._observation
        if not isinstance(observation, ExamTurn) or observation.index:
            raise UsageError("no exam is due; take_exam comes when the first question of an exam is observed")
        return observation.period, Step(self._open_period(observation.period + 1))

    def exam(self, period: int) -> list[ExamItem]:
        """Every question after a period, with what is right."""
        return list(self.exam_items(period))

    def exam_items(self, period: int) -> Iterator[ExamItem]:
        """The same, each made when it is wanted."""
        return each_item(self._playing, period, self._rules, self._seed)

    def probes(self, period: int) -> list[ProbeItem]:
        """The probes that belong to the exam after a period."""
        return list(self.probe_items(period))

    def probe_items(self, period: int) -> Iterator[ProbeItem]:
        """The same, each made when it is wanted."""
        return each_probe(self._playing, period, self._rules, self._seed)

    def grade(self, item: ExamItem, option: int | None, status: Status) -> Grade:
        """Grade the choice made for an item of a taken exam."""
        return grade(item, option, status, self._rules, self._seed, self._playing.id)

    @property
    def _playing(self) -> Scenario:
        if self._scenario is None:
            raise UsageError("the episode has not begun; call reset(scenario, seed) first")
        return self._scenario

    def _open_period(self, period: int) -> Observation | None:
        if period >= len(self._playing.periods):
            self._observation = None
            return None
        self.conversation.append([])
        return self._open_session(period, 0)

    def _open_session(self, period: int, session: int) -> Observation:
        if session >= len(self._playing.periods[period].sessions):
            return self._ask(period, 0)
        self.conversation[period].append([])
        return self._say(UserTurn(self._user.open(period, session), period, session, 0))

    def _say(self, turn: UserTurn) -> Observation:
        self.conversation[turn.period][turn.session].append(turn.message)
        self._observation = turn
        return turn

    def _ask(self, period: int, index: int) -> Observation:
        item = exam_item(self._playing, period, index, self._rules, self._seed)
        self._observation = ExamTurn(item.question, period, index)
        return self._observation

    async def _converse(self, turn: UserTurn, reply: str) -> Observation:
        conversation = self.conversation[turn.period][turn.session]
        answer = Message("assistant", reply, turn.message.time)
        message: Message | None = None
        if turn.round + 1 < self._rules.rounds(turn.period):
            with at(round_name(turn.period, turn.session, turn.round + 1)):
                message = await self._user.follow_up(turn.period, turn.session, [*conversation, answer])
        conversation.append(answer)  # only now, so that a step whose call failed can be taken again
        if message is not None:
            return self._say(UserTurn(message, turn.period, turn.session, turn.round + 1))
        return self._open_session(turn.period, turn.session + 1)

    def _answer(self, turn: ExamTurn, reply: str) -> Step:
        item = exam_item(self._playing, turn.period, turn.index, self._rules, self._seed)
        choice = parse_choice(reply, item.question.options)
        graded = self.grade(item, choice.option, choice.status)
        last = turn.index + 1 == len(self._playing.qas)
        following = self._open_period(turn.period + 1) if last else self._ask(turn.period, turn.index + 1)
        info = {
            "period": turn.period,
            "question": turn.index,
            "status": str(graded.status),
            "option": graded.option,
            "guessed": graded.guessed,
            "gold": item.gold,
            "gold_variant": item.variant(item.gold),
            "chosen_variant": item.variant(graded.option) if graded.option else None,
        }
        return Step(following, float(graded.correct), info)
