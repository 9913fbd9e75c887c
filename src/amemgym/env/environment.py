"""The episode for code that is not async: the same `reset` and `step`, with a model of its own for the user."""

from __future__ import annotations

from types import TracebackType

from amemgym.env.episode import Episode, Step
from amemgym.env.rules import find_rules
from amemgym.errors import UsageError
from amemgym.llm import Door, Journal, Line, ModelSettings, open_model
from amemgym.scenario import Scenario
from amemgym.tasks import prompts_for
from amemgym.together import Background


class Environment:
    """Plays one episode after the other, in a thread of its own.

    Args:
        user_model: the model of the simulated user (`offline`, `openai:<name>`).
        protocol: `amemgym` or `v1`.
        rounds_initial, rounds_later: rounds of a session in period 0 and later.
        language: of the prompts.
    """

    def __init__(
        self,
        user_model: str | ModelSettings = "offline",
        *,
        protocol: str = "amemgym",
        rounds_initial: int = 1,
        rounds_later: int = 2,
        language: str = "en",
    ) -> None:
        settings = user_model if isinstance(user_model, ModelSettings) else ModelSettings(user_model)
        self._rules = find_rules(protocol, rounds_initial, rounds_later)
        self._prompts = prompts_for(language)
        self._provider = open_model(settings, lambda sentence: None)
        self._episode: Episode | None = None
        self._background = Background()
        self._door = Door(self._provider, 1)

    def reset(self, scenario: Scenario, seed: int = 0) -> Step:
        """Start an episode; its first observation."""
        line = Line(Journal(None), self._prompts)
        self._episode = Episode(line.model(self._door, "user"), self._rules)
        return self._background.call(self._episode.reset, scenario, seed)

    def step(self, reply: str) -> Step:
        """Answer the last observation. Raises UsageError before reset or after the end."""
        if self._episode is None:
            raise UsageError("the episode has not begun; call reset(scenario, seed) first")
        return self._background.call(self._episode.step, reply)

    def close(self) -> None:
        """End the thread; closing again does nothing."""
        if self._background.is_running:
            try:
                self._background.call(self._provider.aclose)
            finally:
                self._background.close()

    def __enter__(self) -> Environment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
