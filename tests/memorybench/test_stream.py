"""A large JSON file is read element by element: the first is there whatever the end is like."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import DataError
from amemgym.memorybench.reading.stream import read_json, stream

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream") / "values.json"


@settings(max_examples=60)
@given(
    st.lists(VALUES, max_size=6), st.sampled_from([1, 2, 7, 40, 1 << 16]), st.sampled_from([None, 0, 3]), st.booleans()
)
def test_any_array_comes_back_whatever_the_size_of_the_pieces(
    file: Path, values: list[Any], chunk: int, indent: int | None, is_ascii: bool
) -> None:
    file.write_bytes(json.dumps(values, indent=indent, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass"))
    if not is_ascii and any("\ud800" <= sign <= "\udfff" for sign in json.dumps(values, ensure_ascii=False)):
        return  # half characters, which no UTF-8 file has
    assert list(stream(file, "f", chunk)) == values == read_json(file, "f")


@settings(max_examples=30)
@given(st.lists(st.dictionaries(st.text(), _LEAVES), min_size=1, max_size=5), st.sampled_from([1, 5, 1 << 16]))
def test_json_lines_come_back_too(file: Path, values: list[Any], chunk: int) -> None:
    file.write_text("".join(json.dumps(value) + "\r\n" for value in values), encoding="utf-8", newline="")
    assert list(stream(file, "f", chunk)) == values


@settings(max_examples=60)
@given(st.lists(_LEAVES, min_size=2, max_size=5), st.data(), st.sampled_from([1, 9, 1 << 16]))
def test_of_a_cut_array_the_whole_elements_come_and_then_an_error(
    file: Path, values: list[Any], data: st.DataObject, chunk: int
) -> None:
    text = json.dumps(values)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    file.write_text(cut, encoding="utf-8")
    found = []
    with pytest.raises(DataError, match=r"^f is damaged at element \d+: "):
        for value in stream(file, "f", chunk):
            found.append(value)
    # a number that is cut is shorter, and nobody can know
    assert [repr(value) for value in found[:-1]] == [repr(value) for value in values[: max(len(found) - 1, 0)]]


@pytest.mark.parametrize("chunk", [1, 8, 1 << 16])
@pytest.mark.parametrize(
    ("text", "good", "said"),
    [
        (b'[{"a": 1}, {"a": }, {"a": 3}]', 1, "element 1: Expecting value"),
        (b'[{"a": 1} {"a": 2}]', 1, "element 1: ',' or ']'"),
        (b"[1, 2, ]", 2, "element 2: Expecting value"),
        (b"[1, 2], 3", 2, "more follows"),
        (b"[1, 2", 2, "ends in the middle"),
        (b'[1, "ab', 1, "element 1: .*nterminated string"),
        (b'[1, "a\xffb"]', 1, "element 1: it is not UTF-8"),
        (b"[1, 2]\xff", 2, "element 2: it is not UTF-8"),
        (b"", 0, "it is empty"),
        (b"  \n", 0, "it is empty"),
        (b'{"a": 1}\nnonsense\n{"a": 2}', 1, "element 1: Expecting value"),
        (b"[1, " + b"9" * 5000 + b"]", 1, "element 1: ValueError"),
    ],
)
def test_a_damaged_file_gives_what_is_before_the_damage(
    tmp_path: Path, text: bytes, good: int, said: str, chunk: int
) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(text)
    found = []
    with pytest.raises(DataError, match=said):
        for value in stream(path, "f", chunk):
            found.append(value)
    assert len(found) == good


def test_a_value_too_deep_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b"[1, " + b"[" * 200_000)
    elements = stream(path, "f")
    assert next(elements) == 1
    with pytest.raises(DataError, match="f is damaged at element 1"):
        next(elements)


def test_what_python_writes_for_missing_numbers_is_none(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps([math.nan, {"a": -math.inf}, [math.inf]]), encoding="utf-8")
    assert list(stream(path, "f")) == [None, {"a": None}, [None]] == read_json(path, "f")


def test_the_first_element_needs_no_more_than_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b'\xef\xbb\xbf[{"a": 1}, ' + b"\xff garbage" * 100_000)
    assert next(stream(path, "f")) == {"a": 1}


def test_one_huge_element_is_asked_for_a_few_times_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that its time grows with its length and not with the square: the piece grows twofold, not by a bit."""
    path = tmp_path / "f.json"
    path.write_text(json.dumps(["x" * 1_000_000, 2]), encoding="utf-8")
    asked = []
    decoder = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, text: str, at: int = 0) -> Any:
        asked.append(len(text))
        return decoder(self, text, at)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert len(list(stream(path, "f", chunk=64))) == 2
    assert sum(asked) < 5 * 1_000_000


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"{", "damaged: .* line 1, column 2"), (b"\xff", "not UTF-8 at byte 0"), (b"9" * 5000, "cannot be read as JSON")],
)
def test_a_whole_file_that_is_damaged_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"^f .*{said}"):
        read_json(path, "f")
