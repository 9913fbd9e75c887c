"""The words of a text, and what the names of values say by theirs: stems, numbers and ranges, weights.

Function words count little, and so do words that several values of a variable share. Scripts without blanks are cut
into their signs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

STOP = frozenset(
    re.findall(
        r"\w+",
        """
    a an the and or but if of to in on at for from with by as is are was were be been being am do does did doing
    have has had having i me my mine we us our ours you your yours he him his she her hers it its they them their
    theirs this that these those there here what which who whom whose when where why how can could would should will
    shall may might must nor so than too very just also some any each other such own same s t d ll m re ve don now
    about into again further then once above below between through because until while""",
    )
)
_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_SUFFIX = re.compile(r"(?<=\w{3})(?:ings?|ies|ied|ers?|est|e[ds]?|ly|s|y)$")
NOWHERE = (0.5, 0.5)  # the range of a value without numbers
_COUNTED = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_NUMBERS = {w: i for i, w in enumerate(_COUNTED, 1)} | {"dozen": 12, "fifteen": 15, "twenty": 20, "thirty": 30}
_AT_MOST = re.compile(r"\b(?:under|less|up to|below|within|max|fewer|until)|<")
_AT_LEAST = re.compile(r"\b(?:plus|over|more|above|min|at least)\b|[+>]")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without an English ending."""
    return _SUFFIX.sub("", word)


def words_of(text: str) -> list[str]:
    """The words in order, in lower case; what joins the words of a name (`small_3_5`) parts them."""
    return [w[:40] for w in _WORD.findall(text.lower())]


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
