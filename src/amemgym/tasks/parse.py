"""Reading what a language model wrote: the only place where model text becomes a value.

A reader takes any text, or none, never raises, and gives a value with a status: *ok* for the form asked for,
*repaired* for another form of the same; *ambiguous* or *invalid*, without a value, for what only a guess
could read; *empty* for no text. JSON comes first, prose only where there is no JSON answer. Time is linear.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Status(StrEnum):
    """How a reply was read; only OK and REPAIRED come with a value."""

    OK = "ok"
    REPAIRED = "repaired"
    AMBIGUOUS = "ambiguous"
    INVALID = "invalid"
    EMPTY = "empty"


@dataclass(frozen=True)
class Parsed(Generic[T]):
    """A value read from a reply."""

    value: T | None
    status: Status


_NAMES = r"(?:think|thinking|reasoning)\s*>"
_TAG = re.compile(rf"<\s*(/?)\s*{_NAMES}", re.I)
_LEAD = re.compile(rf"\A(?:\s*<\s*{_NAMES}.*?<\s*/\s*{_NAMES})*+\s*", re.I | re.S)
_FENCED = re.compile(r"(`{3,}|~{3,})(?![`~])(?:[\w+.#-]*+[ \t]*+\n)?((?:(?!\1).)*+)\1", re.S)


def strip_reasoning(text: str) -> str:
    """The reply without reasoning; a lone closing tag ends it, a lone opening tag begins what never ended."""
    first, *rest = _TAG.split(text)
    answer = _LEAD.sub("", text, count=1)
    if rest and answer.startswith("{") and _decode(_STRICT, answer) is not None:
        return answer  # a tag inside a string of the answer is data
    kept, thinking = [first], False
    for closing, piece in zip(rest[::2], rest[1::2], strict=True):
        kept = kept if thinking or not closing else []
        kept += [piece] if closing else []
        thinking = not closing
    return " ".join(filter(None, kept))  # a space, or 1<think>…</think>2 would become 12


def visible(reply: str | None) -> str:
    """The reply itself: no reasoning, no surrounding whitespace, no fence around the whole of it."""
    text = strip_reasoning(reply or "").strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[2].strip() if fenced else text


def parse_text(reply: str | None) -> Parsed[str]:
    """A free-text reply."""
    return Parsed(text, Status.OK) if (text := visible(reply)) else Parsed(None, Status.EMPTY)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a key appears twice")
    return found


# Lenient: raw line breaks in strings, the last of equal keys, NaN and Infinity (which are not JSON) as null.
_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=int)  # int refuses their names
_LENIENT = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
# An object is empty or starts with a quoted key, so braces in prose cost nothing and hide nothing.
_STRINGS = r""""(?:[^"\\]++|\\.)*+{0}|'(?:[^'\\]++|\\.)*+{1}|“[^“”]*+{2}"""
_OPEN = re.compile(r"\{(?=\s*(?:\}|(?:" + _STRINGS.format('"', "'", "”") + r")\s*:))", re.S)
# A string without an end takes all that follows, so that it is passed over once.
_TOKEN = re.compile(_STRINGS.format('"?', "'?", "”?") + r"|//[^\n]*|,(?=\s*[}\]])|[{}\[\]]|[A-Za-z_]+", re.S)
_TURNED = {"True": "true", "False": "false", "None": "null", r"\'": "'", '"': r"\""}
_Found = tuple[dict[str, Any] | None, bool, str]  # value (None if unreadable), whether mended, source


def _decode(decoder: json.JSONDecoder, text: str) -> Any:
    """The JSON value, or None; too deep and too many digits count as unreadable."""
    try:
        return decoder.decode(text)
    except (ValueError, RecursionError, MemoryError):
        return None


def _mend(token: str) -> str:
    """One token as JSON: quotes and Python's literals turned, trailing commas and comments dropped."""
    if token[0] in "\"'“":
        return '"' + re.sub(r"\\.|\"", lambda m: _TURNED.get(m[0], m[0]), token[1:-1], flags=re.S) + '"'
    return "" if token[0] in ",/" else _TURNED.get(token, token)


def scan(text: str) -> tuple[list[_Found], str]:
    """The outermost objects in order, the last of them perhaps without an end, and the text outside them."""
    items = _decode(_STRICT, text) if text.startswith("[") else None
    if isinstance(items, list) and sum(isinstance(item, dict) for item in items) > 1:
        return [(None, False, text)], ""  # to take the last of a list would lose the others unseen
    found, outside, at = list[_Found](), list[str](), 0
    while opening := _OPEN.search(text, at):
        start = opening.start()
        outside.append(text[at:start])
        at, depth, pieces = start, 0, list[str]()
        for token in _TOKEN.finditer(text, start):
            pieces += (text[at : token.start()], _mend(token[0]))
            at = token.end()
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
            if depth == 0:
                break
        else:
            at = len(text)
        strict = _decode(_STRICT, text[start:at])
        value = strict if strict is not None else _decode(_LENIENT, "".join(pieces))
        found.append((value, strict is None, text[start:at]))
    return found, "\n".join([*outside, text[at:]])


def parse_object(reply: str | None) -> Parsed[dict[str, Any]]:
    """The last JSON object of the reply; invalid if that one is cut off or beyond mending."""
    if not (text := visible(reply)):
        return Parsed(None, Status.EMPTY)
    found, _ = scan(text)
    value, mended, _ = found[-1] if found else (None, False, "")
    if value is None:
        return Parsed(None, Status.INVALID)
    differ = any(other not in (None, value) for other, _, _ in found)
    return Parsed(value, Status.REPAIRED if mended or differ else Status.OK)


