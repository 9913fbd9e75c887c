"""The adapter to Letta, with the real client package against a fake server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from amemgym.errors import MemoryFailed, UsageError
from amemgym.memory import held_by, restore_to, snapshot_of
from amemgym.memory.adapters.letta import LettaMemory
from tests.memory.promises import KEY, NOW, Keyed, Make, read, said, write
from tests.support.fake_letta import FakeLetta
from tests.support.fake_server import Reply


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeLetta]:
    with FakeLetta() as server:
        yield server


class TestLetta(Keyed):
    memory = LettaMemory
    url, key = "LETTA_BASE_URL", "LETTA_API_KEY"
    writes, searches = "/passages/batch", "/passages/search"

    def kept(self, fake: FakeLetta) -> list[str]:
        return fake.names()

    def items_of_another(self, fake: FakeLetta) -> None:
        passage = {"id": "passage-1", "archive_id": "archive-other", "text": "theirs", "created_at": NOW.isoformat()}
        fake.fail(Reply(200, [{"passage": passage, "score": 1.0}]), where=self.searches)

    def test_a_copy_is_the_memory_at_its_snapshot_though_the_owner_writes_on(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        snapshot = anyio.run(snapshot_of, memory)
        write(memory, said("I live in Oslo"))  # at the same simulated time
        twin = make()
        anyio.run(restore_to, twin, snapshot)
        assert read(twin, "live") == ["user: I live in Lisbon"]
        assert len(read(memory, "live")) == 2

    def test_everything_held_is_told_over_all_pages_in_order(self, fake: Any, make: Make) -> None:
        memory = make()
        assert anyio.run(held_by, memory) == []
        texts = [f"number {n}" for n in range(230)]
        write(memory, *(said(text) for text in texts))
        held = anyio.run(held_by, memory)
        assert [item.text for item in held or ()] == [f"user: {text}" for text in texts]
        assert {item.time for item in held or ()} == {NOW}
        assert len(read(memory, "number", 150)) == 100

    def test_a_message_that_is_older_than_the_one_before_still_has_a_time_of_its_own(
        self, fake: Any, make: Make
    ) -> None:
        memory = make()
        write(memory, said("newer"), said("older", NOW - timedelta(days=1)), said("none", None))
        (passages,) = fake.passages.values()
        times = [passage["created_at"] for passage in passages]
        assert times == sorted(set(times)) and times[0] == "2024-03-01T09:30:00+00:00"

    def test_the_embedding_model_is_the_servers_or_the_one_named_and_never_missing(
        self, fake: Any, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake.default_embedding = None
        for act in (LettaMemory.check, lambda: write(make(), said("I live in Lisbon"))):
            with pytest.raises(UsageError, match="LETTA_EMBEDDING"):
                act()
        assert self.kept(fake) == []
        monkeypatch.setenv("LETTA_EMBEDDING", "ollama/nomic-embed-text")
        write(make(), said("I live in Lisbon"))
        (archive,) = fake.archives.values()
        assert archive["embedding_config"]["handle"] == "ollama/nomic-embed-text"

    def test_an_archive_that_is_not_told_times_is_refused(self, fake: Any, make: Make) -> None:
        fake.kept_in = "tpuf"
        for act in (LettaMemory.check, lambda: write(make(), said("I live in Lisbon"))):
            with pytest.raises(UsageError, match="tpuf"):
                act()
        assert self.kept(fake) == []

    def test_an_embedding_model_that_the_server_does_not_have_is_said_before_the_run(self, fake: Any) -> None:
        fake.fail(Reply(400, {"detail": "Embedding model openai/nope not found"}), where="/archives/", method="POST")
        with pytest.raises(UsageError, match="openai/nope not found"):
            LettaMemory.check()

    def test_a_server_without_a_key_needs_none(self, fake: Any, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LETTA_API_KEY")
        LettaMemory.check()
        write(make(), said("I live in Lisbon"))
        assert all("authorization" not in call.headers for call in fake.calls)

    @pytest.mark.parametrize("body", [{}, [{}], [{"archive_id": "archive-1"}], [], 7])
    def test_an_answer_of_another_shape_to_passages_is_an_error(self, fake: Any, make: Make, body: Any) -> None:
        fake.fail(Reply(200, body), where=self.writes)
        with pytest.raises(MemoryFailed, match=r"it did not answer with the 1 passages|another's"):
            write(make(), said("I live in Lisbon"))

    @pytest.mark.parametrize(
        "part", [{"text": None}, {"created_at": None}, {"created_at": "soon"}, {"archive_id": None}]
    )
    def test_a_passage_that_lacks_a_part_is_an_error(self, fake: Any, make: Make, part: dict[str, Any]) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        ((passage,),) = fake.passages.values()
        fake.fail(Reply(200, [{"passage": passage | part, "score": 0.0}]), where=self.searches)
        with pytest.raises(MemoryFailed, match="answered with"):
            read(memory, "live")

    def test_a_server_that_does_not_keep_times_is_an_error(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        ((passage,),) = fake.passages.values()
        fake.fail(Reply(200, [passage]), where=self.writes)
        with pytest.raises(MemoryFailed, match="did not keep the passages' times"):
            write(memory, said("I live in Lisbon", NOW + timedelta(days=1)))

    def test_a_whole_run_by_the_command_line_leaves_nothing_on_the_server(self, fake: Any, tmp_path: Path) -> None:
        fake.key = KEY
        run = [
            sys.executable,
            "-m",
            "amemgym",
            "run",
            "--agents",
            "letta",
            "--users",
            "1",
            "--periods",
            "2",
            "--no-probe",
        ]
        environment = {**os.environ, "LETTA_BASE_URL": fake.url, "LETTA_API_KEY": KEY, "COLUMNS": "200"}
        done = subprocess.run(
            [*run, "--out", str(tmp_path / "run")], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert fake.asked("POST", "/passages/batch") and fake.asked("POST", "/passages/search")
        assert self.kept(fake) == []
        written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        assert written and not any(KEY.encode() in content for content in written)
        assert KEY not in done.stdout + done.stderr
