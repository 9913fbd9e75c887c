"""The door and an episode's line through it: what is tried again, what is counted, who sees what.

Promised: a play that the journal holds makes no call and counts the same; never more calls under way than slots, and a
call that waits holds none; only what can pass is tried again, within limits; each exam has its own place; the labels of
options reach only the tasks that choose, and no message and no file.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from amemgym.errors import ContextOverflow, EndpointUnavailable
from amemgym.llm import Answer, Completion, Door, Journal, Line, Request, Usage, at, question_name, round_name
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from amemgym.messages import Message
from amemgym.tasks import Context, Reply, Status, Task, digest
from tests.llm.helpers import PROMPTS, Heard, facts_of, knowing, question, reply_to, request_for
from tests.support.models import Scripted

LABELS = ({"travel": "secret-bicycle"}, {"travel": "secret-bus"})


class Closed:
    """A provider that must not be asked."""

    identity = "closed"

    async def complete(self, request: Request) -> NoReturn:
        raise AssertionError(f"asked for {request.task}")

    async def aclose(self) -> None:
        return None


class Gate:
    """A provider that answers nobody until it is opened, and counts who waits."""

    identity = "gate"

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.waiting = self.most = self.asked = 0

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            await self.open.wait()
        finally:
            self.waiting -= 1
        return Completion("Very well.", Usage(10, 2))

    async def aclose(self) -> None:
        return None


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(50):
        await asyncio.sleep(0)


# ---- replay and resume


def unlike(request: Request) -> str:
    """A reply that depends on the request and on how it can be read."""
    if request.labels is not None or request.task.wants_json:
        return '{"answer": 2}' if "odd" in str(request.messages[-1].content) else "Perhaps the second."
    return f"Reply to {len(request.messages)} messages, the last: {request.messages[-1].content}"


async def play(provider: Any, path: Path | None) -> tuple[list[Any], dict[str, Any], Heard]:
    """A little episode: three rounds of three roles, one request made twice, two exams, one request that overflows."""
    heard = Heard()
    line = Line(Journal(path), PROMPTS)
    door = Door(provider, 3, first_wait=0.001, watcher=heard)
    assistant, memory, user = (line.model(door, role) for role in ("assistant", "memory", "user"))
    answers: list[Any] = []
    try:
        for number in range(3):
            with at(round_name(0, 0, number)):
                answers.append(await assistant.ask(reply_to(f"Message {number}")))
                answers.append(await memory.ask(facts_of("I ride.")))
                answers.append(await user.ask(reply_to("The same")))
                answers.append(await user.ask(reply_to("The same")))

        async def exam(number: int) -> Answer[int]:
            with at(question_name(0, number), "exam", LABELS):
                return await assistant.ask(question("An odd one?" if number % 2 else "An even one?"))

        answers += await asyncio.gather(*(exam(number) for number in range(4)))
        with at(question_name(1, 0), labels=LABELS):
            try:
                await assistant.ask(question("Too long?"))
            except ContextOverflow as error:
                answers.append(str(error))
    finally:
        line.journal.close()
    return answers, {role: count.as_dict() for role, count in line.ledger.items()}, heard


CALLS = 3 * 4 + 4 + 1


def overflowing(request: Request) -> str:
    if "Too long?" in request.messages[-1].content:
        raise ContextOverflow("It does not fit.")
    return unlike(request)


class Numbered(Scripted):
    """Says a different thing each time, so that a reply from the journal is told from a new one."""

    def __init__(self, first: int = 0) -> None:
        super().__init__(lambda request: f"{overflowing(request)}")
        self._number = first

    async def complete(self, request: Request) -> Completion:
        completion = await super().complete(request)
        if request.task.wants_json:
            return completion
        self._number += 1
        return Completion(f"{self._number}: {completion.text}", Usage(self._number, 2), seconds=0.0)


def test_a_replay_makes_no_call_and_counts_the_same(tmp_path: Path) -> None:
    provider = Numbered()
    answers, ledger, heard = asyncio.run(play(provider, tmp_path / "j"))
    assert len(provider.requests) == CALLS
    assert len({str(answer) for answer in answers}) > 10
    before = (tmp_path / "j").read_bytes()
    again, counted, seen = asyncio.run(play(Closed(), tmp_path / "j"))
    assert again == answers
    assert counted == ledger
    assert (tmp_path / "j").read_bytes() == before
    assert [replayed for _, replayed in heard.calls] == [False] * (CALLS - 1)  # the overflow brought no reply
    assert [replayed for _, replayed in seen.calls] == [True] * (CALLS - 1)
    assert sorted(u.input for u, _ in seen.calls) == sorted(u.input for u, _ in heard.calls)


@pytest.mark.parametrize("kept", [0, 1, 2, 5, 11, 12, 14, CALLS - 1, CALLS])
def test_resuming_asks_only_what_is_missing(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "j"
    answers, ledger, _ = asyncio.run(play(Numbered(), path))
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == CALLS
    torn = lines[kept][:40] if kept < CALLS else b""
    path.write_bytes(b"".join(lines[:kept]) + torn)
    # the replies that are asked anew are those of the unbroken play
    provider = Numbered(sum(b'"text"' in line and b"Reply" in line for line in lines[:kept]))
    again, counted, heard = asyncio.run(play(provider, path))
    assert len(provider.requests) == CALLS - kept
    assert again == answers
    without_seconds = [{**role, "seconds": 0} for role in counted.values()]
    assert without_seconds == [{**role, "seconds": 0} for role in ledger.values()]
    records = [json.loads(line) | {"seconds": 0} for line in path.read_bytes().splitlines()]
    assert records == [json.loads(line) | {"seconds": 0} for line in lines]
    assert sum(replayed for _, replayed in heard.calls) == min(kept, CALLS - 1)


def test_a_reply_is_in_the_file_before_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "j"

    class Reading(Reply):
        """Looks into the journal when its reply is read."""

        def parse(self, reply: str | None) -> Any:
            found.append(json.loads(path.read_bytes())["text"])
            return super().parse(reply)

    found: list[str] = []

    async def call() -> None:
        line = Line(Journal(path), PROMPTS)
        await line.model(Door(Scripted(), 1), "assistant").ask(Reading(Context()))
        line.journal.close()

    asyncio.run(call())
    assert found == ["Very well."]


def test_a_request_that_differs_anywhere_is_another_request() -> None:
    tasks: list[Task[Any]] = [
        reply_to("a"),
        reply_to("b"),
        reply_to("a\ud800"),
        reply_to("a\udfff"),
        reply_to("a?"),
        Reply(Context(("a",), reply_to("a").context.conversation)),
        Reply(Context((), (Message("assistant", "a"),))),
        Reply(Context((), (Message("user", "a"), Message("user", "")))),
        Reply(Context((), (Message("user", ""), Message("user", "a")))),
        question("a"),
        knowing("a"),
        facts_of("a"),
    ]
    assert len({digest(task, task.messages(PROMPTS)) for task in tasks}) == len(tasks)
    same = question("a", ("b",)), question("a", ("b",))
    assert len({digest(task, task.messages(PROMPTS)) for task in same}) == 1


def test_another_kind_of_task_with_the_same_words_is_another_request() -> None:
    class Echo(Reply):
        name = "echo"

    words = reply_to("a").messages(PROMPTS)
    assert digest(reply_to("a"), words) != digest(Echo(Context()), words)


# ---- the ledger


def test_statuses_are_counted_and_the_unreadable_told() -> None:
    replies = ['{"answer": 1}', '{"answer": 2}', "Option 2", "Option 1 or 2", "Neither, really", "", "<think>2</think>"]

    async def call() -> Any:
        script = iter(replies)
        line = Line(Journal(None), PROMPTS)
        model = line.model(Door(Scripted(lambda request: next(script)), 1), "assistant")
        answers = []
        for number in range(len(replies)):
            with at(question_name(0, number), "exam", LABELS):
                answers.append(await model.ask(question()))
        return answers, line.ledger

    answers, ledger = asyncio.run(call())
    expected = [Status.OK, Status.OK, Status.REPAIRED, Status.AMBIGUOUS, Status.INVALID, Status.EMPTY, Status.EMPTY]
    assert [answer.status for answer in answers] == expected
    assert [answer.value for answer in answers] == [1, 2, 2, None, None, None, None]
    assert [answer.text for answer in answers] == replies
    assert ledger["exam"].statuses == {"ok": 2, "repaired": 1, "ambiguous": 1, "invalid": 1, "empty": 2}
    counts = ledger["exam"].as_dict()
    assert counts.pop("seconds") >= 0
    assert counts == {
        "calls": 7,
        "input": 70,
        "cached": None,
        "cached_calls": 0,
        "output": 14,
        "reasoning": None,
        "reasoning_calls": 0,
        "estimated": 0,
        "unreadable": {"ambiguous": 1, "empty": 2, "invalid": 1},
    }


def test_estimated_usage_is_counted_apart() -> None:
    class Silent(Scripted):
        async def complete(self, request: Request) -> Completion:
            self.requests.append(request)
            return Completion("Yes.", Usage(5, 1, estimated=len(self.requests) > 1))

    async def call() -> Any:
        line = Line(Journal(None), PROMPTS)
        model = line.model(Door(Silent(), 1), "assistant")
        for _ in range(3):
            await model.ask(reply_to())
        return line.ledger["assistant"]

    count = asyncio.run(call())
    assert (count.calls, count.input, count.output, count.estimated) == (3, 15, 3, 2)


@pytest.mark.parametrize(
    ("role", "in_exam", "counted"),
    [
        ("assistant", False, "assistant"),
        ("assistant", True, "exam"),
        ("memory", False, "memory write"),
        ("memory", True, "memory write"),
        ("user", False, "user"),
        ("upper bound", True, "upper bound"),
    ],
)
def test_an_exams_calls_are_counted_apart(role: str, in_exam: bool, counted: str, tmp_path: Path) -> None:
    async def call() -> Line:
        line = Line(Journal(tmp_path / "j"), PROMPTS)
        with at("p0/x", "exam" if in_exam else None, LABELS if in_exam else None):
            await line.model(Door(Scripted(), 1), role).ask(question())
        line.journal.close()
        return line

    assert list(asyncio.run(call()).ledger) == [counted]
    record = json.loads((tmp_path / "j").read_bytes())
    assert (record["at"], record["role"]) == ("p0/x", counted)


# ---- slots


@pytest.mark.parametrize("slots", [1, 3, 10])
def test_as_many_calls_under_way_as_slots(slots: int) -> None:
    async def call() -> None:
        gate, limiter = Gate(), Limiter(Limits(slots))
        doors = Door(gate, limiter), Door(gate, limiter)  # two models of one endpoint share its places
        calls = [asyncio.ensure_future(doors[n % 2].complete(request_for())) for n in range(10)]
        await settle()
        assert gate.waiting == slots
        gate.open.set()
        await asyncio.gather(*calls)
        assert (gate.most, gate.asked, limiter.under_way) == (slots, 10, 0)

    asyncio.run(call())


def test_a_call_that_waits_holds_no_slot(sleeps: list[float]) -> None:
    order: list[str] = []

    def answer(request: Request) -> str:
        order.append(request.messages[-1].content)
        if order == ["first"]:
            raise EndpointUnavailable("Later.", retry_after=60)
        return "Very well."

    async def call() -> None:
        door = Door(Scripted(answer), 1)
        await asyncio.gather(*(door.complete(request_for(reply_to(text))) for text in ("first", "second")))

    asyncio.run(call())
    assert order == ["first", "second", "first"]
    assert sleeps == [60]


def test_a_cancelled_call_gives_its_slot_back() -> None:
    async def call() -> None:
        gate, heard = Gate(), Heard()
        limiter = Limiter(Limits(1))
        door = Door(gate, limiter, watcher=heard)
        first = asyncio.ensure_future(door.complete(request_for()))
        await settle()
        assert gate.waiting == 1 and limiter.under_way == 1
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert limiter.under_way == 0
        gate.open.set()
        assert (await door.complete(request_for())).text == "Very well."
        assert (gate.asked, heard.retries) == (2, [])

    asyncio.run(call())
