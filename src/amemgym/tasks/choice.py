"""Which option a reply to a multiple-choice question names: in JSON first, prose only where there is no JSON answer.

Nothing is guessed: what names several options is ambiguous, what names none is invalid. Time is linear.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from amemgym.tasks.parse import Status, scan, visible


@dataclass(frozen=True)
class Choice:
    """The option that a reply names, counted from 1."""

    option: int | None
    status: Status


_INVALID = Choice(None, Status.INVALID)
_KEYS = ("answer", "final answer", "choice", "selection", "selected", "selected option", "option", "response")
_ANSWER_KEY = re.compile(r"""["'“]answer["'”]\s*:""", re.I)
_ANSWER_PAIR = re.compile(_ANSWER_KEY.pattern + r"\s*([0-9]{1,9})\s*[,}]", re.I)


def parse_choice(reply: str | None, options: Sequence[str]) -> Choice:
    """The option that a reply to a multiple-choice question names; of several JSON answers the last."""
    if not (text := visible(reply)):
        return Choice(None, Status.EMPTY)
    found, outside = scan(text)
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
