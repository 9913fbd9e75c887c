"""An estimate against the run that follows: exact by the offline model, within 20% by an endpoint; nothing is asked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import Item, Memory, Message, RunEstimate
from amemgym.errors import AuthenticationFailed, EndpointUnavailable, UsageError
from amemgym.evaluate import RunWatcher
from amemgym.evaluate.forecast import EMBEDDING
from amemgym.llm import ModelSettings
from amemgym.llm.prices import rate_of
from amemgym.llm.tokens import ESTIMATE
from tests.estimating.talking import Talk, Talker, errors, used
from tests.evaluate.test_gateway import Lines
from tests.support.mock_openai import MockOpenAI, error
from tests.support.shared import shared

OFFLINE: dict[str, Any] = {"users": 1, "periods": 2}
ENDPOINT: dict[str, Any] = {"model": "openai:gpt-4.1-mini", "base_url": "http://127.0.0.1:9/v1"}
AGENTS = ["native", "rag", "awe", "awi"]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and no key or address of an endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AMEMGYM_USER_API_KEY", "AMEMGYM_USER_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def by_role(estimate: RunEstimate) -> dict[tuple[str, str], tuple[int, int, int]]:
    return {(role.agent, role.role): (role.calls, role.input, role.output) for role in estimate.roles}


def test_offline_it_is_exact(tmp_path: Path) -> None:
    agents = [*AGENTS, "oracle"]
    found = amemgym.estimate("starter", agents, **OFFLINE)
    amemgym.run("starter", agents, out=tmp_path / "run", **OFFLINE)
    assert found.exact
    assert by_role(found) == used(tmp_path / "run")
    assert found.usd == 0 and found.seconds is None


def test_a_memory_that_calls_a_model_itself_is_rehearsed_too(tmp_path: Path) -> None:
    found = amemgym.estimate("starter", Lines, **OFFLINE)
    amemgym.run("starter", Lines, out=tmp_path / "run", **OFFLINE)
    assert by_role(found) == used(tmp_path / "run")
    embedded = sum(role.calls for role in found.roles if role.role in EMBEDDING)
    assert embedded and found.calls == sum(role.calls for role in found.roles) - embedded


def test_nothing_is_asked_and_nothing_written(tmp_path: Path) -> None:
    with MockOpenAI() as server:
        found = amemgym.estimate("starter", AGENTS, "openai:x", base_url=server.base_url, users=1, periods=2, out="run")
        assert server.arrived == 0
    assert found.calls > 100 and not found.exact
    assert list(tmp_path.iterdir()) == []


def test_an_endpoint_that_talks_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talking(monkeypatch, Talk())
    near(SMALL, ran(tmp_path, SMALL))


def test_published_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talking(monkeypatch, Talk())
    asked = SMALL | {"data": shared("data/amemgym-v1.base/data.json"), "users": 2, "periods": 2}
    near(asked, ran(tmp_path, asked))


@pytest.mark.parametrize(
    "talk",
    [
        Talk(reply=300, follow_up=60, fact=150, line=90, wordy=200, price=1.5),
        Talk(reply=7000, follow_up=700, fact=25, line=10, price=0.7),
    ],
    ids=["terse", "verbose"],
)
def test_an_endpoint_that_talks_as_no_other_is_sampled(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking(monkeypatch, talk)
    asked = SMALL | {"agents": ["native", "awe", "awi"]}
    run = ran(tmp_path, asked)
    with pytest.raises(AssertionError, match="off"):
        near(asked, run)
    assert any("sample" in remark for remark in near(asked, run, sample=8).remarks)


#: the fewest periods in which everything happens
SMALL: dict[str, Any] = ENDPOINT | {"data": "starter", "agents": AGENTS, "users": 1, "periods": 3}


def talking(monkeypatch: pytest.MonkeyPatch, talk: Talk) -> None:
    """Every model talks so, and counts four characters a token, as we do without a tokenizer."""
    monkeypatch.setattr("amemgym.llm.rehearsal.tokenizer", lambda: ESTIMATE)
    for module in ("amemgym.estimating", "amemgym.llm.doors"):
        monkeypatch.setattr(f"{module}.open_model", lambda settings, say: Talker(talk))


def ran(folder: Path, asked: dict[str, Any]) -> Path:
    amemgym.run(**asked, out=folder / "run")
    return folder / "run"


def near(asked: dict[str, Any], run: Path, sample: int = 0) -> RunEstimate:
    """The estimate, of which every agent's tokens are within 20% of the run's."""
    found = amemgym.estimate(**asked, sample=sample)
    off = {name: error for name, error in errors(found, run).items() if abs(error) > 0.2}
    assert not off, f"off: {off}"
    return found


def test_a_sample_asks_no_more_than_it_says() -> None:
    said: list[str] = []

    class Told(RunWatcher):
        def said(self, sentence: str) -> None:
            said.append(sentence)

    with MockOpenAI(Talk().respond) as server:
        asked: dict[str, Any] = {"agents": ["native", "awi"], "model": "openai:x", "base_url": server.base_url}
        found = amemgym.estimate("starter", **asked, users=2, periods=2, sample=2, watcher=Told())
        # reply, follow-up, exam, probe, record, upper bound
        assert server.arrived == 12
    assert "12 calls" in said[0]
    assert found.latency != 2


def test_a_model_that_gives_no_sample_is_an_error() -> None:
    with MockOpenAI(lambda request: error(401, "Wrong key.")) as server, pytest.raises(AuthenticationFailed):
        amemgym.estimate("starter", "native", "openai:x", base_url=server.base_url, users=1, periods=1, sample=1)
    with pytest.raises(EndpointUnavailable):
        amemgym.estimate("starter", "native", **ENDPOINT, users=1, periods=1, sample=1, attempts=1)


def test_a_shard_is_its_own_users_alone() -> None:
    parts = [amemgym.estimate("starter", "native", periods=1, shard=f"{part}/2") for part in (1, 2)]
    whole = amemgym.estimate("starter", "native", periods=1)
    assert [part.users for part in parts] == [2, 1] and whole.users == 3
    assert sum(part.input for part in parts) == whole.input


def test_a_few_users_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = amemgym.estimate("starter", ["native", "awe"], periods=2)
    monkeypatch.setattr("amemgym.estimating.REHEARSED", 2)
    part = amemgym.estimate("starter", ["native", "awe"], periods=2)
    assert (part.users, part.rehearsed, part.exact) == (3, 2, False)
    assert "2 of 3 users were rehearsed" in part.remarks[0]
    assert [(r.agent, r.role) for r in part.roles] == [(r.agent, r.role) for r in whole.roles]
    for one, other in zip(part.roles, whole.roles, strict=True):
        assert one.calls == pytest.approx(other.calls, rel=0.03)
        assert one.input == pytest.approx(other.input, rel=0.1)


def test_trials_and_users_and_prices() -> None:
    once = amemgym.estimate("starter", "native", **ENDPOINT | {"base_url": None}, users=1, periods=2)
    often = amemgym.estimate("starter", "native", **ENDPOINT | {"base_url": None}, users=1, periods=2, trials=3)
    assert [role.input for role in often.of("native")] == [3 * role.input for role in once.of("native")]
    assert often.of("upper bound") == once.of("upper bound")
    rate = rate_of(ModelSettings("openai:gpt-4.1-mini"))
    assert rate is not None and once.usd == pytest.approx(rate.of(once.input, once.output))
    elsewhere = amemgym.estimate("starter", "native", **ENDPOINT, users=1, periods=2)
    assert elsewhere.usd is None and "no price is known" in elsewhere.remarks[-1]


def test_the_least_time_is_the_longest_chain_or_what_limits_allow() -> None:
    small: dict[str, Any] = {"agents": "native", "users": 1, "periods": 3, "latency": 3.0}
    wide = amemgym.estimate("starter", **small, **ENDPOINT, concurrency=1000)
    assistant, user, *_ = wide.of("native")
    # the conversation, and one question of the last exam
    assert wide.chain == assistant.calls + user.calls + 1
    assert wide.seconds == 3 * wide.chain
    narrow = amemgym.estimate("starter", **small, **ENDPOINT, concurrency=1)
    assert narrow.seconds == 3 * narrow.calls
    limited = amemgym.estimate("starter", **small, **ENDPOINT, rpm=2, concurrency=1000)
    assert limited.seconds == 30 * limited.calls
    counted = amemgym.estimate("starter", **small, **ENDPOINT, tpm=1000, concurrency=1000)
    assert counted.seconds == pytest.approx((counted.input + counted.output) * 0.06)


class Served(Memory):
    """A memory whose content is on a server that a variable names."""

    environment = ("MY_MEMORY_URL",)

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        raise AssertionError("a rehearsal writes to no server")

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []


class Broken(Memory):
    """A memory that does not work."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        raise ValueError("no room")

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return []


