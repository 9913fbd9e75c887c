"""What came out of recomputing summaries: the numbers that differ with their causes, what could not be checked, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from amemgym.memorybench.aggregating.collected import CollectedCell
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.values import number
from amemgym.memorybench.verifying.causes import NOT_EXPLAINED, Deviation, close, explain
from amemgym.memorybench.verifying.recompute import Key, Numbers, Way

AnyCell = Cell | CollectedCell
#: what a number is recomputed from: the values in the summary itself, its sums, the group's items
OWN_VALUES, OWN_SUMS, ITEMS = "summary's values", "summary's sums", "items"


@dataclass(frozen=True)
class Difference:
    """A published number that does not come out. `metric` is one of the set's (`dataset` None) or a data set's `mean`,
    `minmax sum`, `z n` and so on; `recomputed` is None where the published formulas give no number; `cause` is the
    deviation under which the published one comes out, or has "not explained" in it."""

    cell: AnyCell
    metric: str
    dataset: str | None
    source: str
    published: float
    recomputed: float | None
    cause: str

    @property
    def difference(self) -> float | None:
        """Published less recomputed; None where that is no finite number."""
        return None if self.recomputed is None else number(self.published - self.recomputed)

    @property
    def explained(self) -> bool:
        """Whether a cause reproduces the published number."""
        return NOT_EXPLAINED not in self.cause

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        where = {"cell": self.cell._asdict(), "metric": self.metric, "dataset": self.dataset, "source": self.source}
        return where | {
            "published": self.published,
            "recomputed": self.recomputed,
            "difference": self.difference,
            "cause": self.cause if self.explained else None,
        }


@dataclass(frozen=True)
class Remark:
    """Something about a cell (None: about the archive) in a sentence."""

    cell: AnyCell | None
    text: str

    def __str__(self) -> str:
        return self.text if self.cell is None else f"{self.cell}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"cell": None if self.cell is None else self.cell._asdict(), "text": self.text}


@dataclass
class Verification:
    """Every number checked of every cell. `unchecked` says what could not be, `warnings` what is odd about numbers that
    may well be reproduced, `notes` how the archive was read."""

    tolerance: float
    cells: int = 0
    numbers: int = 0
    differences: list[Difference] = field(default_factory=list)
    unchecked: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether no number differs."""
        return not self.differences

    @property
    def checked(self) -> tuple[int, int]:
        """How many cells, and how many numbers in them."""
        return self.cells, self.numbers

    @property
    def differing(self) -> list[AnyCell]:
        """The cells with a number that differs."""
        return list(dict.fromkeys(one.cell for one in self.differences))

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "ok": self.ok,
            "tolerance": self.tolerance,
            "cells": self.cells,
            "numbers": self.numbers,
            "differences": [one.as_dict() for one in self.differences],
            "unchecked": [one.as_dict() for one in self.unchecked],
            "warnings": [one.as_dict() for one in self.warnings],
            "notes": self.notes,
        }


class CellFindings:
    """What is found of one cell, added to the verification as it is."""

    def __init__(self, verification: Verification, cell: AnyCell) -> None:
        self._verification, self.cell = verification, cell
        self._counted = False
        self._unpublished: dict[str, None] = {}

    def unchecked(self, why: str) -> None:
        """Something could not be checked."""
        self._verification.unchecked.append(Remark(self.cell, why.replace(f"{self.cell}: ", "")))

    def warn(self, text: str) -> None:
        """Something is odd."""
        self._verification.warnings.append(Remark(self.cell, text))

    def compare(
        self,
        source: str,
        published: Numbers,
        recomputed: Numbers,
        why: Callable[[Key], str],
        hypotheses: Callable[[], tuple[Callable[[Way], Numbers], list[Deviation]]],
        *,
        single: bool = False,
    ) -> None:
        """Compare the published numbers that are recomputed. `why` says why one came out as None; `hypotheses` gives,
        when they are needed, the way to recompute and the deviations to try. Of a `single` data set
        the numbers are its metrics', which stand in the keys in place of a data set."""
        tolerance = self._verification.tolerance
        differing: dict[Key, float] = {}
        for key, value in published.items():
            if key not in recomputed:
                continue
            if value is None:
                if recomputed[key] is not None:
                    name = key.dataset or "" if single else " ".join(filter(None, (key.dataset, key.metric)))
                    self._unpublished[name] = None
                continue
            self._count()
            if not close(value, recomputed[key], tolerance):
                differing[key] = value
        if not differing:
            return
        causes = explain(*hypotheses(), differing, tolerance)
        for key, value in differing.items():
            ours = recomputed[key]
            cause = causes.get(key, NOT_EXPLAINED if ours is not None else f"{NOT_EXPLAINED} (no number: {why(key)})")
            metric, dataset = (str(key.dataset), None) if single else key
            self._verification.differences.append(Difference(self.cell, metric, dataset, source, value, ours, cause))

    def _count(self) -> None:
        self._verification.numbers += 1
        self._verification.cells += not self._counted
        self._counted = True

    def close(self) -> None:
        """Tell what was kept to be told together."""
        if self._unpublished:
            shown = list(self._unpublished)
            more = f" and {len(shown) - 4} more" if len(shown) > 4 else ""
            self.warn(f"no number is published (null or NaN) where one can be computed: {', '.join(shown[:4])}{more}")


def plural(counts: Mapping[str, int]) -> str:
    """`2 cells, 1 number`."""
    return ", ".join(f"{n:,} {name}{'' if n == 1 else 's'}" for name, n in counts.items())
