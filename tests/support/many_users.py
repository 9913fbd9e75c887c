"""A finished run of any number of users, as a run directory has it, without playing it: lives of the bank under new
names, answers and probes drawn by seed, conversations and memories of the usual length.

    python -m tests.support.many_users DIRECTORY USERS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.agents import parse_agent
from amemgym.env import exam_of_period, find_rules
from amemgym.evaluate import RunDirectory, RunSpec, make_manifest, make_spec
from amemgym.evaluate.upperbound import bound_names, variants_of
from amemgym.generate import open_users
from amemgym.scenario import Dataset, Scenario
from amemgym.seeds import generator

AGENTS = ("native", "rag", "awe", "awi")
#: how often each knows a state and is right where it knows
KNOWS = {"native": 0.9, "rag": 0.7, "awe": 0.6, "awi": 0.5}
#: lives that are different; the rest are the same ones under other names
LIVES = 20
COUNTS = {"calls": 120, "input": 90_000, "output": 4_000, "estimated": 120, "seconds": 1.5, "unreadable": {}}


def write_run(out: Path, users: int, agents: Sequence[str] = AGENTS, lives: str = "bank:base") -> RunDirectory:
    """A finished run in a directory, and the directory."""
    known = list(open_users(f"{lives}?users={min(users, LIVES)}"))
    played = Dataset("many", "0" * 64, tuple(_named(known[at % len(known)], at) for at in range(users)))
    spec = make_spec({"agents": tuple(agents), "data": "starter"})
    specs = [parse_agent(name, spec.context_tokens, spec.timeout) for name in agents]
    model, rules = spec.model_settings(), find_rules(spec.protocol, spec.rounds_initial, spec.rounds_later)
    directory = RunDirectory(out)
    directory.claim(make_manifest(spec, played, specs, model, model, rules))
    directory.write_data(played)
    ((bound, _),) = bound_names(specs, model).values()
    for at, scenario in enumerate(played):
        exams = [_exams(scenario, period, spec) for period in range(len(scenario.periods))]
        for agent in agents:
            result = _episode(agent, at, scenario, exams)
            place = out / "episodes" / files.slug(agent) / f"{files.slug(scenario.id)}-t0.json"
            _put(place, result)
        place = out / "upper-bound" / files.slug(bound) / f"{files.slug(scenario.id)}.json"
        _put(place, _upper_bound(bound, at, scenario))
    return directory


def _named(scenario: Scenario, at: int) -> Scenario:
    return scenario.model_copy(update={"id": f"{scenario.id}-{at}"})


def _upper_bound(model: str, user: int, scenario: Scenario) -> dict[str, Any]:
    chance = generator(0, "many users", model, scenario.id)
    answers = []
    for question, variant in variants_of(scenario):
        order = list(range(len(scenario.qas[question].answer_choices)))
        told = {"question": question, "variant": variant, "order": order, "gold": 1, "option": 1, "status": "ok"}
        answers.append({**told, "correct": chance.random() < 0.95})
    return {"model": model, "user": user, "user_id": scenario.id, "answers": answers, "ledger": {}}


def _put(place: Path, value: Any) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(files.compact_json(value), encoding="utf-8")


def _exams(scenario: Scenario, period: int, spec: RunSpec) -> list[Any]:
    rules = find_rules(spec.protocol, spec.rounds_initial, spec.rounds_later)
    return list(exam_of_period(scenario, period, rules, spec.seed))


def _episode(agent: str, user: int, scenario: Scenario, exams: Sequence[Sequence[Any]]) -> dict[str, Any]:
    chance = generator(0, "many users", agent, scenario.id)
    talk = [
        [
            [
                {"role": role, "content": content, "time": session.session_time}
                for role, content in (
                    ("user", session.query),
                    ("assistant", f"{agent}, {chance.random()}: I see. " * 9),
                )
            ]
            for session in period.sessions
        ]
        for period in scenario.periods
    ]
    texts = [message["content"] for period in talk for session in period for message in session]
    results, probes = [], []
    for period, items in enumerate(exams):
        state = scenario.periods[period].state
        for item in items:
            asked = scenario.qas[item.index]
            values = {name: _said(name, scenario, period, agent, chance) for name in asked.required_info}
            knows = all(values[name] == state[name] for name in values)
            option = item.gold if knows and chance.random() < 0.95 else chance.randint(1, len(item.order))
            results.append(
                {
                    "period": period,
                    "question": item.index,
                    "order": item.order,
                    "gold": item.gold,
                    "variant": item.gold_variant,
                    "option": option,
                    "status": "ok",
                    "correct": option == item.gold,
                    "reply": json.dumps({"answer": option}),
                    "items": [chance.randrange(len(texts)) for _ in range(5)],
                }
            )
            probes.append(
                {
                    "period": period,
                    "question": item.index,
                    "values": values,
                    "status": "ok",
                    "reply": json.dumps(values),
                }
            )
    spoken = [2 * len(period.sessions) for period in scenario.periods]
    return {
        "agent": agent,
        "user": user,
        "user_id": scenario.id,
        "trial": 0,
        "exams": results,
        "probes": probes,
        "conversation": talk,
        "holdings": [list(range(sum(spoken[: at + 1]))) for at in range(len(spoken))],
        "texts": texts,
        "held": [sum(spoken[: at + 1]) for at in range(len(spoken))],
        "spoken": [sum(spoken[: at + 1]) for at in range(len(spoken))],
        "ledger": {role: COUNTS for role in ("assistant", "exam", "probe", "user")},
    }


def _said(variable: str, scenario: Scenario, period: int, agent: str, chance: Any) -> str | None:
    """What a probe's reply says of a state."""
    if chance.random() < KNOWS.get(agent, 0.3):
        return scenario.periods[period].state[variable]
    said: str | None = chance.choice([None, *scenario.state_schema[variable]])
    return said


if __name__ == "__main__":
    write_run(Path(sys.argv[1]), int(sys.argv[2]))
