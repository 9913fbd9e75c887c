"""Who gets which jobs where several processes play, with a stand-in for Ray: what dies, what is spent, what stops."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import (
    AuthenticationFailed,
    BudgetSpent,
    ClusterFailed,
    EndpointDown,
    EndpointUnavailable,
    MissingPackage,
    RunFailed,
    UnknownName,
    UsageError,
)
from amemgym.evaluate import RunWatcher, Worker, make_spec
from amemgym.evaluate.executors.orders import Keys, Order, as_error, told
from amemgym.evaluate.executors.shares import share_of, workers_of
from amemgym.llm import Request
from tests.evaluate.echo import Diary, echo, every_model
from tests.support.fake_ray import FakeActor, FakeRay

SMALL: dict[str, Any] = {"users": 3, "periods": 2, "upper_bound": False}
AGENTS = "native,awe,oracle"


class Heard(RunWatcher):
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.calls = self.exams = self.turns = 0
        self.ended: list[tuple[str, str]] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)

    def called(self, usage: Any, replayed: bool) -> None:
        self.calls += not replayed

    def examined(self, count: int = 1) -> None:
        self.exams += count

    def turned(self, count: int = 1) -> None:
        self.turns += count

    def finished(self, agent: str, user_id: str) -> None:
        self.ended.append((agent, user_id))


def on(monkeypatch: pytest.MonkeyPatch, ray: FakeRay) -> FakeRay:
    monkeypatch.setattr("amemgym.evaluate.executors.ray.cluster", ray.cluster)
    monkeypatch.setattr("amemgym.evaluate.executors.cluster.check_ray", lambda: None)
    return ray


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The scores of the same run in one process."""
    every_model(monkeypatch)
    amemgym.run("starter", AGENTS, out=tmp_path / "local", **SMALL)
    return (tmp_path / "local" / "scores.json").read_bytes()


