"""The adapter to Graphiti's REST server, against a fake one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from amemgym.errors import MemoryFailed, UsageError
from amemgym.memory import held_by, restore_to, snapshot_of
from amemgym.memory.adapters.graphiti import GraphitiMemory
from tests.memory.promises import NOW, Make, Promises, copy_of, read, said, write
from tests.support.fake_graphiti import FakeGraphiti
from tests.support.fake_server import Reply


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeGraphiti]:
    with FakeGraphiti() as server:
        yield server


class TestGraphiti(Promises):
    memory = GraphitiMemory
    url = "GRAPHITI_URL"
    writes, searches = "/messages", "/search"

    def kept(self, fake: FakeGraphiti) -> list[str]:
        return list(fake.episodes)

    def items_of_another(self, fake: FakeGraphiti) -> None:
        episode = fake.episode("amemgym-other", "theirs", NOW.isoformat() + "Z", "theirs")
        fake.fail(Reply(200, [episode]), where="/episodes")

    def test_a_write_waits_until_the_server_has_worked(self, fake: Any, make: Make) -> None:
        fake.slow = 5
        memory = make()
        write(memory, said("I live in Lisbon"))
        assert len(self.waits) == 5 and len(read(memory, "live")) == 1

    def test_a_server_that_never_works_is_an_error(
        self, fake: Any, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake.slow = 10**9
        monkeypatch.setattr(GraphitiMemory, "patience", 0.02)
        with pytest.raises(MemoryFailed, match="has not ended within"):
            write(make(), said("I live in Lisbon"))

    def test_a_copy_is_refused_once_the_owner_has_written_on(self, fake: Any, make: Make) -> None:
        assert GraphitiMemory.snapshot_is_view
        memory = make()
        write(memory, said("I live in Lisbon"))
        snapshot = anyio.run(snapshot_of, memory)
        twin = make()
        anyio.run(restore_to, twin, snapshot)
        assert len(read(twin, "live")) == 1
        write(memory, said("I live in Oslo"))
        with pytest.raises(MemoryFailed, match="written to since"):
            read(twin, "live")
        assert len(read(copy_of(memory, make), "live")) == 2

    def test_messages_of_a_killed_run_that_arrive_late_are_an_error(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        (group,) = fake.episodes
        fake.episodes[group].append(fake.episode(group, "0123-0", "2024-01-01T00:00:00Z", "late"))
        with pytest.raises(MemoryFailed, match="has not written there"):
            write(memory, said("more"))

    def test_a_fact_that_has_ended_says_so_and_its_times_are_never_the_servers_clock(
        self, fake: Any, make: Make
    ) -> None:
        memory = make()
        write(memory, said("hello"))
        (group,) = fake.facts
        fake.facts[group] = [
            fake.fact("lived in Oslo", "2023-01-01T00:00:00Z", invalid_at="2024-02-01T00:00:00Z"),
            fake.fact("likes tea", None, expired_at="2026-01-01T00:00:00Z"),
            fake.fact("lives in Lisbon", "2024-02-01T02:00:00+02:00"),
        ]
        found = {item.text: item.time for item in memory.read("x", NOW, 5)}  # type: ignore[union-attr,misc]
        assert found == {
            "lived in Oslo (until 2024-02-01)": datetime(2023, 1, 1),
            "likes tea (no longer so)": None,
            "lives in Lisbon": datetime(2024, 2, 1),
        }

    def test_a_time_after_the_servers_clock_is_refused(self, fake: Any, make: Make) -> None:
        later = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=2)
        with pytest.raises(MemoryFailed, match="later than its own clock"):
            write(make(), said("from the future", later))
        assert fake.calls == []

    def test_what_is_held_cannot_be_told(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        assert anyio.run(held_by, memory) is None

    def test_a_server_that_is_not_well_is_said(self, fake: Any) -> None:
        fake.status = "degraded"
        with pytest.raises(UsageError, match="degraded"):
            GraphitiMemory.check()

    @pytest.mark.parametrize("body", [[], {}, {"facts": [{}]}, {"facts": [{"fact": "x", "valid_at": "soon"}]}])
    def test_an_answer_of_another_shape_is_an_error(self, fake: Any, make: Make, body: Any) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.fail(Reply(200, body), where=self.searches)
        with pytest.raises(MemoryFailed, match="it answered no facts"):
            read(memory, "live")
        fake.fail(Reply(200, body or {"episodes": []}), where="/episodes")
        with pytest.raises(MemoryFailed, match="not a list"):
            read(memory, "live")
