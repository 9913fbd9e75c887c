"""What every adapter to a server promises, as tests that each adapter's own module collects by a subclass."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

import anyio
import pytest

from amemgym.errors import MemoryFailed, UsageError
from amemgym.llm import at
from amemgym.memory import Memory, Tools, new_memory, read_from, restore_to, snapshot_of, write_to
from amemgym.memory.adapters import servers
from amemgym.messages import Message
from tests.support.fake_server import FakeServer, Reply

NOW = datetime(2024, 3, 1, 9, 30)
KEY = "fake-key-0123456789-for-tests"
Make = Callable[..., Memory]


def said(text: str, time: datetime | None = NOW, role: str = "user") -> Message:
    return Message(role, text, time)  # type: ignore[arg-type]


def write(memory: Memory, *messages: Message) -> None:
    anyio.run(write_to, memory, messages, NOW)


def read(memory: Memory, query: str, k: int = 5) -> list[str]:
    return [item.text for item in anyio.run(read_from, memory, query, NOW, k)]


def best(memory: Memory, query: str, k: int = 5) -> list[str]:
    """As the adapter itself gives them: best first."""
    return [item.text for item in memory.read(query, NOW, k)]  # type: ignore[union-attr,misc]


def copy_of(memory: Memory, make: Make, question: int = 0) -> Memory:
    with at(f"p0/q{question}", "exam"):
        twin = make()
    anyio.run(restore_to, twin, anyio.run(snapshot_of, memory))
    return twin


class Promises:
    """Subclasses say which class, fake and routes are meant."""

    memory: ClassVar[type[Memory]]
    #: environment variables of the address and of the key ("" for none)
    url: ClassVar[str]
    key: ClassVar[str] = ""
    #: parts of the paths that write and that search
    writes: ClassVar[str]
    searches: ClassVar[str]
    #: the path that is added to the fake's address
    base: ClassVar[str] = ""

    def kept(self, fake: Any) -> list[str]:
        """The names of everything that the fake keeps."""
        raise NotImplementedError

    def items_of_another(self, fake: Any) -> None:
        """Have the fake's next search answer with what is another user's."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _here(self, fake: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        fake.reset()
        self.waits: list[float] = []
        monkeypatch.setattr(servers, "pause", self.waits.append)
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv(self.url, fake.url + self.base)
        if self.key:
            monkeypatch.setenv(self.key, KEY)
        yield

    @pytest.fixture
    def make(self) -> Make:
        def made(name: str = "run1-agent-u0-t0") -> Memory:
            return new_memory(self.memory, Tools(None, None, name=name))  # type: ignore[arg-type]

        return made

    def test_what_is_written_is_found_best_first_with_its_simulated_time(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"), said("my cat is called Ada", NOW + timedelta(days=2)))
        found = memory.read("called Ada", NOW, 5)  # type: ignore[union-attr,misc]
        assert "my cat is called Ada" in found[0].text and "I live in Lisbon" in found[1].text
        assert found[0].time == NOW + timedelta(days=2) and found[1].time == NOW

    def test_at_most_k_are_asked_for_and_given(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, *(said(f"fact number {n}", NOW + timedelta(hours=n)) for n in range(7)))
        assert len(read(memory, "number 3", 3)) == 3
        assert "fact number 3" in best(memory, "number 3", 1)[0]

    def test_nothing_written_is_nothing_and_asks_nobody(self, fake: Any, make: Make) -> None:
        memory = make()
        assert read(memory, "anything") == []
        memory.close()
        assert fake.calls == []

    def test_users_are_apart_and_closing_leaves_nothing(self, fake: Any, make: Make) -> None:
        one, other = make("run1-agent-u0-t0"), make("run1-agent-u1-t0")
        write(one, said("I live in Lisbon"))
        write(other, said("I live in Oslo"))
        assert "Lisbon" in read(one, "live")[0] and len(read(one, "live")) == 1
        assert "Oslo" in read(other, "live")[0] and len(read(other, "live")) == 1
        one.close()
        assert len(read(other, "live")) == 1
        other.close()
        assert self.kept(fake) == []

    def test_what_a_killed_run_left_is_deleted_and_what_is_others_is_not(self, fake: Any, make: Make) -> None:
        write(make(), said("left behind"))
        other = make("run1-agent-u0-t1")
        write(other, said("I live in Oslo"))
        again = make()
        write(again, said("I live in Lisbon"))
        assert read(again, "left behind") == [text for text in read(again, "live") if "Lisbon" in text]
        assert len(read(other, "live")) == 1 and len(self.kept(fake)) == 2

    def test_any_text_comes_back_as_it_is(self, fake: Any, make: Make) -> None:
        memory = make()
        odd = ['{"a": {b}} %s {0}', "東京に住んでいます 🦆", "line one\nline two\t“q”", "", "x" * 2400]
        write(memory, *(said(text, NOW + timedelta(minutes=n)) for n, text in enumerate(odd)))
        found = " | ".join(read(memory, "東京に住んでいます 🦆 {braces} \" '", 9))
        assert all(text in found for text in odd)

    def test_names_are_safe_for_any_run_and_still_apart(self, fake: Any, make: Make) -> None:
        one, other = make("run/ä b" + "y" * 300), make("run/ö b" + "y" * 300)
        write(one, said("I live in Lisbon"))
        write(other, said("I live in Oslo"))
        assert len(read(one, "live")) == len(read(other, "live")) == 1
        assert all(len(name) < 120 and name.isascii() for name in self.kept(fake))

    def test_clearing_forgets_everything_and_writing_goes_on(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        memory.clear()
        assert read(memory, "live") == [] and self.kept(fake) == []
        write(memory, said("I live in Oslo"))
        assert len(read(memory, "live")) == 1

    def test_a_copy_reads_the_same_and_cannot_be_written_to(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"), said("my cat is called Ada"))
        one, other = copy_of(memory, make, 0), copy_of(memory, make, 1)
        assert read(one, "live Lisbon") == read(other, "live Lisbon") == read(memory, "live Lisbon")
        with pytest.raises(MemoryFailed, match="cannot be written to"):
            write(one, said("I live in Oslo"))
        one.close()
        assert len(read(other, "live")) == len(read(memory, "live")) == 2
        memory.close()
        assert self.kept(fake) == []

    def test_an_owner_that_is_restored_still_lets_go_of_what_it_made(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        anyio.run(restore_to, memory, anyio.run(snapshot_of, memory))
        assert len(read(memory, "live")) == 1
        memory.close()
        assert self.kept(fake) == []

    def test_a_copy_of_an_empty_memory_is_empty(self, fake: Any, make: Make) -> None:
        assert read(copy_of(make(), make), "anything") == []

    def test_another_users_items_are_an_error(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        self.items_of_another(fake)
        with pytest.raises(MemoryFailed, match=r"another|not written"):
            read(memory, "live")

    def test_a_server_that_is_not_there_is_said_before_the_run(self, fake: Any) -> None:
        self.memory.check()
        fake.stop()
        with pytest.raises(UsageError, match=rf"no server at http://127.*{self.url}"):
            self.memory.check()

    def test_a_server_that_goes_away_is_an_error_and_closing_says_nothing(self, fake: Any, make: Make) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.stop()
        with pytest.raises(MemoryFailed, match="is it still running"):
            read(memory, "live")
        with pytest.raises(MemoryFailed, match="is it still running"):
            write(memory, said("more"))
        assert self.waits == [1.0, 2.0, 4.0] * 2
        memory.close()
        fake.start()
        assert len(self.kept(fake)) == 1

    @pytest.mark.parametrize("status", [500, 503, 429])
    def test_a_passing_failure_is_tried_again(self, fake: Any, make: Make, status: int) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.fail(Reply(status, {"detail": "busy"}), times=3, where=self.searches)
        assert len(read(memory, "live")) == 1
        fake.fail(Reply(status, {"detail": "busy"}), times=4, where=self.searches)
        with pytest.raises(MemoryFailed, match=f"status {status}"):
            read(memory, "live")

    def test_what_may_have_been_done_is_not_done_twice(self, fake: Any, make: Make) -> None:
        memory = make()
        for reply in (Reply(500, {"detail": "broken"}), Reply(drop=True)):
            before = len(fake.asked("POST", self.writes))
            fake.fail(reply, where=self.writes, method="POST")
            with pytest.raises(MemoryFailed):
                write(memory, said("I live in Lisbon"))
            assert len(fake.asked("POST", self.writes)) == before + 1

    @pytest.mark.parametrize(
        "reply", [Reply(200, "<html>sign in</html>"), Reply(302, None, {"Location": "http://127.0.0.1:9/"})]
    )
    def test_what_is_no_answer_is_an_error_and_never_an_empty_memory(self, fake: Any, make: Make, reply: Reply) -> None:
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.fail(reply, where=self.searches)
        with pytest.raises(MemoryFailed, match=self.memory.__name__.removesuffix("Memory")):
            read(memory, "live")
        fake.fail(reply)
        with pytest.raises(UsageError):
            self.memory.check()

    @pytest.mark.parametrize(
        ("address", "told"),
        [
            ("localhost:8283", "is no address"),
            ("http://user:hunter22@localhost", "user name, a password"),
            ("http://localhost:port", "is no address"),
        ],
    )
    def test_an_address_that_is_none_is_said_without_its_password(
        self, monkeypatch: pytest.MonkeyPatch, address: str, told: str
    ) -> None:
        monkeypatch.setenv(self.url, address)
        with pytest.raises(UsageError, match=told) as caught:
            self.memory.check()
        assert self.url in str(caught.value) and "hunter22" not in str(caught.value)


class Keyed(Promises):
    """An adapter whose server wants a key."""

    def test_a_wrong_key_is_said_and_never_shown(
        self, fake: Any, make: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        memory = make()
        write(memory, said("I live in Lisbon"))
        fake.key = "another-key"
        for act in (self.memory.check, lambda: read(memory, "live")):
            with pytest.raises((UsageError, MemoryFailed), match=f"{self.key} is missing or wrong") as caught:
                act()  # type: ignore[operator]
            error: BaseException | None = caught.value
            while error is not None:
                assert KEY not in str(error)
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        assert KEY not in caplog.text

    def test_a_key_that_cannot_be_sent_is_said_and_never_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(self.key, f"{KEY}\n{KEY}")
        with pytest.raises(UsageError, match="holds a line break") as caught:
            self.memory.check()
        assert KEY not in str(caught.value)

    def test_the_key_goes_to_the_address_alone(self, fake: Any, make: Make) -> None:
        with FakeServer() as elsewhere:
            memory = make()
            write(memory, said("I live in Lisbon"))
            fake.fail(Reply(307, None, {"Location": elsewhere.url + "/v1/passages/search"}), where=self.searches)
            with pytest.raises(MemoryFailed):
                read(memory, "live")
            assert elsewhere.calls == []
        assert all(KEY in call.headers["authorization"] for call in fake.calls)
