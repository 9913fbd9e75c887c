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
class Choice:
    """The option that a reply names, counted from 1."""

    option: int | None
    status: Status


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


def _visible(reply: str | None) -> str:
    """The reply itself: no reasoning, no surrounding whitespace, no fence around the whole of it."""
    text = strip_reasoning(reply or "").strip()
    fenced = _FENCED.fullmatch(text)
    return fenced[2].strip() if fenced else text


def parse_text(reply: str | None) -> Parsed[str]:
    """A free-text reply."""
    return Parsed(text, Status.OK) if (text := _visible(reply)) else Parsed(None, Status.EMPTY)


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


def _scan(text: str) -> tuple[list[_Found], str]:
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
    if not (text := _visible(reply)):
        return Parsed(None, Status.EMPTY)
    found, _ = _scan(text)
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
    if not (text := _visible(reply)):
        return Parsed(None, Status.EMPTY)
    found, outside = _scan(text)
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
    names = {_alike(name) for name in variables}
    as_asked = as_asked and all(other == fields for other, _ in answers)
    as_asked = as_asked and not any(_alike(key) in names for key in fields if key not in variables)
    values: dict[str, str | None] = {}
    for name, known in variables.items():
        said = _field(fields, name, variables)
        values[name] = _value(said[0], known) if len(said) == 1 else None
        as_asked = as_asked and isinstance(fields.get(name), str) and fields[name] in known
    if all(value is None for value in values.values()):
        return Parsed(None, Status.INVALID)
    return Parsed(values, Status.OK if as_asked else Status.REPAIRED)


def _bare(text: str) -> str:
    """A text without the marks around it."""
    return text.strip(" \t*`\"'").rstrip(".,; \t*`\"'")


@lru_cache(maxsize=4096)
def _alike(text: str) -> str:
    """What two spellings of a name have in common: case, marks around it and what joins its words do not count."""
    if len(text) > LONGEST_NAME:
        return text
    plain = _bare(unicodedata.normalize("NFKC", text)).replace("_", " ").strip()
    return re.sub(r"(?<=\w)[\s-]+(?=\w)", " ", plain).casefold()


def _field(fields: Mapping[str, Any], name: str, variables: Mapping[str, Sequence[str]]) -> list[Any]:
    """What the fields give a variable: under its own name, else under one that is like its own and no other's."""
    if name in fields:
        return [fields[name]]
    if sum(_alike(other) == _alike(name) for other in variables) > 1:
        return []
    return [said for key, said in fields.items() if key not in variables and _alike(key) == _alike(name)]


def _value(said: Any, known: Sequence[str]) -> str | None:
    """The possible value that was said: exactly, else the only one like it."""
    said = said[0] if isinstance(said, list) and len(said) == 1 else said
    said = json.dumps(said) if isinstance(said, bool | int) else said  # where a value is written like one
    if not isinstance(said, str) or said in known:
        return said if isinstance(said, str) else None
    near = [value for value in known if _alike(value) == _alike(said) != ""]
    return near[0] if len(near) == 1 else None


def _unwrapped(value: dict[str, Any], variables: Mapping[str, Sequence[str]], depth: int = 0) -> dict[str, Any]:
    """The object, or the one object it wraps where it has none of the variables itself."""
    inner = next(iter(value.values())) if len(value) == 1 and depth < 3 else None
    if isinstance(inner, dict) and not any(_field(value, name, variables) for name in variables):
        return _unwrapped(inner, variables, depth + 1)
    return value


_INVALID = Choice(None, Status.INVALID)
_KEYS = ("answer", "final answer", "choice", "selection", "selected", "selected option", "option", "response")
_ANSWER_KEY = re.compile(r"""["'“]answer["'”]\s*:""", re.I)
_ANSWER_PAIR = re.compile(_ANSWER_KEY.pattern + r"\s*([0-9]{1,9})\s*[,}]", re.I)


def parse_choice(reply: str | None, options: Sequence[str]) -> Choice:
    """The option that a reply to a multiple-choice question names; of several JSON answers the last."""
    if not (text := _visible(reply)):
        return Choice(None, Status.EMPTY)
    found, outside = _scan(text)
    answers: list[Choice | None] = []  # None: unreadable, so no other answer unless it comes last
    for value, mended, source in found:
        choice = _from_broken(source, options) if value is None else _from_object(value, options)
        if choice is not None or (value is None and _ANSWER_KEY.search(source)):
            answers.append(_mended(choice) if choice and mended else choice)
    if not answers:
        return _from_prose(outside, options)
    last = answers[-1] or _INVALID
    return _mended(last) if len({answer.option for answer in answers if answer}) > 1 else last


