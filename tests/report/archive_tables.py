"""Tables of results made by hand, so that what a format shows is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym.memorybench.comparing.comparison import Gain, Place, ResultTable, TableCell, TableRow
from amemgym.memorybench.comparing.ranks import best, ranks, standings

WITHOUT = "wo_memory"
SHOWN = Gain(0.125, (0.051, 0.199), 0.001, 40, 0.125, None, 0.002)
LOST = Gain(-0.25, (-0.4, -0.1), 0.002, 40, -0.25, None, 0.003)
OPEN = Gain(0.01, (-0.05, 0.07), 0.7, 40, 0.01, None, 0.7)
UNTOLD = Gain(0.02, None, None, 0, 0.02, "no statistics to normalise the items' values by")


def table(
    rows: Mapping[tuple[str, ...], Sequence[float | None]],
    baselines: Sequence[str],
    gains: Mapping[str, Gain] | None = None,
    **more: Any,
) -> ResultTable:
    """Rows by their words (exp, model, type, set, and perhaps data set); each value is over 40 items."""
    made = []
    for words, values in rows.items():
        cells = tuple(
            TableCell(name, value, None if value is None else 40, rank, is_best, None if value is None else gain)
            for name, value, rank, is_best, gain in zip(
                baselines,
                values,
                ranks(values),
                best(values),
                [(gains or {}).get(name) for name in baselines],
                strict=True,
            )
        )
        made.append(TableRow(Place(*words), cells))
    standing = standings(baselines, [dict(zip(baselines, values, strict=True)) for values in rows.values()])
    by_dataset = any(len(words) == 5 for words in rows)
    given = {"metric": "weighted_average", **more}
    return ResultTable(
        by_dataset=by_dataset,
        baselines=tuple(baselines),
        rows=tuple(made),
        standings=tuple(standing),
        has_gains=gains is not None,
        **given,
    )


def complete(**more: Any) -> ResultTable:
    """Three sets, one of them without mem0."""
    values = {"Legal": (0.5, 0.625, 0.51), "Open-Domain": (0.5, 0.25, 0.51), "Academic&Knowledge": (0.4, 0.525, None)}
    rows = {("off-policy", "m-8b", "domain", name): of for name, of in values.items()}
    return table(rows, (WITHOUT, "bm25_message", "mem0"), **more)


def small(**more: Any) -> ResultTable:
    """Two sets; mem0 has none for the second."""
    return table(
        {
            ("off-policy", "m-8b", "domain", "Legal"): (0.5, 0.625, 0.25, 0.51),
            ("off-policy", "m-8b", "domain", "Academic&Knowledge"): (0.4, 0.525, 0.15, None),
        },
        (WITHOUT, "bm25_message", "a_mem", "mem0"),
        {"bm25_message": SHOWN, "a_mem": LOST, "mem0": OPEN},
        **more,
    )
