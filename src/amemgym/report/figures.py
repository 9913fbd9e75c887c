"""The figures of a report: the scores, how they go on over periods, why answers are wrong, what is remembered how
long, and whether the place of an option matters.

Colours are never the only sign: agents stand on an axis or in a panel of their own, however many they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amemgym.report.ink import ACCENT, INK, LINE, QUIET, check_figures, drawn, footnote, plain, width_of
from amemgym.report.table import ranked
from amemgym.scores import OFFLINE, models_played, what_is_missing
from amemgym.scores.recall import MOST

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.figure import Figure

Scores = Mapping[str, Any]
Agents = Sequence[tuple[str, Mapping[str, Any]]]
Interval = Sequence[float] | None

#: the colours of the page
FAILURES = {
    "write": "#b84300",
    "read": "#f0b429",
    "utilization": "#1f6fb2",
    "unparsed": "#4a4f57",
    "undiagnosed": "#d9dde2",
}
MISTAKES = {"stale": "#6d45a0", "future": "#12705a", "never": "#8a5a12"}
#: inches that an agent's row is high, and what stands above and below the rows
ROW, AROUND = 0.28, 1.3
#: columns of a heat map that have room for numbers
NUMBERED = 16


def draw_figures(scores: Scores, format: str) -> dict[str, bytes]:
    """The file of each figure that the scores have something for, by its name; `format` is png or svg. Raises
    UsageError where matplotlib is not installed."""
    check_figures()
    agents = [(name, agent) for name, agent in ranked(scores) if agent["n"]]
    probed = [(name, agent) for name, agent in agents if agent.get("recall")]
    wanted: dict[str, tuple[Callable[[Figure, Scores, Agents], None], Agents]] = {
        "scores": (_scores, agents),
        "periods": (_periods, agents),
        "failures": (_failures, agents),
        "recall": (_recall, probed),
        "positions": (_positions, agents),
    }
    return {name: _drawn(draw, scores, some, format) for name, (draw, some) in wanted.items() if some}


def _drawn(draw: Callable[[Figure, Scores, Agents], None], scores: Scores, agents: Agents, format: str) -> bytes:
    return drawn(lambda figure: draw(figure, scores, agents), format)


def _sign(figure: Figure, scores: Scores, intervals: bool = False) -> None:
    """What was run, below the figure."""
    data, protocol = scores["data"], scores["protocol"]
    said = (
        f"{plain(data['name'])} (sha256 {data['sha256'][:12]}…), model {plain(scores['model'])}, protocol"
        f" {plain(protocol['name'])} (version {protocol['version']}), seed {scores['seed']}, trials {scores['trials']},"
        f" users {data['users']}."
    )
    if intervals:
        why_not = scores["why_no_interval"]
        said += f" No intervals: {why_not}." if why_not else " Lines through dots: 95% intervals, clustered by user."
    counts = sorted({agent["n"] for agent in scores["agents"].values()})
    said += f" Answers an agent: {' to '.join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))}."
    if "offline" in models_played(scores):
        said += f" {OFFLINE[0].upper()}{OFFLINE[1:]}."
    if missing := what_is_missing(scores):
        said = f"UNFINISHED RUN: {missing}. {said}"
    footnote(figure, said)


def _resize(figure: Figure, agents: Agents, width: float, more: float = 0.0) -> None:
    """So many inches for what is beside the agents' names, and a row for each."""
    names = max(width_of(_label(name, agent)) for name, agent in agents)
    figure.set_size_inches(names + width, ROW * len(agents) + AROUND + more)


# --- the scores ---


def _scores(figure: Figure, scores: Scores, agents: Agents) -> None:
    _resize(figure, agents, 6.7)
    left, right = figure.subplots(1, 2, sharey=True)
    _agent_rows(left, agents)
    _dots(left, agents, [(agent["overall"], agent["interval"], agent["n"]) for _, agent in agents])
    left.set(title="Overall", xlim=(0, 1))
    for name, style in (("random", ":"), ("upper_bound", "--")):
        if scores[name] is not None:
            label = f"{name.replace('_', ' ')} {scores[name]:.3f}"
            left.axvline(scores[name], color=INK, lw=0.8, ls=style, label=label, zorder=0)
    lines = left.get_legend_handles_labels()[0]
    if lines:
        below = -0.04 - 0.22 / len(agents)
        left.legend(handles=lines, loc="upper left", bbox_to_anchor=(0, 0, 1, below), ncols=2, fontsize=7)
    first = scores["first_score"]
    shown = [
        (agent["memory_score"][first], _score_interval(agent, first), agent["memory_score"]["n"]) for _, agent in agents
    ]
    _dots(right, agents, shown)
    ends = [end for value, interval, _ in shown if value is not None for end in (value, *(interval or ()))]
    right.set(title=f"Memory score ({first.replace('_', ' ')})")
    right.set_xlim(max(-0.6, min([0, *ends])) - 0.04, min(1.6, max([1, *ends])) + 0.04)
    for end in (0, 1):
        right.axvline(end, color=INK, lw=0.8, ls="--" if end else ":", zorder=0)
    _sign(figure, scores, intervals=True)


