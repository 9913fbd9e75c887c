"""The card from Python: each user is counted once and let go, and a model is asked each question once."""

from __future__ import annotations

import gc
import hashlib
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import amemgym
from amemgym.errors import AuthenticationFailed, ContentFiltered, DataError, RunDirectoryError, UnknownName, UsageError
from amemgym.evaluate import RunWatcher
from amemgym.llm import Request
from amemgym.quality.gates import NO_CONTEXT, Gate, Verdict
from amemgym.scenario import Scenario
from amemgym.tasks import ChooseOption
from tests.quality.made import gold_first, users
from tests.scenario.build import as_bytes, drop, edited, put, small_user
from tests.support.models import Scripted
from tests.support.shared import shared


def blind(card: amemgym.Card) -> Gate:
    return next(gate for gate in card.gates if gate.name == NO_CONTEXT)


# --- the data ---


def test_the_starter_set_as_json() -> None:
    card = amemgym.card("starter")
    assert card.name == "starter" and card.sha256 == amemgym.load_dataset("starter").sha256
    told = json.loads(json.dumps(card.as_dict(), allow_nan=False))
    assert told["size"]["users"] == 3 and told["model"] == "offline" and told["bill"]["calls"] == 24
    assert [gate["name"] for gate in told["gates"]][:2] == ["uniform", "always-1"]
    for gate in told["gates"]:
        assert gate["difference"] == pytest.approx(gate["accuracy"] - gate["chance"])
    assert told["wording"]["reading"]["answers"]["coleman_liau"] == pytest.approx(
        card.wording.reading["answers"].coleman_liau
    )
    assert told["advice"] == card.advice and len(told["places"]) == 6


def test_the_published_set_by_name_of_its_file() -> None:
    card = amemgym.card(shared("data/amemgym-v1.base/data.json"))
    assert card.sha256 == "a63f731508a60104bc27676926134ac4d889fb143141fb4634176f0905fb659a"
    assert {gate.name for gate in card.failing} == {"always-2", "always-4", "last"}
    assert blind(card).n == 2200 and blind(card).verdict is Verdict.PASSES
    assert card.wording.languages[0].code == "en"
    spanish = card.wording.languages[1]
    assert (spanish.code, spanish.user, spanish.place) == ("es", 7, "question 2")


def test_the_same_data_gives_the_same_card_whichever_way_it_comes_in(tmp_path: Path) -> None:
    amemgym.save_dataset(made := users(4, seed=2), tmp_path / "made.json")
    cards = [amemgym.card(made), amemgym.card(iter(made)), amemgym.card(amemgym.load_dataset(tmp_path / "made.json"))]
    digest = hashlib.sha256((tmp_path / "made.json").read_bytes()).hexdigest()
    assert {card.sha256 for card in cards} == {digest}
    assert cards[0] == cards[1]
    assert {**cards[2].as_dict(), "name": "scenarios"} == cards[0].as_dict()


def test_of_users_that_stream_by_no_more_than_a_few_are_kept() -> None:
    alive: weakref.WeakSet[Scenario] = weakref.WeakSet()
    most = 0

    def streaming() -> Iterator[Scenario]:
        nonlocal most
        for user in _Made(12):
            alive.add(user)
            yield user
            del user
            gc.collect()
            most = max(most, len(alive))

    gc.collect()
    gc.freeze()  # so that what other tests left is not looked through for each user
    try:
        assert amemgym.card(streaming()).size.users == 12
    finally:
        gc.unfreeze()
    assert most <= 3


class _Made:
    """Users that nobody else holds."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __iter__(self) -> Iterator[Scenario]:
        return (_Weak.model_validate(small_user(f"u{number}")) for number in range(self._count))


class _Weak(Scenario):
    """Compared by identity, so that a weak set can hold it."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def test_a_set_of_the_bank_is_made_as_it_is_read() -> None:
    card = amemgym.card("bank:mini")
    assert card.name == "bank:mini" and card.size.users == card.size.recorded == 3
    assert card.size.settings["source"] == {"bank:mini": 3} and card.size.settings["seed"] == {"0": 3}
    assert card.sha256 == amemgym.load_dataset("bank:mini").sha256


def test_broken_data_ends_with_the_sentence_of_whoever_loads_it(tmp_path: Path) -> None:
    broken = edited(put("periods.2.state.pet", "horse"))
    (tmp_path / "broken.json").write_bytes(as_bytes(broken))
    with pytest.raises(DataError, match=r"broken\.json cannot be run: user 0 .* 'pet' is 'horse'.*amemgym validate"):
        amemgym.card(tmp_path / "broken.json")
    with pytest.raises(DataError, match=r"cannot be described: user 1 .*'pet' is 'horse'"):
        amemgym.card([Scenario.model_validate(small_user("a")), Scenario.model_validate(broken)])
    with pytest.raises(DataError, match="there are no users"):
        amemgym.card([])
    with pytest.raises(UnknownName, match="unknown data set 'startr'"):
        amemgym.card("startr")


def test_data_with_no_sessions_or_no_exposed_states_has_a_card_too() -> None:
    user = edited(*(drop(f"periods.{p}.sessions.0.exposed_states") for p in (1, 2)), put("periods.3.sessions", []))
    user["periods"][0]["sessions"] = []
    card = amemgym.card([Scenario.model_validate(user)])
    assert card.wording.exposures == 0 and card.wording.overlap is None and card.wording.named_share is None
    assert json.dumps(card.as_dict(), allow_nan=False)


