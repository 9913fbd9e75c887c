"""All that a run's scores are made of, as columns: gathered one episode at a time, so that no two are held at once.

Of an episode its exams and states become rows; what is left of it (its counts) is kept as it is. What is behind a wrong
answer and how old a state is need the user's scenario, so they are found when the episode is at hand.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from amemgym.evaluate import EpisodeResult, UpperBoundResult
from amemgym.scenario import Scenario
from amemgym.scores.answers import FAILURES, MISTAKES, NONE, Answers, Columns, place, places
from amemgym.scores.bounds import bound_names
from amemgym.scores.diagnosis import diagnose, mistake
from amemgym.scores.groups import Column
from amemgym.scores.rows import Rows
from amemgym.scores.states import Histories, States


@dataclass(frozen=True)
class Exams(Columns):
    """One row an exam. `episode` is its place in `Results.episodes`; `bound` is by the agent's upper bound and
    `bound_of_run` by the run's; `is_counted` is false for those that ended in an error. The rest as in Answers."""

    episode: Column
    user: Column
    period: Column
    question: Column
    correct: Column
    options: Column
    gold: Column
    option: Column
    bound: Column
    bound_of_run: Column
    failure: Column
    mistake: Column
    is_counted: Column
    is_invalid: Column
    is_guessed: Column
    is_cut_short: Column

    def answers(self, of_run: bool = False) -> Answers:
        """The same rows, with the agent's upper bound or the run's."""
        columns = {field.name: getattr(self, field.name) for field in fields(Answers)}
        return Answers(**columns | {"bound": self.bound_of_run if of_run else self.bound})


@dataclass(frozen=True)
class Probes(Columns):
    """One row an episode: how many probes there were, ended in an error, had no readable reply, and were asked with
    messages left out."""

    n: Column
    failed: Column
    unreadable: Column
    cut_short: Column


@dataclass(frozen=True)
class Results:
    """What is finished of a run. Episodes are in the order of its agents, then users, then trials, and rows in that of
    their episodes; episodes and upper bounds are without exams, probes and answers."""

    episodes: tuple[EpisodeResult, ...]
    upper_bounds: tuple[UpperBoundResult, ...]
    exams: Exams
    probes: Probes
    #: with the place of each state's episode
    states: States
    state_episode: Column

    def of(self, agent: str) -> Results:
        """One agent's."""
        is_own = np.array([episode.agent == agent for episode in self.episodes], dtype=bool)
        return self.only(is_own)

    def only(self, which: Column) -> Results:
        """The episodes that a mask is true for."""
        at = np.cumsum(which) - 1
        exams = self.exams.only(which[self.exams.episode])
        states = which[self.state_episode]
        return Results(
            tuple(episode for episode, wanted in zip(self.episodes, which, strict=True) if wanted),
            self.upper_bounds,
            replace(exams, episode=at[exams.episode]),
            self.probes.only(which),
            self.states.only(states),
            at[self.state_episode[states]],
        )

    def answers(self, agent: str | None = None) -> Answers:
        """The counted answers, of one agent or of all."""
        exams = (self if agent is None else self.of(agent)).exams
        return exams.only(exams.is_counted).answers()

    def every_cell(self) -> Answers:
        """Every cell of the data once, from whichever agents finished it first, with the run's upper bound."""
        _, first = np.unique(places(self.exams.user, self.exams.period, self.exams.question), return_index=True)
        return self.exams.only(first).answers(of_run=True)


