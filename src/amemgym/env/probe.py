"""The probe after a period: for each question, the values of its required info as the assistant knows them.

`ProbeQuestion` is the part an agent gets: names and possible values, never the true ones. What is true is derived from
the scenario where probes are diagnosed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from amemgym.agents import ProbeQuestion
from amemgym.env.rules import Rules
from amemgym.scenario import Scenario
from amemgym.seeds import permutation


@dataclass(frozen=True)
class ProbeItem:
    """The probe that belongs to one question (its index) after one period."""

    period: int
    index: int
    question: ProbeQuestion


def probes_of_period(scenario: Scenario, period: int, rules: Rules, seed: int) -> list[ProbeItem]:
    """One probe a question; possible values in an order drawn anew each time, the same for every agent."""
    return list(each_probe(scenario, period, rules, seed))


def each_probe(scenario: Scenario, period: int, rules: Rules, seed: int) -> Iterator[ProbeItem]:
    """The same, each made when it is wanted."""

    def values(question: int, variable: str) -> tuple[str, ...]:
        known = scenario.state_schema[variable]
        if not rules.shuffles_options:
            return tuple(known)
        order = permutation(len(known), seed, "probe", scenario.id, question, period, variable)
        return tuple(known[index] for index in order)

    return (
        ProbeItem(
            period,
            index,
            ProbeQuestion({name: values(index, name) for name in asked.required_info}, scenario.periods[period].end),
        )
        for index, asked in enumerate(scenario.qas)
    )
