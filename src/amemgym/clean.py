"""What is written for good: settings that are compared with others, and values that hold no key."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from amemgym.messages import whole
from amemgym.secrets import holds_key, redact


def differences(old: Any, new: Any, place: str = "") -> list[str]:
    """What differs between two settings, a phrase each: `seed is 0 there, 1 here`."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*old, *(name for name in new if name not in old)]
        return [d for n in names for d in differences(old.get(n), new.get(n), f"{place}.{n}" if place else str(n))]
    if old == new:
        return []
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [d for i, (a, b) in enumerate(zip(old, new, strict=True)) for d in differences(a, b, f"{place}[{i}]")]
    shown_old, shown_new = (_short(value) for value in (old, new))
    return [f"{place} is {shown_old} there, {shown_new} here"]


def _short(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(entry, dict) and "name" in entry for entry in value):
        return ",".join(str(entry["name"]) for entry in value)
    text = "not set" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"


def clean(value: Any) -> Any:
    """A value as it may be written: keys struck out of every text, half characters (a broken emoji's) replaced."""
    if isinstance(value, str):
        return whole(redact(value))
    if isinstance(value, Mapping):
        return {clean(key): clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [clean(entry) for entry in value]
    return value


def clean_text(value: Any, form: Callable[[Any], str]) -> str:
    """`form(clean(value))`, where `form` makes JSON; most values are clean, which their text tells in one go."""
    try:
        text = form(value)
        text.encode("utf-8")
    except (TypeError, UnicodeEncodeError):  # a mapping that is no dict, half a character
        return form(clean(value))
    return form(clean(value)) if holds_key(text) else text
