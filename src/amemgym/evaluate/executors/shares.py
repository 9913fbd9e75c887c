"""What each worker may do of what the run may do: calls at once, requests, tokens and money, whose sum is the run's.

Each worker has limits of its own, as an endpoint's answers reach it alone; so that they never exceed together what was
asked for, every limit is divided, rounded down where it cannot be, and there are no more workers than calls at once.
"""

from __future__ import annotations

import re
from typing import TypeVar

from amemgym.evaluate.spec import RunSpec

N = TypeVar("N", int, float)

_BUDGET = re.compile(r"(?P<before>\D*)(?P<amount>[0-9][0-9_,]*(?:\.[0-9]+)?)(?P<after>.*)", re.DOTALL)


def workers_of(spec: RunSpec, processors: int, jobs: int) -> int:
    """How many workers play: those asked for, else one a processor; no more than there are jobs, or calls, requests
    and tokens to be divided between them."""
    most = [jobs, spec.concurrency, *(limit for limit in (spec.rpm, spec.tpm) if limit is not None)]
    return max(1, min(spec.workers or processors, *most))


def share_of(spec: RunSpec, number: int, workers: int) -> RunSpec:
    """The settings of worker `number`, from 0."""
    return spec.model_copy(
        update={
            "concurrency": _part(spec.concurrency, number, workers),
            "rpm": None if spec.rpm is None else _part(spec.rpm, number, workers),
            "tpm": None if spec.tpm is None else _part(spec.tpm, number, workers),
            "budget": None if spec.budget is None else part_of_budget(spec.budget, workers),
        }
    )


def part_of_budget(budget: str, workers: int) -> str:
    """An equal part of a budget, in its own unit, rounded down to millionths of it; one that is none is left to be
    refused where it is read."""
    match = _BUDGET.fullmatch(budget)
    if match is None or workers == 1:
        return budget
    amount = float(match["amount"].replace("_", "").replace(",", "")) / workers
    if not match["before"].strip() and not match["after"].strip():
        return str(int(amount))  # tokens are whole
    return f"{match['before']}{int(amount * 1e6) / 1e6:.6f}{match['after']}"


def _part(whole: int, number: int, workers: int) -> int:
    """The parts differ by 1 at most, the larger ones first."""
    return whole // workers + (number < whole % workers)