def test_settings_that_a_card_does_not_have() -> None:
    with pytest.raises(UnknownName, match=r"unknown setting of a card 'sed'\. Did you mean 'seed'"):
        amemgym.card("starter", sed=1)
    with pytest.raises(UsageError, match="nothing is asked there, the model is offline"):
        amemgym.card("starter", base_url="http://localhost:1/v1")
    with pytest.raises(UnknownName, match="unknown embedder 'word'"):
        amemgym.card("starter", embedder="word")


# --- the no-context model ---

ASKED: dict[str, Any] = {"model": "openai:mock", "base_url": "http://localhost:1/v1"}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use(answer: Any) -> Scripted:
        provider = Scripted(answer)
        monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: provider)
        return provider

    return use


def test_each_question_is_asked_once_with_nothing_of_the_user(tmp_path: Path, scripted: Any) -> None:
    provider = scripted(lambda request: '{"answer": 1}')
    made = users(6, seed=1, change=gold_first, still=True)
    card = amemgym.card(made, **ASKED, work=tmp_path)
    assert len(provider.requests) == 6 * 4 and card.bill.calls == 24
    for request in provider.requests:
        assert isinstance(request.task, ChooseOption) and request.task.now is None
        assert request.task.context.memories == () and request.task.context.conversation == ()
        assert len(request.messages) == 2
    first = made[0].qas[0]
    texts = [option.answer for option in first.answer_choices]
    assert provider.requests[0].task.options == tuple(texts) and provider.requests[0].task.question == first.query
    assert blind(card).accuracy == 1 and blind(card).n == 6 * 4 * 3 and blind(card).verdict is Verdict.FAILS
    assert any("A model that knows nothing of the user" in sentence for sentence in card.advice)


def test_what_was_asked_is_not_asked_again_after_a_stop(tmp_path: Path, scripted: Any) -> None:
    made = users(4, seed=1)

    def stops(request: Request) -> str:
        if len(provider.requests) > 6:
            raise AuthenticationFailed("the key was refused")
        return '{"answer": 2}'

    provider = scripted(stops)
    with pytest.raises(AuthenticationFailed, match=r"refused\. Replies are kept in .*; the same command asks"):
        amemgym.card(made, **ASKED, work=tmp_path)
    kept = sum(len(path.read_text().splitlines()) for path in tmp_path.rglob("*.jsonl"))
    assert kept >= 4  # the first user's
    provider = scripted(lambda request: '{"answer": 2}')
    resumed = amemgym.card(made, **ASKED, work=tmp_path)
    assert len(provider.requests) == 4 * 4 - kept
    scripted(lambda request: '{"answer": 2}')
    assert amemgym.card(made, **ASKED, work=tmp_path / "other") == resumed


def test_another_model_is_asked_anew(tmp_path: Path, scripted: Any) -> None:
    made = users(1, seed=1)
    for number, settings in enumerate(
        (ASKED, {**ASKED, "model": "openai:other"}, {**ASKED, "temperature": 1.0}, ASKED)
    ):
        provider = scripted(lambda request: '{"answer": 1}')
        amemgym.card(made, **settings, work=tmp_path)
        assert len(provider.requests) == (4 if number < 3 else 0)


def test_a_folder_that_another_process_holds(tmp_path: Path, scripted: Any) -> None:
    provider = scripted(lambda request: '{"answer": 1}')
    amemgym.card(users(1, seed=1), **ASKED, work=tmp_path)
    (folder,) = tmp_path.iterdir()
    said = r"in use by another process.* another --work"
    with FileLock(folder / ".lock"), pytest.raises(RunDirectoryError, match=said):
        amemgym.card(users(2, seed=1), **ASKED, work=tmp_path)
    assert len(provider.requests) == 4


def test_a_question_that_a_filter_stops_is_left_out(tmp_path: Path, scripted: Any) -> None:
    def filters(request: Request) -> str:
        assert isinstance(request.task, ChooseOption)
        if request.task.question == "Question 0?":
            raise ContentFiltered("stopped")
        return "I cannot say." if request.task.question == "Question 1?" else '{"answer": 1}'

    scripted(filters)
    gate = blind(amemgym.card(users(3, seed=1), **ASKED, work=tmp_path))
    assert (gate.missing, gate.unreadable, gate.n) == (3 * 3, 3 * 3, 2 * 3 * 3)


def test_the_offline_model_keeps_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    amemgym.card(users(2, seed=1))
    assert list(tmp_path.iterdir()) == []


def test_what_it_will_cost_is_said_before(tmp_path: Path, scripted: Any) -> None:
    scripted(lambda request: '{"answer": 1}')
    said: list[str] = []

    class Watcher(RunWatcher):
        def said(self, sentence: str) -> None:
            said.append(sentence)

    amemgym.card(
        users(3, seed=1),
        model="openai:gpt-4.1-mini",
        base_url="https://api.openai.com/v1",
        work=tmp_path,
        watcher=Watcher(),
    )
    assert (
        said[0].startswith("12 calls, about ") and "under $0.01 at list price" in said[0] and str(tmp_path) in said[0]
    )
    said.clear()
    amemgym.card(users(3, seed=1), **ASKED, work=tmp_path, watcher=Watcher())
    assert "at a price that is not known; openai:mock is asked; " in said[0]
    said.clear()
    amemgym.card(iter(users(3, seed=1)), **ASKED, work=tmp_path, watcher=Watcher())
    assert said[0].startswith("openai:mock is asked; ")
