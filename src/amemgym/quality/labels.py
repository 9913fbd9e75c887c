"""People's labels of turns, in a CSV that a spreadsheet can fill in: read, and offered as a sample to be filled in.

Columns: user (the id), period, session, round (0: the session's utterance), label; optional: rater, agent, trial,
dimension (exposure for round 0, integrity for later ones). A label is `ok`, `faulty`, or the kinds of fault joined by
`+` (missing, wrong, leak, contradiction); a row without one is not labelled yet. Other columns are for the eye.

A cell that a spreadsheet would take for a formula is written behind an apostrophe, which is taken off again here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from amemgym import files
from amemgym.clean import clean
from amemgym.errors import DataError, UsageError
from amemgym.quality.findings import TURN_KINDS
from amemgym.quality.turns import Item
from amemgym.seeds import generator

OK, FAULTY = "ok", "faulty"
NEEDED = ("user", "period", "session", "round", "label")
OPTIONAL = ("rater", "agent", "trial", "dimension")
TURN_QUALITIES = ("exposure", "integrity")
#: what the template has for the eye: the turn, what it should tell, what it should not, and what was said before
FOR_THE_EYE = ("text", "should_tell", "should_not_tell", "before")
ONE_RATER = "the rater"
#: what begins a formula in a spreadsheet
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Turn(NamedTuple):
    """The place of a turn of the user. Utterances are the data's, so they have no agent and no trial."""

    user: str
    agent: str | None
    trial: int | None
    period: int
    session: int
    round: int


@dataclass(frozen=True)
class Label:
    """What a rater said of a turn; `line` is where, in the file, and `text` the turn's own text, if that is there."""

    turn: Turn
    rater: str
    label: str
    line: int
    text: str = ""


def turn_of(item: Item) -> Turn:
    """The place of an utterance or a later turn."""
    assert item.period is not None and item.session is not None and item.round is not None
    return Turn(item.user_id, item.agent, item.trial, item.period, item.session, item.round)


def read_labels(path: Path) -> list[Label]:
    """The labels of a file. Raises DataError, which names line and column."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}); save it as CSV UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # some spreadsheets write ; where the comma is the decimal sign
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    labels: list[Label] = []
    seen: dict[tuple[Turn, str], int] = {}
    columns: list[str] | None = None
    try:
        for cells in rows:
            if columns is None:
                columns = _columns(path, [cell.strip().lower() for cell in cells])
            elif any(cell.strip() for cell in cells):
                place = f"{path}, line {rows.line_num}"
                if len(cells) > len(columns):
                    raise DataError(f"{place} has {len(cells)} cells, but there are {len(columns)} columns")
                row = {name: _as_given(cell.strip()) for name, cell in zip(columns, cells, strict=False)}
                if label := _label(row, place, rows.line_num):
                    before = seen.setdefault((label.turn, label.rater), label.line)
                    if before != label.line:
                        who = f"rater '{label.rater}'" if label.rater != ONE_RATER else "the same rater"
                        raise DataError(f"{place}: {who} labels a turn that line {before} labels already")
                    labels.append(label)
    except csv.Error as error:
        raise DataError(f"{path}, line {rows.line_num}: not readable as CSV ({error})") from None
    if columns is None:
        raise DataError(f"{path} is empty; it should have the columns {', '.join(NEEDED)}")
    if not labels:
        raise DataError(f"{path} holds no label; fill in the column 'label' with {OK}, {FAULTY} or a kind of fault")
    return labels


def _columns(path: Path, names: list[str]) -> list[str]:
    """Raises DataError."""
    missing = [name for name in NEEDED if name not in names]
    twice = sorted({name for name in names if name in (*NEEDED, *OPTIONAL) and names.count(name) > 1})
    if missing:
        raise DataError(f"{path}, line 1: no column '{missing[0]}'; needed are {', '.join(NEEDED)}")
    if twice:
        raise DataError(f"{path}, line 1: column '{twice[0]}' appears twice")
    return names


def _label(row: Mapping[str, str], place: str, line: int) -> Label | None:
    """The row's label, or None where it has none yet. Raises DataError."""
    said = "+".join(sorted({part.strip().lower() for part in row.get("label", "").split("+") if part.strip()}))
    if not said:
        return None
    if said not in (OK, FAULTY) and not set(said.split("+")) <= set(TURN_KINDS):
        raise DataError(
            f"{place}, column 'label': '{row['label'][:40]}' is neither {OK} nor {FAULTY}, nor made of"
            f" {', '.join(TURN_KINDS)} joined by +"
        )
    if not row.get("user"):
        raise DataError(f"{place}, column 'user' is empty; it should hold the user's id")
    period, session, round_ = (_number(row, name, place) for name in ("period", "session", "round"))
    dimension = row.get("dimension", "").lower()
    own = TURN_QUALITIES[bool(round_)]
    if dimension and dimension != own:
        raise DataError(f"{place}, column 'dimension': '{dimension[:40]}', but round {round_} is one of {own}")
    agent, trial = row.get("agent") or None, _number(row, "trial", place) if row.get("trial") else None
    if round_ == 0:
        agent = trial = None  # the same for every agent
    elif agent is not None and trial is None:
        trial = 0
    turn = Turn(row["user"], agent, trial, period, session, round_)
    return Label(turn, row.get("rater") or ONE_RATER, said, line, row.get("text", ""))


def _number(row: Mapping[str, str], name: str, place: str) -> int:
    said = row.get(name, "")
    if not (said.isascii() and said.isdecimal() and len(said) < 7):
        raise DataError(f"{place}, column '{name}': '{said[:40]}' is no whole number from 0")
    return int(said)


def write_template(items: Iterable[Item], path: Path, count: int, seed: int) -> int:
    """Write a seeded sample of turns for people to label; how many those are. Raises UsageError, StorageError."""
    if path.exists():
        raise UsageError(f"{path} is there already, perhaps with people's labels in it; name another --labels-template")
    turns = [item for item in items if item.quality in TURN_QUALITIES]
    if not turns:
        raise UsageError("there is no turn of a user to be labelled: the data does not say what its sessions expose")
    drawn = generator(seed, "labels").sample(range(len(turns)), min(count, len(turns)))
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(
        ["user", "agent", "trial", "period", "session", "round", "dimension", *FOR_THE_EYE, "label", "rater"]
    )
    for place in sorted(drawn):
        writer.writerow([harmless(clean(str(cell))) for cell in _row(turns[place])])
    # the mark makes spreadsheets read it as UTF-8
    files.write_atomically(path, "\ufeff" + text.getvalue())
    return len(drawn)


def _row(item: Item) -> Iterator[object]:
    yield from ("" if part is None else part for part in turn_of(item))
    yield item.quality
    others = {name: value for name, value in item.current.items() if name not in item.intended}
    yield item.text
    yield _states(item.intended)
    yield _states(others)
    yield "\n".join(f"{message.role}: {message.content}" for message in item.before)
    yield from ("", "")


def _states(states: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in states.items())


def harmless(cell: str) -> str:
    """The cell as no spreadsheet takes it for a formula."""
    return f"'{cell}" if cell.lstrip().startswith(FORMULA) or cell.startswith(FORMULA) else cell


def _as_given(cell: str) -> str:
    """What `harmless` was given."""
    return cell[1:] if cell.startswith("'") and harmless(cell[1:]) == cell else cell
