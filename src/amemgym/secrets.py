"""API keys: read from the environment by name, held in a type that does not print, and struck out of every file.

Whatever an endpoint sends back goes through `redact` before it is written anywhere, because servers do echo keys.
"""

from __future__ import annotations

import json
import os

from pydantic import SecretStr

STRUCK_OUT = "[key]"
PLACEHOLDERS = {"no-key", "nokey", "ollama", "lm-studio", "not-needed", "dummy-key", "placeholder", "notused", "token"}
_known: set[str] = set()


def remember(secret: str) -> SecretStr:
    """Hold a key, and know it from now on so that it can be struck out."""
    if _looks_like_a_key(secret):
        _known.add(secret)
    return SecretStr(secret)


def from_environment(*names: str) -> SecretStr | None:
    """The first of these variables that is set and not empty."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return remember(value)
    return None


def redact(text: str) -> str:
    """The text with every known key struck out."""
    for secret in sorted(_known, key=len, reverse=True):  # one may begin another
        if secret in text:
            text = text.replace(secret, STRUCK_OUT)
    return text


def holds_key(text: str) -> bool:
    """Whether a known key stands in JSON text."""
    return any(secret in text or json.dumps(secret, ensure_ascii=False)[1:-1] in text for secret in _known)


def _looks_like_a_key(secret: str) -> bool:
    """Placeholders that local servers are given are words of ordinary text, and would be struck out of it."""
    return len(secret) >= 6 and secret.lower() not in PLACEHOLDERS
