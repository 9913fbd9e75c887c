"""What a table of results says, whatever it is written as: the words of its rows, its numbers, and how to read them.

Names come from an archive. Here they are as they stand; each format makes them safe in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from amemgym import files
from amemgym.memorybench.comparing.comparison import Gain, ResultTable, TableCell, TableRow
from amemgym.memorybench.comparing.gains import OWN
from amemgym.memorybench.entry import WITHOUT_MEMORY
from amemgym.memorybench.summary import AVERAGE, WEIGHTED, Z_SCORE
from amemgym.report.wording import NONE, count, number
from amemgym.scores.verdict import BETTER, WORSE
from amemgym.secrets import redact

#: what a row's words are called above them
HEADINGS = {"exp": "experiment", "model": "model", "dataset_type": "type", "set_name": "set", "dataset": "data set"}
STANDINGS = ("baseline", "mean rank", "wins", "complete rows")
#: signs that turn the direction of what follows, and halves of characters
_UNSEEN = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SCALED = "scaled by its data set's known minimum (0) and maximum (1), not cut off there"
_STANDARD = "in standard deviations from its data set's known mean"
_METRICS = {
    AVERAGE: f"mean over data sets of the mean value of their items, each {_SCALED}",
    WEIGHTED: f"mean over all items of the value, {_SCALED}",
    Z_SCORE: f"mean over all items of the value, {_STANDARD}",
}
_BY_DATASET = {
    AVERAGE: f"mean over a data set's items of the value, {_SCALED}",
    WEIGHTED: f"mean over a data set's items of the value, {_SCALED}",
    Z_SCORE: f"mean over a data set's items of the value, {_STANDARD}",
    OWN: "mean over a data set's items of their own value, by the data set's own metric",
}


def one_line(name: object) -> str:
    """A name as one line that a terminal may be given: without keys, control characters, or signs that turn the
    direction of what follows."""
    line = files.printable(" ".join(redact(str(name)).split()))
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", line)


def title(table: ResultTable) -> str:
    of = "data set" if table.by_dataset else "set"
    return f"{table.metric} of each memory system, by model and {of}"


def header(table: ResultTable) -> list[str]:
    return [*(HEADINGS[word] for word in table.words), *table.baselines]


def row_n(row: TableRow) -> str:
    """Over how many items a row's values are; the fewest and the most where they differ."""
    return _range([cell.n for cell in row.cells if cell.value is not None])


def gain_n(row: TableRow) -> str:
    """Over how many common items a row's gains are."""
    return _range([cell.gain.n for cell in row.cells if cell.gain is not None and cell.gain.n])


def _range(counts: Sequence[int | None]) -> str:
    known = [n for n in counts if n is not None]
    if not known:
        return NONE
    span = count(min(known)) if min(known) == max(known) else f"{count(min(known))}–{count(max(known))}"
    return f"{span}?" if len(known) < len(counts) else span


def gaining(table: ResultTable) -> list[str]:
    """The baselines that can gain: all but the model without memory."""
    return [name for name in table.baselines if name != WITHOUT_MEMORY]


def mark(gain: Gain | None) -> str:
    """What a gain shows, as a sign: up or down, or nothing."""
    return "" if gain is None else {BETTER: "▲", WORSE: "▼"}.get(gain.verdict, "")


def rank(cell: TableCell) -> str:
    """1, 2, or 2.5 where two share."""
    return NONE if cell.rank is None else f"{cell.rank:g}"


def standings(table: ResultTable) -> list[list[str]]:
    return [[one.baseline, number(one.mean_rank, 2), str(one.wins), str(one.rows)] for one in table.standings]


def heat(row: TableRow) -> list[float | None]:
    """Each value's share of the way from the row's lowest to its highest; None where there is no value."""
    known = [cell.value for cell in row.cells if cell.value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    span = high - low
    return [None if cell.value is None else (cell.value - low) / span if span > 0 else 0.5 for cell in row.cells]


def reading(table: ResultTable) -> Iterator[str]:
    """How to read the table, a sentence or two each."""
    said = (_BY_DATASET if table.by_dataset else _METRICS).get(table.metric, "as the summaries have it")
    yield (
        f"{table.metric}: {said}. More is better. {NONE}: missing, which is never 0. n: items, with a ? where some"
        " summaries do not tell"
    )
    yield (
        "compare within a row: the values of another set are scaled by other statistics. Best of a row: *, or bold;"
        " equal values share it, and the mean of their ranks"
    )
    complete = table.standings[0].rows if table.standings else 0
    yield (
        f"mean rank and wins (rows with no better one) are over the {complete} of {len(table.rows)} rows in which every"
        " memory system has a value"
    )
    if table.has_gains:
        yield (
            f"gain over {WITHOUT_MEMORY}: mean of the differences over the items that have a value in both (n), with"
            " its 95% interval by data sets as strata; ▲ or ▼: better or worse, where 0 lies outside of the interval"
            " and p, adjusted for all gains of the table by Benjamini and Hochberg, is below 0.05; without an interval,"
            " the difference of the two summaries"
        )


def remarks(table: ResultTable) -> list[str]:
    """How to read it, and what is odd about it."""
    return [*reading(table), *table.notes]
