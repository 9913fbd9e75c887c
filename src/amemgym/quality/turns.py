"""What is judged: each session's utterance, each later turn of the user in a finished run, each written answer.

An utterance should tell what its session exposes (and, where a mistake is part of the data, what it retracts later),
and nothing else. A later turn should tell nothing of the state that its session does not expose: the protocol's rule
holds also for what an earlier session told, since to repeat it would refresh a memory; such a turn is marked
(`told_before`), so that it can be told from one that gives away what was never said. Where a data set does not record
what its sessions expose, only what is not so can be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from amemgym.evaluate.play import turns
from amemgym.llm import round_name
from amemgym.messages import Message
from amemgym.scenario import Scenario
from amemgym.tasks import RecoverVariant, RevealedStates

Quality = Literal["exposure", "integrity", "answers"]
QUALITIES: tuple[Quality, ...] = ("exposure", "integrity", "answers")


@dataclass(frozen=True)
class Item:
    """One text to be judged, with its place.

    `intended` is what it should tell (a later turn: may tell), `current` the state after its period, `told` what
    sessions before it told, all variable → value. An answer has a question and an option (both from 0) and `intended`
    is its variant.
    """

    quality: Quality
    user: int
    user_id: str
    text: str
    variables: Mapping[str, tuple[str, ...]]
    intended: Mapping[str, str]
    current: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)
    before: tuple[Message, ...] = ()
    query: str = ""
    agent: str | None = None
    trial: int | None = None
    period: int | None = None
    session: int | None = None
    round: int | None = None
    question: int | None = None
    option: int | None = None
    #: whether the data says what the session exposes
    recorded: bool = True

    @property
    def at(self) -> str:
        """Its place among the user's: `p3/s1/r0`, `native/t0/p3/s1/r1`, `q7/o2`."""
        if self.quality == "answers":
            return f"q{self.question}/o{self.option}"
        place = round_name(self.period or 0, self.session or 0, self.round or 0)
        return place if self.agent is None else f"{self.agent}/t{self.trial}/{place}"

    def task(self) -> RevealedStates | RecoverVariant:
        """What the judge is asked; it is not told what was intended."""
        if self.quality == "answers":
            return RecoverVariant(self.query, self.text, self.variables)
        return RevealedStates(self.text, self.variables, self.before)


@dataclass(frozen=True)
class Talk:
    """What one agent and the user said: periods → sessions → messages {role, content}."""

    agent: str
    trial: int
    conversation: Sequence[Sequence[Sequence[Mapping[str, Any]]]]


def records_exposure(scenario: Scenario) -> bool:
    """Whether the data says what its sessions expose."""
    return any(s.exposed_states or s.retracted_states for period in scenario.periods for s in period.sessions)


def items_of(user: int, scenario: Scenario, talks: Sequence[Talk] = ()) -> Iterator[Item]:
    """Everything of one user that is judged: utterances, later turns, answers."""
    if records_exposure(scenario):
        yield from _utterances(user, scenario)
    for talk in talks:
        yield from _later_turns(user, scenario, talk)
    yield from _answers(user, scenario)


def _variables(scenario: Scenario) -> dict[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in scenario.state_schema.items()}


def _sessions(scenario: Scenario) -> Iterator[tuple[int, int, dict[str, str], dict[str, str]]]:
    """(period, session, what it exposes, what was told before it), in order."""
    told: dict[str, str] = {}
    for number, period in enumerate(scenario.periods):
        for place, session in enumerate(period.sessions):
            exposed = {**session.exposed_states, **session.retracted_states}
            yield number, place, exposed, dict(told)
            told |= exposed


def _utterances(user: int, scenario: Scenario) -> Iterator[Item]:
    variables = _variables(scenario)
    for period, session, exposed, told in _sessions(scenario):
        yield Item(
            "exposure",
            user,
            scenario.id,
            scenario.periods[period].sessions[session].query,
            variables,
            exposed,
            scenario.periods[period].state,
            told,
            period=period,
            session=session,
            round=0,
        )


def _later_turns(user: int, scenario: Scenario, talk: Talk) -> Iterator[Item]:
    variables, recorded = _variables(scenario), records_exposure(scenario)
    for period, session, exposed, told in _sessions(scenario):
        if period >= len(talk.conversation) or session >= len(talk.conversation[period]):
            continue
        said: list[Message] = []
        for round_, turn in enumerate(turns([dict(message) for message in talk.conversation[period][session]])):
            first = turn[0]
            if round_ and first["role"] == "user":
                yield Item(
                    "integrity",
                    user,
                    scenario.id,
                    first["content"],
                    variables,
                    exposed,
                    scenario.periods[period].state,
                    told,
                    tuple(said),
                    agent=talk.agent,
                    trial=talk.trial,
                    period=period,
                    session=session,
                    round=round_,
                    recorded=recorded,
                )
            said += [Message(message["role"], message["content"]) for message in turn]


def _answers(user: int, scenario: Scenario) -> Iterator[Item]:
    for number, question in enumerate(scenario.qas):
        variables = {name: tuple(scenario.state_schema[name]) for name in question.required_info}
        for place, option in enumerate(question.answer_choices):
            yield Item(
                "answers",
                user,
                scenario.id,
                option.answer,
                variables,
                dict(zip(question.required_info, option.state, strict=True)),
                query=question.query,
                question=number,
                option=place,
            )
