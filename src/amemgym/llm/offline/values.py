"""What the names of values say by their words: numbers and ranges, weights, and how they stand in a record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from amemgym.llm.words import STOP, stem, words_of

F64 = NDArray[np.float64]

NOWHERE = (0.5, 0.5)  # the range of a value without numbers
_COUNTED = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {w: i for i, w in enumerate(_COUNTED, 1)} | {"dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30}
_AT_MOST = re.compile(r"\b(?:under|less|up to|below|within|max|fewer|until)|<")
_AT_LEAST = re.compile(r"\b(?:plus|over|more|above|min|at least)\b|[+>]")


def numbers_in(words: Sequence[str]) -> list[int]:
    """The whole numbers among the words, written out up to a dozen and then some."""
    return [_NUMBERS[w] if w in _NUMBERS else int(w) for w in words if w in _NUMBERS or (w.isdecimal() and len(w) < 10)]


def range_of(value: str) -> tuple[float, float]:
    """The numbers a value stands for: 6_12 is 6 to 12, under_30 up to 30, 70_plus from 70."""
    text = value.lower().replace("_", " ")
    if not (numbers := numbers_in(words_of(text))):
        return NOWHERE
    low = -np.inf if len(numbers) == 1 and _AT_MOST.search(text) else min(numbers)
    return low, np.inf if len(numbers) == 1 and _AT_LEAST.search(text) else max(numbers)


@lru_cache(maxsize=4096)
def literal(variable: str, values: tuple[str, ...]) -> re.Pattern[str]:
    """``variable: value`` with any of the values, the longest that fits; group v<i> names which."""
    loose = [r"[_\s-]+".join(map(re.escape, re.split(r"[_\s]+", name.strip()))) for name in (variable, *values)]
    longest = sorted((i for i, v in enumerate(values) if v.strip()), key=lambda i: (-len(values[i]), i))
    names = "|".join(f"(?P<v{i}>{loose[i + 1]})" for i in longest)
    link = r"[\"'`*]*\s*(?:[:=|\-–—→]+>?|is now|is|are|was|now)?\s*[\"'`*]*"
    return re.compile(rf"(?<!\w){loose[0]}{link}(?:{names or '(?!)'})(?!\w|[.,]\d)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def value_words(values: tuple[str, ...]) -> tuple[tuple[str, ...], F64]:
    """The values' different words, and (values, words) weights: less for function words and shared words."""
    worded = [dict(zip(map(stem, words), words, strict=True)) for words in map(words_of, values)]
    first = {root: word for words in worded for root, word in words.items()} or {" ": " "}
    has = np.array([[root in words for root in first] for words in worded], dtype=np.float64)
    weights = has * (1 + 1 / len(values) - has.mean(0)) * [0.15 if w in STOP else 1.0 for w in first.values()]
    return tuple(first.values()), weights
