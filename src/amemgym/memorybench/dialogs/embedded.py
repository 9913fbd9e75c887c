"""Values that a column holds as text: JSON, or what Python prints of lists and dicts.

The text is somebody else's, so nothing is evaluated: it must consist of the signs of literals alone (no name, no
call, no arithmetic), of so many that they cost little, and is then read by `ast.literal_eval`, which makes literals
only.
"""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from typing import Any

#: signs of a Python literal: texts, numbers, words, brackets, commas; a dialog has some ten a message
MOST_SIGNS = 100_000
#: brackets inside each other
DEEPEST = 50

_SIGN = re.compile(
    r"""\s*+(?:
    (?P<open>[\[{(])|(?P<close>[\]})])|[,:]
    |(?P<text>[uU]?(?:'(?:[^'\\\n]++|\\(?s:.))*+'|"(?:[^"\\\n]++|\\(?s:.))*+"))
    |(?P<number>-?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)
    |(?P<word>True|False|None)\b
    |(?P<none>-?(?:nan|inf)\b)
    )""",
    re.VERBOSE,
)
_NEITHER = "it is neither JSON nor a Python literal"


def read_embedded(text: str) -> Any:
    """The value that a text holds; NaN and infinity, which no record means, become None.

    Raises ValueError, of one phrase, where it is neither JSON nor a literal.
    """
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)
    except (ValueError, RecursionError):
        pass
    signs = _signs(text.rstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\d' in somebody's text is no warning of ours
            return ast.literal_eval(" ".join(signs))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError(_NEITHER) from None


def _finite(number: str) -> float | None:
    return value if math.isfinite(value := float(number)) else None


def _signs(text: str) -> list[str]:
    """The signs of a literal that a text consists of, with None for what is no number. Raises ValueError."""
    signs: list[str] = []
    at = depth = 0
    while at < len(text):
        if (match := _SIGN.match(text, at)) is None:
            raise ValueError(_NEITHER)
        kind, sign, at = match.lastgroup, match[0].lstrip(), match.end()
        depth += (kind == "open") - (kind == "close")
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        is_none = kind == "none" or (kind == "number" and not sign.lstrip("-").isdigit() and _finite(sign) is None)
        signs.append("None" if is_none else sign)
        if len(signs) > MOST_SIGNS:
            raise ValueError(f"it has more than {MOST_SIGNS} parts and is not JSON")
    return signs
