"""What both environments do alike: seeding, stepping through a play, refusing what is no action, and rendering."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import gymnasium

from amemgym.errors import UsageError
from amemgym.gym.play import Play, Policy, Turn
from amemgym.gym.spaces import AnyText
from amemgym.gym.world import World
from amemgym.messages import whole
from amemgym.scenario import Scenario
from amemgym.together import Background

Obs = TypeVar("Obs")
Act = TypeVar("Act")

#: characters of the longest observation: more than a model's context holds
OBSERVED_CHARS = 1_000_000
#: an episode's seed is below this
SEEDS = 2**31
OPTIONS = ("user",)


class Game(Protocol):
    """Plays one episode, as a coroutine. It holds no environment, so that one that is forgotten can be collected."""

    async def play(self, scenario: Scenario, seed: int, trial: int, policy: Policy[Any, Any]) -> None: ...


class PlayedEnv(gymnasium.Env[Obs, Act], Generic[Obs, Act]):
    """One episode is one user's months. Close it when done; one that is forgotten holds nothing up."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]

    def __init__(self, world: World, game: Game, render_mode: str | None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise UsageError(f"render_mode={render_mode!r} is not known; there is {', '.join(modes)}, or None")
        self.render_mode = render_mode
        self._world = world
        self._game = game
        self._background = Background()
        self._play: Play[Any, Any] = Play(self._background)
        self._episodes = 0
        self._over = False
        self._closed = False
        self._shown: Any = None
        self._exchange = ""

    @abstractmethod
    def _checked(self, action: object) -> Any:
        """The action as the game takes it. Raises UsageError."""

    @abstractmethod
    def _observation(self, shown: Any) -> Obs:
        """What the game shows, as an observation. Raises UsageError where it is too long."""

    @abstractmethod
    def _told(self, shown: Any) -> str:
        """The same as text."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Obs, dict[str, Any]]:
        """Begin the months of the user drawn, or of `options={"user": id}`. The seed decides the user and the order of
        options; the same seed replays the same episode. Raises UsageError, or what stopped the play (a ModelError,
        AgentFailed)."""
        if self._closed:
            raise UsageError("the environment is closed; make another")
        super().reset(seed=seed)
        for name in options or {}:
            if name not in OPTIONS:
                raise UsageError(f"reset knows no option {name!r}; it knows {', '.join(OPTIONS)}")
        # both are always drawn, so that an option does not shift what follows
        drawn = int(self.np_random.integers(len(self._world.scenarios)))
        episode_seed = int(self.np_random.integers(SEEDS))
        scenario = self._world.scenarios[self._world.user((options or {}).get("user"), drawn)]
        trial, self._episodes = self._episodes, self._episodes + 1
        self._exchange = ""
        observation, turn = self._take(self._play.begin(partial(self._game.play, scenario, episode_seed, trial)))
        return observation, turn.info

    def step(self, action: Act) -> tuple[Obs, float, bool, bool, dict[str, Any]]:
        """Act. Raises UsageError for what is no action (nothing has happened then), before reset and after the end; or
        what stopped the play, after which only reset helps."""
        if not self._play.is_open:
            over = "the episode is over" if self._over else "the episode has not begun, or was stopped by an error"
            raise UsageError(f"{'the environment is closed' if self._closed else over}; call reset first")
        taken = self._checked(action)
        before = self._told(self._shown) if self.render_mode else ""
        observation, turn = self._take(self._play.act(taken))
        self._exchange = f"{before}\n\n> {taken}\n\nreward {turn.reward:g}"
        return observation, turn.reward, turn.over, False, turn.info

    def render(self) -> str | None:
        """In mode "ansi": the last exchange and what is seen now, as text without control characters."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render was called without a render mode; give one when the environment is made: render_mode="ansi"'
            )
            return None
        if self._shown is None:
            raise UsageError("there is nothing to render yet; call reset first")
        told = "(the episode is over)" if self._over else self._told(self._shown)
        text = f"{self._exchange}\n\n{told}" if self._exchange else told
        return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)

    def close(self) -> None:
        """Let go of models and memories, and end the thread; closing again does nothing."""
        self._closed = True
        if self._background.is_running:
            try:
                self._play.stop()
                self._background.call(self._world.aclose)
            finally:
                self._background.close()

    def _take(self, turn: Turn[Any]) -> tuple[Obs, Turn[Any]]:
        self._shown, self._over = turn.shown, turn.over
        try:
            return self._observation(turn.shown), turn
        except BaseException:  # who goes on would do so without what the action earned
            self._play.stop()
            raise


def checked_text(action: object, space: AnyText) -> str:
    """An action that is text. Raises UsageError, which names what came; nothing is cut off."""
    if not isinstance(action, str):
        kind = type(action).__name__
        raise UsageError(f"the action is a {kind}, not text; give a str of at most {space.max_length} characters")
    if action not in space:
        raise UsageError(
            f"the action has {len(action)} characters, more than the {space.max_length} of the action space;"
            " shorten it, or make the environment with a greater max_chars"
        )
    return whole(str(action))


def observed_text(text: str) -> str:
    """A text as it is observed. Raises UsageError where it is longer than the observation space has room for."""
    if len(text) > OBSERVED_CHARS:
        raise UsageError(
            f"what would be observed has {len(text)} characters, more than {OBSERVED_CHARS}; give the agent a smaller"
            " topk (rag-2-4-10), or the environment a smaller max_chars"
        )
    return text


def checked_chars(max_chars: object) -> int:
    """The greatest length of an action. Raises UsageError."""
    if not isinstance(max_chars, int) or isinstance(max_chars, bool) or not 1 <= max_chars <= OBSERVED_CHARS:
        raise UsageError(f"max_chars={max_chars!r}: give a number of characters from 1 to {OBSERVED_CHARS}")
    return max_chars
