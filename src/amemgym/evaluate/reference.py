"""Exams and probes of the reference agents: they are handed the scenario, take no part in the conversation, and cost
nothing."""

from __future__ import annotations

from amemgym.agents import Cell, reference_agent
from amemgym.env import Rules, exam_of_period
from amemgym.evaluate.results import EpisodeResult, ExamResult, ProbeResult
from amemgym.scenario import Scenario
from amemgym.seeds import generator
from amemgym.tasks import Status


def play_reference(
    name: str, user: int, scenario: Scenario, trial: int, rules: Rules, seed: int, *, probing: bool = True
) -> EpisodeResult:
    """All exams and probes of one user, answered by a reference agent."""
    agent = reference_agent(name)
    exams: list[ExamResult] = []
    probes: list[ProbeResult] = []
    for period in range(len(scenario.periods)):
        for item in exam_of_period(scenario, period, rules, seed):
            cell = Cell(scenario, period, item.index, item.order)
            random = generator(seed, "reference", name, scenario.id, trial, period, item.index)
            option = agent.choose(cell, random) + 1
            exams.append(
                ExamResult(
                    period=period,
                    question=item.index,
                    order=item.order,
                    gold=item.gold,
                    variant=item.gold_variant,
                    option=option,
                    status=str(Status.OK),
                    correct=option == item.gold,
                )
            )
            if probing:
                random = generator(seed, "reference probe", name, scenario.id, trial, period, item.index)
                required = scenario.qas[item.index].required_info
                values: dict[str, str | None] = {variable: agent.value(cell, variable, random) for variable in required}
                probes.append(ProbeResult(period, item.index, values, str(Status.OK)))
    return EpisodeResult(name, user, scenario.id, trial, tuple(exams), tuple(probes))