def test_what_cannot_be_rehearsed_is_unknown_not_nothing() -> None:
    found = amemgym.estimate("starter", ["native", Served, Broken], users=1, periods=1)
    assert list(found.unknown) == ["Served", "Broken"] and "no room" in found.unknown["Broken"]
    assert {role.agent for role in found.roles} == {"native", "upper bound"}
    assert found.usd is None and not found.exact
    assert found.as_dict()["total"]["usd"] is None and found.as_dict()["agents"]["native"]["usd"] == 0


def test_a_black_box_tells_nothing_of_its_inside() -> None:
    found = amemgym.estimate("starter", ["http:127.0.0.1:9", "native"], users=1, periods=2)
    box = found.of("http:127.0.0.1:9")
    assert [role.role for role in box] == ["assistant", "user", "exam", "probe"]
    assert box[0].usd is None and box[0].input < found.of("native")[0].input
    # its conversation waits for each exam
    assert (found.chain, found.chain_of) == (box[0].calls + box[1].calls + 2, "http:127.0.0.1:9")
    assert any("what it uses inside is unknown" in remark for remark in found.remarks)


@pytest.mark.parametrize(("wrong", "told"), [({"sample": -1}, "--sample"), ({"latency": 0}, "--latency")])
def test_wrong_arguments_are_named(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        amemgym.estimate("starter", "native", users=1, periods=1, **wrong)


def test_an_unknown_setting_is_named() -> None:
    with pytest.raises(UsageError, match="concurency"):
        amemgym.estimate("starter", "native", concurency=3)
