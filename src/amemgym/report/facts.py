"""A data set card's facts as words and numbers: what its table in the terminal and its page both say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from amemgym.quality.alike import COSINE, TRIGRAMS
from amemgym.quality.card import Card
from amemgym.quality.gates import Gate, family
from amemgym.quality.languages import Language
from amemgym.quality.reading import Reading
from amemgym.quality.tally import Spread
from amemgym.report.wording import NONE, count, number, percent, signed

#: rows of a histogram; what lies beyond is one row
ROWS = 14
LENGTHS = {
    "utterances": "utterance",
    "user_utterances": "a user's utterances",
    "questions": "question",
    "answers": "answer (option)",
    "profiles": "profile",
}


@dataclass(frozen=True)
class Bar:
    """A row of a histogram: its value, how often it occurs, and that as a share of all and of the longest row."""

    name: str
    count: int
    share: float
    length: float


@dataclass(frozen=True)
class Facts:
    """One part of a card: names and what is said of each."""

    title: str
    rows: tuple[tuple[str, str], ...]


def spread(found: Spread, digits: int = 2) -> str:
    """`11` where all are alike, else `mean 4.49, 4 to 7`."""
    if found.mean is None or found.least is None or found.most is None:
        return NONE
    if found.least == found.most:
        return _plain(found.least)
    return f"mean {number(found.mean, digits)}, {_plain(found.least)} to {_plain(found.most)}"


def bars(found: Spread) -> list[Bar]:
    """The histogram; values beyond its last row are in that."""
    rows = [(_plain(value), times) for value, times in found.histogram]
    if len(rows) > ROWS:
        rest = sum(times for _, times in rows[ROWS - 1 :])
        rows = [*rows[: ROWS - 1], (f"{rows[ROWS - 1][0]} or more", rest)]
    longest = max((times for _, times in rows), default=1)
    return [Bar(name, times, times / found.n, times / longest) for name, times in rows]


def facts(card: Card) -> list[Facts]:
    """All of a card's facts but lengths and gates, which are tables."""
    return [_size(card), _change(card), _wording(card), _made(card)]


def _size(card: Card) -> Facts:
    size = card.size
    return Facts(
        "Size",
        (
            ("users", count(size.users)),
            ("periods a user", spread(size.periods)),
            ("questions a user", f"{spread(size.questions)} ({count(round(size.questions.total))} in all)"),
            ("exams", f"{count(size.exams)} (every question after every period)"),
            ("state variables a user", f"{spread(size.variables)} ({count(round(size.variables.total))} in all)"),
            ("values a variable", spread(size.values)),
            ("states a question", spread(size.states)),
            ("options a question", f"{spread(size.options)} ({_kinds(size.option_types)})"),
            ("sessions a period", f"{spread(size.sessions)} ({count(round(size.sessions.total))} in all)"),
            ("months a period", spread(size.months)),
            ("time", f"{size.first} to {size.last}"),
        ),
    )


def _change(card: Card) -> Facts:
    change = card.change
    changes = round(change.changes.total)
    return Facts(
        "Change",
        (
            ("updates a period", f"{spread(change.updates)} (after the first)"),
            ("changes a variable", f"{spread(change.changes)} ({count(changes)} in all)"),
            ("dwell", f"{spread(change.dwell)} periods that a value holds (to the data's end: cut off there)"),
            ("dwell until a change", f"{spread(change.ended_dwell)} periods"),
            ("reverts", f"{_of(change.reverts, changes)} to a value held before"),
            ("back", f"{_of(change.back, changes)} to the value before the last"),
            ("gold unchanged", f"in {_of(change.unchanged, change.followed, 'exams')} since the period before"),
        ),
    )


def _wording(card: Card) -> Facts:
    words, alike = card.wording, card.alike
    named = f"every word of it in {percent(words.named_share)}, none in {percent(words.unnamed_share)}"
    rows = [
        (
            "value named",
            f"{number(words.overlap, 2)} of the words of a value's name are in the utterance that exposes it"
            f" ({named}, of {count(words.exposures)})"
            if words.exposures
            else "no session says what it exposes",
        ),
        *((f"reading level, {kind}", _reading(reading)) for kind, reading in words.reading.items()),
        ("languages", ", ".join(map(_language, words.languages)) or NONE),
        (
            "near-duplicate options",
            f"{_of(alike.near, alike.pairs, 'pairs')} (cosine ≥ {COSINE} by {alike.embedder},"
            f" or trigrams shared ≥ {TRIGRAMS})",
        ),
        (
            "repeated utterances",
            f"{_of(alike.repeated, alike.utterances)} said by the same user before; {count(alike.distinct)} different"
            " ones over all users",
        ),
    ]
    return Facts("Wording", tuple(rows))


