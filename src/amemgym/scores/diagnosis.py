"""Why an answer is wrong: it was never written, not read back, not used, or not readable; and what the wrong option is.

The four failures are exclusive (SPEC section 3), so their shares and the accuracy add up to 1. Each wrong option is
besides one that was right earlier, one that will be right later, or one that never is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from amemgym.evaluate import EpisodeResult, ExamResult, ProbeResult
from amemgym.scenario import Scenario


class Failure(StrEnum):
    """Where memory failed. WRITE: a required state was not even known when it was new. READ: it was known then, and
    is not now. UTILIZATION: all required states are known, the answer is wrong. UNPARSED: the reply names no option."""

    WRITE = "write"
    READ = "read"
    UTILIZATION = "utilization"
    UNPARSED = "unparsed"


class Mistake(StrEnum):
    """What a wrong option is, by its variant: STALE was true after an earlier period, FUTURE (else) is after a later
    one, NEVER is after none."""

    STALE = "stale"
    FUTURE = "future"
    NEVER = "never"


#: (period, question)
Place = tuple[int, int]


def last_update(scenario: Scenario, period: int, variable: str) -> int:
    """The period, up to this one, in which a state variable was last given a value."""
    for earlier in range(period, 0, -1):
        was, now = scenario.periods[earlier - 1].state[variable], scenario.periods[earlier].state[variable]
        if variable in scenario.periods[earlier].updates or was != now:
            return earlier
    return 0


def diagnose(episode: EpisodeResult, scenario: Scenario) -> dict[Place, Failure | None]:
    """The failure behind each counted wrong exam; None where the probes that would tell are missing."""
    probes = {(probe.period, probe.question): probe for probe in episode.probes if probe.error is None}
    return {
        (exam.period, exam.question): _failure(exam, scenario, probes)
        for exam in episode.exams
        if exam.counts and not exam.correct
    }


def _failure(exam: ExamResult, scenario: Scenario, probes: Mapping[Place, ProbeResult]) -> Failure | None:
    if exam.is_invalid:
        return Failure.UNPARSED
    known = _known(scenario, exam.period, exam.question, probes)
    if known is None:
        return None
    wrong = [variable for variable, right in known.items() if not right]
    if not wrong:
        return Failure.UTILIZATION
    at_write = [_known(scenario, last_update(scenario, exam.period, v), exam.question, probes) for v in wrong]
    knew = [None if known is None else known[variable] for variable, known in zip(wrong, at_write, strict=True)]
    if False in knew:
        return Failure.WRITE
    return None if None in knew else Failure.READ


def _known(
    scenario: Scenario, period: int, question: int, probes: Mapping[Place, ProbeResult]
) -> dict[str, bool] | None:
    """Whether each required state was known after a period: None without a probe. No readable value is none known."""
    probe = probes.get((period, question))
    if probe is None:
        return None
    state = scenario.periods[period].state
    return {v: probe.values.get(v) == state[v] for v in scenario.qas[question].required_info}


def mistake(exam: ExamResult, scenario: Scenario) -> Mistake | None:
    """What the chosen wrong option is; None where the answer is right or names no option of its own."""
    if exam.correct or exam.option is None or exam.is_invalid:
        return None
    chosen = scenario.qas[exam.question].answer_choices[exam.order[exam.option - 1]]
    variant = tuple(chosen.state)
    if _holds(variant, exam.question, scenario, range(exam.period)):
        return Mistake.STALE
    if _holds(variant, exam.question, scenario, range(exam.period + 1, len(scenario.periods))):
        return Mistake.FUTURE
    return Mistake.NEVER


def _holds(variant: tuple[str, ...], question: int, scenario: Scenario, periods: Iterable[int]) -> bool:
    return any(scenario.variant(period, question) == variant for period in periods)
