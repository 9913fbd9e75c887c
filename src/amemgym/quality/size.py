"""How much there is: users, periods, sessions, questions and options, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from amemgym import files
from amemgym.quality.tally import Kinds, Spread, Tally
from amemgym.scenario import Scenario, parse_time

#: the mean Gregorian month, in days
MONTH = 30.436875
#: settings of generation that are told apart
SETTINGS = 40


@dataclass(frozen=True)
class Size:
    """Counts. What is spread is so over users (`periods`, `questions`, `variables`), over questions (`options`,
    `states`), variables (`values`), periods (`sessions`, `months`). `option_types` and `session_kinds` are what the
    data calls them, `settings` (name → value → users) what the `recorded` users say of how they were made."""

    users: int
    exams: int
    periods: Spread
    questions: Spread
    variables: Spread
    values: Spread
    options: Spread
    option_types: Mapping[str, int]
    states: Spread
    sessions: Spread
    session_kinds: Mapping[str, int]
    silent_sessions: int
    retracted: int
    months: Spread
    first: str | None
    last: str | None
    recorded: int
    settings: Mapping[str, Mapping[str, int]]


class SizeCounter:
    """Counts one user after the other."""

    def __init__(self) -> None:
        self._users = self._exams = self._silent = self._retracted = self._recorded = 0
        self._periods, self._questions, self._variables, self._values = Tally(), Tally(), Tally(), Tally()
        self._options, self._states, self._sessions, self._months = Tally(), Tally(), Tally(), Tally()
        self._types, self._kinds = Kinds(), Kinds()
        self._first: datetime | None = None
        self._last: datetime | None = None
        self._settings: dict[str, Kinds] = {}

    def add(self, user: Scenario) -> None:
        self._users += 1
        self._exams += len(user.periods) * len(user.qas)
        self._periods.add(len(user.periods))
        self._questions.add(len(user.qas))
        self._variables.add(len(user.state_schema))
        for values in user.state_schema.values():
            self._values.add(len(values))
        for question in user.qas:
            self._options.add(len(question.answer_choices))
            self._states.add(len(question.required_info))
            for option in question.answer_choices:
                self._types.add(option.type or "not said")
        self._add_sessions(user)
        self._add_times(user)
        if (made := user.generation) is not None:
            self._recorded += 1
            self._add_settings(made)

    def _add_sessions(self, user: Scenario) -> None:
        for period in user.periods:
            self._sessions.add(len(period.sessions))
            for session in period.sessions:
                self._kinds.add(session.kind or "not said")
                self._silent += not session.exposed_states
                self._retracted += len(session.retracted_states)

    def _add_times(self, user: Scenario) -> None:
        before: datetime | None = None
        for period in user.periods:
            times = [parse_time(period.period_end), *(session.time for session in period.sessions)]
            self._first = min(filter(None, [self._first, *times]))
            self._last = max(filter(None, [self._last, *times]))
            if before is not None:
                self._months.add(round((parse_time(period.period_end) - before).days / MONTH))
            before = parse_time(period.period_end)

    def _add_settings(self, made: Mapping[str, Any], within: str = "") -> None:
        for name, value in made.items():
            if isinstance(value, Mapping) and not within:
                self._add_settings(value, f"{name}.")
            elif (place := f"{within}{name}"[:80]) in self._settings or len(self._settings) < SETTINGS:
                told = value if isinstance(value, str) else files.canonical_json(value)
                self._settings.setdefault(place, Kinds()).add(told)

    def result(self) -> Size:
        return Size(
            users=self._users,
            exams=self._exams,
            periods=self._periods.spread(),
            questions=self._questions.spread(),
            variables=self._variables.spread(),
            values=self._values.spread(),
            options=self._options.spread(),
            option_types=self._types.most_common(),
            states=self._states.spread(),
            sessions=self._sessions.spread(),
            session_kinds=self._kinds.most_common(),
            silent_sessions=self._silent,
            retracted=self._retracted,
            months=self._months.spread(),
            first=self._first.date().isoformat() if self._first else None,
            last=self._last.date().isoformat() if self._last else None,
            recorded=self._recorded,
            settings={name: kinds.most_common() for name, kinds in self._settings.items()},
        )
