"""How items' values become a table's metric: which value an item has, and how it is normalised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amemgym.memorybench.aggregating.metric import Metrics
from amemgym.memorybench.aggregating.normalization import Normalization
from amemgym.memorybench.summary import MEAN_OF_RATIOS, MEMORY_SCORE, SUMMARY_METRICS, Z_SCORE, direction

#: by data set, the mean of the items' own values
OWN = "own_mean"


@dataclass(frozen=True)
class Measure:
    """`normalization` is None where the set has none. `metrics` are what the caller names."""

    metric: str
    normalization: Normalization | None = None
    metrics: Metrics | None = None

    @property
    def is_normalised(self) -> bool:
        return self.metric in SUMMARY_METRICS

    @property
    def is_memory_score(self) -> bool:
        """Whether it is a ratio over items, of what they gained and what was possible."""
        return self.metric == MEMORY_SCORE

    @property
    def is_share(self) -> bool:
        """Whether it is a share of answers that may be rare."""
        return direction(self.metric) == "less"

    @property
    def of_items(self) -> Metrics | None:
        """The items' metric: what the caller names, else that of the same name where the summary is of one data set."""
        is_of_sets = self.is_normalised or self.metric == OWN
        return self.metrics if self.metrics is not None or is_of_sets else self.metric

    @property
    def why_not(self) -> str | None:
        """Why items cannot tell of it, or None."""
        if self.metric != MEAN_OF_RATIOS:
            return None
        return f"it is averaged over users and periods, not over items; {MEMORY_SCORE} has gains with intervals"

    def scale(self, dataset: str) -> tuple[Callable[[float], float | None], str | None]:
        """What makes of an item's own value the one that is averaged, and why there can be none."""
        if not self.is_normalised:
            return lambda value: value, None
        if self.normalization is None:
            return (
                lambda value: None,
                "no statistics to normalise the items' values by; name their file (normalization, --normalization)",
            )
        if (statistics := self.normalization.get(dataset)) is None:
            return lambda value: None, f"{dataset}: no statistics to normalise the items' values by"
        is_z = self.metric == Z_SCORE
        why = statistics.why_no_z if is_z else statistics.why_no_minmax
        return (statistics.z if is_z else statistics.minmax), None if why is None else f"{dataset}: {why}"
