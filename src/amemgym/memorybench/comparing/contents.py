"""What an archive has: its names, how many cells, in which formats, with which metrics, and which cells are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from amemgym.memorybench.comparing.comparison import Place, ordered
from amemgym.memorybench.entry import Cell

if TYPE_CHECKING:
    from amemgym.memorybench.reading.results import MemoryBenchResults

_Name = TypeVar("_Name", str, tuple[str, str])


@dataclass(frozen=True)
class Contents:
    """Of the cells that were asked for. Counts are cells; `sets` are (type, set), `metrics` those with a value, `forms`
    the formats of summaries (`unread` cells have none that can be read, `unscored` ones none yet). `missing` has, for
    each model and set that any baseline has, those that have none for it."""

    cells: int
    exps: tuple[str, ...]
    models: Counter[str]
    sets: Counter[tuple[str, str]]
    baselines: Counter[str]
    metrics: Counter[str]
    forms: Counter[str]
    unread: int
    unscored: int
    missing: dict[Place, list[str]]


def contents(results: MemoryBenchResults, cells: Sequence[Cell]) -> Contents:
    """Reads the cells' summaries."""
    baselines = Counter(cell.baseline for cell in cells)
    columns = ordered(list(baselines))
    places: dict[Place, set[str]] = {}
    for cell in cells:
        places.setdefault(Place(cell.exp, cell.model, cell.dataset_type, cell.set_name), set()).add(cell.baseline)
    absent = {place: [name for name in columns if name not in there] for place, there in places.items()}
    summaries = [summary for summary in results.summaries(cells).values() if summary is not None]
    unscored = sum(map(results.is_unscored, cells))
    return Contents(
        cells=len(cells),
        exps=tuple(sorted({cell.exp for cell in cells})),
        models=_sorted(Counter(cell.model for cell in cells)),
        sets=_sorted(Counter((cell.dataset_type, cell.set_name) for cell in cells)),
        baselines=Counter({name: baselines[name] for name in columns}),
        metrics=_sorted(Counter(name for one in summaries for name, score in one.scores.items() if score is not None)),
        forms=_sorted(Counter(summary.form for summary in summaries)),
        unread=len(cells) - len(summaries) - unscored,
        unscored=unscored,
        missing={place: names for place, names in absent.items() if names},
    )


def _sorted(counted: Counter[_Name]) -> Counter[_Name]:
    return Counter({name: counted[name] for name in sorted(counted)})
