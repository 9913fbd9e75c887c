"""An OpenEnv server: each client that connects plays the assistant in an episode of its own.

    python -m amemgym.gym.adapters.openenv_server --data starter --port 8000

A session is a WebSocket (`/ws`), which is how OpenEnv's clients connect. OpenEnv's plain HTTP calls make an environment
anew for each request, so `POST /reset` shows a first observation, and `POST /step` can only be refused.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from amemgym.errors import AMemGymError, UsageError
from amemgym.gym.adapters import missing
from amemgym.gym.adapters.seat import Seat, Shown, find_user, load_users
from amemgym.scenario import Scenario

try:
    import uvicorn
    from fastapi import Request
    from fastapi.responses import JSONResponse
    from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
except ImportError as error:
    refusal = missing("the OpenEnv server", "openenv", error)
    if __name__ != "__main__":
        raise refusal from None
    print(f"error: {refusal}", file=sys.stderr)  # noqa: T201
    sys.exit(refusal.exit_code)

#: sessions at once, each an episode with a thread of its own
SESSIONS = 64


class Reply(Action):
    """What the assistant says: a reply to the user, or to a question `{"answer": <number from 1>}`."""

    text: str


class Seen(Observation):
    """What is before the assistant; see `Shown` for the fields. `time` is simulated, in ISO form."""

    text: str
    kind: Literal["message", "exam", "end"]
    period: int | None = None
    time: str | None = None
    options: int = 0
    status: str | None = None


class Progress(State):
    """How far the episode is. `right` of `questions` answers were right."""

    user: str | None = None
    seed: int | None = None
    questions: int = 0
    right: int = 0
    done: bool = False


class AMemGymEnvironment(Environment[Reply, Seen, Progress]):
    """One client's episodes. `settings` are the seat's."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, scenarios: Sequence[Scenario], settings: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._scenarios = scenarios
        self._settings = settings or {}
        self._seat: Seat | None = None  # made when it is needed: OpenEnv makes environments that play nothing
        self._state = Progress()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, user: str | int | None = None, **unknown: Any
    ) -> Seen:
        """Begin an episode with a user, by id or number; without one the seed says which (modulo their number)."""
        if unknown:
            raise UsageError(f"unknown argument '{next(iter(unknown))}' of reset. Known: seed, episode_id, user.")
        seed = 0 if seed is None else seed
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
            raise UsageError(f"seed is {seed!r}; it must be a whole number from 0")
        scenario = find_user(self._scenarios, seed % len(self._scenarios) if user is None else user)
        self._seat = self._seat or Seat(**self._settings)
        shown = self._seat.reset(scenario, seed)
        self._state = Progress(episode_id=episode_id or f"{scenario.id}/{seed}", user=scenario.id, seed=seed)
        return _seen(shown)

    def step(self, action: Reply, timeout_s: float | None = None, **unknown: Any) -> Seen:
        """Reply to the last observation."""
        if self._seat is None:
            raise UsageError("the episode has not begun; reset it first, over the same WebSocket (POST /step has none)")
        shown = self._seat.reply(action.text)
        known = self._state.model_dump()
        known |= {"step_count": self._state.step_count + 1, "done": shown.done}
        self._state = Progress(**known | {"questions": self._seat.questions, "right": self._seat.right})
        return _seen(shown)

    @property
    def state(self) -> Progress:
        return self._state

    def close(self) -> None:
        if self._seat is not None:
            self._seat.close()


def make_app(scenarios: Sequence[Scenario], sessions: int = SESSIONS, **settings: Any) -> Any:
    """The server's application. Raises UsageError where a setting (of `Seat`) is unknown."""
    with Seat(**settings):  # what is wrong is told now, and not to the first client
        pass
    if sessions < 1:
        raise UsageError(f"sessions is {sessions}; it must be at least 1")
    make = partial(AMemGymEnvironment, scenarios, settings)
    app = create_fastapi_app(make, Reply, Seen, max_concurrent_envs=sessions)
    app.add_exception_handler(AMemGymError, _refused)
    return app


async def _refused(request: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=400)


def _seen(shown: Shown) -> Seen:
    time = shown.time.isoformat() if shown.time else None
    seen = {"text": shown.text, "kind": shown.kind, "period": shown.period, "time": time, "options": shown.options}
    return Seen(**seen, status=shown.status, reward=shown.reward, done=shown.done)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; it is a number from 0 to 65535")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m amemgym.gym.adapters.openenv_server", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--data", default="starter", help="a data set's name or path")
    parser.add_argument("--users", type=int, help="only the first users")
    parser.add_argument("--periods", type=int, help="only the first periods")
    parser.add_argument("--user-model", default="offline", help="the simulated user's model")
    parser.add_argument("--protocol", default="amemgym", help="amemgym or v1")
    parser.add_argument("--rounds-initial", type=int, default=1, help="rounds of a session in period 0")
    parser.add_argument("--rounds-later", type=int, default=2, help="rounds of a session in later periods")
    parser.add_argument("--language", default="en", help="of the prompts")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="clients at once")
    parser.add_argument("--host", default="127.0.0.1", help="whoever reaches another address than this can play")
    parser.add_argument("--port", type=_port, default=8000)
    given = vars(parser.parse_args(arguments))
    host, port = given.pop("host"), given.pop("port")
    try:
        app = make_app(load_users(given.pop("data"), given.pop("users"), given.pop("periods")), **given)
    except AMemGymError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    uvicorn.run(app, host=host, port=port, access_log=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
