"""What must never happen: no prompt of an assistant holds gold, state values or exposed states; no memory sees them;
one user's memory does not reach another; today's date enters no conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import amemgym
from amemgym.agents import Agent, ExamQuestion
from amemgym.api import run_spec
from amemgym.evaluate import RunSpec, make_spec
from amemgym.memory import Item, Memory
from amemgym.messages import Message
from amemgym.scenario import Dataset, load_dataset
from amemgym.tasks import ChooseKnowing, FollowUp, ProbeStates
from tests.support.models import Scripted


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Scripted:
    """Every request of a run of all assistants that ask a model for something, on the starter data."""
    provider = Scripted()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("amemgym.llm.doors.open_model", lambda settings, say: provider)
        agents = {"agents": "native,rag,awe,awi,a_mem"}
        run_spec(make_spec(agents), out=tmp_path_factory.mktemp("asked") / "run")
    return provider


def state_words(dataset: Dataset) -> set[str]:
    """Names of variables and values, as written in the schema."""
    schemas = [scenario.state_schema for scenario in dataset]
    return {word for schema in schemas for name, values in schema.items() for word in (name, *values) if "_" in word}


def test_no_prompt_of_an_assistant_holds_states_or_labels(asked: Scripted) -> None:
    words = re.compile("|".join(map(re.escape, state_words(load_dataset("starter")))))
    others = [r for r in asked.requests if not isinstance(r.task, FollowUp | ChooseKnowing | ProbeStates)]
    assert len(others) > 1000
    # a message is searched once, however many requests repeat it
    for text in {message.content for request in others for message in request.messages}:
        assert not words.search(text), words.search(text)
    # the same search finds them where they belong
    assert all(words.search(r.messages[-1].content) for r in asked.requests if isinstance(r.task, FollowUp))


def test_labels_do_not_tell_which_option_is_gold(asked: Scripted) -> None:
    labelled = [request for request in asked.requests if request.labels is not None]
    assert labelled
    for request in labelled:
        assert request.labels is not None
        assert len({tuple(label) for label in request.labels}) == 1  # the same variables for every option
        assert len({tuple(label.values()) for label in request.labels}) == len(request.labels)


def test_today_enters_no_conversation(asked: Scripted) -> None:
    today = datetime.now()
    years = {s.time.year for scenario in load_dataset("starter") for p in scenario.periods for s in p.sessions}
    assert today.year not in years
    for text in {message.content for request in asked.requests for message in request.messages}:
        assert str(today.year) not in text
        assert f"{today:%B %d}" not in text


class Nosy(Memory):
    """Writes down everything it is given, whatever it is."""

    seen: list[tuple[int, Any]] = []

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        type(self).seen += [(id(self), message) for message in messages]
        self.lines += [message.content for message in messages]

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        type(self).seen.append((id(self), query))
        type(self).seen.append((id(self), now))
        return [Item(line) for line in self.lines]


def test_a_memory_is_given_messages_queries_and_times_alone(tmp_path: Path) -> None:
    Nosy.seen = []
    dataset = load_dataset("starter").limited(users=2, periods=2)
    amemgym.run("starter", [Nosy], users=2, periods=2, out=tmp_path / "run")
    kinds = {type(thing) for _, thing in Nosy.seen}
    assert kinds == {Message, str, datetime}
    times = [t for _, t in Nosy.seen if isinstance(t, datetime)]
    assert max(times) <= max(p.end for s in dataset for p in s.periods)
    utterances = [{s.query for p in scenario.periods for s in p.sessions} for scenario in dataset]
    written: dict[int, set[int]] = {}
    for memory, thing in Nosy.seen:
        if isinstance(thing, Message):
            for user, said in enumerate(utterances):
                if any(query in thing.content for query in said):
                    written.setdefault(memory, set()).add(user)
    assert sorted(map(sorted, written.values())) == [[0], [1]]


def test_types_keep_the_scenario_from_agents_and_memories() -> None:
    """What an agent or a memory is handed has no type that could carry a scenario."""
    allowed = {str, datetime, Message, ExamQuestion, int, object, Any}
    for owner, names in ((Agent, ("reply",)), (Memory, ("write", "read", "restore"))):
        for name in names:
            hints = {k: v for k, v in get_type_hints(getattr(owner, name)).items() if k != "return"}
            for hint in hints.values():
                inner = set(getattr(hint, "__args__", ())) or {hint}
                assert inner <= allowed, (owner, name, hint)


def test_a_run_spec_has_no_place_for_a_key() -> None:
    assert not [name for name in RunSpec.model_fields if "key" in name or "secret" in name]