#: longer texts name no variable and no value but exactly: to make them plain would take long
LONGEST_NAME = 200


def parse_values(reply: str | None, variables: Mapping[str, Sequence[str]]) -> Parsed[dict[str, str | None]]:
    """The value a reply gives each variable, out of those it may have; None where it gives none of them.

    Invalid where no variable is given a readable value. Names and values may differ in case and in what joins their
    words, no more: a value's place in the list, a part of it or another word is not taken for it. Of several answers
    the last counts.
    """
    if not (text := visible(reply)):
        return Parsed(None, Status.EMPTY)
    found, outside = scan(text)
    answers: list[tuple[dict[str, Any], bool]] = []  # what each answer gives, and whether it is as asked for
    for value, mended, source in found:
        fields = _unwrapped(value or {}, variables)
        if any(_field(fields, name, variables) for name in variables):
            answers.append((fields, not mended and fields is value))
        elif value is None and any(json.dumps(name, ensure_ascii=False) in source for name in variables):
            answers.append(({}, False))  # an answer that cannot be read
    if not answers:
        pairs = (line.partition(":") for line in outside.splitlines() if ":" in line and len(line) < 2 * LONGEST_NAME)
        answers = [({_bare(name.strip(" \t-•")): _bare(said) for name, _, said in pairs}, False)]
    fields, as_asked = answers[-1]
    names = {alike(name) for name in variables}
    as_asked = as_asked and all(other == fields for other, _ in answers)
    as_asked = as_asked and not any(alike(key) in names for key in fields if key not in variables)
    values: dict[str, str | None] = {}
    for name, known in variables.items():
        said = _field(fields, name, variables)
        values[name] = _value(said[0], known) if len(said) == 1 else None
        as_asked = as_asked and isinstance(fields.get(name), str) and fields[name] in known
    if all(value is None for value in values.values()):
        return Parsed(None, Status.INVALID)
    return Parsed(values, Status.OK if as_asked else Status.REPAIRED)


def parse_revealed(reply: str | None, variables: Mapping[str, Sequence[str]], key: str) -> Parsed[dict[str, str]]:
    """The variables that a reply lists under `key` with one of their values each; the others are not in the result.

    An empty list is an answer. A name that is no variable or a value that is none of its own makes the whole invalid:
    left out, it would be taken for silence.
    """
    parsed = parse_object(reply)
    if parsed.value is None:
        return Parsed(None, parsed.status)
    listed = parsed.value.get(key)
    if not isinstance(listed, dict):
        return Parsed(None, Status.INVALID)
    values: dict[str, str] = {}
    as_asked = parsed.status is Status.OK
    for name, said in listed.items():
        near = [known for known in variables if known == name] or [v for v in variables if alike(v) == alike(name)]
        value = _value(said, variables[near[0]]) if len(near) == 1 else None
        if value is None or near[0] in values:
            return Parsed(None, Status.INVALID)
        values[near[0]] = value
        as_asked = as_asked and near[0] == name and value == said
    return Parsed(values, Status.OK if as_asked else Status.REPAIRED)


def named_values(listed: Any, variables: Mapping[str, Sequence[str]]) -> dict[str, str] | None:
    """An object's names and values, spelled as in `variables` where they are like one of these and left as they are
    where not, so that whoever checks them can name what is unknown. None where it is no object of texts."""
    if not isinstance(listed, dict):
        return None
    found: dict[str, str] = {}
    for name, said in listed.items():
        near = [known for known in variables if known == name] or [v for v in variables if alike(v) == alike(name)]
        name = near[0] if len(near) == 1 else name
        said = said[0] if isinstance(said, list) and len(said) == 1 else said
        value = _value(said, variables.get(name, ()))
        if value is None:
            value = said.strip() if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        if name in found:
            return None
        found[name] = value
    return found


def _bare(text: str) -> str:
    """A text without the marks around it."""
    return text.strip(" \t*`\"'").rstrip(".,; \t*`\"'")


@lru_cache(maxsize=4096)
def alike(text: str) -> str:
    """What two spellings of a name have in common: case, marks around it and what joins its words do not count."""
    if len(text) > LONGEST_NAME:
        return text
    plain = _bare(unicodedata.normalize("NFKC", text)).replace("_", " ").strip()
    return re.sub(r"(?<=\w)[\s-]+(?=\w)", " ", plain).casefold()


def _field(fields: Mapping[str, Any], name: str, variables: Mapping[str, Sequence[str]]) -> list[Any]:
    """What the fields give a variable: under its own name, else under one that is like its own and no other's."""
    if name in fields:
        return [fields[name]]
    if sum(alike(other) == alike(name) for other in variables) > 1:
        return []
    return [said for key, said in fields.items() if key not in variables and alike(key) == alike(name)]


def _value(said: Any, known: Sequence[str]) -> str | None:
    """The possible value that was said: exactly, else the only one like it."""
    said = said[0] if isinstance(said, list) and len(said) == 1 else said
    said = json.dumps(said) if isinstance(said, bool | int) else said  # where a value is written like one
    if not isinstance(said, str) or said in known:
        return said if isinstance(said, str) else None
    near = [value for value in known if alike(value) == alike(said) != ""]
    return near[0] if len(near) == 1 else None


def _unwrapped(value: dict[str, Any], variables: Mapping[str, Sequence[str]], depth: int = 0) -> dict[str, Any]:
    """The object, or the one object it wraps where it has none of the variables itself."""
    inner = next(iter(value.values())) if len(value) == 1 and depth < 3 else None
    if isinstance(inner, dict) and not any(_field(value, name, variables) for name in variables):
        return _unwrapped(inner, variables, depth + 1)
    return value
