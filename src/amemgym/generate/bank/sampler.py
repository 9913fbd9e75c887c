"""One user composed from a pack: a person, some domains of their life, the course of its states, what they say of it.

Everything is drawn from generators addressed by seed, pack and user, so any user can be made alone, in any order and on
any machine. Nothing is drawn from the order of a set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from random import Random
from typing import Any

from amemgym.errors import UsageError
from amemgym.generate.bank.chosen import Chosen, StateVariable
from amemgym.generate.bank.pack import Domain, Pack
from amemgym.generate.bank.people import Person, draw_person, fill, profile
from amemgym.generate.bank.talk import Draft, Talker
from amemgym.generate.calendar import period_days, session_times
from amemgym.generate.course import Course, Turn
from amemgym.generate.options import Variant, option_variants
from amemgym.generate.shape import Shape
from amemgym.scenario import AnswerOption, Period, Question, Scenario, Session, Update
from amemgym.seeds import generator

#: raised whenever what a seed gives could change, so that equal names mean equal data
VERSION = 1


def check_shape(pack: Pack, shape: Shape, place: str) -> None:
    """Raises UsageError where the pack has not what the shape asks for."""
    fitting = [d for d in pack.domains.values() if len(d.variables) >= shape.states]
    if len(fitting) < shape.questions:
        raise UsageError(
            f"{place}: {shape.questions} questions of {shape.states} states each; the pack '{pack.name}' has"
            f" {len(fitting)} domains with so many variables (a domain gives one question)"
        )
    fewest = min(len(v.values) for d in fitting for v in d.variables.values())
    if shape.values > fewest:
        raise UsageError(f"{place}: {shape.values} values a variable; the pack '{pack.name}' has {fewest} for some")


class Composer:
    """Composes users of one pack and shape; `source` is the name that the users are made by."""

    def __init__(self, pack: Pack, shape: Shape, source: str) -> None:
        self._pack = pack
        self._shape = shape
        made = {"source": source, "sampler": VERSION, "language": pack.words.language}
        self._made = {**made, "pack": f"{pack.name}:{pack.sha256[:12]}", **shape.described()}

    def user(self, number: int) -> Scenario:
        """The user of that number, from 0."""
        shape, user_id = self._shape, f"bank-{self._pack.name}-{self._shape.seed}-{number:05d}"

        def draws(what: str) -> Random:
            return generator(shape.seed, "bank", VERSION, self._pack.name, number, what)

        person = draw_person(self._pack, draws("person"))
        domains = self._domains(person, draws("domains"))
        chosen = Chosen(domains, self._variables(domains, draws("variables")))
        turns = self._course(chosen.schema, draws("course"))
        talker = Talker(self._pack, shape, person, chosen, draws("talk"))
        return Scenario(
            id=user_id,
            start_time=shape.start,
            user_profile=profile(self._pack, person, user_id),
            state_schema={name: list(values) for name, values in chosen.schema.items()},
            periods=self._periods(turns, talker, draws("times")),
            qas=self._questions(chosen, turns, person.words, draws("questions")),
            generation=self._made,
        )

    def _domains(self, person: Person, random: Random) -> dict[str, Domain]:
        """As many as there are questions: such as fit the person's age and each other, as far as there are so many."""
        fitting = {n: d for n, d in self._pack.domains.items() if len(d.variables) >= self._shape.states}
        drawn = random.sample(list(fitting), len(fitting))
        chosen: list[str] = []
        for name in drawn:
            low, high = fitting[name].ages
            at_odds = any(name in fitting[other].not_with or other in fitting[name].not_with for other in chosen)
            if low <= person.age <= high and not at_odds:
                chosen.append(name)
        chosen += [name for name in drawn if name not in chosen]
        return {name: fitting[name] for name in chosen[: self._shape.questions]}

    def _variables(self, domains: Mapping[str, Domain], random: Random) -> dict[str, StateVariable]:
        variables: dict[str, StateVariable] = {}
        for domain_name, domain in domains.items():
            for name in _some(list(domain.variables), self._shape.states, random):
                values = _some(list(domain.variables[name].values), self._shape.values, random)
                variables[f"{domain_name}_{name}"] = StateVariable(domain_name, name, tuple(values))
        return variables

    def _course(self, schema: Mapping[str, Sequence[str]], random: Random) -> list[Turn]:
        course = Course(schema, self._shape, random)
        course.begin({name: random.choice(values) for name, values in schema.items()})
        while len(course.turns) < self._shape.periods:
            demand = course.demand()
            course.move(demand, course.draw(demand))
        return course.turns

    def _periods(self, turns: Sequence[Turn], talker: Talker, random: Random) -> list[Period]:
        counts = Counter[str]()
        periods: list[Period] = []
        start = date.fromisoformat(self._shape.start)
        for number, turn in enumerate(turns):
            drafts = talker.drafts(turn)
            first, end = period_days(start, number, self._shape.months, len(drafts))
            times = session_times(random, first, end, len(drafts))
            counts.update(change.variable for change in turn.changes)
            events = [draft.event for draft in drafts if draft.event]
            periods.append(
                Period(
                    period_start=periods[-1].period_end if periods else None,
                    period_end=end.isoformat(),
                    period_summary=self._pack.words.space.join(events) or None,
                    sessions=[_session(draft, time) for draft, time in zip(drafts, times, strict=True)],
                    state=dict(turn.state),
                    updates={change.variable: Update(old=change.old, new=change.new) for change in turn.changes},
                    update_cnts={name: counts[name] for name in turn.state},
                )
            )
        return periods

    def _questions(
        self, chosen: Chosen, turns: Sequence[Turn], words: Mapping[str, str], random: Random
    ) -> list[Question]:
        states = [turn.state for turn in turns]
        questions: list[Question] = []
        for name, domain in chosen.domains.items():
            required = chosen.required(name)
            forms = {v: random.randrange(len(chosen.value(v, chosen.variables[v].values[0]).answers)) for v in required}

            def answer(variant: Variant, forms: Mapping[str, int] = forms) -> str:
                parts = [chosen.value(v, value).answers[forms[v]] for v, value in zip(forms, variant, strict=True)]
                return self._pack.words.space.join(parts)

            options = option_variants(states, required, chosen.schema, self._shape.options, random)
            questions.append(
                Question(
                    query=fill(random.choice(domain.questions), words),
                    required_info=required,
                    answer_choices=[AnswerOption(state=list(v), answer=answer(v), type=kind) for v, kind in options],
                )
            )
        return questions


def _some(names: list[str], count: int, random: Random) -> list[str]:
    """So many of the names, in their own order."""
    chosen = random.sample(names, count)
    return [name for name in names if name in chosen]


def _session(draft: Draft, time: str) -> Session:
    fields: dict[str, Any] = {"event": draft.event, "exposed_states": dict(draft.exposed), "query": draft.query}
    fields |= {"messages": [], "session_time": time, "kind": draft.kind}
    if draft.retracted:
        fields["retracted_states"] = dict(draft.retracted)
    return Session(**fields)