def _verdict(named: set[int], options: Sequence[str]) -> Choice:
    """One named option is the choice, though not in the asked-for form."""
    if len(named) == 1 and 1 <= min(named) <= len(options):
        return Choice(min(named), Status.REPAIRED)
    return Choice(None, Status.AMBIGUOUS) if len(named) > 1 else _INVALID


def _mended(choice: Choice) -> Choice:
    return choice if choice.option is None else Choice(choice.option, Status.REPAIRED)


def _from_broken(source: str, options: Sequence[str]) -> Choice | None:
    """The answer of a flat object that is cut off after it, or unreadable for another field."""
    pairs: list[str] = _ANSWER_PAIR.findall(source)
    whole = len(pairs) == len(_ANSWER_KEY.findall(source)) > 0 and "{" not in source[1:]
    return _verdict({int(pair) for pair in pairs}, options) if whole else None


def _from_object(value: dict[str, Any], options: Sequence[str], depth: int = 0) -> Choice | None:
    """The option that an object names, or None if it has no answer key; the asked-for key comes first."""
    names = {key: re.sub(r"[\W_]+", " ", key).strip().casefold() for key in value}
    keys = [key for key in value if names[key] in _KEYS]
    if not keys:
        inner = next(iter(value.values()), None) if len(value) == 1 and depth < 3 else None
        wrapped = _from_object(inner, options, depth + 1) if isinstance(inner, dict) else None
        return wrapped and _mended(wrapped)
    keys.sort(key=lambda key: (key != "answer", _KEYS.index(names[key])))
    first, *others = (_from_value(value[key], options, depth) for key in keys)
    if first.option is not None and {other.option for other in others} - {None, first.option}:
        return Choice(None, Status.AMBIGUOUS)
    return first if keys[0] == "answer" else _mended(first)


def _from_value(value: Any, options: Sequence[str], depth: int = 0) -> Choice:
    """The option that the value of an answer key names."""
    if isinstance(value, str):
        return _from_prose(value, options)
    if isinstance(value, dict) and depth < 3:
        return _mended(_from_object(value, options, depth + 1) or _INVALID)
    if isinstance(value, list) and len(value) <= len(options) and depth < 3:
        # What names no option counts as 0, so that [3, null] is no choice of 3.
        return _verdict({_from_value(item, options, depth=3).option or 0 for item in value}, options)
    if type(value) not in (int, float) or value not in range(1, len(options) + 1):
        return _INVALID
    return Choice(int(value), Status.OK if isinstance(value, int) else Status.REPAIRED)


# Prose is read in lower case, without emphasis marks, its quotes and dashes made plain.
_SIGNS = str.maketrans("‘’“”«»–—−", '\'\'""""---', "*`_#\u200b\ufeff\ufe0f\u20e3")
_EDGE = " \n\"'.,;:!()[]{}<>"
_MARK = r"[\"'(\[{<]{0,3}"
_NOUN = r"(?:(?:option|answer|choice|number)s?)"
_NUM = r"(?:\d{1,9}(?:\.0)?|[a-z])(?!\w|'\w|[.:]\d| ?%)"
_JOIN = r"(?: ?(?:[,/&|+-]|\bor\b|\band\b|\bto\b)){1,2}"
_MORE = rf"(?:{_JOIN} ?(?:{_NOUN} )?(?:\d{{1,9}}|[a-z](?= ?(?:$|[.,;)\]!\n])))(?!\w))*+"
_STOP = r"(?= ?(?:$|[\n.,;:!)\]}\"'(]|- |because\b|since\b|in my\b))"
_WHOLE = re.compile(
    rf"(?:- )?{_MARK}(?:(?:my|the|final|either|both) ){{0,2}}(?:{_NOUN}\"? ?:? ?){{0,2}}{_MARK}"
    rf"(?P<named>{_NUM}{_MORE})[\"')\]}}>.,:;! ]*(?:because\b.*)?"
)
_LABELLED = re.compile(rf"(?:- )?(?:{_NOUN} )?{_MARK}(?P<named>{_NUM})[ \"')\].,:;=(-]*(?P<rest>.*)")
_CUE = re.compile(
    r"\b(?:answer|choice|option|selection|pick|response)(?: ?[:=]| is\b:?| would be\b| should be\b)"
    r"|\b(?:choose|pick|select|recommend|suggest|go(?:ing)? with|opt for)\b"
    r"|(?=\boption \w{1,9} is (?:the )?(?:best|right|correct)\b(?![^.\n]{0,80} (?:if|unless) ))"
)
_CLAIM = re.compile(
    rf"[ \n]?(?:the )?(?P<noun>{_NOUN} )?{_MARK}(?P<named>{_NUM}{_MORE})"
    rf"(?(noun)(?! ?(?:\?|(?:or|if|unless)\b))|{_STOP})"
)
# What turns a claim round: a condition before it in its sentence, a negation before it in its clause.
_DOUBT = re.compile(
    r"\b(?:if|unless|whether)\b|(?:n't|\b(?:not|never|no|cannot|avoid|neither|nor|rather than|instead of"
    r"|against|could|might|may|wrong|worst|least|incorrect|other|another|previous|second|example)\b)[^,;]*$"
)


