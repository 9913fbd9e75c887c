"""Files of settings, names and values in YAML, TOML or JSON, and how a wrong value is told."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from amemgym.errors import UsageError


def read_settings(path: Path, example: str, what: str = "configuration") -> dict[str, Any]:
    """What a configuration file holds, `example` being a line that it could, and `what` it is called. Raises
    UsageError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {what} {path}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise UsageError(f"{what} {path} is not UTF-8 text") from None
    try:
        if path.suffix == ".toml":
            value = tomllib.loads(text)
        elif path.suffix == ".json":
            value = json.loads(text)
        elif path.suffix in (".yaml", ".yml"):
            value = yaml.safe_load(text)
        else:
            raise UsageError(f"{what} {path} should end in .yaml, .toml or .json")
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"{what} {path} cannot be read as {path.suffix[1:].upper()} ({said})") from None
    if not isinstance(value, dict):
        raise UsageError(f"{what} {path} should hold names and values, such as '{example}'")
    return value


def said_of(error: ValidationError) -> str:
    """The first thing a model of settings refused: the name, why, and what was given."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    return f"'{name}' {said[0].lower()}{said[1:]} (given: {first['input']!r})"
