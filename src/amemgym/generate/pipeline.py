"""One user made by a language model: persona → questions → schema → initial state → periods → events → utterances →
answers → scenario.

What was intended is checked by a round trip: a judge that is not told finds in every utterance exactly the states it
should tell, and in every answer the variant it was written for. A period's texts are written while the next period is
still being chosen, and everything that does not depend on each other is asked for at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amemgym.errors import GenerationFailed
from amemgym.generate.calendar import period_days, session_times
from amemgym.generate.checks import answer_faults, text_faults, told_faults
from amemgym.generate.course import Course, Turn
from amemgym.generate.life import Plot, choose_state, explain, list_topics, make_plot, move_on, span
from amemgym.generate.options import Variant, option_variants
from amemgym.generate.personas import Persona
from amemgym.generate.shape import Shape
from amemgym.generate.stage import Maker, all_made
from amemgym.generate.telling import Planned, first_groups, plan_sessions
from amemgym.scenario import Scenario, find_faults, parse_time
from amemgym.seeds import generator
from amemgym.tasks import (
    RecoverVariant,
    RevealedStates,
    StageTask,
    WriteAboutOther,
    WriteAnswers,
    WriteDistractor,
    WriteUtterance,
)


@dataclass(frozen=True)
class Told:
    """A period with everything that is said in it: the planned sessions, each with its utterance."""

    turn: Turn
    summary: str | None
    sessions: tuple[tuple[Planned, str], ...]
    counts: Mapping[str, int]


class Pipeline:
    """The making of one user.

    Args:
        number: the user's place in the data set, from 0; seeds depend on it.
        persona: who it is.
        shape: what to make.
        maker: who makes it.
        described: what the user's field `generation` says.
    """

    def __init__(self, number: int, persona: Persona, shape: Shape, maker: Maker, described: Mapping[str, Any]) -> None:
        self._number = number
        self._persona = persona
        self._shape = shape
        self._maker = maker
        self._described = described
        self._told: dict[int, Told] = {}
        self._summaries: list[str] = []
        #: topics of quiet periods that would have no session else
        self._filling: list[str] = []

    async def scenario(self) -> Scenario:
        """The whole user. Raises GenerationFailed, ModelError."""
        plot = await make_plot(self._persona.text, self._shape, self._maker)
        course = Course(plot.schema, self._shape, generator(self._shape.seed, "course", self._number))
        course.begin(await choose_state(self._persona.text, plot, self._maker))
        count = self._shape.distractors * self._shape.periods
        topics = await list_topics(self._persona.text, plot, count, self._maker)
        questions: list[dict[str, Any]] = []
        await self._live(plot, course, topics, None, questions)
        return self._assembled(plot, questions)

    async def _live(
        self, plot: Plot, course: Course, topics: Sequence[str], summary: str | None, questions: list[dict[str, Any]]
    ) -> None:
        """The latest period's texts, and beside them the next periods, and after the last the answers."""
        turn, period = course.turns[-1], course.period - 1
        own = topics[period * self._shape.distractors :][: self._shape.distractors]
        if turn.is_quiet and not own:  # as with the bank, somebody to whom nothing happens still talks
            self._filling += await list_topics(
                self._persona.text, plot, 1, self._maker, place=f"p{period}/topics", earlier=self._filling
            )
            own = self._filling[-1:]
        said = self._tell(plot, period, turn, summary, dict(course.counts), own)

        async def go_on() -> None:
            if course.period < self._shape.periods:
                _, new = await move_on(self._persona.text, plot, course, self._shape, self._summaries, self._maker)
                self._summaries += [new] if new else []
                await self._live(plot, course, topics, new, questions)
            else:
                states = [turn.state for turn in course.turns]
                questions.extend(await all_made([self._question(plot, n, states) for n in range(len(plot.questions))]))

        await all_made([said, go_on()])

    async def _tell(
        self,
        plot: Plot,
        period: int,
        turn: Turn,
        summary: str | None,
        counts: Mapping[str, int],
        topics: Sequence[str],
    ) -> None:
        """The sessions of a period, each with its utterance."""
        groups: list[tuple[str | None, tuple[str, ...]]] = []
        if not period:
            groups = first_groups(plot.required)
        elif not turn.is_quiet:
            events = await explain(self._persona.text, period, turn, summary, self._shape, self._maker)
            groups = [(event.text, event.variables) for event in events]
        random = generator(self._shape.seed, "sessions", self._number, period)
        planned = plan_sessions(turn, groups, plot.schema, topics, self._shape, random)
        said = await all_made([self._say(plot, f"p{period}/s{n}", one) for n, one in enumerate(planned)])
        self._told[period] = Told(turn, summary, tuple(zip(planned, said, strict=True)), counts)

    async def _say(self, plot: Plot, place: str, planned: Planned) -> str:
        stage = {"distractor": "distractors", "other": "others"}.get(planned.kind, "utterances")

        async def check(utterance: str) -> list[str]:
            faults = list(text_faults("the message", utterance, plot.schema))
            if not faults:
                found = await self._maker.judged(stage, RevealedStates(message=utterance, variables=plot.schema))
                faults += told_faults(found, planned.told)
            return faults

        return await self._maker.make(stage, place, self._task(plot, planned), check)

    def _task(self, plot: Plot, planned: Planned) -> StageTask[str]:
        profile, schema = self._persona.text, plot.schema
        if planned.kind == "distractor":
            return WriteDistractor(profile=profile, topic=planned.topic, schema=schema)
        if planned.kind == "other":
            name, value = planned.other
            return WriteAboutOther(profile=profile, variable=name, value=value, level=planned.level, schema=schema)
        others = {name: values for name, values in schema.items() if name not in planned.told}
        return WriteUtterance(
            profile=profile, event=planned.event, tell=planned.tell, level=planned.level, others=others
        )

    async def _question(self, plot: Plot, number: int, states: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        query, required = plot.questions[number], plot.required[number]
        random = generator(self._shape.seed, "options", self._number, number)
        options = option_variants(states, required, plot.schema, self._shape.options, random)
        variants = [variant for variant, _ in options]
        variables = {name: plot.schema[name] for name in required}
        recovered: dict[str, dict[str, str | None]] = {}

        async def read(answer: str) -> None:
            task = RecoverVariant(question=query, answer=answer, variables=variables)
            found = await self._maker.judged("answers", task)
            if found is not None:  # else it is asked for again with the repaired answers
                recovered[answer] = found

        async def check(answers: Sequence[str]) -> list[str]:
            faults = list(answer_faults(answers, len(variants), variables))
            if faults:
                return faults
            await all_made([read(answer) for answer in answers if answer not in recovered])
            return _variant_faults([recovered.get(answer, {}) for answer in answers], variants, required)

        task = WriteAnswers(question=query, variables=variables, variants=tuple(variants))
        answers = await self._maker.make("answers", f"q{number}", task, check)
        choices = [
            {"state": list(variant), "answer": answer, "type": kind}
            for (variant, kind), answer in zip(options, answers, strict=True)
        ]
        return {"query": query, "required_info": list(required), "answer_choices": choices}

    def _assembled(self, plot: Plot, questions: list[dict[str, Any]]) -> Scenario:
        user = {
            "id": self._persona.id,
            "start_time": self._shape.start,
            "user_profile": self._persona.profile(),
            "state_schema": {name: list(values) for name, values in plot.schema.items()},
            "periods": [self._period(number) for number in range(self._shape.periods)],
            "qas": questions,
            "generation": dict(self._described),
        }
        scenario = Scenario.model_validate(user)
        faults = [str(fault) for fault in find_faults([scenario], [self._number]) if fault.is_error]
        if faults:
            raise GenerationFailed(self._maker.user, "the whole", faults)
        return scenario

    def _period(self, number: int) -> dict[str, Any]:
        told = self._told[number]
        start = parse_time(self._shape.start).date()
        first, end = period_days(start, number, self._shape.months, len(told.sessions))
        random = generator(self._shape.seed, "times", self._number, number)
        times = session_times(random, first, end, len(told.sessions))
        begins, ends = span(self._shape, number)
        return {
            "period_start": begins if number else None,
            "period_end": ends,
            "period_summary": told.summary,
            "sessions": [_session(*one, time) for one, time in zip(told.sessions, times, strict=True)],
            "state": dict(told.turn.state),
            "updates": {one.variable: {"old": one.old, "new": one.new} for one in told.turn.changes},
            "update_cnts": dict(told.counts),
        }


def _session(planned: Planned, utterance: str, time: str) -> dict[str, Any]:
    session: dict[str, Any] = {
        "event": planned.event,
        "exposed_states": {} if planned.kind == "mistake" else planned.told,
        "query": utterance,
        "messages": [],
        "session_time": time,
        "kind": planned.kind,
    }
    return session | ({"retracted_states": planned.told} if planned.kind == "mistake" else {})


def _variant_faults(
    found: Sequence[Mapping[str, str | None]], variants: Sequence[Variant], required: Sequence[str]
) -> list[str]:
    """The answers that a judge would not place where they belong."""
    faults: list[str] = []
    for number, (values, variant) in enumerate(zip(found, variants, strict=True), start=1):
        for name, value in zip(required, variant, strict=True):
            said = values.get(name)
            if said is None:
                faults.append(f"answer {number} does not show that '{name}' is '{value}'")
            elif said != value:
                faults.append(f"answer {number} reads as if '{name}' were '{said}'; it should be '{value}'")
    return faults
