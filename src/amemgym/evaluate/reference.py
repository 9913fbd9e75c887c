"""Exams of the reference agents: they are handed the scenario, take no part in the conversation, and cost nothing."""

from __future__ import annotations

from amemgym.agents import Cell, reference_agent
from amemgym.env import Rules, exam_of_period
from amemgym.evaluate.results import EpisodeResult, ExamResult
from amemgym.scenario import Scenario
from amemgym.seeds import generator
from amemgym.tasks import Status


def play_reference(name: str, user: int, scenario: Scenario, trial: int, rules: Rules, seed: int) -> EpisodeResult:
    """All exams of one user, answered by a reference agent."""
    choose = reference_agent(name)
    exams: list[ExamResult] = []
    for period in range(len(scenario.periods)):
        for item in exam_of_period(scenario, period, rules, seed):
            random = generator(seed, "reference", name, scenario.id, trial, period, item.index)
            option = choose(Cell(scenario, period, item.index, item.order), random) + 1
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
    return EpisodeResult(name, user, scenario.id, trial, tuple(exams))
