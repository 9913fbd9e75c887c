"""Names and paths that stand in somebody's archive: checked before anything is opened by them.

A manifest is untrusted. What it names is looked for below the archive's folder, so a path that could lead anywhere
else, on any system, is refused by its form alone; where links lead is asked of the disk, in `places`.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import PurePosixPath
from typing import Any

#: a drive of Windows, in whose paths it also stands behind a slash
_DRIVE = re.compile(r"[A-Za-z]:")
_TOO_LONG = 1000


def name_fault(value: Any) -> str | None:
    """What is wrong with a name (of a model, a set …); None where nothing is."""
    if not isinstance(value, str):
        return f"is {_kind(value)}, not a text"
    if not value.strip():
        return "is empty"
    if len(value) > _TOO_LONG:
        return f"has {len(value)} characters"
    # what prints has none, and that is quick to ask
    if not value.isprintable() and any(unicodedata.category(sign) in ("Cc", "Cs") for sign in value):
        return f"has a control character or half a character: {value!a}"
    return None


def path_fault(value: Any) -> str | None:
    """What is wrong with a relative path of an archive; None where nothing is."""
    if fault := name_fault(value):
        return fault
    parts = value.split("/")
    if value.startswith("/"):
        return f"is an absolute path: {value!a}"
    if "\\" in value:
        return f"has a backslash; folders are separated by '/': {value!a}"
    if ".." in (part.strip() for part in parts) or value.startswith("~") or any(map(_DRIVE.match, parts)):
        return f"leads out of the archive: {value!a}"
    return None


def joined_path(folder: str, name: str) -> str:
    """`folder/name` without empty parts and dots."""
    return PurePosixPath(folder, name).as_posix()


def _kind(value: Any) -> str:
    kinds = {type(None): "null", dict: "an object", list: "a list", bool: "true or false"}
    return kinds.get(type(value), "a number")
