"""Replies that the original benchmark recorded, parsed and graded again by our own rules.

Only the raw replies are taken from its results; what is right comes from the scenario. An entry that is about another
question, state or order of options than the scenario's is left out, since its reply cannot be graded by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from amemgym.env import IMPORTED, exam_item, grade
from amemgym.evaluate.results import ExamResult, ProbeResult, UpperBoundAnswer
from amemgym.evaluate.v1results import Entry, kind
from amemgym.llm import TICKS, RoleCount
from amemgym.scenario import Question, Scenario
from amemgym.tasks import Status, parse_choice, parse_values

#: bytes that a reply's tokens may have beyond its text: what begins and ends a message
MARKS = 16
#: beyond these, a count of tokens or seconds is a mistake
MOST_TOKENS, MOST_SECONDS = 10**12, 10.0**9


class LeftOut(Exception):
    """Why an entry cannot be used. `contradicts`: it is about something that is not in the scenario."""

    def __init__(self, why: str, contradicts: bool = False) -> None:
        super().__init__(f"{why}; left out")
        self.reason = why
        self.contradicts = contradicts


def exam(entry: Entry, scenario: Scenario) -> ExamResult:
    """One exam answer. Raises LeftOut."""
    asked = scenario.qas[entry.question]
    item = exam_item(scenario, entry.period, entry.question, IMPORTED, 0)
    _check(entry.fields, asked, item.gold_variant, item.gold)
    reply = _reply(entry.fields)
    choice = parse_choice(reply, item.question.options)
    graded = grade(item, choice.option, choice.status, IMPORTED, 0, scenario.id)
    return ExamResult(
        period=entry.period,
        question=entry.question,
        order=item.order,
        gold=item.gold,
        variant=item.gold_variant,
        option=graded.option,
        status=str(graded.status),
        correct=graded.correct,
        reply=reply,
    )


def probe(entry: Entry, scenario: Scenario) -> ProbeResult:
    """What the agent said of a question's required states. Raises LeftOut."""
    # a question may require one state twice
    required = {name: scenario.state_schema[name] for name in scenario.qas[entry.question].required_info}
    state = scenario.periods[entry.period].state
    for result in _probed(entry):
        name, truth = result.get("info_type"), result.get("answer_state")
        if isinstance(name, str) and name not in required:
            raise LeftOut(f"asks for '{name}', which the data's question does not require", contradicts=True)
        if isinstance(name, str) and isinstance(truth, str) and truth != state[name]:
            raise LeftOut(f"says {name} is '{truth}', which in the data is '{state[name]}'", contradicts=True)
    reply = _reply(entry.fields)
    parsed = parse_values(reply, required)
    values = {name: (parsed.value or {}).get(name) for name in required}
    return ProbeResult(entry.period, entry.question, values, str(parsed.status), reply=reply)


def read_before(entry: Entry) -> dict[str, Any]:
    """What the original benchmark itself read in a probe's reply, by state."""
    named = ((result.get("info_type"), result) for result in _probed(entry) if "response_state" in result)
    return {name: result["response_state"] for name, result in named if isinstance(name, str)}


def _probed(entry: Entry) -> list[Mapping[str, Any]]:
    results = entry.fields.get("results")
    return [result for result in results if isinstance(result, dict)] if isinstance(results, list) else []


def bound(fields: Mapping[str, Any], question: int, scenario: Scenario) -> UpperBoundAnswer:
    """One question asked with one variant given. Raises LeftOut."""
    asked = scenario.qas[question]
    variants = [tuple(option.state) for option in asked.answer_choices]
    said = fields.get("answer_state")
    variant = tuple(said) if isinstance(said, list) else ()
    if variant not in variants:
        raise LeftOut(f"answer_state {_short(said)} is no option's in the data", contradicts=True)
    gold = variants.index(variant) + 1
    _check(fields, asked, variant, gold)
    reply = _reply(fields)
    choice = parse_choice(reply, [option.answer for option in asked.answer_choices])
    order = tuple(range(len(variants)))
    correct = choice.option == gold
    return UpperBoundAnswer(question, variant, order, gold, choice.option, str(choice.status), correct, reply)


