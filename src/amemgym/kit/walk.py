"""Walking through what a memory holds: every object it refers to, every text, and where two states differ.

The walk follows references as the garbage collector sees them. It does not go into modules, classes, the globals of
functions or what the run lends (`Tools`): those lead everywhere.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    ModuleType,
)
from typing import Any

from amemgym.llm import Model
from amemgym.memory import Memory, Tools

_CLOSED = (
    ModuleType,
    FrameType,
    CodeType,
    type,
    CoroutineType,
    GeneratorType,
    AsyncGeneratorType,
    BuiltinFunctionType,
    asyncio.AbstractEventLoop,
    asyncio.Future,
    threading.Thread,
    contextvars.Context,
    contextvars.Token,
    Tools,
    Model,
)
#: objects looked at, at most
MOST = 500_000


def reachable(*roots: object) -> Iterator[object]:
    """Every object that can be reached, once each, the roots among them."""
    seen: set[int] = set()
    waiting = list(roots)
    kept = []  # so that no id is used again while walking
    while waiting and len(seen) < MOST:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _CLOSED):
            continue
        seen.add(id(thing))
        kept.append(thing)
        yield thing
        if isinstance(thing, FunctionType):
            waiting += [thing.__closure__, thing.__defaults__, thing.__kwdefaults__, thing.__dict__]
        else:
            waiting += gc.get_referents(thing)


def roots_of(memory: Memory) -> list[object]:
    """Where a walk through a memory begins: its attributes, and those of its classes from elsewhere."""
    own = [cls for cls in type(memory).__mro__ if not _is_ours(cls)]
    return [memory, *(value for cls in own for value in vars(cls).values())]


def texts_in(*roots: object) -> list[str]:
    """Every text that can be reached; bytes are read as UTF-8 as far as they are such."""
    found = []
    for thing in reachable(*roots):
        if isinstance(thing, str):
            found.append(thing)
        elif isinstance(thing, bytes | bytearray):
            found.append(bytes(thing).decode("utf-8", "ignore"))
    return found


def difference(one: object, other: object, path: str = "snapshot", depth: int = 30) -> str | None:
    """The first place where two states differ in plain data, as a phrase; None where they do not.

    What is neither plain data nor made of it is not compared, since being another object says nothing."""
    if one is other or depth == 0:
        return None
    if type(one) is not type(other):
        return f"{path} is of another type ({type(one).__name__}, then {type(other).__name__})"
    if isinstance(one, str | int | float | complex | bool | date | None):
        return None if one == other or one != one else f"{path} is {one!r:.60}, then {other!r:.60}"
    if isinstance(one, set | frozenset) and isinstance(other, set | frozenset):
        plain = all(isinstance(member, str | int | float) for member in one | other)
        return f"{path} has other members" if plain and one != other else None
    parts, others = _parts(one), _parts(other)
    if parts is None or others is None:
        return None
    if list(parts) != list(others):
        return f"{path} had {len(parts)} entries, then {len(others)}, or other ones"
    return next(
        (found for name in parts if (found := difference(parts[name], others[name], f"{path}{name}", depth - 1))), None
    )


def _parts(thing: object) -> dict[str, Any] | None:
    """What a thing is made of, by the way it is reached; None for what is not compared."""
    if isinstance(thing, Mapping):
        return {f"[{key!r}]": value for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return {f"[{place}]": value for place, value in enumerate(thing)}
    if isinstance(thing, Tools | Model | ModuleType | type):
        return None
    if is_dataclass(thing):
        return {f".{field.name}": getattr(thing, field.name, None) for field in fields(thing)}
    held = getattr(thing, "__dict__", None)
    return {f".{name}": value for name, value in held.items()} if isinstance(held, dict) else None


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("amemgym.") or cls.__module__ in ("builtins", "abc", "typing")
