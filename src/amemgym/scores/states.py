"""The single states that probes ask for, as columns: whether each was known, how old it is and how often it changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np

from amemgym.evaluate import EpisodeResult
from amemgym.scenario import Scenario
from amemgym.scores.answers import Columns
from amemgym.scores.diagnosis import last_update
from amemgym.scores.groups import Column


@dataclass(frozen=True)
class StateCell:
    """One state variable as one probe found it.

    `age` is the periods since it was last given a value, `changes` how often that happened after period 0, `life` the
    periods its present value lasts in all (its dwell time; to the end of the data where it does not change again).
    `values` are possible: a guess is right once in so many.
    """

    user: int
    trial: int
    question: int
    variable: str
    period: int
    right: bool
    values: int
    age: int
    changes: int
    life: int


@dataclass(frozen=True)
class States(Columns):
    """One row a state that a probe asked for, as in StateCell; `variable` is a number, the same for one user's."""

    user: Column
    trial: Column
    question: Column
    variable: Column
    period: Column
    right: Column
    values: Column
    age: Column
    changes: Column
    life: Column

    @classmethod
    def of(cls, cells: States | Sequence[StateCell]) -> States:
        """The columns of cells; those of columns are these."""
        if isinstance(cells, States):
            return cells
        numbers: dict[str, int] = {}
        variables = [numbers.setdefault(cell.variable, len(numbers)) for cell in cells]
        own = {field.name: _column(field.name, cells) for field in fields(cls) if field.name != "variable"}
        return cls(variable=np.array(variables, dtype=np.int64), **own)


def _column(name: str, cells: Sequence[StateCell]) -> Column:
    return np.array([getattr(cell, name) for cell in cells], dtype=bool if name == "right" else np.int64)


class Histories:
    """When the variables of one user were given a value."""

    def __init__(self, scenario: Scenario) -> None:
        self._periods = len(scenario.periods)
        self._variables = {name: place for place, name in enumerate(scenario.state_schema)}
        self._history = {name: self._of(name, scenario) for name in self._variables}
        self.scenario = scenario

    def rows(self, episode: EpisodeResult) -> Iterator[tuple[int, int, int, int, int, bool, int, int, int, int]]:
        """The fields of States for every state in every probe with a readable reply; what such a reply leaves out is
        not known. A variable's number is its place in the user's schema."""
        schema = self.scenario.state_schema
        for probe in episode.probes:
            if probe.is_readable:
                state = self.scenario.periods[probe.period].state
                for variable in dict.fromkeys(self.scenario.qas[probe.question].required_info):
                    if (values := len(schema[variable])) > 1:
                        yield (
                            episode.user,
                            episode.trial,
                            probe.question,
                            self._variables[variable],
                            probe.period,
                            probe.values.get(variable) == state[variable],
                            values,
                            *self._history[variable][probe.period],
                        )

    def _of(self, variable: str, scenario: Scenario) -> list[tuple[int, int, int]]:
        """Age, changes so far and life of the value that holds after each period."""
        updates = [p for p in range(self._periods) if last_update(scenario, p, variable) == p]
        found = []
        for changes, (begun, ends) in enumerate(pairwise([*updates, self._periods])):
            found += [(period - begun, changes, ends - begun) for period in range(begun, ends)]
        return found


def state_cells(episodes: Iterable[EpisodeResult], scenarios: Mapping[str, Scenario]) -> list[StateCell]:
    """Every state in every probe of some episodes."""
    histories = {id: Histories(scenario) for id, scenario in scenarios.items()}
    names = {id: list(scenario.state_schema) for id, scenario in scenarios.items()}
    return [
        StateCell(user, trial, question, names[episode.user_id][variable], period, right, *rest)
        for episode in episodes
        for user, trial, question, variable, period, right, *rest in histories[episode.user_id].rows(episode)
    ]
