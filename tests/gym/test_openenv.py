"""The OpenEnv server, played by OpenEnv's own client over loopback."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from amemgym.errors import UsageError
from amemgym.gym.adapters.seat import Seat, load_users

pytest.importorskip("openenv", reason="the extra 'openenv' is not installed")
import uvicorn
from openenv.core import GenericEnvClient

from amemgym.gym.adapters.openenv_server import main, make_app

Seen = dict[str, Any]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(load_users("starter")), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def client(url: str) -> Any:
    return GenericEnvClient(base_url=url).sync()


def reply_to(kind: str, number: int) -> str:
    return json.dumps({"answer": number}) if kind == "exam" else f"I see, {number}."


def alone(user: int, seed: int, number: int) -> list[tuple[Any, ...]]:
    """What one who always takes this option is shown where nobody else plays."""
    with Seat() as seat:
        shown = [seat.reset(load_users("starter")[user], seed)]
        while not shown[-1].done:
            shown.append(seat.reply(reply_to(shown[-1].kind, number)))
    return [(one.text, one.kind, one.reward, one.status, one.done) for one in shown]


def told(result: Any) -> tuple[Any, ...]:
    seen: Seen = result.observation
    return seen["text"], seen["kind"], result.reward, seen["status"], result.done


def test_a_client_plays_a_whole_episode_to_its_end(url: str) -> None:
    with client(url) as player:
        result = player.reset(seed=4, user="tomasz-wielgosz")
        assert set(result.observation) - {"metadata"} == {"text", "kind", "period", "time", "options", "status"}
        assert result.observation["time"].startswith("20") and result.observation["period"] == 0
        steps = [told(result)]
        while not result.done:
            result = player.step({"text": reply_to(result.observation["kind"], 2)})
            steps.append(told(result))
        state = player.state()
    assert steps == alone(1, 4, 2)
    rewards = [reward for _, _, reward, _, _ in steps if reward is not None]
    assert set(rewards) == {0.0, 1.0}
    assert state == {
        "episode_id": "tomasz-wielgosz/4",
        "step_count": len(steps) - 1,
        "user": "tomasz-wielgosz",
        "seed": 4,
        "questions": len(rewards),
        "right": sum(rewards),
        "done": True,
    }


def test_two_clients_do_not_mix(url: str) -> None:
    parts = [(0, 1, 1), (2, 9, 3)]
    with client(url) as one, client(url) as other:
        players = [one, other]
        results = [player.reset(seed=seed, user=user) for player, (user, seed, _) in zip(players, parts, strict=True)]
        steps = [[told(result)] for result in results]
        while not all(result.done for result in results):
            for which, (_, _, number) in enumerate(parts):
                if not results[which].done:
                    seen = results[which].observation
                    results[which] = players[which].step({"text": reply_to(seen["kind"], number)})
                    steps[which].append(told(results[which]))
    assert steps == [alone(*part) for part in parts]


def test_without_a_user_the_seed_says_who_it_is(url: str) -> None:
    with client(url) as player:
        users = []
        for seed in (0, 1, 2, 3):
            player.reset(seed=seed)
            users.append(player.state()["user"])
    ids = [scenario.id for scenario in load_users("starter")]
    assert users == [*ids, ids[0]]


def test_bad_input_is_refused_and_the_episode_goes_on(url: str) -> None:
    with client(url) as player:
        with pytest.raises(RuntimeError, match="the episode has not begun; reset it first"):
            player.step({"text": "Hello."})
        first = player.reset(seed=1, user=0)
        for action in ({"text": 7}, {}, {"text": "Hello.", "gold": 1}):
            with pytest.raises(RuntimeError, match="VALIDATION_ERROR"):
                player.step(action)
        for arguments, said in [
            ({"user": "nobody"}, "unknown user 'nobody'"),
            ({"seed": "x"}, "seed is 'x'; it must be a whole number from 0"),
            ({"seed": -1}, "seed is -1"),
            ({"seeds": 1}, "unknown argument 'seeds' of reset"),
        ]:
            with pytest.raises(RuntimeError, match=said):
                player.reset(**arguments)
        assert player.state()["step_count"] == 0
        assert told(player.step({"text": "I see, 1."})) == alone(0, 1, 1)[1]
        assert told(player.reset(seed=1, user=0)) == told(first)


def test_plain_http_knows_no_session_and_says_so(url: str) -> None:
    body = json.dumps({"action": {"text": "Hello."}}).encode()
    asked = urllib.request.Request(f"{url}/step", body, {"content-type": "application/json"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(asked)
    assert refused.value.code == 400
    assert "over the same WebSocket" in refused.value.read().decode()


def test_wrong_settings_are_told_before_the_server_starts(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in [
        (["--data", "nosuch"], "error: unknown data set 'nosuch'"),
        (["--periods", "0"], "error: periods is 0"),
        (["--user-model", "nobody"], "error: unknown model 'nobody'"),
        (["--sessions", "0"], "error: sessions is 0"),
    ]:
        assert main(arguments) == 2
        assert capsys.readouterr().err.startswith(said)
    with pytest.raises(SystemExit):
        main(["--port", "99999"])
    assert "99999 is no port; it is a number from 0 to 65535" in capsys.readouterr().err
    with pytest.raises(UsageError, match="unknown protocol"):
        make_app(load_users("starter"), protocol="v7")