def _score_interval(agent: Mapping[str, Any], kind: str) -> Interval:
    interval: Interval = agent["memory_score"]["intervals"][kind]
    return interval


def _dots(axes: Axes, agents: Agents, shown: Sequence[tuple[float | None, Interval, int]]) -> None:
    """A dot with its interval for each agent, and the numbers beside it."""
    for row, ((_, agent), (value, interval, n)) in enumerate(zip(agents, shown, strict=True)):
        colour = QUIET if agent["reference"] else ACCENT
        if value is not None:
            if interval is not None:
                axes.plot(interval, [row, row], color=colour, lw=1.4, solid_capstyle="butt")
            face = "white" if agent["reference"] else colour
            axes.plot([value], [row], "o", ms=5, mec=colour, mfc=face, mew=1.2, clip_on=False)
        said = "undefined" if value is None else f"{value:.3f}"
        said += f" [{interval[0]:.3f}, {interval[1]:.3f}]" if value is not None and interval is not None else ""
        axes.text(1.045, row, f"{said}  n {n}", transform=axes.get_yaxis_transform(), va="center", fontsize=6.5)
    _grid(axes)


def _grid(axes: Axes) -> None:
    axes.grid(axis="x", color=LINE, lw=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _agent_rows(axes: Axes, agents: Agents) -> None:
    """The agents on the axis, from above, the reference agents in quiet letters."""
    axes.set_yticks(range(len(agents)), [_label(name, agent) for name, agent in agents])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(agents) - 0.5, -0.5)
    for label, (_, agent) in zip(axes.get_yticklabels(), agents, strict=True):
        label.set_color(QUIET if agent["reference"] else INK)
        label.set_fontstyle("italic" if agent["reference"] else "normal")


def _label(name: str, agent: Mapping[str, Any]) -> str:
    """The name, and how many of its episodes are finished if not all are."""
    finished, planned = agent["episodes"]["finished"], agent["episodes"]["planned"]
    return plain(name) + (f" ({finished}/{planned})" if finished < planned else "")


# --- heat maps ---


def _periods(figure: Figure, scores: Scores, agents: Agents) -> None:
    periods = max(len(agent["by_period"]) for _, agent in agents)
    _resize(figure, agents, max(3.5, 1.1 + 0.42 * periods))
    axes = figure.subplots()
    mesh = _heat(axes, [agent["by_period"] for _, agent in agents], range(periods))
    _agent_rows(axes, agents)
    axes.set(title="Overall by period", xlabel="period")
    _scale(figure, mesh, [axes])
    _sign(figure, scores)


def _positions(figure: Figure, scores: Scores, agents: Agents) -> None:
    places = max(len(agent["by_position"]) for _, agent in agents)
    _resize(figure, agents, max(6.7, 1.2 + 0.8 * places))
    left, right = figure.subplots(1, 2, sharey=True)
    columns = range(1, places + 1)
    _heat(left, [agent["by_position"] for _, agent in agents], columns)
    _agent_rows(left, agents)
    left.set(title="Overall by place of the right option", xlabel="place")
    counts = [agent["chosen_by_position"] for _, agent in agents]
    mesh = _heat(right, [[count / max(1, sum(row)) for count in row] for row in counts], columns)
    right.set(title="How often each place is chosen", xlabel="place")
    _scale(figure, mesh, [left, right])
    _sign(figure, scores)


def _scale(figure: Figure, mesh: QuadMesh, axes: Sequence[Axes]) -> None:
    bar = figure.colorbar(mesh, ax=axes, label="share", fraction=0.05, pad=0.02, aspect=30)
    bar.outline.set_visible(False)


def _heat(axes: Axes, rows: Sequence[Sequence[float | None]], columns: range) -> QuadMesh:
    """A square for each agent and column, with its number where there is room; what is not there stays empty."""
    width = len(columns)
    padded = [[*row, *[None] * (width - len(row))] for row in rows]
    values = [[math.nan if value is None else value for value in row] for row in padded]
    # the squares' middles lie on whole numbers, as the names' do
    edges_x, edges_y = ([place - 0.5 for place in range(count + 1)] for count in (width, len(rows)))
    mesh = axes.pcolormesh(edges_x, edges_y, values, vmin=0, vmax=1, cmap="cividis", edgecolors="white", linewidth=0.8)
    axes.set_xticks(range(width), [str(column) for column in columns])
    axes.tick_params(length=0)
    axes.set_facecolor("#eef0f2")
    axes.spines[:].set_visible(False)
    if width <= NUMBERED:
        for y, row in enumerate(padded):
            for x, value in enumerate(row):
                shade = "white" if value is not None and value < 0.5 else INK
                axes.text(
                    x, y, "–" if value is None else f"{value:.2f}", ha="center", va="center", fontsize=6.5, color=shade
                )
    return mesh


