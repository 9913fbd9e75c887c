"""A comparison of two runs for people: a table in the terminal, a page of its own, and the slope chart as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.errors import UnknownName
from amemgym.report.ink import INK, LINE, check_figures, drawn, footnote, plain, width_of
from amemgym.report.page import render
from amemgym.report.slope import End, Slope, slopes
from amemgym.report.table import print_whole, with_interval
from amemgym.report.write import check_out, place_of
from amemgym.scores import OFFLINE
from amemgym.scores.comparison import AgentComparison, Change, Comparison, RunSide
from amemgym.scores.signflips import smallest_p
from amemgym.secrets import redact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("html", "png", "svg")
HEADER = ("agent", "rank", "memory score ON", "OFF", "change", "overall ON", "OFF", "change", "p", "n", "users")
#: of the page's chart, in pixels: between the axes, from an axis to a label, a label's height, what is an inch of its
#: width, and above and below
BETWEEN, TO_LABEL, LABEL, INCH, TOP, BOTTOM = 280, 36, 20, 112, 44, 16


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print the table, at least so wide that nothing is cut off, and what must be known to read it."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for place, name in enumerate(HEADER):
        table.add_column(name, no_wrap=True, justify="right" if place > 7 else "left")
    for agent in _ordered(comparison):
        cells = [with_interval(*shown) for shown in _shown(agent)]
        row = [agent.name, _ranks(agent), *cells, _p(agent), str(agent.n), str(agent.users)]
        table.add_row(*map(escape, row), style="dim" if agent.is_reference else "")
    print_whole(console, table)
    for note in [*_sides(comparison), *notes(comparison)]:
        console.print(f"  {escape(note)}", highlight=False, style="dim")
    for warning in warnings(comparison):
        console.print(f"  warning: {escape(warning)}", highlight=False, style="yellow")


def comparison_page(comparison: Comparison) -> str:
    """The self-contained page, in HTML."""
    gap, height = _room(comparison, LABEL, 300)
    lines = slopes(comparison, gap)
    left = round(_longest(lines) * INCH) + TO_LABEL
    rows = [
        {
            "agent": agent,
            "ranks": _ranks(agent),
            "cells": [_split(*shown) for shown in _shown(agent)],
            "p": _p(agent),
        }
        for agent in _ordered(comparison)
    ]
    return render(
        "comparison.html",
        comparison=comparison,
        rows=rows,
        notes=notes(comparison),
        warnings=warnings(comparison),
        slopes=[_drawn(line, height) for line in lines],
        height=round(TOP + height + BOTTOM),
        left=left,
        right=left + BETWEEN,
        width=2 * left + BETWEEN,
        to_label=TO_LABEL,
    )


def check_comparison(format: str, out: str | Path | None) -> None:
    """Raises UsageError where the format is none, or cannot be had here."""
    if format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    check_out(format, out, FORMATS)
    if format != "html":
        check_figures()


def write_comparison(
    comparison: Comparison, directory: Path, format: str = "html", out: str | Path | None = None
) -> Path:
    """Write the page, or the slope chart, to `out`, else into the directory; returns the file. Raises AMemGymError."""
    path = place_of(out, files.at_home(directory), f"comparison.{format}")
    if format == "html":
        files.write_atomically(path, redact(comparison_page(comparison)))
    else:
        files.write_bytes_atomically(path, comparison_figure(comparison, format))
    return path


def _drawn(line: Slope, height: float) -> dict[str, Any]:
    """A line in pixels; y goes downward."""

    def end(some: End) -> dict[str, Any]:
        y, label_y = (round(TOP + height * (1 - place), 1) for place in (some.y, some.label_y))
        return {"y": y, "label_y": label_y, "label": _label(line, some)}

    return {"colour": line.colour, "dashes": line.dashes, "on": end(line.on), "off": end(line.off)}


def comparison_figure(comparison: Comparison, format: str) -> bytes:
    """The slope chart as png or svg. Raises UsageError where matplotlib is not installed."""
    check_figures()
    return drawn(lambda figure: _draw_slopes(figure, comparison), format)


def _draw_slopes(figure: Figure, comparison: Comparison) -> None:
    """Across, everything is in inches."""
    gap, height = _room(comparison, 0.19, 2.6)
    lines = slopes(comparison, gap)
    beside = 0.3 + _longest(lines)
    between = max(2.0, 7.0 - 2 * beside)
    inch = 1 / height
    figure.set_size_inches(2 * beside + between + 0.2, height + 1.2)
    axes = figure.subplots()
    for line in lines:
        style: Any = (0, line.dashes) if line.dashes else "-"
        axes.plot([0, between], [line.on.y, line.off.y], color=line.colour, lw=1.8, ls=style)
        axes.plot([0, between], [line.on.y, line.off.y], "o", color=line.colour, ms=5)
        for x, end, side in ((0, line.on, -1), (between, line.off, 1)):
            axes.plot([x, x + side * 0.2], [end.y, end.label_y], color=line.colour, lw=0.7)
            align = "left" if side > 0 else "right"
            axes.text(x + side * 0.25, end.label_y, _label(line, end), ha=align, va="center", fontsize=7.5)
    for x, name, align in ((0, "ON", "right"), (between, "OFF", "left")):
        axes.plot([x, x], [-inch / 10, 1 + inch / 10], color=LINE, lw=0.8, zorder=0)
        axes.text(x, 1 + inch / 5, name, ha=align, weight="bold", color=INK)
    axes.set(xlim=(-beside, between + beside), ylim=(-inch / 8, 1 + inch / 2.5))
    axes.axis("off")
    score = "Memory score (ratio of means)" if comparison.ranked_by == "memory score" else "Overall"
    axes.set_title(f"{score} of each agent in both runs")
    footnote(figure, ". ".join([*_sides(comparison), *warnings(comparison), _data(comparison)]))


def _longest(lines: Sequence[Slope]) -> float:
    """Inches of the widest label."""
    return max((width_of(_label(line, end)) for line in lines for end in (line.on, line.off)), default=0.0)


def _room(comparison: Comparison, label: float, least: float) -> tuple[float, float]:
    """The gap of labels on the scale of 0 to 1, and how high a chart must be that labels of that height fit."""
    count = sum(agent.rank_change is not None for agent in comparison.agents)
    height = max(least, label * 1.5 * count)
    return label / height, height


def _label(line: Slope, end: End) -> str:
    return f"{end.rank}. {plain(line.name)}: {end.value:.3f}"


# --- what the table says ---

_Shown = tuple[float | None, Sequence[float] | None, str]


def _ordered(comparison: Comparison) -> list[AgentComparison]:
    """The agents by their rank in ON, those without one after them."""
    return sorted(comparison.agents, key=lambda agent: (agent.is_reference, agent.on.rank or len(comparison.agents)))


def _shown(agent: AgentComparison) -> list[_Shown]:
    """The scores and changes of an agent, in the order of the columns: value, interval, sign."""

    def change(some: Change) -> _Shown:
        return some.value, some.interval, "+"

    scores: list[_Shown] = [(side.score.value, side.score.interval, "") for side in (agent.on, agent.off)]
    overall: list[_Shown] = [(side.overall.value, side.overall.interval, "") for side in (agent.on, agent.off)]
    return [*scores, change(agent.score), *overall, change(agent.overall)]


def _split(value: float | None, interval: Sequence[float] | None, sign: str) -> tuple[str, str]:
    """A value, and its interval in brackets."""
    shown = "–" if value is None else f"{value:{sign}.3f}"
    return shown, "" if interval is None else f"[{interval[0]:{sign}.3f}, {interval[1]:{sign}.3f}]"


def _ranks(agent: AgentComparison) -> str:
    change = agent.rank_change
    if change is None:
        return "–"
    moved = f" ({'▼' if change > 0 else '▲'}{abs(change)})" if change else ""
    return f"{agent.on.rank} → {agent.off.rank}{moved}"


def _p(agent: AgentComparison) -> str:
    return "–" if agent.overall.p_adjusted is None else f"{agent.overall.p_adjusted:.3f}"


def _sides(comparison: Comparison) -> list[str]:
    return [f"{name}: {_side(side)}" for name, side in (("ON", comparison.on), ("OFF", comparison.off))]


def _side(side: RunSide) -> str:
    trials = f", {side.trials} trials" if side.trials > 1 else ""
    return f"{side.title}{trials} (run {side.fingerprint[:12]}…)"


def _data(comparison: Comparison) -> str:
    data, protocol = comparison.data, comparison.protocol
    return (
        f"data {data['name']} (sha256 {data['sha256'][:12]}…), protocol {protocol['name']} (version"
        f" {protocol['version']}), seed {comparison.seed}"
    )


def notes(comparison: Comparison) -> list[str]:
    """What must be known to read the table."""
    return list(_notes(comparison))


def _notes(comparison: Comparison) -> Iterator[str]:
    yield _data(comparison)
    yield (
        "change: OFF − ON, over the exams that both have an answer to (n). Memory score: ratio of means. 95% intervals,"
        " clustered by user, of changes paired by user. p: of the change of overall, by sign flips over users, adjusted"
        f" for the number of agents{_smallest(comparison)}"
    )
    tau = "" if comparison.tau is None else f"; Kendall's τ of the two orders: {comparison.tau:.3f}"
    yield f"ranks by {comparison.ranked_by}, 1 is the best, reference agents have none{tau}"
    if comparison.why_no_interval:
        yield f"no intervals: {comparison.why_no_interval}"
    for name, side in (("ON", comparison.on), ("OFF", comparison.off)):
        if side.alone:
            yield f"only in {name}: {', '.join(side.alone)}"
    if comparison.differs:
        yield f"other settings that differ: {', '.join(comparison.differs)}"
    for agent in comparison.agents:
        if agent.is_other:
            yield f"{agent.name}: has other settings in OFF than in ON"
        for name, standing in (("ON", agent.on), ("OFF", agent.off)):
            if standing.why_undefined and agent.n:
                yield f"{agent.name}: memory score in {name} undefined: {standing.why_undefined}"
        for name, standing in (("ON", agent.on), ("OFF", agent.off)):
            if standing.score.value is not None and standing.score.n != standing.overall.n:
                counts = f"{standing.score.n} of {standing.overall.n} answers"
                yield f"{agent.name}: memory score in {name} over {counts}; the others lack an upper bound"


def _smallest(comparison: Comparison) -> str:
    """What so few users can show at best."""
    users = max(agent.users for agent in comparison.agents)
    least = smallest_p(users)
    return "" if least is None else f"; with {users} users it is {least:.3g} or more"


def warnings(comparison: Comparison) -> list[str]:
    """What makes the numbers less than they seem."""
    return list(_warnings(comparison))


def _warnings(comparison: Comparison) -> Iterator[str]:
    if "offline" in (*comparison.on.models, *comparison.off.models):
        yield OFFLINE
    if not comparison.is_finished:
        parts = [
            f"{agent.name} has {standing.finished} of {standing.planned} episodes in {name}"
            for agent in comparison.agents
            for name, standing in (("ON", agent.on), ("OFF", agent.off))
            if standing.finished < standing.planned
        ]
        yield f"unfinished: {'; '.join(parts)}; the numbers are over what both have"
    if not comparison.is_even:
        yield "agents were not all examined on the same exams (see n), so their ranks are provisional"