class Gathering:
    """Results while they come in, in any order. `manifest` says whose upper bound is whose, and the agents' order."""

    def __init__(self, manifest: Mapping[str, Any]) -> None:
        self._order = {agent["name"]: at for at, agent in enumerate(manifest["compared"]["agents"])}
        self._run, self._names = manifest["upper_bound"]["run"] or "", bound_names(manifest)
        self._episodes: list[EpisodeResult] = []
        self._upper_bounds: list[UpperBoundResult] = []
        self._exams, self._variants = Rows(Exams), array("q")
        self._probes, self._states, self._state_episode = Rows(Probes), Rows(States), array("q")
        self._histories: Histories | None = None  # of the user at hand
        self._number: dict[tuple[str, ...], int] = {}
        self._bounds: dict[str, dict[tuple[int, int, int], int]] = {}

    def episode(self, result: EpisodeResult, scenario: Scenario | None = None) -> None:
        """Take in a finished episode, and where its scenario is given, what is behind its answers."""
        at = len(self._episodes)
        self._exams.extend(self._rows_of(at, result, scenario))
        self._variants.extend(self._variant(exam.variant) for exam in result.exams)
        if scenario is not None:
            if self._histories is None or self._histories.scenario is not scenario:
                self._histories = Histories(scenario)
            self._state_episode.extend([at] * self._states.extend(self._histories.rows(result)))
        probes = result.probes
        failed = sum(probe.error is not None for probe in probes)
        unreadable = sum(probe.error is None and not probe.is_readable for probe in probes)
        self._probes.extend([(len(probes), failed, unreadable, sum(probe.dropped > 0 for probe in probes))])
        self._episodes.append(replace(result, exams=(), probes=(), conversation=[], holdings=[], texts=()))

    def _rows_of(self, episode: int, result: EpisodeResult, scenario: Scenario | None) -> Iterator[tuple[int, ...]]:
        """The fields of Exams."""
        failures = {} if scenario is None else diagnose(result, scenario)
        for exam in result.exams:
            counts, failure, wrong = exam.counts, None, None
            if counts and scenario is not None and not exam.correct:
                failure, wrong = failures.get((exam.period, exam.question)), mistake(exam, scenario)
            yield (
                episode,
                result.user,
                exam.period,
                exam.question,
                exam.correct,
                len(exam.order),
                exam.gold,
                exam.option or 0,
                NONE,  # the upper bounds are looked up at the end, when all are there
                NONE,
                place(FAILURES, failure),
                place(MISTAKES, wrong),
                counts,
                exam.is_invalid,
                exam.guessed,
                exam.dropped > 0,
            )

    def upper_bound(self, result: UpperBoundResult) -> None:
        """Take in a user's finished upper bound."""
        known = self._bounds.setdefault(result.model, {})
        for answer in result.answers:
            if answer.correct is not None:  # what ended in an error is not known
                known[result.user, answer.question, self._variant(answer.variant)] = int(answer.correct)
        self._upper_bounds.append(replace(result, answers=()))

    def _variant(self, variant: tuple[str, ...]) -> int:
        return self._number.setdefault(variant, len(self._number))

    def results(self) -> Results:
        """What has come in so far."""
        whose = [self._order[episode.agent] for episode in self._episodes]
        keys = [(at, episode.user, episode.trial) for at, episode in zip(whose, self._episodes, strict=True)]
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        exams, states = self._exams.columns(), self._states.columns()
        bounds = self._bounds_of(exams, whose)
        exams = replace(exams, **bounds, episode=rank[exams.episode])
        state_episode = rank[np.asarray(self._state_episode)]
        by_state = np.argsort(state_episode, kind="stable")
        return Results(
            tuple(self._episodes[at] for at in order),
            tuple(sorted(self._upper_bounds, key=lambda result: (result.model, result.user))),
            exams.only(np.argsort(exams.episode, kind="stable")),
            self._probes.columns().only(order),
            states.only(by_state),
            state_episode[by_state],
        )

    def _bounds_of(self, exams: Exams, whose: Sequence[int]) -> dict[str, Column]:
        """What is known of each exam's upper bound: the agent's, and the run's."""
        of_agents = [self._bounds.get(self._names[name], {}) for name in self._order]
        of_run = self._bounds.get(self._run, {})
        bound, run = np.full(len(exams), NONE, dtype=np.int8), np.full(len(exams), NONE, dtype=np.int8)
        if self._bounds:
            rows = zip(
                exams.episode.tolist(), exams.user.tolist(), exams.question.tolist(), self._variants, strict=True
            )
            for at, (episode, user, question, variant) in enumerate(rows):
                key = user, question, variant
                bound[at] = of_agents[whose[episode]].get(key, NONE)
                run[at] = of_run.get(key, NONE)
        return {"bound": bound, "bound_of_run": run}


def gathered(
    manifest: Mapping[str, Any],
    episodes: Iterable[EpisodeResult],
    upper_bounds: Iterable[UpperBoundResult] = (),
    scenarios: Iterable[Scenario] = (),
) -> Results:
    """The results of what is at hand."""
    found, known = Gathering(manifest), {scenario.id: scenario for scenario in scenarios}
    for episode in episodes:
        found.episode(episode, known.get(episode.user_id))
    for upper_bound in upper_bounds:
        found.upper_bound(upper_bound)
    return found.results()
