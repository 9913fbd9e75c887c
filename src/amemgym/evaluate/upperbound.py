"""The upper bound: how often a model answers right when it is told the required states, without any conversation.

Each (question, variant) that is true in some period is asked once for each user and model; an exam looks its own up.
"""

from __future__ import annotations

from collections.abc import Sequence

from amemgym import files
from amemgym.agents import AgentSpec
from amemgym.env import Rules, grade_choice
from amemgym.errors import ContentFiltered, ContextOverflow
from amemgym.evaluate.results import UpperBoundAnswer, UpperBoundResult
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Line, Model, ModelSettings, at, describe_model, model_title
from amemgym.scenario import Scenario
from amemgym.seeds import generator, permutation
from amemgym.tasks import ChooseKnowing
from amemgym.together import Room, side_by_side


def bound_names(agents: Sequence[AgentSpec], model: ModelSettings) -> dict[str, tuple[str, ModelSettings]]:
    """The models whose upper bound is wanted (those that play, else the run's): description → (name, settings).

    The run's model is always the first of its name; another endpoint or temperature of it is `name (2)`, and so on.
    """
    playing = [agent.model or model for agent in agents if not agent.is_reference] or [model]
    names: dict[str, tuple[str, ModelSettings]] = {}
    for settings in (model, *playing):
        title = model_title(settings.model)
        alike = sum(model_title(other.model) == title for _, other in names.values())
        name = title if not alike else f"{title} ({alike + 1})"
        names.setdefault(description(settings), (name, settings))
    wanted = {description(settings) for settings in playing}
    return {described: found for described, found in names.items() if described in wanted}


def description(settings: ModelSettings) -> str:
    """What makes two models the same to a score: everything that can change a reply, and nothing else."""
    return files.canonical_json(describe_model(settings))


def variants_of(scenario: Scenario) -> list[tuple[int, tuple[str, ...]]]:
    """Every (question, variant) that is true after some period, in the order of questions and periods."""
    seen: dict[tuple[int, tuple[str, ...]], None] = {}
    for question in range(len(scenario.qas)):
        for period in range(len(scenario.periods)):
            seen[question, scenario.variant(period, question)] = None
    return list(seen)


async def measure(
    model_name: str,
    user: int,
    scenario: Scenario,
    model: Model,
    line: Line,
    rules: Rules,
    seed: int,
    watcher: RunWatcher,
    room: Room | None = None,
) -> UpperBoundResult:
    """Ask everything for one user, as much at once as there is room for. Raises ModelError where a question gets no
    answer."""

    async def ask(number: int, question: int, variant: tuple[str, ...]) -> UpperBoundAnswer:
        answer = await _ask(scenario, question, variant, number, model, rules, seed)
        watcher.examined()
        return answer

    wanted = variants_of(scenario)
    with at("", aside=True):  # where they wait for room
        answers = await side_by_side((ask(number, *which) for number, which in enumerate(wanted)), room)
    ledger = {role: count.as_dict() for role, count in sorted(line.ledger.items())}
    return UpperBoundResult(model_name, user, scenario.id, tuple(answers), ledger)


async def _ask(
    scenario: Scenario, question: int, variant: tuple[str, ...], number: int, model: Model, rules: Rules, seed: int
) -> UpperBoundAnswer:
    asked = scenario.qas[question]
    count = len(asked.answer_choices)
    address: tuple[str | int, ...] = ("upper bound", scenario.id, question, *variant)
    order = permutation(count, seed, *address) if rules.shuffles_options else tuple(range(count))
    options = [asked.answer_choices[index] for index in order]
    gold = [tuple(option.state) for option in options].index(variant) + 1
    labels = tuple(dict(zip(asked.required_info, option.state, strict=True)) for option in options)
    task = ChooseKnowing(
        asked.query, tuple(o.answer for o in options), tuple(zip(asked.required_info, variant, strict=True))
    )
    try:
        with at(f"q{question}/v{number}", "upper bound", labels, aside=True):
            answer = await model.ask(task)
    except (ContentFiltered, ContextOverflow):
        return UpperBoundAnswer(question, variant, order, gold, None, "error", None)
    graded = grade_choice(answer.value, answer.status, gold, count, rules, lambda: generator(seed, "guess", *address))
    said = answer.text
    return UpperBoundAnswer(question, variant, order, gold, graded.option, str(graded.status), graded.correct, said)
