"""The adapter to Zep, with the real client package against a fake server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import anyio
import pytest

from amemgym.errors import MemoryFailed, UsageError
from amemgym.memory import held_by, restore_to, snapshot_of
from amemgym.memory.adapters.zep import ZepMemory
from tests.memory.promises import NOW, Keyed, Make, copy_of, read, said, write
from tests.support.fake_server import Reply
from tests.support.fake_zep import BASE, FakeZep


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeZep]:
    with FakeZep() as server:
        yield server


class TestZep(Keyed):
    memory = ZepMemory
    url, key, base = "ZEP_API_URL", "ZEP_API_KEY", BASE
    writes, searches = "/messages", "/search/edges"

    def kept(self, fake: FakeZep) -> list[str]:
        return [user["user_id"] for user in fake.users.values()] + [
            g["name"] for g in fake.graphs.values() if "name" in g
        ]

    def items_of_another(self, fake: FakeZep) -> None:
        fake.fail(Reply(200, {"items": [fake.edge("graph-other", "theirs", None)]}), where=self.searches)

    def test_a_write_waits_until_the_task_has_ended(self, fake: Any, make: Make) -> None:
        fake.slow = 5
        memory = make()
        write(memory, said("I live in Lisbon"))
        assert len(self.waits) == 5 and len(read(memory, "live")) == 1

    def test_a_task_that_never_ends_or_fails_is_an_error(
        self, fake: Any, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake.outcome = {"status": "failed", "error": {"message": "the model is not there"}}
        with pytest.raises(MemoryFailed, match="the task has failed: the model is not there"):
            write(make(), said("I live in Lisbon"))
        fake.slow = 10**9
        monkeypatch.setattr(ZepMemory, "patience", 0.02)
        with pytest.raises(MemoryFailed, match="has not ended within"):
            write(make("run1-agent-u1-t0"), said("I live in Lisbon"))

    def test_a_copy_reads_a_clone_of_its_snapshot_though_the_owner_writes_on(self, fake: Any, make: Make) -> None:
        fake.slow = 2
        memory = make()
        write(memory, said("I live in Lisbon"))
        first, same = anyio.run(snapshot_of, memory), anyio.run(snapshot_of, memory)
        assert first == same and len(fake.asked("POST", "/clone")) == 1
        write(memory, said("I live in Oslo"))
        second = anyio.run(snapshot_of, memory)
        one, two = make(), make()
        anyio.run(restore_to, one, first)
        anyio.run(restore_to, two, second)
        assert read(one, "live") == ["I live in Lisbon"] and len(read(two, "live")) == 2
        assert anyio.run(snapshot_of, one) == first
        fake.slow = 0
        memory.close()
        assert fake.graphs == fake.edges == fake.users == {}

    def test_clones_that_a_killed_run_left_are_deleted(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("left behind"))
        copy_of(memory, make)
        assert len(fake.graphs) == 2
        write(make(), said("I live in Lisbon"))
        assert len(fake.graphs) == 1

    def test_long_messages_are_given_in_parts_and_many_in_turns(self, fake: Any, make: Make) -> None:
        memory = make()
        text = " ".join(f"word{n}" for n in range(900))
        write(memory, said(text), *(said(f"fact number {n}") for n in range(40)))
        assert [len(call.body["messages"]) for call in fake.asked("POST", "/messages")] == [30, 13]
        (facts,) = fake.edges.values()
        assert "".join(fact["fact"] for fact in facts[:3]) == text
        assert len(read(memory, "fact " * 300, 50)) == 43

    def test_everything_held_is_told_over_all_pages_and_a_search_goes_over_pages_too(
        self, fake: Any, make: Make
    ) -> None:
        memory = make()
        assert anyio.run(held_by, memory) == []
        write(memory, *(said(f"fact number {n}") for n in range(120)))
        held = anyio.run(held_by, memory)
        assert [item.text for item in held or ()] == [f"fact number {n}" for n in range(120)]
        assert len(read(memory, "number", 70)) == 70
        assert len(fake.asked("POST", self.searches)) == 2

    def test_a_fact_that_has_ended_says_so_and_its_times_are_never_the_services_clock(
        self, fake: Any, make: Make
    ) -> None:
        memory = make()
        write(memory, said("hello"))
        (graph,) = fake.edges
        fake.edges[graph] = [
            fake.edge(graph, "lived in Oslo", "2023-01-01T00:00:00Z", invalid_at="2024-02-01T00:00:00Z"),
            fake.edge(graph, "likes tea", None, expired_at="2026-01-01T00:00:00Z"),
        ]
        found = {item.text: item.time for item in memory.read("x", NOW, 5)}  # type: ignore[union-attr,misc]
        assert found == {"lived in Oslo (until 2024-02-01)": datetime(2023, 1, 1), "likes tea (no longer so)": None}

    def test_without_a_key_it_says_which(self, fake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ZEP_API_KEY")
        with pytest.raises(UsageError, match="set ZEP_API_KEY"):
            ZepMemory.check()
        assert fake.calls == []

    @pytest.mark.parametrize(
        "body", [{"items": [{}]}, {"items": [{"fact": "x", "valid_at": "soon"}]}, [], {"items": 7}]
    )
    def test_an_answer_of_another_shape_is_an_error(self, fake: Any, make: Make, body: Any) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.fail(Reply(200, body), where=self.searches)
        with pytest.raises(MemoryFailed, match="Zep at http"):
            read(memory, "live")

    @pytest.mark.parametrize("route", ["/users", "/threads", "/clone", "/messages"])
    def test_an_answer_without_what_was_asked_for_is_an_error(self, fake: Any, make: Make, route: str) -> None:
        memory = make()
        fake.fail(Reply(200, {}), where=route)
        with pytest.raises(MemoryFailed, match=r"without 'uuid'|Zep answered with another user"):
            write(memory, said("I live in Lisbon"))
            anyio.run(snapshot_of, memory)
