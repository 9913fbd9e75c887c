"""Values that a column holds as text: JSON, or what Python prints of lists and dicts.

The text is somebody else's, so nothing is evaluated: it must consist of the signs of literals alone (no name, no
call, no arithmetic), be of bounded length and depth, and is then read by `ast.literal_eval`, which makes literals only.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

#: characters of a text that is read as a Python literal; ten times what the longest published dialogs have
LONGEST = 4_000_000
#: brackets inside each other
DEEPEST = 50

_TOKEN = re.compile(
    r"""
    (?P<space>\s++)
    |(?P<open>[\[{(])
    |(?P<close>[\]})])
    |(?P<sign>[,:])
    |(?P<text>[uU]?(?:'(?:[^'\\\n]++|\\(?s:.))*+'|"(?:[^"\\\n]++|\\(?s:.))*+"))
    |(?P<number>-?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?)
    |(?P<word>True|False|None|-?nan|-?inf)\b
    """,
    re.VERBOSE,
)


def read_embedded(text: str) -> Any:
    """The value that a text holds; NaN and infinity, which no record means, become None.

    Raises ValueError, of one phrase, where it is neither JSON nor a literal.
    """
    try:
        return json.loads(text, parse_constant=_none)
    except (ValueError, RecursionError):
        pass
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST} characters and is not JSON")
    literal = _literal(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\d' in somebody's text is no warning of ours
            return ast.literal_eval(literal)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError("it is neither JSON nor a Python literal") from None


def _none(_: str) -> None:
    return None


def _literal(text: str) -> str:
    """The text, if it has the signs of a literal alone, with None for what is no number. Raises ValueError."""
    parts: list[str] = []
    at = depth = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError("it is neither JSON nor a Python literal")
        kind, sign = match.lastgroup, match[0]
        if kind == "open":
            depth += 1
            if depth > DEEPEST:
                raise ValueError(f"it is nested more than {DEEPEST} deep")
        elif kind == "close":
            depth -= 1
        elif kind == "space":
            sign = " "  # a line end outside of brackets, or an indent, would be another statement
        elif kind == "word" and sign not in ("True", "False", "None"):
            sign = "None"
        parts.append(sign)
        at = match.end()
    return "".join(parts).strip()
