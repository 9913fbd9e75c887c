"""Keys in other people's configurations, struck out as they are read, and again as they are written.

A key is known by the name of its field, or by its look wherever it stands (`sk-…`, `hf_…`, `Bearer …`). Under a name
that says so (`api_key`, `password`, `hf_token` …) everything goes; under one that only may (`user_token`, `answer_key`,
`api_key_env`), what looks random. A name may also stand before its value in a list, in `{"name", "value"}`, or in a
text: `--api-key x`, `OPENAI_KEY=x`.

Texts may be long and crafted, so every pattern reads on from where it matched, or only a bounded way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from typing import Any

from amemgym.errors import DataError

_STRUCK_OUT = "[key]"


class _Holds(IntEnum):
    """What a field of some name holds."""

    NO_KEY, MAYBE, A_KEY = range(3)


#: anywhere in a field's name, its words with a space between them or none
_SECRET_NAME = re.compile(
    r"api ?key|(access|private|secret|account|subscription|master|license) ?key"
    r"|\bsecrets?\b|passw(or)?d|passphrase|credential|authori[sz]ation|bearer|\bcookies?\b|\bsas\b"
)
#: last words of a field's name that may be a key's, and are one's behind the words in `_OWNERS`
_KEY_WORDS = ("key", "keys", "token", "tokens")
_OWNERS = re.compile(
    "api|access|auth|refresh|secret|session|bearer|bot|sas|deploy|signing|encryption|ssh|app|admin|service|client|hf"
    "|huggingface|openai|azure|anthropic|deepseek|dashscope|qwen|gemini|google|aws|cohere|mistral|groq|together"
    "|openrouter|wandb|oai|pinecone|zep|mem0|slack|telegram|github|gitlab"
)
_SECRET_LAST = ("token", "auth", "pwd", "jwt")
_MAYBE_LAST = ("sessionid", "signature", "sig", "sid")
#: last words of names that tell of a key or where it is, not what it is
_ABOUT = re.compile(
    "env|var|variable|envvar|mode|type|method|enabled|name|hint|count|path|file|url|source|scheme|fields?|header|provider"
)
_LOOKS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<sk>sk-[A-Za-z0-9_-]{6,})"
    r"|hf_(?P<hf>[A-Za-z0-9]{8,})"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}"
    r"|(?:gsk|r8|tgp|pplx|nvapi|lsv2_pt|xai|npm|pypi|dckr_pat)[_-][A-Za-z0-9_-]{16,}"
    r"|[spr]k_(?:live|test)_[A-Za-z0-9]{8,}"
    r")"
    r"|(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)"
)
#: what stays, then what goes
_IN_PLACE = (
    # a password may hold / and @; a port is none
    re.compile(
        r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/:@?#\"'<>]{0,200}:(?!\d{1,5}/)[^\s?#\"'<>]{1,200}(?=@)"
    ),
    re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{0,30}://)[^\s/@]{1,200}(?=@)"),
    re.compile(r"(?i)([?&](?:key|token|auth|sig)=)[^&\s#]+"),
    re.compile(
        r"(?i)(\bauthorization[\"']?\s{0,8}[:=]\s{0,8}[\"']?(?:(?:basic|bearer|token|digest)\s{1,8})?)[^\s\"',;}\[]{4,}"
    ),
)
#: a scheme of authorization, and what follows it
_SCHEME = re.compile(r"(?i)(\b(?:bearer|basic)\s{1,8})([A-Za-z0-9._~+/=-]{6,})")
#: a name and a sign, or a flag, before a value
_NAMED = re.compile(
    r"(?<![\w.-])(?:(-{0,2}[A-Za-z_][\w.-]{0,80})([\"']?\s{0,8}[=:]\s{0,8}[\"']?)|(--?[A-Za-z][\w-]{0,80})\s{1,8}[\"']?)"
)
_VALUE = re.compile(r"[^\s\"'&,;}\[\]]{3,}")
_RUN = re.compile(r"[A-Za-z0-9]{8,}")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")


def redacted(value: Any) -> Any:
    """The parsed JSON with every key struck out, and those known to this process with them (`amemgym.clean`)."""
    from amemgym.clean import clean  # it brings pydantic

    try:
        return clean(_redacted(value))
    except RecursionError:
        raise DataError("a configuration is nested too deeply to be read") from None


def is_secret_name(name: str) -> bool:
    """Whether a field of that name holds a key, whatever it looks like."""
    return _holds(name) is _Holds.A_KEY


@lru_cache(maxsize=4096)
def _holds(name: str) -> _Holds:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:200].strip())
    words = [word for word in re.split(r"[^a-z0-9]+", snake.lower()) if word and not word.isdigit()]
    if not words:
        return _Holds.NO_KEY
    last, before = words[-1].rstrip("0123456789"), words[-2] if len(words) > 1 else ""
    is_named = bool(_SECRET_NAME.search(" ".join(words)) or _SECRET_NAME.search("".join(words)))
    if _ABOUT.fullmatch(last):
        return _Holds.MAYBE if is_named else _Holds.NO_KEY
    if is_named or (last in _SECRET_LAST and not before) or last in _SECRET_LAST[1:]:
        return _Holds.A_KEY
    if last in _KEY_WORDS:
        return _Holds.A_KEY if _OWNERS.fullmatch(before) else _Holds.MAYBE
    if last.endswith("key") and _OWNERS.fullmatch(last.removesuffix("key")):
        return _Holds.A_KEY
    return _Holds.MAYBE if last in _MAYBE_LAST or (last == "id" and before == "session") else _Holds.NO_KEY


def _is_random(text: str) -> bool:
    """Whether it looks like no words: letters and digits mixed, or very many letters, without a sign between."""
    return any(
        len(run) >= 20 or (any(map(str.isdigit, run)) and any(map(str.isalpha, run))) for run in _RUN.findall(text)
    )


def _redacted(value: Any, holds: _Holds = _Holds.NO_KEY) -> Any:
    if isinstance(value, str):
        return _text(value, holds)
    if isinstance(value, Mapping):
        inner = _value_of_a_pair(value)
        return {
            _without_looks(key) if isinstance(key, str) else key: _redacted(
                entry, max(holds, inner if key == "value" else _Holds.NO_KEY, _of_key(key))
            )
            for key, entry in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(entry, max(holds, named)) for entry, named in zip(value, _named_before(value), strict=True)]
    is_long = isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1000
    return _STRUCK_OUT if holds is _Holds.A_KEY and is_long else value


def _text(value: str, holds: _Holds) -> str:
    is_key = (holds is _Holds.A_KEY and value.strip()) or (holds is _Holds.MAYBE and _is_random(value))
    return _STRUCK_OUT if is_key else _without_looks(value)


def _of_key(key: Any) -> _Holds:
    return _holds(key) if isinstance(key, str) else _Holds.NO_KEY


def _value_of_a_pair(value: Mapping[Any, Any]) -> _Holds:
    """What the value in {"name": "OPENAI_API_KEY", "value": …} is."""
    return max((_of_key(value.get(name)) for name in ("name", "key", "variable")), default=_Holds.NO_KEY)


def _named_before(values: Sequence[Any]) -> Iterator[_Holds]:
    """What each element is by the one before it: a flag, or of a list of two a header's name."""
    if values:
        yield _Holds.NO_KEY
    for name, _ in pairwise(values):
        is_name = isinstance(name, str) and (_FLAG.fullmatch(name) is not None or len(values) == 2)
        yield _holds(name) if is_name else _Holds.NO_KEY