def _made(card: Card) -> Facts:
    size = card.size
    rows = [
        (
            "sessions by kind",
            f"{_kinds(size.session_kinds)}; {count(size.silent_sessions)} expose nothing",
        ),
        ("states taken back", count(size.retracted)),
    ]
    if not size.recorded:
        rows.append(("source and difficulty", "not recorded"))
    elif size.recorded < size.users:
        rows.append(("source and difficulty", f"recorded of {count(size.recorded)} of {count(size.users)} users"))
    for name, values in size.settings.items():
        told = [value if times == size.users else f"{value} ({count(times)})" for value, times in values.items()]
        rows.append((name, ", ".join(told)))
    return Facts("How it was made", tuple(rows))


def gate_row(gate: Gate) -> tuple[str, ...]:
    """Label, accuracy, chance, difference, interval, n, users, verdict."""
    pair = NONE if gate.interval is None else f"[{signed(gate.interval[0], 4)}, {signed(gate.interval[1], 4)}]"
    return (
        gate.label,
        number(gate.accuracy, 4),
        number(gate.chance, 4),
        signed(gate.difference, 4),
        pair,
        count(gate.n),
        count(gate.users),
        str(gate.verdict),
    )


def length_row(kind: str, found: Spread) -> tuple[str, ...]:
    """Kind, n, least, quartiles, most, mean."""
    values = (found.least, found.lower, found.median, found.upper, found.most)
    shown = [NONE if value is None else f"{value:,.0f}" for value in values]
    return (LENGTHS[kind], count(found.n), *shown, NONE if found.mean is None else f"{found.mean:,.1f}")


LENGTH_HEADER = ("tokens of", "n", "least", "quarter", "median", "three quarters", "most", "mean")
GATE_HEADER = ("gate", "accuracy", "chance", "difference", "interval", "n", "users", "verdict")


def notes(card: Card) -> list[str]:
    """What must be known to read the gates."""
    told = len(family(card.gates))
    found = [
        "gates: what is answered without memory, over all users, periods and questions, options in the data's order;"
        " chance: the mean of 1 / options over the same exams; always-k leaves out questions with fewer options"
    ]
    if told:
        found.append(
            f"intervals: of the difference, clustered by user, at {card.level:.2%}, so that all {told} hold together at"
            " 95% (Bonferroni), and no shorter than options in an order drawn anew give; a gate fails where 0 is"
            " outside"
        )
    found.append(f"tokens: {card.wording.tokens}; seed {card.seed}")
    for gate in card.gates:
        if gate.unreadable:
            found.append(f"{gate.label}: {count(gate.unreadable)} exams are left out, as its reply was unreadable")
        if gate.missing:
            found.append(f"{gate.label}: {count(gate.missing)} exams are left out, as its call was refused")
    if card.model == "offline":
        found.append(
            "no-context: the offline model, which without a context draws; what a language model makes of the options"
            " alone says --model openai:NAME"
        )
    else:
        found.append(f"no-context: {card.model}, {card.bill}")
    return found


def _plain(value: float) -> str:
    return count(int(value)) if value == int(value) else number(value, 2)


def _of(part: int, whole: int, noun: str = "") -> str:
    share = f" ({percent(part / whole)})" if whole else ""
    return f"{count(part)} of {count(whole)}{' ' + noun if noun else ''}{share}"


def _kinds(found: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count(times)}" for kind, times in found.items()) or NONE


def _language(language: Language) -> str:
    said = f"{language.code} {language.share:.1%}"
    most = language.share > 0.5
    return said if most else f"{said} (first: user {language.user}, {language.place})"


def _reading(reading: Reading) -> str:
    parts = []
    if reading.coleman_liau is not None:
        parts.append(f"grade {number(reading.coleman_liau, 1)} (Coleman-Liau, made for English)")
    if reading.characters_a_sentence is not None:
        parts.append(f"{number(reading.characters_a_sentence, 1)} characters a sentence (Chinese, Japanese, Korean)")
    return "; ".join(parts) or NONE
