"""From what a judge found in a text to what is wrong with it.

`missing`: a state that should be told is not; `wrong`: it is told with another value; `leak`: a current state is told
that should not be; `contradiction`: what is told is not so; `answer`: an answer fits another variant than its own.
A reply of the judge that cannot be read, and a call that ended in an error, make neither a finding nor an all-clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from amemgym.quality.turns import Item, Quality

Kind = Literal["missing", "wrong", "leak", "contradiction", "answer"]
KINDS: tuple[Kind, ...] = ("missing", "wrong", "leak", "contradiction", "answer")
#: kinds that a turn of the user can have, as people may label them
TURN_KINDS = KINDS[:4]


@dataclass(frozen=True)
class Verdict:
    """What the judge said of one text: `found` is variable → value (None where it gives none), or None where the reply
    could not be read (`status`) or the call ended in an error (`error` says why)."""

    at: str
    status: str
    found: dict[str, str | None] | None
    error: str | None = None


@dataclass(frozen=True)
class Finding:
    """One fault, with its place; `intended` and `found` are values of `variable`."""

    kind: Kind
    quality: Quality
    user: int
    user_id: str
    agent: str | None
    trial: int | None
    period: int | None
    session: int | None
    round: int | None
    question: int | None
    option: int | None
    variable: str
    intended: str | None
    found: str | None
    current: str | None
    #: a leak that repeats what an earlier session told
    told_before: bool
    text: str

    def as_dict(self) -> dict[str, Any]:
        """Its fields, those that do not apply left out."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def place(self) -> str:
        """Where it is, for people: `user 0 (ada), period 3, session 1, round 0`."""
        parts = [f"user {self.user} ({self.user_id})"]
        if self.agent is not None:
            parts.append(f"agent {self.agent}" + (f", trial {self.trial}" if self.trial else ""))
        named = ("period", "session", "round", "question", "option")
        return ", ".join([*parts, *(f"{n} {v}" for n in named if (v := getattr(self, n)) is not None)])


@dataclass(frozen=True)
class Judged:
    """A text, what the judge said of it, and what is wrong with it."""

    item: Item
    verdict: Verdict
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> Literal["ok", "faulty", "undecided", "unreadable", "error"]:
        """What the judge's reply comes to; undecided where it was read, but leaves out a value it was asked for."""
        if self.verdict.error is not None:
            return "error"
        if self.verdict.found is None:
            return "unreadable"
        if not _is_whole(self.verdict):
            return "undecided"
        return "faulty" if self.findings else "ok"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of its faults, each once."""
        return tuple(kind for kind in KINDS if any(f.kind == kind for f in self.findings))


def judged(item: Item, verdict: Verdict) -> Judged:
    """What is wrong with a text."""
    if verdict.found is None or not _is_whole(verdict):
        return Judged(item, verdict, ())
    faults = _answer_faults if item.quality == "answers" else _turn_faults
    return Judged(item, verdict, tuple(_finding(item, *fault) for fault in faults(item, verdict.found)))


def _is_whole(verdict: Verdict) -> bool:
    """Whether a reply was read, and gives every value it was asked for: were an answer's other values counted without
    those that a judge cannot tell, answers with a fault would count more often than those without."""
    return verdict.found is not None and None not in verdict.found.values()


def _turn_faults(item: Item, found: Mapping[str, str | None]) -> Iterator[tuple[Kind, str, str | None]]:
    """(kind, variable, value found) in the order of the variables."""
    for name in item.variables:
        said, intended = found.get(name), item.intended.get(name)
        if item.quality == "exposure" and intended is not None:
            if said is None:
                yield "missing", name, None
            elif said != intended:
                yield "wrong", name, said
        elif said is not None and said != intended:
            if said != item.current.get(name):
                yield "contradiction", name, said
            elif item.recorded:
                yield "leak", name, said


def _answer_faults(item: Item, found: Mapping[str, str | None]) -> Iterator[tuple[Kind, str, str | None]]:
    for name, intended in item.intended.items():
        if (said := found.get(name)) is not None and said != intended:
            yield "answer", name, said


def _finding(item: Item, kind: Kind, variable: str, found: str | None) -> Finding:
    return Finding(
        kind,
        item.quality,
        item.user,
        item.user_id,
        item.agent,
        item.trial,
        item.period,
        item.session,
        item.round,
        item.question,
        item.option,
        variable,
        item.intended.get(variable),
        found,
        item.current.get(variable),
        kind == "leak" and item.told.get(variable) == found,
        item.text,
    )
