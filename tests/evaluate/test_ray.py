"""A run on a real Ray cluster of this machine equals one in a single process, also where a process of it is killed.

What is decided without Ray is in test_scheduler.py.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.errors import AuthenticationFailed, ClusterFailed
from amemgym.evaluate.executors.cluster import cluster
from tests.cli.helpers import PATIENCE, answer, asked, journaled, scores
from tests.evaluate.echo import Diary
from tests.support.mock_openai import MockOpenAI, Request, Responder, Response, error

pytest.importorskip("ray", reason="ray is not installed: pip install 'amemgym[ray]'")

KEY = "sk-proj-Zq7_kR2-vN9xT4"
RUN: dict[str, Any] = {"users": 2, "periods": 2, "agents": "native,awe,oracle"}
PLAYER = b"ray::Player"


@pytest.fixture(scope="module")
def logs() -> Iterator[Path]:
    """A cluster for all tests of this file; the folder that it writes to."""
    before = dict(os.environ)
    os.environ["OPENAI_API_KEY"] = KEY
    with cluster() as ray:
        yield Path(ray._private.worker._global_node.get_session_dir_path())
    for name in set(os.environ) - set(before):
        del os.environ[name]


def players() -> list[int]:
    """Processes that play."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if place.read_bytes().startswith(PLAYER) and _is_ours(int(place.parent.name)):
                found.append(int(place.parent.name))
        except OSError:
            continue
    return sorted(found)


def _is_ours(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


def left() -> list[int]:
    """The same that do not end: a process that is ended takes its time where the machine is busy."""
    deadline = time.monotonic() + PATIENCE
    while (found := players()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_a_run_whose_worker_is_killed_equals_one_in_a_single_process(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that a wrong key stopped before; no key stands in any file."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    killed: list[int] = []
    reply: Responder = answer

    def killing(request: Request) -> Response | None:
        if request.order == start + sum(whole.values()) // 2:
            killed.extend(players()[:1])
            os.kill(killed[0], signal.SIGKILL)
        return answer(request)

    with MockOpenAI(lambda request: reply(request)) as server:
        settings = {**RUN, "model": "openai:m", "base_url": server.base_url}
        amemgym.run(out=tmp_path / "local", **settings)
        whole = asked(server.requests)
        reply = lambda request: error(401, f"Incorrect API key provided: {KEY}.")  # noqa: E731
        with pytest.raises(AuthenticationFailed) as caught:
            amemgym.run(out=tmp_path / "ray", executor="ray", workers=1, **settings)
        assert KEY not in str(caught.value) and "amemgym resume" in str(caught.value)
        assert left() == []
        start, reply = len(server.requests), killing
        amemgym.resume(tmp_path / "ray", workers=2)
        again = asked(server.requests[start:])
    assert len(killed) == 1
    assert scores(tmp_path / "ray") == scores(tmp_path / "local")
    # what was answered was not asked again, but for what was under way in the process that was killed
    assert set(again) == set(whole) and sum(again.values()) - sum(whole.values()) <= 8
    assert journaled(tmp_path / "ray") == journaled(tmp_path / "local")
    assert left() == []
    holding = [p for folder in (logs, tmp_path) for p in folder.rglob("*") if p.is_file() and KEY.encode() in _bytes(p)]
    assert holding == []


def test_a_class_of_one_s_own_is_played_in_other_processes(logs: Path, tmp_path: Path) -> None:
    class Latest(Diary):
        def read(self, query: str, now: Any, k: int) -> Any:
            return self.items[-3:]

    small = {"users": 2, "periods": 1}
    local = amemgym.run("starter", [Latest, "oracle"], out=tmp_path / "local", **small)
    ray = amemgym.run("starter", [Latest, "oracle"], out=tmp_path / "ray", executor="ray", workers=2, **small)
    assert ray["Latest"] == local["Latest"]
    assert scores(tmp_path / "ray") == scores(tmp_path / "local")


def test_a_cluster_that_is_not_there_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(ClusterFailed, match=r"cannot reach the Ray cluster at 127.0.0.1:1 .*refused"):
        cluster().__enter__()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