# --- why answers are wrong ---


def _failures(figure: Figure, scores: Scores, agents: Agents) -> None:
    _resize(figure, agents, 6.7, 0.2)
    parts = [("What wrong options are", "errors", MISTAKES)]
    if any(agent["diagnosis"] for _, agent in agents):
        parts.insert(0, ("Why answers are wrong", "diagnosis", FAILURES))
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    for axes, (title, what, colours) in zip(panels, parts, strict=True):
        _stacked(axes, agents, what, colours)
        axes.set_title(title, pad=20)
        axes.set_xlabel("share of all answers")
    _agent_rows(panels[0], agents)
    _sign(figure, scores)


def _share(agent: Mapping[str, Any], what: str, kind: str) -> float:
    if kind == "undiagnosed":  # a count
        return (agent["undiagnosed"] or 0) / agent["diagnosis_n"] if agent.get("diagnosis") else 0.0
    return (agent[what] or {}).get(kind) or 0.0


def _stacked(axes: Axes, agents: Agents, what: str, colours: Mapping[str, str]) -> None:
    """A bar for each agent, as long as its share of wrong answers that can be told apart."""
    for row, (_, agent) in enumerate(agents):
        begin = 0.0
        for kind, colour in colours.items():
            share = _share(agent, what, kind)
            axes.barh(row, share, left=begin, height=0.68, color=colour, edgecolor="white", lw=0.6)
            if share >= 0.06:
                ground = INK if colour in (FAILURES["read"], FAILURES["undiagnosed"]) else "white"
                axes.text(begin + share / 2, row, f"{share:.2f}", ha="center", va="center", fontsize=6, color=ground)
            begin += share
        if agent[what] is None:
            axes.text(0.01, row, "not probed", va="center", fontsize=6.5, color=QUIET)
    from matplotlib.patches import Patch

    handles = [Patch(color=colour, label=kind) for kind, colour in colours.items()]
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.03, 0.985), ncols=4, fontsize=7, handlelength=1)
    axes.set_xlim(0, 1)
    _grid(axes)


# --- what is remembered ---


def _recall(figure: Figure, scores: Scores, agents: Agents) -> None:
    """A panel for each agent; the others are behind it, so that all can be compared."""
    columns = min(3, len(agents))
    rows = -(-len(agents) // columns)
    figure.set_size_inches(max(3.6, 2.4 * columns), 1.9 * rows + 0.6)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    curves = [[(age, mean) for age, mean in enumerate(a["recall"]["by_age"]) if mean["n"]] for _, a in agents]
    oldest = max((age for curve in curves for age, _ in curve), default=0)
    lowest = min((mean["value"] for curve in curves for _, mean in curve), default=0.0)
    for place, axes in enumerate(panels):
        if place >= len(agents):
            axes.set_visible(False)
            continue
        name, agent = agents[place]
        for other in curves:
            axes.plot([age for age, _ in other], [mean["value"] for _, mean in other], color=LINE, lw=0.8, zorder=1)
        ages, means = [age for age, _ in curves[place]], [mean for _, mean in curves[place]]
        colour = QUIET if agent["reference"] else ACCENT
        for age, mean in curves[place]:
            if mean["interval"] is not None:
                axes.plot([age, age], mean["interval"], color=colour, lw=1, alpha=0.7, solid_capstyle="butt", zorder=2)
        axes.plot(ages, [mean["value"] for mean in means], "o-", color=colour, ms=3, lw=1.2, zorder=3)
        axes.set_title(_label(name, agent), fontsize=8, style="italic" if agent["reference"] else "normal")
        axes.set_ylim(min(-0.1, lowest - 0.1), 1.1)
        axes.axhline(0, color=INK, lw=0.8, ls=":", zorder=0)
        axes.set_xticks(range(oldest + 1), [str(age) if age < MOST else f"{age}+" for age in range(oldest + 1)])
        axes.tick_params(labelbottom=place + columns >= len(agents))
        if place == columns * (rows - 1) + (len(agents) - columns * (rows - 1) - 1) // 2:
            axes.set_xlabel("periods since the state was given its value")
    figure.supylabel("recall, corrected for guessing", fontsize=8)
    _sign(figure, scores, intervals=True)
