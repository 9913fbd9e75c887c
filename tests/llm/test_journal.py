"""The journal: what was kept comes back, whatever happened to the file's end.

Promised: every outcome is in the file before it is used; a line that a kill cut off is ignored and overwritten; the
same request twice at one place has two outcomes; an error is kept only where the same request would end the same way
(a full context, and everything in an exam); a full disk is one sentence with a way out.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import (
    AuthenticationFailed,
    BadRequest,
    ContentFiltered,
    ContextOverflow,
    EndpointUnavailable,
    ModelError,
    NotAnEndpoint,
    QuotaExhausted,
)
from amemgym.llm import Completion, Door, Journal, Line, Request, Usage, at
from amemgym.llm.journal import Address, Entry
from tests.llm.helpers import PROMPTS, question, reply_to
from tests.support.models import Scripted

HERE = Address("p0/s0/r0", "assistant", "0123456789abcdef")
THERE = Address("p0/q1", "exam", "fedcba9876543210")


def said(text: str, seconds: float = 0.25) -> Entry:
    return Entry(Completion(text, Usage(12, 3), "stop", seconds))


def write(path: Path, *outcomes: tuple[Address, Entry]) -> None:
    journal = Journal(path)
    for address, entry in outcomes:
        journal.append(address, entry)
    journal.close()


OUTCOMES = [
    (HERE, said("First.")),
    (HERE, said("Second, to the same request.\n\tTwo lines.")),
    (THERE, Entry(Completion("", Usage(0, 0, estimated=True), "length", 0.0))),
    (THERE, Entry(error=("context_overflow", "It does not fit."))),
    (Address("p1/q0", "exam", "a"), Entry(error=("no_content", "Nothing."))),
    (Address("p1/q1", "exam", "a"), Entry(error=("content_filter", "Stopped — “so”."))),
]


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "yet.jsonl"
    write(path, *OUTCOMES)
    journal = Journal(path)
    assert [journal.take(address) for address, _ in OUTCOMES] == [entry for _, entry in OUTCOMES]
    assert [journal.take(address) for address, _ in OUTCOMES] == [None] * len(OUTCOMES)


def test_taking_changes_no_file(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, *OUTCOMES)
    before = path.read_bytes()
    journal = Journal(path)
    for address, _ in OUTCOMES:
        journal.take(address)
    journal.close()
    assert path.read_bytes() == before


def test_it_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    for number, (address, entry) in enumerate(OUTCOMES, start=1):
        journal.append(address, entry)
        assert len((tmp_path / "j").read_bytes().splitlines()) == number
    assert Journal(tmp_path / "j").take(THERE) == OUTCOMES[2][1]
    journal.close()


def test_a_reply_is_given_once_to_the_play_that_made_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    assert journal.append(HERE, said("First.")) == said("First.")
    assert journal.take(HERE) is None
    journal.close()


def test_the_same_request_twice_at_one_place(tmp_path: Path) -> None:
    write(tmp_path / "j", (HERE, said("First.")), (HERE, said("Second.")))
    journal = Journal(tmp_path / "j")
    assert journal.take(HERE) == said("First.")
    assert journal.take(HERE) == said("Second.")
    assert journal.take(HERE) is None
    journal.append(HERE, said("Third."))
    journal.close()
    again = Journal(tmp_path / "j")
    assert [again.take(HERE) for _ in range(4)] == [said("First."), said("Second."), said("Third."), None]


@pytest.mark.parametrize(
    "other",
    [
        Address("p0/s0/r1", HERE.role, HERE.request),
        Address(HERE.place, "user", HERE.request),
        Address(HERE.place, HERE.role, "0123456789abcdee"),
        Address("p0/s0", "r0assistant", HERE.request),
    ],
    ids=["place", "role", "request", "run together"],
)
def test_another_call_is_another_address(other: Address, tmp_path: Path) -> None:
    write(tmp_path / "j", (HERE, said("Mine.")))
    journal = Journal(tmp_path / "j")
    assert journal.take(other) is None
    assert journal.take(HERE) == said("Mine.")


def test_without_a_path_it_is_in_memory_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    journal = Journal(None)
    kept = journal.append(HERE, said("First."))
    journal.close()
    assert kept == said("First.")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_journal_goes_on_where_it_was(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    journal.append(HERE, said("First."))
    journal.close()
    journal.close()
    journal.append(HERE, said("Second."))
    journal.close()
    again = Journal(tmp_path / "j")
    assert [again.take(HERE), again.take(HERE)] == [said("First."), said("Second.")]


ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs", "Cc", "Zl", "Zp"]))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT, ANY_TEXT, st.integers(0, 2**53), st.booleans()), min_size=1, max_size=4))
def test_any_text_comes_back(records: list[tuple[str, str, str, int, bool]]) -> None:
    outcomes = [
        (Address(place, role, "r"), Entry(Completion(text, Usage(count, 1, estimated), "stop", 0.5)))
        for place, role, text, count, estimated in records
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        write(path, *outcomes)
        assert path.read_bytes().isascii()
        assert len(path.read_bytes().splitlines()) == len(outcomes)
        journal = Journal(path)
        assert [journal.take(address) for address, _ in outcomes] == [entry for _, entry in outcomes]


# ---- the end of the file


def cuts() -> tuple[bytes, int]:
    """The journal of three outcomes, and where the third begins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        write(path, *OUTCOMES[:3])
        data = path.read_bytes()
    return data, data.rindex(b"\n", 0, -1) + 1


