"""What a rule is: an id that stays, what it protects in one line, and a function that tries it on a bench."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from amemgym.kit.bench import Bench

Trial = Callable[[Bench], Awaitable[None]]


@dataclass(frozen=True)
class Rule:
    """`trial` ends quietly where the rule is kept, else raises RuleBroken or DoesNotFit; whatever else it raises is a
    failure too (the memory crashed)."""

    id: str
    meaning: str
    trial: Trial


def rule(id: str, meaning: str) -> Callable[[Trial], Rule]:
    """Make a function a rule."""
    return lambda trial: Rule(id, meaning, trial)