def _check(fields: Mapping[str, Any], asked: Question, variant: tuple[str, ...], gold: int) -> None:
    """Raises LeftOut where what was recorded contradicts the scenario. Fields that are not there contradict nothing.

    The number of the right answer is not compared: it counts from 0 in exams and from 1 in upper bounds.
    """
    query, state = fields.get("query"), fields.get("answer_state")
    if query is not None and not _same(query, asked.query):
        raise LeftOut(f"the question {_short(query)} is not the data's", contradicts=True)
    if state is not None and state != list(variant):
        raise LeftOut(f"answer_state {_short(state)} is not the data's {_short(list(variant))}", contradicts=True)
    options = [option.answer for option in asked.answer_choices]
    right, chosen, number = fields.get("answer_choice"), fields.get("response_choice"), fields.get("response")
    if right is not None and not _same(right, options[gold - 1]):
        raise LeftOut(f"the right answer {_short(right)} is not the data's", contradicts=True)
    shown = options[number - 1] if type(number) is int and 1 <= number <= len(options) else None
    if shown is not None and isinstance(chosen, str) and not _same(chosen, shown):
        # the number in the reply then means another option than ours
        raise LeftOut(f"option {number}, {_short(chosen)}, is not the data's: another order of options", True)


def _same(recorded: Any, text: str) -> bool:
    return isinstance(recorded, str) and recorded.split() == text.split()


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    text = text if len(text) <= 60 else text[:57] + "…"
    return f"'{text}'" if isinstance(value, str) else text


def _reply(fields: Mapping[str, Any]) -> str:
    reply = fields.get("raw_response")
    if not isinstance(reply, str):
        what = kind(reply) if "raw_response" in fields else "missing"
        raise LeftOut(f"no reply (raw_response is {what})")
    return reply


@dataclass(frozen=True)
class Read:
    """A reply that was read: its entry, its text and its status."""

    fields: Mapping[str, Any]
    text: str
    status: str


def counts(replies: Sequence[Read], role: str) -> tuple[dict[str, Any], list[str]]:
    """The ledger of a role's replies, and remarks. Empty where nothing was counted."""
    measured = [(used, reply.text) for reply in replies if (used := _usage(reply.fields)) is not None]
    if not measured:
        return {}, []
    total, remarks = RoleCount(calls=len(replies)), []
    total.statuses.update(Status(reply.status) for reply in replies)
    total.input = sum(given for (given, _, _), _ in measured)
    total.ticks = round(TICKS * math.fsum(seconds for (_, _, seconds), _ in measured))
    # In known versions of the original, output_tokens is the whole call's (5456 in, 5470 out for a reply of a few
    # words), so the difference is the reply's. That is believed only where every entry shows it: no count below the
    # input, and each difference no more than the reply's text can have (a token is at least one byte). If no count is
    # below the input, but the replies are too short for the differences, it may as well be reasoning that was not
    # kept: then nobody can tell.
    beyond = [output - given for (given, output, _), _ in measured]
    if min(beyond) < 0:
        total.output = sum(output for (_, output, _), _ in measured)
    elif all(more <= _bytes(text) + MARKS for more, (_, text) in zip(beyond, measured, strict=True)):
        total.output = sum(beyond)
    else:
        remarks.append("output_tokens may or may not include the input; no output tokens are counted")
    if len(measured) < len(replies):
        remarks.append(f"only {len(measured)} of {len(replies)} replies have their tokens counted")
    return {role: total.as_dict()}, remarks


def _usage(fields: Mapping[str, Any]) -> tuple[int, int, float] | None:
    """Input tokens, output tokens and seconds of one call."""
    used = fields.get("llm_usage_statistics")
    if not isinstance(used, dict):
        return None
    given, output, seconds = used.get("input_tokens"), used.get("output_tokens"), used.get("time_elapsed")
    if not _is_count(given) or not _is_count(output):
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds <= MOST_SECONDS:
        seconds = 0.0  # NaN is in no range
    return given, output, float(seconds)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MOST_TOKENS


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