def _without_looks(text: str) -> str:
    text = _LOOKS.sub(_look, text)
    for pattern in _IN_PLACE:
        text = pattern.sub(rf"\1{_STRUCK_OUT}", text)
    return "".join(_without_named(_SCHEME.sub(_scheme, text)))


def _look(match: re.Match[str]) -> str:
    """Struck out, unless it is words behind what begins a key."""
    is_key = True
    if (sk := match["sk"]) is not None:
        is_key = any(map(str.isdigit, sk)) or _is_random(sk)
    elif (hf := match["hf"]) is not None:
        is_key = len(hf) >= 16 or (_is_random(hf) and not hf.islower())
    return _STRUCK_OUT if is_key else match[0]


def _scheme(match: re.Match[str]) -> str:
    text = match[2].rstrip(".-/")
    is_key = not text.isalpha() or (len(text) >= 12 and not text[1:].islower())
    return f"{match[1]}{_STRUCK_OUT}" if is_key else match[0]


def _without_named(text: str) -> Iterator[str]:
    """The text without values behind a name, as under a field of that name; behind a colon in prose, words stay."""
    at = 0
    for match in _NAMED.finditer(text):
        name, sign, flag = match.groups()
        holds = _holds(name or flag)
        if holds is _Holds.NO_KEY or match.start() < at or (value := _VALUE.match(text, match.end())) is None:
            continue
        is_said = flag or name.startswith("-") or any(one in sign for one in "='\"")
        if (holds is _Holds.A_KEY and (is_said or not value[0].isalpha())) or _is_random(value[0]):
            yield text[at : match.end()] + _STRUCK_OUT
            at = value.end()
    yield text[at:]
