"""API keys: read from the environment by name, held in a type that does not print, and struck out of every file.

Whatever an endpoint sends back goes through `redact` before it is written anywhere, because servers do echo keys.
"""

from __future__ import annotations

import os

from pydantic import SecretStr

STRUCK_OUT = "[key]"
_known: set[str] = set()


def remember(secret: str) -> SecretStr:
    """Hold a key, and know it from now on so that it can be struck out."""
    if len(secret) >= 6:  # shorter ones ("EMPTY", "none") are placeholders, and words of ordinary text
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
    for secret in _known:
        if secret in text:
            text = text.replace(secret, STRUCK_OUT)
    return text