def test_a_line_torn_at_any_byte_is_ignored_and_overwritten(tmp_path: Path) -> None:
    data, start = cuts()
    assert len(data) - start > 100
    for cut in range(start, len(data)):
        path = tmp_path / f"{cut}"
        path.write_bytes(data[:cut])
        journal = Journal(path)
        assert [journal.take(address) for address, _ in OUTCOMES[:2]] == [entry for _, entry in OUTCOMES[:2]], cut
        assert journal.take(THERE) is None, cut
        journal.append(*OUTCOMES[2])
        journal.close()
        assert path.read_bytes() == data, cut


GARBAGE = {
    "zeros, as after a power cut": b"\0" * 300,
    "text": b"Segmentation fault\n",
    "a blank line": b"\n",
    "a list": b"[1, 2]\n",
    "null": b"null\n",
    "a number": b"7\n",
    "an object": b'{"at": "p0/s0/r0"}\n',
    "no outcome": b'{"at": "p0/s0/r0", "role": "assistant", "request": "0123456789abcdef"}\n',
    "an outcome of nulls": b'{"at": "a", "role": "b", "request": "c", "text": "t", "finish": null, "input": null}\n',
    "a list for a place": b'{"at": [], "role": "b", "request": "c", "error": ["a", "b"]}\n',
    "half an error": b'{"at": "a", "role": "b", "request": "c", "error": ["a"]}\n',
    "endless numbers": b'{"at": "a", "role": "b", "request": "c", "text": "t", "finish": "stop", "input": Infinity,'
    b' "output": 1, "estimated": false, "seconds": 0}\n',
    "bytes": b"\xff\xfe\x00\xd8\n",
    "a carriage return": b'{"at": "a",\r\n',
    "brackets": b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_at_the_end_is_no_outcome(name: str, tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, (HERE, said("First.")))
    whole = path.read_bytes()
    path.write_bytes(whole + GARBAGE[name])
    journal = Journal(path)
    assert journal.take(HERE) == said("First.")
    assert journal.take(HERE) is None
    journal.append(HERE, said("Second."))
    journal.close()
    assert path.read_bytes().startswith(whole)
    again = Journal(path)
    assert [again.take(HERE), again.take(HERE), again.take(HERE)] == [said("First."), said("Second."), None]


def test_a_damaged_line_costs_its_own_reply_alone(tmp_path: Path) -> None:
    path = tmp_path / "j"
    write(path, (HERE, said("First.")), (HERE, said("Lost.")), (THERE, said("Third.")))
    first, lost, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + lost[: len(lost) // 2] + b"\n" + third)
    journal = Journal(path)
    assert journal.take(HERE) == said("First.")
    assert journal.take(HERE) is None
    assert journal.take(THERE) == said("Third.")


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"not a journal at all"])
def test_a_file_without_any_outcome(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "j"
    path.write_bytes(data)
    journal = Journal(path)
    assert journal.take(HERE) is None
    journal.append(HERE, said("First."))
    journal.close()
    assert Journal(path).take(HERE) == said("First.")


# ---- which errors are kept

KEPT_IN: dict[type[ModelError], tuple[bool, bool]] = {
    # in a conversation, in an exam
    ContextOverflow: (True, True),
    ContentFiltered: (False, True),
    EndpointUnavailable: (False, False),
    AuthenticationFailed: (False, False),
    QuotaExhausted: (False, False),
    BadRequest: (False, False),
    NotAnEndpoint: (False, False),
    ModelError: (False, False),
}


@pytest.mark.parametrize("in_exam", [False, True], ids=["conversation", "exam"])
@pytest.mark.parametrize("kind", KEPT_IN, ids=lambda kind: kind.__name__)
def test_which_errors_are_kept(kind: type[ModelError], in_exam: bool, tmp_path: Path) -> None:
    path = tmp_path / "j"
    labels = ({"travel": "bicycle"}, {"travel": "bus"}) if in_exam else None

    def fail(request: Request) -> str:
        raise kind("It went wrong.")

    async def play(provider: Scripted) -> None:
        line = Line(Journal(path), PROMPTS)
        model = line.model(Door(provider, 1, attempts=1), "assistant")
        try:
            with at("p0/x", "exam" if in_exam else None, labels):
                await model.ask(question() if in_exam else reply_to())
        finally:
            line.journal.close()

    async def outcome(provider: Scripted) -> ModelError | None:
        try:
            await play(provider)
        except ModelError as error:
            return error
        return None

    first = asyncio.run(outcome(Scripted(fail)))
    assert type(first) is kind
    assert path.exists() == KEPT_IN[kind][in_exam]
    later = Scripted()
    second = asyncio.run(outcome(later))
    if KEPT_IN[kind][in_exam]:
        assert later.requests == []
        assert type(second) is kind and str(second) == str(first) == "It went wrong."
    else:
        assert len(later.requests) == 1
        assert second is None