def test_the_processes_play_what_one_would(local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard, ray = Heard(), on(monkeypatch, FakeRay(processors=2))
    amemgym.run("starter", AGENTS, out=tmp_path / "r", executor="ray", watcher=heard, **SMALL)
    assert (tmp_path / "r" / "scores.json").read_bytes() == local
    played = [actor.calls.count("play") for actor in ray.actors]
    assert len(played) == 2 and sum(played) == 9 and min(played) > 1
    assert len(heard.ended) == 9 and heard.calls and heard.turns and heard.exams
    assert set(ray.killed) == set(ray.actors)


def test_a_process_that_ends_has_its_jobs_played_on_from_their_journals(
    local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray, heard = on(monkeypatch, FakeRay()), Heard()
    requests: list[Request] = []

    def answer(request: Request) -> str:
        requests.append(request)
        if len(requests) == 40:
            asyncio.get_running_loop().call_soon(ray.actors[0].end)
        return echo(request)

    every_model(monkeypatch, answer)
    amemgym.run("starter", AGENTS, out=tmp_path / "r", executor="ray", watcher=heard, **SMALL)
    assert (tmp_path / "r" / "scores.json").read_bytes() == local
    assert len(ray.actors) == 3 and any("worker 1 of 2 ended" in sentence for sentence in heard.sentences)


def test_a_place_whose_processes_keep_ending_ends_the_run_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    ray = on(monkeypatch, FakeRay(dies=lambda actor, method, before: method == "play"))
    with pytest.raises(ClusterFailed) as caught:
        amemgym.run("starter", "native", out=tmp_path / "r", executor="ray", workers=1, **SMALL)
    assert "worker 1 of 1 ended 3 times" in str(caught.value) and "amemgym resume" in str(caught.value)
    assert 3 <= len(ray.actors) <= 4  # one may be under way when it is given up


def test_a_cluster_that_is_gone_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_model(monkeypatch)
    ray = on(monkeypatch, FakeRay())
    monkeypatch.setattr("amemgym.evaluate.executors.ray.PATIENCE", 0.05)
    monkeypatch.setattr(FakeActor, "_call", lambda *_: asyncio.Event().wait())
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": False}])
    with pytest.raises(ClusterFailed, match="the Ray cluster is gone") as caught:
        amemgym.run("starter", "native", out=tmp_path / "r", executor="ray", **SMALL)
    assert "amemgym resume" in str(caught.value)


def test_what_stops_a_run_stops_it_and_it_is_resumed(
    local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on(monkeypatch, FakeRay())
    made: list[Request] = []

    def answer(request: Request) -> str:
        made.append(request)
        if len(made) > 30:
            raise AuthenticationFailed("The key has expired.")
        return echo(request)

    every_model(monkeypatch, answer)
    with pytest.raises(AuthenticationFailed) as caught:
        amemgym.run("starter", AGENTS, out=tmp_path / "r", executor="ray", **SMALL)
    assert "The key has expired. Finished work is kept; continue with: amemgym resume" in str(caught.value)
    every_model(monkeypatch)
    amemgym.resume(tmp_path / "r", executor="ray")
    assert (tmp_path / "r" / "scores.json").read_bytes() == local


def test_what_ends_one_episode_ends_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, FakeRay())
    every_model(monkeypatch)
    with pytest.raises(RunFailed) as caught:
        amemgym.run("starter", ["native", Forgetful], out=tmp_path / "r", executor="ray", **SMALL)
    assert "it forgot" in str(caught.value)
    failed = amemgym.score(tmp_path / "r")
    assert failed["native"]["episodes"]["finished"] == 3
    assert len(failed["Forgetful"]["episodes"]["failed"]) == 3


class Forgetful(Diary):
    def read(self, query: str, now: Any, k: int) -> Any:
        raise ValueError("it forgot")


def test_an_endpoint_that_is_down_ends_the_run_though_each_process_has_had_few_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(request: Request) -> str:
        raise EndpointUnavailable("nobody is there")

    on(monkeypatch, FakeRay(processors=3))
    every_model(monkeypatch, down)
    with pytest.raises(EndpointDown, match="nobody is there"):
        amemgym.run("starter", "native", out=tmp_path / "r", executor="ray", attempts=1, concurrency=3, **SMALL)
    assert not list((tmp_path / "r").glob("failed/*/*"))  # they are unfinished, as on one machine


def test_a_process_whose_part_of_the_budget_is_spent_leaves_its_jobs_to_the_others(
    local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the run stops once all are spent."""
    ray = on(monkeypatch, FakeRay())
    every_model(monkeypatch)
    spent: set[int] = set()
    play = Worker.play

    async def limited(worker: Worker, job: Any) -> Any:
        spent.update({id(worker)} if not spent else ())
        if id(worker) in spent:
            raise BudgetSpent("the budget of 5usd is spent")
        return await play(worker, job)

    monkeypatch.setattr(Worker, "play", limited)
    amemgym.run("starter", AGENTS, out=tmp_path / "r", executor="ray", **SMALL)
    assert (tmp_path / "r" / "scores.json").read_bytes() == local and len(ray.actors) == 2

    async def never(worker: Worker, job: Any) -> Any:
        raise BudgetSpent("the budget of 5usd is spent")

    monkeypatch.setattr(Worker, "play", never)
    with pytest.raises(BudgetSpent, match="5usd"):
        amemgym.run("starter", AGENTS, out=tmp_path / "s", executor="ray", **SMALL)


Sent = list[tuple[Keys, bytes]]


def changing(ray: FakeRay, monkeypatch: pytest.MonkeyPatch, change: Callable[[Order], Order]) -> Sent:
    """What is sent to the processes, whose orders arrive changed."""
    sent: Sent = []
    start = ray.remote

    def remote(cls: type) -> Any:
        def player(keys: Keys, packed: bytes, recorded: Any) -> Any:
            sent.append((keys, packed))
            return cls(keys, pickle.dumps(change(pickle.loads(packed))), recorded)

        return start(player)  # type: ignore[arg-type]

    monkeypatch.setattr(ray, "remote", remote)
    return sent


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"directory": "/nowhere"}, "cannot see /nowhere/manifest.json; all machines that play a run must share"),
        ({"manifest": "0"}, "sees another run in"),
        ({"version": "0.1"}, "install the same on every machine"),
    ],
)
def test_a_worker_that_does_not_see_this_run_says_so(
    changed: dict[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    changing(on(monkeypatch, FakeRay()), monkeypatch, lambda order: replace(order, **changed))  # type: ignore[arg-type]
    with pytest.raises(UsageError) as caught:
        amemgym.run("starter", "native", out=tmp_path / "r", executor="ray", **SMALL)
    assert sentence in str(caught.value)


def test_a_class_that_cannot_be_sent_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Locked(Diary):
        lock = threading.Lock()

    on(monkeypatch, FakeRay())
    every_model(monkeypatch)
    with pytest.raises(UsageError, match=r"agent 'Locked' cannot be sent to other processes .* --executor local"):
        amemgym.run("starter", Locked, out=tmp_path / "r", executor="ray", **SMALL)


def test_without_ray_the_run_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.evaluate.executors.cluster.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match=r"amemgym\[ray\]"):
        amemgym.run("starter", "native", out=tmp_path / "r", executor="ray", **SMALL)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_what_all_may_do_together_is_what_the_run_may(workers: int) -> None:
    spec = make_spec({"concurrency": 7, "rpm": 100, "tpm": 99_999, "budget": "5usd", "workers": workers})
    assert workers_of(spec, 64, 1000) == workers
    shares = [share_of(spec, number, workers) for number in range(workers)]
    assert sum(share.concurrency for share in shares) == 7 and min(share.concurrency for share in shares) >= 1
    assert sum(share.rpm or 0 for share in shares) == 100 and sum(share.tpm or 0 for share in shares) == 99_999
    amounts = [float(str(share.budget).removesuffix("usd")) for share in shares]
    assert 4.99 < sum(amounts) <= 5


def test_no_worker_is_left_without_a_share() -> None:
    assert workers_of(make_spec({"concurrency": 3}), 64, 1000) == 3
    assert workers_of(make_spec({"rpm": 2}), 64, 1000) == 2
    assert workers_of(make_spec({}), 64, 5) == 5
    assert workers_of(make_spec({"concurrency": 99}), 6, 1000) == 6
    assert workers_of(make_spec({"budget": "3", "concurrency": 99}), 64, 1000) == 3
    budget = make_spec({"budget": "2M"})
    assert [share_of(budget, 0, 3, spent).budget for spent in (0.0, 600_000.0, 700_000.0)] == ["666666", "66666", "1"]


def test_keys_travel_apart_and_are_shown_by_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("ZEP_API_KEY", "z-of-the-environment")
    seen = changing(on(monkeypatch, FakeRay()), monkeypatch, lambda order: order)
    every_model(monkeypatch)
    own = tmp_path / "own.json"
    own.write_text('{"type": "native", "name": "own", "llm_config": {"llm_model": "m", "api_key": "sk-of-a-file"}}')
    amemgym.run("starter", str(own), out=tmp_path / "r", executor="ray", workers=1, **SMALL)
    (keys, packed), *_ = seen
    assert keys.variables["OPENAI_API_KEY"] == "sk-of-the-environment" and "ZEP_API_KEY" in keys.variables
    assert keys.of_models["own"].get_secret_value() == "sk-of-a-file"
    assert b"sk-of" not in packed and "sk-of" not in repr(keys) + str(keys)
    assert not [p for p in (tmp_path / "r").rglob("*") if p.is_file() and b"sk-of" in p.read_bytes()]


def test_an_error_arrives_as_what_it_was() -> None:
    for error in (EndpointUnavailable("no", 3.0), UsageError("bad"), UnknownName("model", "x", ["y"])):
        sent = as_error(told(error))
        assert type(sent) is type(error) and str(sent) == str(error)
    assert str(as_error(told(KeyError("x")))) == "'x'"
