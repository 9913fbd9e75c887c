"""What is said of an evolution in words, in the terminal and on the page alike."""

from __future__ import annotations

from collections.abc import Iterator

from amemgym.report.evolution.told import Arm, Evolved, Gain
from amemgym.report.wording import chance, count, dollars
from amemgym.scores import OFFLINE
from amemgym.scores.verdict import BETTER, NOT_SHOWN

#: what must not be taken for the result
TRAINING = (
    "Scores on training users are not what counts: their own exams gave the feedback. What was learned counts by the"
    " gain on held-out users, who gave none"
)
#: what a verdict is made of
VERDICTS = "Better, or worse, is only what leaves 0 out of its interval and has a p below 0.05"


def gain_sentence(gain: Gain) -> str:
    """What a gain shows, and where it shows nothing, why."""
    if gain.verdict != NOT_SHOWN:
        return f"{gain.agent} is {gain.verdict} than {gain.against} on users that it has not learned from"
    return f"{gain.agent} is {NOT_SHOWN} than {gain.against}: {_why_not(gain)}"


def _why_not(gain: Gain) -> str:
    if gain.difference is None:
        return "they have no exam in common"
    if gain.interval is None:
        return f"{_users(gain.users)} give{'s' if gain.users == 1 else ''} no interval"
    if gain.interval[0] <= 0 <= gain.interval[1]:
        return "the interval of the difference holds 0"
    if gain.p_adjusted is None:
        return "there is no p"
    least = "" if gain.smallest_p is None else f" (with {_users(gain.users)} it is {gain.smallest_p:.3g} or more)"
    return f"p is {chance(gain.p_adjusted)}, and not below 0.05{least}"


def anything_learned(told: Evolved) -> bool:
    return any(gain.verdict == BETTER for gain in told.gains)


def history(arm: Arm) -> Iterator[str]:
    """What happened to an arm's policy, a sentence each."""
    revised, all_ = arm.periods("revised"), len(arm.revisions)
    yield f"revised after {len(revised)} of {all_} period{'' if all_ == 1 else 's'}"
    for outcome, said in (
        ("unchanged", "came back unchanged"),
        ("nothing wrong", "no wrong answer to learn from"),
        ("unusable", "no usable revision"),
    ):
        if periods := arm.periods(outcome):
            yield f"{said} after {_periods(periods)}"
    first, last = arm.start, arm.policies[-1]
    before = "as at the beginning" if first == last else f"at first {count(len(first))}"
    yield f"{count(len(last))} characters, {before}"


def unusable(arm: Arm) -> Iterator[tuple[int, str]]:
    """Period and last reason, of each revision that could not be used."""
    for step in arm.revisions:
        if step.outcome == "unusable":
            yield step.period, step.refused[-1] if step.refused else "no reason was kept"


def cost(arm: Arm) -> str:
    """What the revisions took of the model."""
    used, mark = arm.cost, "~" if arm.cost.estimated else ""
    calls = "1 call" if used.calls == 1 else f"{count(used.calls)} calls"
    said = f"{calls}, {mark}{count(used.input)} tokens in, {mark}{count(used.output)} out"
    if used.usd:
        said += f", US$ {mark}{dollars(used.usd)}"
    unreadable = sum(used.unreadable.values())
    return f"{said}, {unreadable} replies unreadable" if unreadable else said


def is_offline(told: Evolved) -> bool:
    return OFFLINE in told.warnings


def _users(users: int) -> str:
    return "1 user" if users == 1 else f"{users} users"


def _periods(periods: list[int]) -> str:
    return f"period{'' if len(periods) == 1 else 's'} {', '.join(map(str, periods))}"
