"""What a number is in somebody's results, in one place.

Results are written by many hands: a metric may be a number, true or false, null, NaN, or a numpy number that was
written as text. What is no number is missing, and missing is never 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

#: how numpy numbers look as text: np.float64(0.5), numpy.int32(3), np.True_
_NUMPY = re.compile(r"(?:np|numpy)\.(?:[a-z]+[0-9]*|bool_?)\((.*)\)|(?:np|numpy)\.(True|False)_")
_WORDS = {"true": 1.0, "false": 0.0}
#: above it, floats are no longer every whole number
_MOST = 2**53


def number(value: Any) -> float | None:
    """The value as a finite float: true is 1, false 0, a numpy number (also as text) its value.

    None where there is none: null, NaN, infinity, any other text, a list.
    """
    if isinstance(value, str):
        return _of_text(value.strip())
    if value is None or isinstance(value, list | tuple | dict):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _of_text(text: str) -> float | None:
    if match := _NUMPY.fullmatch(text):
        text = match[1] if match[1] is not None else match[2]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if "_" in text or len(text) > 64:  # float() takes 1_000 for a number
        return None
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def count(value: Any) -> int | None:
    """The value as a whole number, not negative and at most 2**53; None where it is none."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= _MOST and found == int(found) else None


def total(values: Iterable[float]) -> float | None:
    """The sum, rounded once; None where it is no finite number."""
    try:
        return number(math.fsum(values))
    except (OverflowError, ValueError):
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}
