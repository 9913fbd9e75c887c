"""Addresses and keys that the user gives: taken only where they can be used, and written nowhere.

An address that holds a password or a query is refused, for addresses stand in a run's files.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import SecretStr

from amemgym import secrets
from amemgym.errors import UsageError


def checked_url(url: str, key_name: str, what: str = "base URL", example: str = "http://localhost:8000/v1") -> str:
    """The URL, if it is one and holds nothing that should not be written. Raises UsageError.

    Args:
        key_name: where the key belongs, or "" where there is none.
        what, example: how the error calls the address, and what it shows as one.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is no number, half a bracket
        usable = False
    if not usable:
        shown = secrets.redact(url.rpartition("@")[2])  # what stands before an @ may be a password
        raise UsageError(f"{what} '{shown}' is no address; it should look like {example}")
    if parts.username or parts.password or parts.query or parts.fragment:
        key = f", and the key in {key_name}" if key_name else ""
        raise UsageError(
            f"the {what} of {parts.hostname} holds a user name, a password, a query or a fragment; it would be written"
            f" to the run's files. Give the address alone{key}"
        )
    return url


def sendable(key: SecretStr, where: str) -> SecretStr:
    """The key, if it can stand in a request's header; a client would show it in its error. Raises UsageError, which
    says `where` it comes from."""
    text = key.get_secret_value()
    if not (text.isascii() and text.isprintable()):
        raise UsageError(f"the key in {where} holds a line break or a character that no key has; copy it again, whole")
    return key
