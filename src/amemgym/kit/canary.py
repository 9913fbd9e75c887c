"""A small scenario whose secrets can be told by their looks: values that nobody says, gold, the persona's hidden parts.

It is played as a run plays it, exams and probes with their labels at the place, on-policy with `ConversationalAgent`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from amemgym.agents import ConversationalAgent, Examinee, Habits
from amemgym.env import Episode, ExamItem, ProbeItem, UserTurn
from amemgym.kit.bench import Bench, Hearing, Subject, nodding_model
from amemgym.kit.talk import START, Fact, facts_of
from amemgym.llm import at, probe_name, question_name, round_name
from amemgym.memory import Item, Memory
from amemgym.messages import TIME_FORMAT
from amemgym.scenario import AnswerOption, Period, Question, Scenario, Session, Update, UserProfile

#: in every secret, and in nothing that is said
CANARY = "xylquistor"
VALUES = {
    name: tuple(f"{CANARY}_{name}_{number}" for number in range(3)) for name in ("home_town", "daily_work", "pet_kind")
}
PERIODS = 2
#: short, so that nearly everything said is written to the memory
HABITS = Habits(freq=2, n_s=0)


def canary_scenario() -> Scenario:
    """Two periods of two sessions, two questions of three options."""
    return Scenario(
        id="canary",
        user_profile=UserProfile(name=f"{CANARY} person", formatted_str=f"hidden: {CANARY} persona"),
        state_schema={name: list(values) for name, values in VALUES.items()},
        periods=[_period(number) for number in range(PERIODS)],
        qas=[
            _question("Where should I spend a free day?", "home_town", "daily_work"),
            _question("What should I buy for my household?", "pet_kind"),
        ],
    )


def told_in(period: int) -> list[Fact]:
    """What the user says in a period, a fact a session."""
    return facts_of(0)[period * 2 : period * 2 + 2]


def _period(number: int) -> Period:
    state = {name: values[number] for name, values in VALUES.items()}
    told = told_in(number)
    times = [fact.time + timedelta(days=60 * number) for fact in told]
    return Period(
        period_end=(START + timedelta(days=60 * number + 20)).strftime(TIME_FORMAT),
        period_summary=f"{CANARY} summary {number}",
        sessions=[
            Session(
                query=fact.said,
                session_time=time.strftime(TIME_FORMAT),
                event=f"{CANARY} event {number}",
                exposed_states=state if not place else {},
            )
            for place, (fact, time) in enumerate(zip(told, times, strict=True))
        ],
        state=state,
        updates={name: Update(new=state[name], old=VALUES[name][number - 1] if number else None) for name in VALUES},
    )


def _question(query: str, *required: str) -> Question:
    variants = [[VALUES[name][number] for name in required] for number in range(3)]
    options = [AnswerOption(state=v, answer=f"{CANARY} answer {number}") for number, v in enumerate(variants)]
    return Question(query=query, required_info=list(required), answer_choices=options)


@dataclass(frozen=True)
class Sitting:
    """The exam that is due after a period: its questions and probes, and the agent that has it before it."""

    period: int
    now: datetime
    items: list[ExamItem]
    probes: list[ProbeItem]

    @property
    def asked(self) -> list[ExamItem | ProbeItem]:
        return [*self.items, *self.probes]


def conversing(bench: Bench) -> tuple[ConversationalAgent, list[Subject]]:
    """An agent with a memory of the bench, and its memories as they are made: its own first, then each exam's copy.
    What they send is heard together."""
    made: list[Subject] = []
    hearing = Hearing()

    def make() -> Memory:
        memory = bench.cls()
        made.append(bench.sit(memory, hearing))
        return memory

    return ConversationalAgent(HABITS, make, bench.tools(hearing), nodding_model("assistant")), made


async def play(agent: ConversationalAgent, periods: int = PERIODS) -> AsyncIterator[Sitting]:
    """Play the scenario; whenever an exam is due, it is the caller's to take."""
    scenario = canary_scenario().limited(periods)
    episode = Episode(nodding_model("user"))
    step = await episode.reset(scenario)
    while (seen := step.observation) is not None:
        if isinstance(seen, UserTurn):
            with at(round_name(seen.period, seen.session, seen.round)):
                reply = await agent.reply(seen.message)
            step = await episode.step(reply.content)
        else:
            items, step = episode.take_exam()
            await agent.written()  # the caller looks into the memory itself
            yield Sitting(seen.period, scenario.periods[seen.period].end, items, episode.probes(seen.period))


async def read_in(examinee: Examinee, asked: ExamItem | ProbeItem) -> tuple[Item, ...]:
    """Put a question or a probe, at its place with the labels there; what the examinee's memory gave for it."""
    if isinstance(asked, ExamItem):
        with at(question_name(asked.period, asked.index), "exam", asked.labels):
            return (await examinee.answer(asked.question)).items
    with at(probe_name(asked.period, asked.index), "probe"):
        return (await examinee.probe(asked.question)).items
