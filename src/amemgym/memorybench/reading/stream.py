"""The elements of a large JSON file one by one, so that none but the one at hand is in memory.

The file is a JSON array, or JSON lines. The standard decoder is asked for one value at a time in a piece of the text; a
value that the piece ends in gets a piece twice as long, so that even one huge value is read in linear time. What Python
writes for missing numbers (NaN, Infinity), which strict readers refuse, is None.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from amemgym.errors import DataError

CHUNK = 1 << 16
_SPACE = re.compile(r"[ \t\n\r]*")
#: an error so near to the end of a piece may be of a word or an escape that goes on: -Infinity, \ud83d\ude00
_NEAR = 32


def none(_: str) -> None:
    """What a constant that is no number of JSON is read as."""


def read_json(path: Path, place: str) -> Any:
    """A whole JSON file, NaN and Infinity as None. Raises DataError that names it where it is damaged."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"), parse_constant=none)
    except UnicodeDecodeError as error:
        raise DataError(f"{place} is damaged: it is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise DataError(f"{place} is damaged: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, thousands of brackets
        raise DataError(f"{place} cannot be read as JSON ({type(error).__name__})") from error
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror or error}") from error


def stream(path: Path, place: str, chunk: int = CHUNK) -> Iterator[Any]:
    """The elements of the array, or the values of the lines; `chunk` is how much is read at a time, in bytes.

    Raises DataError with the number of the element (from 0) where the file is damaged, after those before it.
    """
    try:
        with path.open("rb") as file:
            yield from _Reader(file, place, chunk).elements()
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror or error}") from error


class _Reader:
    def __init__(self, file: BinaryIO, place: str, chunk: int) -> None:
        self._file, self._place, self._chunk = file, place, chunk
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._value = json.JSONDecoder(parse_constant=none).raw_decode
        self._text, self._at, self._number = "", 0, 0
        self._is_all, self._fault = False, ""

    def elements(self) -> Iterator[Any]:
        self._skip_space()
        is_array = self._sign() == "["
        if is_array:
            self._at += 1
            self._skip_space()
            if self._sign() == "]":
                self._at += 1
                return self._end()
        elif not self._sign():
            raise self._damage("it is empty")
        while True:
            yield self._next()
            self._number += 1
            self._skip_space()
            sign = self._sign()
            if not is_array:
                if not sign:
                    return self._end()
                continue
            if sign not in (",", "]"):
                raise self._damage("',' or ']' should follow" if sign else "it ends in the middle")
            self._at += 1
            if sign == "]":
                self._skip_space()
                return self._end()
            self._skip_space()

    def _next(self) -> Any:
        """The value that begins here."""
        while True:
            try:
                value, end = self._value(self._text, self._at)
            except json.JSONDecodeError as error:
                is_cut = error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR
                if not is_cut or not self._read_more():
                    ends = "it ends in the middle; " if error.pos >= len(self._text) else ""
                    raise self._damage(f"{ends}{error.msg}") from None
            except (ValueError, RecursionError) as error:
                raise self._damage(f"{type(error).__name__}: a value that is too long or too deep") from None
            else:
                # a number may go on in what is not read yet
                if end < len(self._text) - _NEAR or not self._read_more():
                    self._at = end
                    return value

    def _skip_space(self) -> None:
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text) or not self._read_more():
                return

    def _sign(self) -> str:
        return self._text[self._at : self._at + 1]

    def _read_more(self) -> bool:
        """Drop what was used, and take as much again as is left; False at the end of the file."""
        if self._is_all:
            return False
        rest = self._text[self._at :]
        data = self._file.read(max(self._chunk, len(rest)))
        try:
            added = self._decode.decode(data, final=not data)
        except UnicodeDecodeError as error:
            good = error.object[: error.start].decode("utf-8", "ignore")
            added, data = good, b""
            self._fault = "it is not UTF-8"
        self._is_all = not data
        if self._is_all and not added:
            return False
        self._text, self._at = rest + added, 0
        return True

    def _end(self) -> None:
        self._skip_space()
        if self._sign() or self._fault:
            raise self._damage("more follows after the end of the array")

    def _damage(self, what: str) -> DataError:
        return DataError(f"{self._place} is damaged at element {self._number}: {self._fault or what}")
