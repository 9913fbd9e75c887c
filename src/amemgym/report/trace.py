"""Everything that happened to one user, for looking at: what was said, remembered and asked, and why answers failed.

A trace is plain JSON in which every text is a place in `texts`. Periods, questions and trials count from 0 and options
from 1, as in the files of a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amemgym.errors import UsageError
from amemgym.evaluate import EpisodeResult, ExamResult, ProbeResult, RunDirectory
from amemgym.report.pack import TextPool, pack
from amemgym.scenario import Scenario
from amemgym.scores.diagnosis import Failure, diagnose, last_update, mistake

#: characters of packed traces that a page holds at most
BUDGET = 9_000_000
#: the order in which failures are told of
FAILURES = (*map(str, Failure), "undiagnosed")
#: what is told of an exam even where it is 0
_KEPT = ("period", "question", "reply")


@dataclass
class Traces:
    """The packed traces of users in order; `index` says whose they are and which episodes are in them, `left_out` which
    users did not fit."""

    chunks: list[str] = field(default_factory=list)
    index: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def packed_traces(directory: RunDirectory, users: Sequence[str] | None = None) -> Traces:
    """The traces of the users (by id; None: all), in the order of the data, as many as fit; the first always does.

    Raises UsageError where there is no such user.
    """
    if users is not None:
        _check(users, [scenario.id for scenario in directory.scenarios()])
    traces, size = Traces(), 0
    for number, scenario in enumerate(directory.scenarios()):
        if users is not None and scenario.id not in users:
            continue
        if traces.left_out:
            traces.left_out.append(scenario.id)
            continue
        episodes = list(directory.episodes_of_user(number, scenario))
        if not episodes:
            continue
        packed = pack(user_trace(scenario, episodes))
        if traces.chunks and size + len(packed) > BUDGET:
            traces.left_out.append(scenario.id)
            continue
        size += len(packed)
        played = [{"agent": episode.agent, "trial": episode.trial} for episode in episodes]
        traces.index.append({"id": scenario.id, "name": scenario.user_profile.name, "episodes": played})
        traces.chunks.append(packed)
    return traces


def user_trace(scenario: Scenario, episodes: Sequence[EpisodeResult]) -> dict[str, Any]:
    """One user with every episode played."""
    pool = TextPool()
    trace = {
        "persona": pool.place(scenario.user_profile.text),
        "variables": list(scenario.state_schema),
        "periods": [
            {
                "end": period.period_end,
                "state": [period.state[variable] for variable in scenario.state_schema],
                # the period each value is from
                "since": [last_update(scenario, number, variable) for variable in scenario.state_schema],
            }
            for number, period in enumerate(scenario.periods)
        ],
        "questions": [
            {
                "text": pool.place(question.query),
                "required": question.required_info,
                "options": [
                    {"text": pool.place(option.answer), "values": option.state} for option in question.answer_choices
                ],
            }
            for question in scenario.qas
        ],
        "episodes": [_episode(episode, scenario, pool) for episode in episodes],
    }
    return {**trace, "texts": pool.entries}


def _episode(episode: EpisodeResult, scenario: Scenario, pool: TextPool) -> dict[str, Any]:
    failures = diagnose(episode, scenario)
    probes = {(probe.period, probe.question): probe for probe in episode.probes}

    def places(items: Sequence[int]) -> list[int]:
        return [pool.place(episode.texts[item]) for item in items]

    def exam(result: ExamResult) -> dict[str, Any]:
        place = (result.period, result.question)
        failure, wrong = failures.get(place), mistake(result, scenario)
        told = {
            "period": result.period,
            "question": result.question,
            "order": result.order,
            "gold": result.gold,
            "option": result.option,
            "status": result.status,
            "correct": result.correct,
            "guessed": result.guessed,
            "error": result.error,
            "reply": pool.place(result.reply),
            "items": places(result.items),
            "dropped": result.dropped,
            # right answers have none; `undiagnosed` where the probes that would tell are missing
            "failure": str(failure) if failure else "undiagnosed" if place in failures else None,
            "mistake": str(wrong) if wrong else None,
            "probe": _probe(probes.get(place), pool),
        }
        return {name: value for name, value in told.items() if value not in (None, False, 0) or name in _KEPT}

    return {
        "agent": episode.agent,
        "trial": episode.trial,
        "talk": [
            [[[m["role"], pool.place(m["content"]), m.get("time")] for m in session] for session in period]
            for period in episode.conversation
        ],
        "holdings": [None if held is None else places(held) for held in episode.holdings],
        "dropped": episode.dropped,
        "exams": [exam(result) for result in sorted(episode.exams, key=lambda e: (e.period, e.question))],
    }


def _probe(probe: ProbeResult | None, pool: TextPool) -> dict[str, Any] | None:
    """What was said, with the reply itself only where it could not be read in full."""
    if probe is None:
        return None
    told: dict[str, Any] = {"values": probe.values, "status": probe.status}
    if probe.error is not None:
        return told | {"error": probe.error}
    return told if all(probe.values.values()) else told | {"reply": pool.place(probe.reply)}


def _check(users: Sequence[str], known: Sequence[str]) -> None:
    for user in users:
        if user not in known:
            some = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
            raise UsageError(f"no user '{user}' in this run; its users are {some}")
