"""What a table of results says, whatever it is written as: the words of its rows, its numbers, and how to read them.

Names come from an archive. Here they are as they stand; each format makes them safe in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from amemgym import files
from amemgym.memorybench.comparing.comparison import Gain, ResultTable, TableCell, TableRow
from amemgym.memorybench.comparing.measure import OWN
from amemgym.memorybench.summary import AVERAGE, MEAN_OF_RATIOS, MEMORY_SCORE, SUMMARY_METRICS, WEIGHTED, Z_SCORE
from amemgym.report.table import with_interval
from amemgym.report.wording import NONE, count, interval, number
from amemgym.scores.signflips import smallest_p
from amemgym.scores.verdict import BETTER, LEVEL, WORSE
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
    MEMORY_SCORE: "(accuracy − random) / (upper bound − random), of the means over all items",
    MEAN_OF_RATIOS: "(accuracy − random) / (upper bound − random) of each user and period, averaged",
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
    """The baselines that can gain: all but the one that gains are over."""
    return [name for name in table.baselines if name != table.against]


def mark(gain: Gain | None) -> str:
    """What a gain shows, as a sign: up or down, or nothing."""
    return "" if gain is None else {BETTER: "▲", WORSE: "▼"}.get(gain.verdict or "", "")


def half(cell: TableCell, sign: str) -> str:
    """The longer arm of a value's interval after a sign, the interval where its arms differ; nothing where it has
    none."""
    if cell.value is None or cell.interval is None:
        return ""
    if is_lopsided(cell.value, cell.interval):
        space = " " if sign.startswith(" ") else ""
        return space + interval(cell.interval)
    return f"{sign}{max(cell.interval[1] - cell.value, cell.value - cell.interval[0]):.3f}"


def is_lopsided(value: float, interval: Sequence[float]) -> bool:
    """Whether the arms differ by more than a tenth of the longer one, as where an interval is cut at 0 or 1."""
    low, high = value - interval[0], interval[1] - value
    return abs(high - low) > 0.1 * max(high, low)


def around(value: float | None, pair: Sequence[float] | None, sign: str = "") -> str:
    """A value in the terminal with its interval: ±0.021, or [low, high] where its arms differ."""
    if value is None or pair is None or not is_lopsided(value, pair):
        return with_interval(value, pair, sign)
    return f"{value:{sign}.3f} [{pair[0]:{sign}.3f}, {pair[1]:{sign}.3f}]"


def rank(cell: TableCell) -> str:
    """1, 2, or 2.5 where two share."""
    return NONE if cell.rank is None else f"{cell.rank:g}"


def standings(table: ResultTable) -> list[list[str]]:
    """Who is best over the complete rows; nothing where there are fewer than two, over which no mean says more than
    the row does."""
    if not table.standings or table.standings[0].rows < 2:
        return []
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
        f"{table.metric}: {said}. {_direction(table).capitalize()}. {NONE}: missing, which is never 0. n: items, with a"
        " ? where it is not known of all"
    )
    if table.has_intervals:
        yield (
            f"±: the longer arm of the 95% interval, {sampled(table)}; [low, high] where the arms differ. Where items"
            " have another mean than the summary says, the value has none"
        )
    if table.better:
        yield "best of a row: *, or bold; equal values share it, and the mean of their ranks"
    if is_scaled(table):
        yield "compare within a row: the values of another set are scaled by other statistics"
    if standings(table):
        yield (
            f"mean rank and wins (rows with no better one) are over the {table.standings[0].rows} of {len(table.rows)}"
            " rows in which every memory system has a value"
        )
    if table.has_gains:
        marks = (
            "; ▲ or ▼: better or worse, where 0 lies outside of the interval and p, adjusted for all gains of the table"
            " by Benjamini and Hochberg, is below 0.05"
        )
        yield (
            f"gain over {table.against}: mean of the differences over the items that have a value in both (n), with"
            f" its 95% interval, {sampled(table)}{marks if table.better else ''}; without an interval, the difference"
            " of the two summaries"
        )


def brief(table: ResultTable) -> Iterator[str]:
    """What must be known not to misread the table, a line each."""
    best = ", * the best of a row" if table.better else ""
    yield f"{_direction(table)}{best}, {NONE} missing; n: items{_unknown(table)}"
    if table.has_intervals or table.has_gains:
        yield f"± or [low, high]: 95% interval, {sampled(table)}"
    if table.has_gains and table.better:
        yield f"▲ better, ▼ worse: 0 lies outside of the interval, and adjusted p < {LEVEL}{_too_few(table)}"
    if is_scaled(table):
        yield "compare within a row: other rows are scaled by other statistics"


def is_scaled(table: ResultTable) -> bool:
    """Whether rows are scaled by statistics of their own."""
    return len(table.rows) > 1 and table.metric in SUMMARY_METRICS


def _direction(table: ResultTable) -> str:
    return f"{table.better} is better" if table.better else "neither more nor less is better"


def _unknown(table: ResultTable) -> str:
    return " (?: not known of all)" if any("?" in row_n(row) for row in table.rows) else ""


def sampled(table: ResultTable) -> str:
    """What intervals take for the sample."""
    if not table.users:
        return "data sets as strata"
    users = _range(_users(table))
    return f"clustered by user ({users} user{'' if users == '1' else 's'})"


def _too_few(table: ResultTable) -> str:
    """Where there are so few users that no gain can be marked, that."""
    users = [cell.gain.users for row in table.rows for cell in row.cells if cell.gain is not None and cell.gain.users]
    least = smallest_p(max(users)) if users else None
    if least is None or least < LEVEL:
        return ""
    return f" (with {max(users)} users p is {least:g} or more: too few to mark any)"


def _users(table: ResultTable) -> list[int]:
    cells = [cell for row in table.rows for cell in row.cells]
    return [one.users for cell in cells for one in (cell, cell.gain) if one is not None and one.users]


def remarks(table: ResultTable) -> list[str]:
    """How to read it, and what is odd about it."""
    return [*reading(table), *table.notes]
