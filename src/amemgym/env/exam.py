"""The exam after a period: each question in the order its options are shown, and what is right.

`ExamQuestion` is the part an agent gets; the rest of an `ExamItem` stays with the evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from amemgym.agents import ExamQuestion
from amemgym.env.rules import Rules
from amemgym.scenario import Scenario
from amemgym.seeds import generator, permutation
from amemgym.tasks import Labels, Status


@dataclass(frozen=True)
class ExamItem:
    """One question of one exam.

    Options are counted from 1 in the order shown; `order[i]` is the data's index (from 0) of the option shown at place
    i + 1. `gold_variant` are the true values of the required info, in its order.
    """

    period: int
    index: int
    question: ExamQuestion
    order: tuple[int, ...]
    gold: int
    gold_variant: tuple[str, ...]
    labels: Labels

    def variant(self, option: int) -> dict[str, str]:
        """The values of the required info that the shown option is right for."""
        return dict(self.labels[option - 1])


def option_order(scenario: Scenario, period: int, question: int, rules: Rules, seed: int) -> tuple[int, ...]:
    """The order options are shown in: drawn anew for each user, question and period, the same for every agent."""
    count = len(scenario.qas[question].answer_choices)
    if not rules.shuffles_options:
        return tuple(range(count))
    return permutation(count, seed, "options", scenario.id, question, period)


def exam_item(scenario: Scenario, period: int, question: int, rules: Rules, seed: int) -> ExamItem:
    """One question after one period (both from 0)."""
    asked = scenario.qas[question]
    order = option_order(scenario, period, question, rules, seed)
    options = [asked.answer_choices[index] for index in order]
    return ExamItem(
        period=period,
        index=question,
        question=ExamQuestion(asked.query, tuple(o.answer for o in options), scenario.periods[period].end),
        order=order,
        gold=order.index(scenario.gold(period, question)) + 1,
        gold_variant=scenario.variant(period, question),
        labels=tuple(dict(zip(asked.required_info, option.state, strict=True)) for option in options),
    )


def exam_of_period(scenario: Scenario, period: int, rules: Rules, seed: int) -> list[ExamItem]:
    """Every question after one period."""
    return list(each_item(scenario, period, rules, seed))


def each_item(scenario: Scenario, period: int, rules: Rules, seed: int) -> Iterator[ExamItem]:
    """The same, each made when it is wanted."""
    return (exam_item(scenario, period, question, rules, seed) for question in range(len(scenario.qas)))


@dataclass(frozen=True)
class Grade:
    """One graded reply. `option` is what was chosen (from 1, in the order shown); `guessed` where protocol v1 put a
    seeded guess in place of an unreadable reply."""

    option: int | None
    status: Status
    correct: bool
    guessed: bool = False


def grade(item: ExamItem, option: int | None, status: Status, rules: Rules, seed: int, user_id: str) -> Grade:
    """Grade a choice. An unreadable one is wrong and is not guessed for the model (but in protocol v1)."""
    address = ("guess", user_id, item.index, item.period)
    return grade_choice(option, status, item.gold, len(item.order), rules, lambda: generator(seed, *address))


def grade_choice(
    option: int | None, status: Status, gold: int, count: int, rules: Rules, random: Callable[[], Random]
) -> Grade:
    """The same for any choice among `count` options; `random` gives a generator where one is needed."""
    if option is not None:
        return Grade(option, status, option == gold)
    if not rules.guesses_unreadable:
        return Grade(None, status, False)
    guess = random().randint(1, count)
    return Grade(guess, status, guess == gold, guessed=True)
