"""Which upper bound an agent's answers are measured against: that of its own model, else that of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from amemgym.evaluate import UpperBoundResult

#: (user, question, variant) → 1 or 0; what ended in an error is not there
Bounds = dict[tuple[int, int, tuple[str, ...]], int]


def bounds_by_model(upper_bounds: Iterable[UpperBoundResult]) -> dict[str, Bounds]:
    """What is known of each model's upper bound, by the name it was measured under."""
    found: dict[str, Bounds] = {}
    for result in upper_bounds:
        answers = (answer for answer in result.answers if answer.correct is not None)
        known = {(result.user, answer.question, answer.variant): int(bool(answer.correct)) for answer in answers}
        found.setdefault(result.model, {}).update(known)
    return found


def bounds_by_agent(manifest: Mapping[str, Any], upper_bounds: Iterable[UpperBoundResult]) -> dict[str, Bounds]:
    """The same for each agent of a run, in order; empty where none was measured."""
    by_model = bounds_by_model(upper_bounds)
    return {agent: by_model.get(model, {}) for agent, model in bound_names(manifest).items()}


def bound_names(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Whose upper bound each agent of a run is measured against, in order; "" for nobody's."""
    wanted = manifest["upper_bound"]
    names = [agent["name"] for agent in manifest["compared"]["agents"]]
    return {name: wanted["agents"].get(name) or wanted["run"] or "" for name in names}
