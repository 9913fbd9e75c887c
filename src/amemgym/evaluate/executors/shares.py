"""What each worker may do of what the run may do: calls at once, requests, tokens and money, whose sum is the run's.

Each worker has limits of its own, as an endpoint's answers reach it alone; so that they never exceed together what was
asked for, every limit is divided, rounded down where it cannot be, and there are no more workers than calls at once.
"""

from __future__ import annotations

from amemgym.evaluate.spec import RunSpec
from amemgym.llm import Budget

#: what is divided of a budget in US dollars is at least so much a worker
LEAST_DOLLARS = 1e-4


def workers_of(spec: RunSpec, processors: int, jobs: int) -> int:
    """How many workers play: those asked for, else one a processor; no more than there are jobs, or calls, requests,
    tokens and money to be divided between them."""
    most = [jobs, spec.concurrency, *(limit for limit in (spec.rpm, spec.tpm) if limit is not None)]
    if (budget := spec.spending()) is not None:
        most.append(int(budget.most / (LEAST_DOLLARS if budget.dollars else 1)))
    return max(1, min(spec.workers or processors, *most))


def share_of(spec: RunSpec, number: int, workers: int, spent: float = 0.0) -> RunSpec:
    """The settings of worker `number`, from 0, which has `spent` of its part of the budget."""
    budget = spec.spending()
    return spec.model_copy(
        update={
            "concurrency": _part(spec.concurrency, number, workers),
            "rpm": None if spec.rpm is None else _part(spec.rpm, number, workers),
            "tpm": None if spec.tpm is None else _part(spec.tpm, number, workers),
            "budget": None if budget is None else _rest(budget, workers, spent),
        }
    )


def _rest(budget: Budget, workers: int, spent: float) -> str:
    """An equal part of a budget less what is spent of it, rounded down; no less than the smallest one there is."""
    rest = budget.most / workers - spent
    if budget.dollars:
        return f"{max(int(rest * 1e6), 1) / 1e6:.6f}usd"
    return str(max(int(rest), 1))


def _part(whole: int, number: int, workers: int) -> int:
    """The parts differ by 1 at most, the larger ones first."""
    return whole // workers + (number < whole % workers)
