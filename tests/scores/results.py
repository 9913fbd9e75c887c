"""What the tests of diagnosis and recall are made of: exams and probes of a user, written down by hand or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from amemgym.evaluate import EpisodeResult, ExamResult, ProbeResult
from amemgym.scenario import Scenario
from tests.scenario.build import User, valid_users


def scenario(user: User) -> Scenario:
    return Scenario.model_validate(user)


def exam(
    who: Scenario,
    period: int,
    question: int,
    variant: Sequence[str] | None,
    status: str = "ok",
    *,
    order: Sequence[int] | None = None,
    error: str | None = None,
) -> ExamResult:
    """The exam in which the option with that variant was chosen; None for no option."""
    options = [tuple(option.state) for option in who.qas[question].answer_choices]
    shown = tuple(range(len(options))[::-1] if order is None else order)  # so that place and index differ
    gold = shown.index(who.gold(period, question)) + 1
    option = None if variant is None else shown.index(options.index(tuple(variant))) + 1
    right = option == gold and error is None
    return ExamResult(period, question, shown, gold, who.variant(period, question), option, status, right, error=error)


def probe(
    who: Scenario, period: int, question: int, values: Mapping[str, str | None] | None = None, error: str | None = None
) -> ProbeResult:
    """A probe in which everything is right but for `values`."""
    state = who.periods[period].state
    said = {name: state[name] for name in who.qas[question].required_info} | dict(values or {})
    return ProbeResult(period, question, dict(said), "error" if error else "ok", error)


def episode(
    who: Scenario,
    exams: Sequence[ExamResult] = (),
    probes: Sequence[ProbeResult] = (),
    *,
    user: int = 0,
    trial: int = 0,
) -> EpisodeResult:
    return EpisodeResult("someone", user, who.id, trial, tuple(exams), tuple(probes))


@st.composite
def any_results(draw: st.DrawFn) -> tuple[Scenario, EpisodeResult]:
    """Any user, and any exams and probes of theirs: right, wrong, unreadable (guessed or not), failed or missing."""
    user = draw(valid_users())
    for period, after in zip(user["periods"], user["periods"][1:], strict=False):
        for name in after["state"]:  # updates that change nothing
            if name not in after["updates"] and draw(st.booleans()):
                after["updates"][name] = {"old": period["state"][name], "new": after["state"][name]}
    who = scenario(user)
    exams: list[ExamResult] = []
    probes: list[ProbeResult] = []
    for period in range(len(who.periods)):
        for index, asked in enumerate(who.qas):
            count = len(asked.answer_choices)
            order = tuple(draw(st.permutations(range(count))))
            gold = order.index(who.gold(period, index)) + 1
            how = draw(st.sampled_from(["ok", "ok", "repaired", "invalid", "empty", "guessed", "error"]))
            option = draw(st.integers(1, count)) if how in ("ok", "repaired", "guessed") else None
            exams.append(
                ExamResult(
                    period,
                    index,
                    order,
                    gold,
                    who.variant(period, index),
                    option,
                    "ambiguous" if how == "guessed" else how,
                    option == gold,
                    guessed=how == "guessed",
                    error="filtered" if how == "error" else None,
                )
            )
            kind = draw(st.sampled_from(["right", "any", "any", "error", "missing"]))
            if kind != "missing":
                said = {
                    name: who.periods[period].state[name]
                    if kind == "right"
                    else draw(st.sampled_from([None, *who.state_schema[name]]))
                    for name in asked.required_info
                }
                failed = "filtered" if kind == "error" else None
                probes.append(ProbeResult(period, index, said, "error" if failed else "ok", failed))
    return who, episode(who, exams, probes)
