"""The assistant's seat in an episode, as text: what is put before whoever plays, and what a reply earns.

A training tool's adapter wraps one `Seat`. What it shows is all a policy may see: the words of a user message or of an
exam question, and their simulated time. Which option was right is not in it, nor any state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Literal

from amemgym.agents import NO_REPLY
from amemgym.clean import clean
from amemgym.env import Environment, ExamTurn, Step
from amemgym.errors import UnknownName, UsageError
from amemgym.generate import load_dataset
from amemgym.messages import whole
from amemgym.scenario import Scenario
from amemgym.tasks import ChooseOption, Context, parse_text, prompts_for


@dataclass(frozen=True)
class Shown:
    """One observation, and what the reply before it led to.

    `kind` is `message` (the user speaks), `exam` (a question; the reply should be `{"answer": <number from 1>}`) or
    `end`, where there is no text, no `period` (from 0) and no `time` (simulated). `options` is the number of options of
    a question, else 0. `reward` (1 or 0) and `status` (`ok`, or why the reply could not be read) are those of a reply
    to a question, and None after a reply to a message, which earns nothing by itself.
    """

    text: str
    kind: Literal["message", "exam", "end"]
    period: int | None
    time: datetime | None
    options: int = 0
    reward: float | None = None
    status: str | None = None

    @property
    def done(self) -> bool:
        return self.kind == "end"


@lru_cache(maxsize=2)
def load_users(data: str, users: int | None = None, periods: int | None = None) -> tuple[Scenario, ...]:
    """The users of a data set, or the first of them, with all their periods, or the first. They are read once, as a
    training tool checks its settings over and over. Raises DataError or UsageError."""
    _at_least_one(users=users, periods=periods)
    return load_dataset(data).limited(users, periods).scenarios


def find_user(scenarios: Sequence[Scenario], user: object) -> Scenario:
    """A user by id or by number (from 0). Raises UsageError."""
    if isinstance(user, int) and not isinstance(user, bool) and 0 <= user < len(scenarios):
        return scenarios[user]
    for scenario in scenarios:
        if scenario.id == user:
            return scenario
    ids = [scenario.id for scenario in scenarios]
    raise UnknownName("user", str(user), ids, f"Or a number from 0 to {len(ids) - 1}.")


class Seat:
    """Plays one episode after the other.

    Args:
        user_model: the model of the simulated user (`offline`, `openai:<name>`).
        protocol: `amemgym` or `v1`.
        rounds_initial, rounds_later: rounds of a session in period 0 and later, at least 1.
        language: of the prompts.

    Raises UsageError where one of them is unknown.
    """

    def __init__(
        self,
        user_model: str = "offline",
        *,
        protocol: str = "amemgym",
        rounds_initial: int = 1,
        rounds_later: int = 2,
        language: str = "en",
    ) -> None:
        _at_least_one(rounds_initial=rounds_initial, rounds_later=rounds_later)
        self._prompts = prompts_for(language)
        self._environment = Environment(
            user_model,
            protocol=protocol,
            rounds_initial=rounds_initial,
            rounds_later=rounds_later,
            language=language,
        )
        self._asks = False
        #: questions answered in this episode, and how many of the answers were right
        self.questions = self.right = 0

    @property
    def instructions(self) -> str:
        """The system prompt the assistant is evaluated with."""
        return self._prompts.fill("assistant")

    def reset(self, scenario: Scenario, seed: int = 0) -> Shown:
        """Begin an episode; the seed decides the order of options."""
        self.questions = self.right = 0
        return self._shown(self._environment.reset(scenario, seed))

    def reply(self, text: str) -> Shown:
        """Reply to what was shown last. Raises UsageError before reset and after the end, ModelError where the model of
        the simulated user failed (the same reply may be given again)."""
        # what an agent's model thinks aloud is no part of what the user is told; an exam's parser sees to it itself
        said = whole(text) if self._asks else parse_text(whole(text)).value or NO_REPLY
        step = self._environment.step(said)
        if step.reward is not None:
            self.questions += 1
            self.right += int(step.reward)
        return self._shown(step)

    def close(self) -> None:
        self._environment.close()

    def __enter__(self) -> Seat:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _shown(self, step: Step) -> Shown:
        seen = step.observation
        self._asks = isinstance(seen, ExamTurn)
        earned: dict[str, Any] = {"reward": step.reward, "status": step.info.get("status")}
        if seen is None:
            return Shown("", "end", None, None, **earned)
        if isinstance(seen, ExamTurn):
            asked = ChooseOption(seen.question.query, seen.question.options, Context(), seen.question.now)
            text = asked.messages(self._prompts)[-1].content
            return Shown(clean(text), "exam", seen.period, asked.now, len(asked.options), **earned)
        return Shown(clean(seen.message.content), "message", seen.period, seen.message.time, **earned)


def _at_least_one(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise UsageError(f"{name} is {number}; it must be at least 1")
