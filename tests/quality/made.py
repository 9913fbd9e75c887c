"""Users for leak gates: lives drawn by seed, with options that leak nothing or one thing on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from amemgym.llm.embed import Vectors
from amemgym.quality.gates import Gate, GateCounter
from amemgym.scenario import Scenario
from tests.scenario.build import build_user, question

QUESTIONS, PERIODS = 4, 3
#: reorders or rewrites the options (v1 objects) of a question; told the value that is right for ever, if there is one
Change = Callable[[list[dict[str, Any]], str, Random], None]

WORDS = [
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
    "maple",
    "north",
    "olive",
    "pearl",
    "quill",
    "river",
]


def user(number: int, seed: int, change: Change | None = None, values: int = 4, still: bool = False) -> Scenario:
    """One variable a question, any value in any period (the first period's for ever where `still`)."""
    random = Random(f"{seed} {number}")
    schema = {f"v{q}": [f"w{value}" for value in range(values)] for q in range(QUESTIONS)}
    first = {name: random.choice(known) for name, known in schema.items()}
    lives = [first] + [first if still else {n: random.choice(v) for n, v in schema.items()} for _ in range(PERIODS - 1)]
    asked = []
    for q in range(QUESTIONS):
        variants = [(value,) for value in schema[f"v{q}"]]
        random.shuffle(variants)
        made = question(f"Question {q}?", [f"v{q}"], *variants)
        for option, length in zip(made["answer_choices"], random.sample(range(40, 90), values), strict=True):
            # of different lengths, as a tie falls to the order
            option["answer"] = " ".join(random.choices(WORDS, k=20))[:length].ljust(length, ".")
        if change is not None:
            change(made["answer_choices"], first[f"v{q}"], random)
        asked.append(made)
    return Scenario.model_validate(build_user(f"u{number}", schema, lives, asked))


def users(count: int, seed: int, change: Change | None = None, **settings: Any) -> list[Scenario]:
    return [user(number, seed, change, **settings) for number in range(count)]


def gold_first(options: list[dict[str, Any]], gold: str, random: Random) -> None:
    options.sort(key=lambda option: option["state"] != [gold])


def gold_longest(options: list[dict[str, Any]], gold: str, random: Random) -> None:
    for option in options:
        if option["state"] == [gold]:
            option["answer"] += " and so on" * 20


def gold_shortest(options: list[dict[str, Any]], gold: str, random: Random) -> None:
    for option in options:
        if option["state"] == [gold]:
            option["answer"] = f"{random.randrange(10**6)}."


def vectors(scenario: Scenario, random: np.random.Generator) -> tuple[Vectors, list[Vectors]]:
    """Any vectors: of the questions, and of each question's options."""
    asked = random.normal(size=(len(scenario.qas), 8)).astype(np.float32)
    return asked, [random.normal(size=(len(q.answer_choices), 8)).astype(np.float32) for q in scenario.qas]


def gates_of(scenarios: Sequence[Scenario], seed: int = 0) -> dict[str, Gate]:
    """The gates by name, without a model and with vectors that mean nothing."""
    counter, random = GateCounter(seed), np.random.default_rng(seed)
    for scenario in scenarios:
        counter.add(scenario, *vectors(scenario, random))
    return {gate.name: gate for gate in counter.result()}
