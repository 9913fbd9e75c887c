"""The slope chart of a comparison: each ranked agent's score in ON at the left, in OFF at the right, a line between.

Here is where everything stands, on a scale from 0 (below) to 1 (above); the page and the figure draw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amemgym.report.ink import PALETTE
from amemgym.scores.comparison import AgentComparison, Comparison

#: how lines that share a colour are told apart: dashes and gaps, in widths of the line
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.5, 1.5), (6, 2, 1.5, 2))


@dataclass(frozen=True)
class End:
    """One end of a line: where it is, where its label is, and what that says."""

    y: float
    label_y: float
    value: float
    rank: int


@dataclass(frozen=True)
class Slope:
    """One agent's line."""

    name: str
    colour: str
    dashes: tuple[float, ...]
    on: End
    off: End


def slopes(comparison: Comparison, gap: float) -> list[Slope]:
    """The lines of the agents that have a rank in both; labels of one side are at least `gap` apart."""
    agents = [agent for agent in comparison.agents if agent.rank_change is not None]
    values = [_values(agent, comparison.ranked_by) for agent in agents]
    every = [value for pair in values for value in pair]
    low, room = min(every, default=0.0), (max(every, default=0.0) - min(every, default=0.0)) or 1.0
    places = [[(value - low) / room for value in side] for side in zip(*values, strict=True)]
    labels = [apart(side, gap) for side in places]
    return [
        Slope(
            agent.name,
            PALETTE[i % len(PALETTE)],
            DASHES[i // len(PALETTE) % len(DASHES)],
            End(places[0][i], labels[0][i], values[i][0], agent.on.rank or 0),
            End(places[1][i], labels[1][i], values[i][1], agent.off.rank or 0),
        )
        for i, agent in enumerate(agents)
    ]


def _values(agent: AgentComparison, ranked_by: str) -> tuple[float, float]:
    shown = [side.score if ranked_by == "memory score" else side.overall for side in (agent.on, agent.off)]
    return shown[0].value or 0.0, shown[1].value or 0.0


def apart(places: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Places as near the given ones as can be, in the same order, at least `gap` apart and within the bounds; where
    they have no room there, they go on above `high`."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    # without its share of the gaps, a place may not lie below the one before it: pool those that would (least squares)
    pools: list[list[float]] = []
    for number, i in enumerate(order):
        pools.append([places[i] - number * gap])
        while len(pools) > 1 and _mean(pools[-2]) > _mean(pools[-1]):
            last = pools.pop()
            pools[-1] += last
    most = max(low, high - (len(places) - 1) * gap)
    flat = [min(max(_mean(pool), low), most) for pool in pools for _ in pool]
    found = [0.0] * len(places)
    for number, i in enumerate(order):
        found[i] = flat[number] + number * gap
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
