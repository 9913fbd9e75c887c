"""How far the judge and people agree about turns, and people with each other: Gwet's AC1 over their labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from amemgym.clean import clean
from amemgym.errors import DataError
from amemgym.quality.findings import TURN_KINDS, Judged
from amemgym.quality.labels import FAULTY, OK, TURN_QUALITIES, Label, Turn, turn_of
from amemgym.quality.turns import Item
from amemgym.scores.agreement import agreement


def agreements(labels: Sequence[Label], all_judged: Sequence[Judged], path: Path) -> dict[str, Any]:
    """Agreement of the judge with people, and of people with each other, over utterances, later turns and both.

    Judge and human: a subject is a turn and a rater, with two ratings. Human and human: a subject is a turn, with as
    many ratings as raters. `by_kind` compares the kinds of fault where people named them; elsewhere any fault is
    `faulty`. `unknown` names labels of turns that are not there. Raises DataError where no label is of any turn.
    """
    known = {turn_of(one.item): one for one in all_judged if one.item.quality in TURN_QUALITIES}
    labels, unknown = placed(labels, [one.item for one in all_judged], path)
    found: dict[str, Any] = {
        "labels": len(labels),
        "raters": sorted({label.rater for label in labels}),
        "unknown": unknown,
    }
    for quality in ("turns", *TURN_QUALITIES):
        some = [label for label in labels if quality in ("turns", known[label.turn].item.quality)]
        if some:
            found[quality] = _both(some, known, _as_fault, (OK, FAULTY))
    if any(label.label not in (OK, FAULTY) for label in labels):
        found["by_kind"] = _both(labels, known, _as_kind, (OK, *TURN_KINDS))
    return found


def placed(labels: Sequence[Label], items: Iterable[Item], path: Path) -> tuple[list[Label], list[str]]:
    """The labels of turns that are among the items, and where in the file the others are. Raises DataError where none
    is of any of them, or where a label's text is not its turn's."""
    known = {turn_of(item): item for item in items if item.quality in TURN_QUALITIES}
    agents = {turn.agent for turn in known if turn.agent is not None}
    if len(agents) == 1:  # then it need not be said
        only = next(iter(agents))
        labels = [_of_agent(label, only) for label in labels]
    unknown = [f"line {label.line}: {_told(label.turn)}" for label in labels if label.turn not in known]
    found = [label for label in labels if label.turn in known]
    for label in found:
        if label.text and _plain(label.text) != _plain(known[label.turn].text):
            raise DataError(
                f"{path}, line {label.line}: its text is not that of {_told(label.turn)} in this data; the labels are"
                " of another data set, or the text was changed"
            )
    if not found:
        raise DataError(f"{path}: no label is of a turn that is judged; the first, {unknown[0]}")
    return found, unknown


def _plain(text: str) -> str:
    """A text as it is after a spreadsheet had it: what is between words does not count."""
    return " ".join(clean(text).split())


def _of_agent(label: Label, agent: str) -> Label:
    turn = label.turn
    if turn.round == 0 or turn.agent is not None:
        return label
    return replace(label, turn=turn._replace(agent=agent, trial=turn.trial or 0))


def _told(turn: Turn) -> str:
    agent = "" if turn.agent is None else f", agent '{turn.agent}', trial {turn.trial}"
    return f"user '{turn.user}'{agent}, period {turn.period}, session {turn.session}, round {turn.round}"


def _both(
    labels: Sequence[Label],
    known: Mapping[Turn, Judged],
    category: Callable[[str], str | None],
    categories: Sequence[str],
) -> dict[str, Any]:
    judge = {turn: category(_judges(one)) for turn, one in known.items()}
    pairs = [(judge[label.turn], category(label.label)) for label in labels]
    with_judge = agreement(pairs, [label.turn.user for label in labels], categories)
    raters = sorted({label.rater for label in labels})
    by_turn: dict[Turn, dict[str, str | None]] = defaultdict(dict)
    for label in labels:
        by_turn[label.turn][label.rater] = category(label.label)
    humans = [[said.get(rater) for rater in raters] for said in by_turn.values()]
    among = agreement(humans, [turn.user for turn in by_turn], categories)
    return {"judge_human": asdict(with_judge), "human_human": asdict(among) if len(raters) > 1 else None}


def _judges(one: Judged) -> str:
    """The judge's own label; none where its reply was unreadable or an error."""
    if one.outcome == FAULTY:
        return "+".join(sorted(one.kinds))
    return OK if one.outcome == OK else ""


def _as_fault(label: str) -> str | None:
    return None if not label else OK if label == OK else FAULTY


def _as_kind(label: str) -> str | None:
    """Which fault it is, is not said by `faulty`."""
    return None if label in ("", FAULTY) else label