@lru_cache(maxsize=64)  # the same options come again and again
def _plain(text: str) -> str:
    # Character by character: a long run of combining marks takes the whole-text form quadratic time.
    text = "".join(unicodedata.normalize("NFKC", sign) for sign in text.translate(_SIGNS)).casefold()
    text = re.sub(r"<(?:answer|choice|option)>\s*|\\boxed\{", "\nanswer: ", text)
    lines = re.split(r"\n|</\w+>|<\|\w+\|>", text)
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _numbers(match: re.Match[str] | None) -> set[int]:
    tokens = re.findall(r"\b(?:\d+|[a-z])\b(?<!\.0)", match["named"]) if match else []
    return {int(token) if token[0].isdigit() else ord(token) - 96 for token in tokens}


def _named(phrase: str, keys: list[str]) -> set[int]:
    """The options that all of a phrase names: by numbers, a text, or a number with its text or part of it."""
    texts = {number for number, key in enumerate(keys, 1) if key and key == phrase.strip(_EDGE)}
    numbers = _numbers(_WHOLE.fullmatch(phrase))
    if texts or numbers:
        return texts | {number for number in numbers if not texts or number <= len(keys)}
    label = _LABELLED.fullmatch(phrase)
    rest = label["rest"].strip(_EDGE) if label else ""
    texts = _begun(rest, keys) or {n for n, key in enumerate(keys, 1) if rest[3:] and key.startswith(rest)}
    return _numbers(label) | texts if texts else set()


def _begun(phrase: str, keys: list[str]) -> set[int]:
    """The options whose texts begin the phrase, the longest of those alike, or follow in it."""
    begun = [key for key in keys if key and phrase.startswith(key) and re.match(_STOP, phrase[len(key) :])]
    best = max(begun, key=len, default="")
    rest = phrase[len(best) :] if best else ""
    return {number for number, key in enumerate(keys, 1) if key and (key == best or key in rest)}


def _doubted(text: str, at: int) -> bool:
    return _DOUBT.search(re.split(r"[.!?]|(?<!:)\n", text[max(0, at - 150) : at])[-1]) is not None


def _from_prose(text: str, options: Sequence[str]) -> Choice:
    """The option that a text names as a whole, else that it claims or has on its first or last line."""
    plain = _plain(text)
    keys = [" ".join(_plain(option).split()).strip(_EDGE) for option in options]
    if named := _named(plain.replace("\n", " "), keys):
        return _verdict(named, options)
    for cue in _CUE.finditer(plain):
        if not _doubted(plain, cue.start()):
            said = plain[cue.end() : cue.end() + sum(map(len, keys)) + 20].lstrip(_EDGE).partition("\n")[0]
            named |= _numbers(_CLAIM.match(plain, cue.end())) | _begun(said, keys)
    if named and len(set(re.findall(r"(?:^|(?<!option)[ \n(])([12])[.)] ", plain))) > 1:
        return Choice(None, Status.AMBIGUOUS)  # "Answer: 1. …" may begin a list
    lines = plain.split("\n")
    last = set() if _doubted(plain, len(plain) - len(lines[-1])) else _named(lines[-1], keys)
    ends = _named(lines[0], keys) | last
    return _verdict(named.union(*(_named(line, keys) for line in lines if ends)), options)
