"""A small language pack made by rule, whole and sound, and edits of it: what the bank's tests compose users from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

Data = dict[str, Any]


def value(domain: str, variable: str, name: str) -> Data:
    """Lines that say nothing but where they come from."""
    place = f"{domain} {variable} {name}"
    lines = {level: [f"{level} {n} {place}." for n in range(3)] for level in ("explicit", "implicit", "subtle")}
    return {
        **lines,
        "events": [f"{{name}} met {place} {n}." for n in range(2)],
        "others": [f"{{Other}} is {place}."],
        "answers": [f"Advice {n} for {place}." for n in range(2)],
    }


def domain(name: str) -> Data:
    """Three variables of three values."""
    variables = {
        variable: {"about": variable, "values": {v: value(name, variable, v) for v in ("one", "two", "six")}}
        for variable in ("colour", "size", "place")
    }
    return {
        "title": name,
        "questions": [f"What about {name}?", f"How is {name} in {{city}}?"],
        "requests": [f"Request {n} of {name}?" for n in range(4)],
        "chats": [f"Chat {n} of {name}?" for n in range(4)],
        "variables": variables,
    }


WORDS: Data = {
    "language": "en",
    "space": " ",
    "leads": {
        kind: [f"Lead {kind} {n}." for n in range(4)]
        for kind in ("first", "changed", "temporary", "reverted", "corrected")
    },
    "relatives": [f"my cousin {n} {{friend}}" for n in range(4)],
    "chats": [f"Small talk {n}?" for n in range(8)],
    "profile": {"name": "name", "age": "age", "city": "city"},
    "sketch": "{name} is {trait}.",
}
PEOPLE: Data = {
    "names": [{"name": f"Name {n}", "gender": "female"} for n in range(8)],
    "friends": [f"Friend{n}" for n in range(8)],
    "places": [{"city": f"Town {n}", "spots": ["the pier", "the mill"]} for n in range(3)],
    **{kind: [f"{kind} {n}" for n in range(5)] for kind in ("occupations", "hobbies", "habits", "origins", "traits")},
}
DOMAINS = ("apples", "boats", "clocks", "drums")


def write_pack(folder: Path, edit: Callable[[dict[str, Data]], object] | None = None) -> Path:
    """The pack in that folder. `edit` changes the files (name without suffix → content) before they are written."""
    files: dict[str, Data] = {"pack": WORDS, "people": PEOPLE, **{name: domain(name) for name in DOMAINS}}
    files = yaml.safe_load(yaml.safe_dump(files, sort_keys=False))  # a copy of its own
    if edit is not None:
        edit(files)
    (folder / "domains").mkdir(parents=True)
    for name, content in files.items():
        place = folder if name in ("pack", "people") else folder / "domains"
        (place / f"{name}.yaml").write_text(
            yaml.safe_dump(content, allow_unicode=True, sort_keys=False), encoding="utf-8"
        )
    return folder
