"""The shape of a JSON reply as a JSON schema, for models whose decoding can be held to one.

A schema allows what the prompt asks for and the parser takes as asked for, and nothing else. Replies are read as
before, whether or not they were held to it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}


def one_of(values: Iterable[str | int | None]) -> Schema:
    """One of these values."""
    return {"enum": list(values)}


def list_of(item: Schema) -> Schema:
    """A list, perhaps empty, of such items."""
    return {"type": "array", "items": item}


def an_object(fields: Mapping[str, Schema], optional: bool = False) -> Schema:
    """An object with these fields and no other; with all of them unless they are optional."""
    required = [] if optional else list(fields)
    return {"type": "object", "properties": dict(fields), "required": required, "additionalProperties": False}


def of_form(form: str) -> Schema:
    """The schema of a form as prompts show it: `{"a": "...", "b": {"<name>": "<value>", ...}}`.

    `...` stands for more of the same, and a name in `<>` for any name.
    """
    return _of_example(json.loads(form.replace(", ...", "")))


def _of_example(example: Any) -> Schema:
    if isinstance(example, list):
        return list_of(_of_example(example[0]))
    if not isinstance(example, dict):
        return TEXT
    (name, value), *others = example.items()
    if name.startswith("<") and not others:
        return {"type": "object", "additionalProperties": _of_example(value)}
    return an_object({name: _of_example(value) for name, value in example.items()})
