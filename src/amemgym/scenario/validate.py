"""What is wrong with a data set, each fault with its place and what was expected there.

An error means that the data cannot be run or its scores would mean nothing; a warning means that it can be run but
something is missing. Users, periods, sessions and questions count from 0, as the SPEC counts periods.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from amemgym.scenario.model import Period, Question, Scenario, parse_time


@dataclass(frozen=True)
class Fault:
    """One fault: `place` is empty where it is the whole user's."""

    user: int
    user_id: str
    place: str
    message: str
    severity: Literal["error", "warning"] = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        name = f"user {self.user}" + (f" ({self.user_id})" if self.user_id else "")
        text = f"{name}{', ' + self.place if self.place else ''}: {self.message}"
        return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


#: pydantic's words for a wrong type, in JSON's
_WORDS = {
    "string_type": "should be a string",
    "int_type": "should be a whole number",
    "list_type": "should be a list",
    "dict_type": "should be an object",
    "model_type": "should be an object",
}

#: (place, message) or (place, message, severity)
_Finding = tuple[str, str] | tuple[str, str, Literal["error", "warning"]]


def find_faults(scenarios: Sequence[Scenario], places: Sequence[int] | None = None) -> list[Fault]:
    """All faults of users whose structure is right. `places` are the users' numbers in the file, if not 0, 1, 2 …"""
    places = range(len(scenarios)) if places is None else places
    first_use: dict[str, int] = {}
    faults: list[Fault] = []
    for number, scenario in zip(places, scenarios, strict=True):
        found: list[_Finding] = list(_user_faults(scenario))
        if scenario.id in first_use:
            found.insert(0, ("", f"id '{scenario.id}' is already the id of user {first_use[scenario.id]}"))
        first_use.setdefault(scenario.id, number)
        faults += [Fault(number, scenario.id, *finding) for finding in found]
    return faults


def structural_faults(user: int, raw: Any, error: ValidationError) -> list[Fault]:
    """A user of the wrong shape or types: one fault for each place that pydantic names."""
    user_id = str(raw.get("id", "")) if isinstance(raw, dict) else ""
    return [Fault(user, user_id, *_structural(detail["loc"], detail)) for detail in error.errors(include_url=False)]


def _structural(location: tuple[int | str, ...], detail: Any) -> tuple[str, str]:
    words = {"periods": "period", "sessions": "session", "qas": "question", "answer_choices": "option"}
    place: list[str] = []
    field: list[str] = []
    for part in location:
        if isinstance(part, int) and len(field) == 1 and field[0] in words:
            place.append(f"{words[field.pop()]} {part}")
        else:
            field.append(str(part))
    name = ".".join(field)
    if detail["type"] == "missing":
        return ", ".join(place), f"'{name}' is missing"
    said = _WORDS.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    value = json.dumps(detail["input"], ensure_ascii=False, default=str)
    value = value if len(value) <= 60 else value[:57] + "…"
    return ", ".join(place), f"{f'{name!r}: ' if name else ''}{said}, found {value}"


def _user_faults(user: Scenario) -> Iterator[_Finding]:
    if not user.id.strip():
        yield "", "'id' is empty"
    if not user.periods:
        yield "", "there are no periods"
    if not user.qas:
        yield "", "there are no questions, so there is nothing to examine"
    for name, values in user.state_schema.items():
        for value, count in Counter(values).items():
            if count > 1:
                yield "", f"the schema of '{name}' lists '{value}' {count} times"
        if not values:
            yield "", f"the schema of '{name}' lists no values"
    exposes = any(session.exposed_states for period in user.periods for session in period.sessions)
    if user.periods and not exposes:
        yield "", "no session carries exposed_states; it can be run, but what was revealed when is unknown", "warning"
    yield from _time_faults(user)
    before: dict[str, str] = {}
    for index, period in enumerate(user.periods):
        place = f"period {index}"
        if not period.sessions:
            yield place, "there are no sessions, so the user says nothing", "warning"
        yield from _state_faults(user, period, place)
        yield from _update_faults(period, before, place)
        if exposes:
            yield from _exposure_faults(period, place)
        before = {**before, **period.state}  # a state left out is a fault of this period alone
    for index, question in enumerate(user.qas):
        yield from _question_faults(user, question, f"question {index}")
    for query, count in Counter(question.query for question in user.qas).items():
        if count > 1:
            yield "", f"{count} questions ask the same: '{query[:60]}'", "warning"


def _time_faults(user: Scenario) -> Iterator[_Finding]:
    last_session = ("", "")
    last_end = last_start = ""
    if user.start_time and user.periods and parse_time(user.start_time) > parse_time(user.periods[0].period_end):
        yield "", f"start_time ({user.start_time}) is after the end of period 0", "warning"
    for p, period in enumerate(user.periods):
        start, end = period.period_start, period.period_end
        if start and parse_time(start) > parse_time(end):
            yield f"period {p}", f"it ends ({end}) before it starts ({start})"
        elif start:
            if last_start and parse_time(start) < parse_time(last_start):
                yield f"period {p}", f"time goes backwards: it starts at {start}, the period before at {last_start}"
            last_start = start
        backwards = bool(last_end) and parse_time(end) < parse_time(last_end)
        if backwards:
            yield f"period {p}", f"time goes backwards: it ends at {end}, the period before at {last_end}"
        exam, last_end = last_end, end
        for s, session in enumerate(period.sessions):
            place = f"period {p}, session {s}"
            if last_session[1] and session.time < parse_time(last_session[1]):
                yield (
                    place,
                    f"time goes backwards: {session.session_time} after {last_session[1]} ({last_session[0]})",
                )
            elif exam and session.time < parse_time(exam):
                yield place, f"time goes backwards: {session.session_time}, but the period before ended at {exam}"
            if not backwards and session.time.date() > parse_time(end).date():
                yield place, f"it is at {session.session_time}, after its period's end ({end})", "warning"
            last_session = (place, session.session_time)
            if not session.query.strip():
                yield place, "'query' is empty, so the user says nothing"


