"""Keys in other people's configurations, struck out as they are read, and again as they are written.

A key is known by the name of its field (`api_key`, `authorization`, `token` …), under which every text goes, or by its
look wherever it stands (`sk-…`, `hf_…`, `Bearer …`). Numbers stay, so `max_tokens` does; so do fields whose names only
sound alike (`tokenizer`, `key_words`, `pad_token`), and the name of an environment variable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from amemgym.errors import DataError

_STRUCK_OUT = "[key]"
#: anywhere in a field's name, its words with a space between them or none
_SECRET_NAME = re.compile(
    r"api ?key|(access|private|secret|account|subscription|master|license) ?key"
    r"|\bsecrets?\b|passw(or)?d|passphrase|credential|authori[sz]ation|bearer|\bcookies?\b"
)
#: last words of a field's name, each with the words before it that make it harmless
_SECRET_ENDS = {
    "key": {"primary", "foreign", "sort", "cache", "input", "output", "memory", "text", "group", "index", "dialog"},
    "keys": {"primary", "foreign", "sort", "cache", "input", "output", "memory", "text", "group", "index", "dialog"},
    "token": {"pad", "eos", "bos", "unk", "sep", "cls", "mask", "stop", "special", "image", "end", "start", "per"},
    "auth": set(),
    "pwd": set(),
    "jwt": set(),
}
#: a plural of many meanings, secret behind these words alone
_SECRET_TOKENS = {"api", "access", "auth", "hf", "refresh", "secret"}
#: last words of names that tell where a key is, not what
_POINTERS = {"env", "var", "variable", "envvar"}
_LOOKS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{6,}"
    r"|hf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,}|hf_[a-z]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}"
    r"|(?:gsk|r8|tgp|pplx|nvapi|lsv2_pt)[_-][A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r")"
)
#: what stays, then what goes
_IN_PLACE = (
    re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@]+(?=@)"),
    re.compile(r"(?i)([?&](?:key|token|auth|sig)=)[^&\s#]+"),
    re.compile(
        r"(?i)((?:api[_-]?key|password|secret|(?:access|auth|hf)[_-]?token)[\"']?\s*[=:]\s*[\"']?)[^\s\"'&,;}\[]{4,}"
    ),
)


def redacted(value: Any) -> Any:
    """The parsed JSON with every key struck out, and those known to this process with them (`amemgym.clean`)."""
    from amemgym.clean import clean  # it brings pydantic

    try:
        return clean(_redacted(value))
    except RecursionError:
        raise DataError("a configuration is nested too deeply to be read") from None


def is_secret_name(name: str) -> bool:
    """Whether a field of that name holds a key."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    words = [word for word in re.split(r"[^a-z0-9]+", snake.lower()) if word and not word.isdigit()]
    if not words or words[-1] in _POINTERS:
        return False
    last, before = words[-1].rstrip("0123456789"), words[-2] if len(words) > 1 else ""
    if _SECRET_NAME.search(" ".join(words)) or _SECRET_NAME.search("".join(words)):
        return True
    if last == "tokens":
        return before in _SECRET_TOKENS
    if last in _SECRET_ENDS:
        return before not in _SECRET_ENDS[last] and (last not in ("key", "keys") or bool(before))
    return False


def _redacted(value: Any, is_secret: bool = False) -> Any:
    if isinstance(value, str):
        return _STRUCK_OUT if is_secret and value.strip() else _without_looks(value)
    if isinstance(value, Mapping):
        return {
            _without_looks(key) if isinstance(key, str) else key: _redacted(
                entry, is_secret or (isinstance(key, str) and is_secret_name(key))
            )
            for key, entry in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(entry, is_secret) for entry in value]
    return value


def _without_looks(text: str) -> str:
    for pattern in _IN_PLACE:
        text = pattern.sub(rf"\1{_STRUCK_OUT}", text)
    return _LOOKS.sub(_STRUCK_OUT, text)