def _state_faults(user: Scenario, period: Period, place: str) -> Iterator[_Finding]:
    for name, values in user.state_schema.items():
        if name not in period.state:
            yield place, f"state '{name}' has no value; the schema lists {', '.join(values)}"
        elif period.state[name] not in values:
            yield place, f"state '{name}' is '{period.state[name]}'; the schema lists {', '.join(values)}"
    for name in period.state:
        if name not in user.state_schema:
            yield place, f"state '{name}' is not in the schema"


def _update_faults(period: Period, before: dict[str, str], place: str) -> Iterator[_Finding]:
    for name, update in period.updates.items():
        if name not in period.state:
            yield place, f"update of '{name}', which is no state of this period"
        elif update.new != period.state[name]:
            yield place, f"update of '{name}' to '{update.new}', but its state is '{period.state[name]}'"
        elif update.old != before.get(name):
            was = f"'{before[name]}'" if name in before else "not set"
            old = "null" if update.old is None else f"'{update.old}'"
            yield place, f"update of '{name}' from {old}, but before it was {was}"
        elif update.old == update.new:
            yield place, f"update of '{name}' changes nothing ('{update.new}')", "warning"
    for name, value in period.state.items():
        if before.get(name) != value and name not in period.updates:
            was = f"from '{before[name]}' " if name in before else ""
            yield place, f"state '{name}' changes {was}to '{value}' without an update"


def _exposure_faults(period: Period, place: str) -> Iterator[_Finding]:
    exposed: set[str] = set()
    for index, session in enumerate(period.sessions):
        for name, value in session.exposed_states.items():
            where = f"{place}, session {index}"
            exposed.add(name)
            if name not in period.state:
                yield where, f"exposes '{name}', which is no state of this period"
            elif value != period.state[name]:
                yield where, f"exposes '{name}' as '{value}', but its state is '{period.state[name]}'"
            elif name not in period.updates:
                yield where, f"exposes '{name}', which no update of this period changes"
        for name, value in session.retracted_states.items():
            if value == period.state.get(name):
                yield f"{place}, session {index}", f"takes back '{name}' as '{value}', but that is its state"
            elif not any(name in later.exposed_states for later in period.sessions[index + 1 :]):
                yield (
                    f"{place}, session {index}",
                    f"tells '{name}' wrongly, and no later session of the period mends it",
                )
    for name in period.updates:
        if name not in exposed:
            yield place, f"no session exposes the update of '{name}' to '{period.updates[name].new}'"


def _question_faults(user: Scenario, question: Question, place: str) -> Iterator[_Finding]:
    if not question.query.strip():
        yield place, "'query' is empty"
    if not question.required_info:
        yield place, "'required_info' is empty, so nothing of the user's life decides the answer"
    for name, count in Counter(question.required_info).items():
        if name not in user.state_schema:
            yield place, f"required info '{name}' is not in the schema"
        if count > 1:
            yield place, f"required info '{name}' is listed {count} times", "warning"
    if len(question.answer_choices) < 2:
        yield place, f"there are {len(question.answer_choices)} options; a choice needs at least 2"
    for index, option in enumerate(question.answer_choices):
        where = f"{place}, option {index}"
        if len(option.state) != len(question.required_info):
            yield where, f"its variant has {len(option.state)} values for {len(question.required_info)} required info"
            continue
        for name, value in zip(question.required_info, option.state, strict=True):
            if value not in user.state_schema.get(name, [value]):
                yield where, f"'{name}' is '{value}'; the schema lists {', '.join(user.state_schema[name])}"
        if not option.answer.strip():
            yield where, "'answer' is empty"
    yield from _gold_faults(user, question, place)


def _gold_faults(user: Scenario, question: Question, place: str) -> Iterator[_Finding]:
    options = Counter(tuple(option.state) for option in question.answer_choices)
    answers = Counter(option.answer for option in question.answer_choices)
    for answer, count in answers.items():
        if count > 1:
            yield place, f"{count} options have the same text: '{answer[:60]}'"
    reported: set[tuple[str, ...]] = set()
    for index, period in enumerate(user.periods):
        if any(name not in period.state for name in question.required_info):
            continue  # said by the state's own fault
        variant = tuple(period.state[name] for name in question.required_info)
        if options[variant] != 1 and variant not in reported:
            reported.add(variant)
            have = "no option has" if not options[variant] else f"{options[variant]} options have"
            yield place, f"{have} the variant ({', '.join(variant)}), which is true after period {index}"
