"""Charts as inline SVG that need no script: they take the width they are given, and their colours from the page.

Places across are percentages and sizes are pixels, so that text and marks stay readable on a phone. Colours are CSS
classes, so that a chart follows light and dark; markers and dashes differ besides colour.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from amemgym.report.wording import interval, number, percent

#: paths around (0, 0), one an agent
MARKERS = (
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0Z",
    "M-4,-4H4V4H-4Z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0Z",
    "M0,-5L5,4H-5Z",
    "M0,5L5,-4H-5Z",
    "M-5,-1.7H-1.7V-5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5Z",
    "M0,-5.5L5.2,-1.7L3.2,4.5H-3.2L-5.2,-1.7Z",
    "M-5,-3L-3,-5L0,-2L3,-5L5,-3L2,0L5,3L3,5L0,2L-3,5L-5,3L-2,0Z",
)
#: points on fewer are hollow
FEW = 10
#: a segment narrower than this has no room for its label
LABELLED = 0.09
ROW, PLOT = 26, 200
#: of an axis about 0, so that its numbers have two digits
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)


class Svg(str):
    """Markup of ours, which a template shows as it is."""

    def __html__(self) -> str:
        return self


@dataclass(frozen=True)
class Look:
    """How an agent is drawn wherever it is drawn: CSS class and marker."""

    css: str
    marker: int

    def swatch(self) -> Svg:
        """What stands beside the agent's name."""
        line = element("line", class_="line", x1=0, x2=22, y1=6, y2=6)
        mark = element("path", class_="mark", d=MARKERS[self.marker], transform="translate(11 6)")
        return element("svg", line, mark, class_=f"swatch {self.css}", width=22, height=12, aria_hidden="true")


@dataclass(frozen=True)
class Scale:
    """What a chart's axis reaches over."""

    low: float = 0.0
    high: float = 1.0
    step: float = 0.25

    @classmethod
    def around(cls, values: Iterable[float | None]) -> Scale:
        """From 0 to 1, or as far as the values lie beyond, in quarters and within −1 and 2."""
        known = [value for value in values if value is not None] or [0.0]
        low, high = (math.floor(min(known) * 4) / 4, math.ceil(max(known) * 4) / 4)
        return cls(max(-1.0, min(0.0, low)), min(2.0, max(1.0, high)))

    @classmethod
    def about_zero(cls, values: Iterable[float | None]) -> Scale:
        """As far to both sides as the values lie, in two steps to a side, and within −1 and 1."""
        furthest = max((abs(value) for value in values if value is not None), default=0.0)
        step = next((step for step in STEPS if 2 * step >= furthest), STEPS[-1])
        return cls(-2 * step, 2 * step, step)

    def share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def across(self, value: float) -> str:
        return f"{self.share(value):.2%}"

    def ticks(self) -> list[float]:
        return [self.low + place * self.step for place in range(round((self.high - self.low) / self.step) + 1)]

    def named_ticks(self) -> list[float]:
        """Those with a number: every other one where a phone has no room for all."""
        ticks = self.ticks()
        if self.low == -self.high:
            return ticks[::2]  # both ends and 0
        return ticks if len(ticks) <= 5 else [tick for tick in ticks if tick * 2 == round(tick * 2)]


@dataclass(frozen=True)
class Series:
    """One agent's line: a mean ({value, n, interval}) for each place across."""

    name: str
    look: Look
    means: Sequence[Mapping[str, Any]]


def element(name: str, *children: str, **attributes: Any) -> Svg:
    """An element; `class_` is class, `stroke_width` stroke-width. What is not Svg already is escaped."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{_safe(value)}"' for key, value in attributes.items())
    return Svg(f"<{name}{given}>{''.join(map(_safe, children))}</{name}>")


def interval_row(
    label: str,
    value: float | None,
    pair: Sequence[float] | None,
    look: Look,
    scale: Scale,
    marks: Iterable[float],
    kind: str = "95% interval",
) -> Svg:
    """A dot with its interval, over the lines that the marks draw through all rows."""
    middle = ROW / 2
    parts = [_line("grid", scale.across(tick), 0, ROW) for tick in scale.ticks()]
    parts += [_line("bound", scale.across(mark), 0, ROW) for mark in marks]
    if pair is not None:
        low, high = scale.across(pair[0]), scale.across(pair[1])
        parts.append(element("line", class_="range", x1=low, x2=high, y1=middle, y2=middle))
        # no cap where the chart ends before the interval does
        ends = [scale.across(end) for end in pair if scale.low <= end <= scale.high]
        parts += [_line("range", end, middle - 4, middle + 4) for end in ends]
    if value is not None:
        parts.append(_marker(look, scale.across(value), middle))
    said = f"{label}: {number(value)}, {kind} {interval(pair)}"
    return _drawing(ROW, said, parts, look.css)


def marks_head(marks: Mapping[str, float], scale: Scale) -> Svg:
    """What the lines through the rows are, above them; one below the other, as they may lie close."""
    parts = []
    for line, (label, value) in enumerate(marks.items()):
        share, y = scale.share(value), 12 + 15 * line
        side = "end" if share > 0.5 else "start"
        parts.append(element("text", label, class_="label", x=f"{share:.2%}", y=y, text_anchor=side))
        parts.append(_line("bound", f"{share:.2%}", y + 3, 15 * len(marks) + 4))
    return _drawing(15 * len(marks) + 4, None, parts)


def axis(scale: Scale) -> Svg:
    """The numbers below rows."""
    ticks = [
        element("text", number(tick, 2), class_="label", x=scale.across(tick), y=13, text_anchor=_anchor(scale, tick))
        for tick in scale.named_ticks()
    ]
    return _drawing(18, None, ticks)


def stacked_row(label: str, shares: Mapping[str, float]) -> Svg:
    """One bar of shares that add up to 1; each kind has the CSS class `kind-NAME`."""
    parts, before = [], 0.0
    for kind, share in shares.items():
        if share > 0:
            said = f"{kind}: {number(share)}"
            box = element("rect", element("title", said), x=f"{before:.3%}", width=f"{share:.3%}", y=3, height=20)
            inside = [box]
            if share >= LABELLED:
                where = f"{before + share / 2:.3%}"
                inside.append(element("text", percent(share), x=where, y=17, text_anchor="middle"))
            parts.append(element("g", *inside, class_=f"kind-{kind}"))
        before += share
    said = f"{label}: " + ", ".join(f"{kind} {number(share)}" for kind, share in shares.items())
    return _drawing(ROW, said, parts)


def line_chart(
    label: str, series: Sequence[Series], scale: Scale, names: Sequence[str], marks: Mapping[str, float] | None = None
) -> Svg:
    """Lines over places with names. Intervals are thin bars, points on few cells hollow; marks are lines across."""
    places = len(names)
    parts = []
    for tick in scale.ticks():
        y = _down(scale, tick)
        parts.append(element("line", class_="zero" if tick == 0 else "grid", x1=0, x2="100%", y1=y, y2=y))
    for place, said in enumerate(names):
        x = f"{(place + 0.5) / places:.2%}"
        parts.append(element("text", said, class_="label", x=x, y=PLOT + 28, text_anchor="middle"))
    for said, mark in (marks or {}).items():
        y = _down(scale, mark)
        parts.append(element("line", class_="bound", x1=0, x2="100%", y1=y, y2=y))
        parts.append(element("text", f"{said} {number(mark)}", class_="label", x="100%", y=y + 14, text_anchor="end"))
    for number_, one in enumerate(series):
        shift = (number_ - (len(series) - 1) / 2) * 0.6 / max(len(series), 4) / max(places, 1)
        parts.append(element("g", *_curve(one, scale, places, shift), class_=one.look.css))
    return _drawing(PLOT + 34, label, parts)


def y_axis(scale: Scale) -> Svg:
    """The numbers left of a line chart."""
    ticks = [
        element("text", number(tick, 2), class_="label", x="100%", y=_down(scale, tick) + 4, text_anchor="end")
        for tick in scale.ticks()
    ]
    return _drawing(PLOT + 34, None, ticks)


def _curve(series: Series, scale: Scale, places: int, shift: float) -> list[Svg]:
    known = [
        (f"{(place + 0.5) / places + shift:.2%}", mean)
        for place, mean in enumerate(series.means)
        if mean["value"] is not None
    ]
    lines, marks = [], []
    for (x1, one), (x2, two) in pairwise(known):
        y1, y2 = _down(scale, one["value"]), _down(scale, two["value"])
        lines.append(element("line", class_="line", x1=x1, y1=y1, x2=x2, y2=y2))
    for x, mean in known:
        if mean["interval"] is not None:
            low, high = mean["interval"]
            lines.append(_line("range thin", x, _down(scale, high), _down(scale, low)))
        said = f"{series.name}: {number(mean['value'])} {interval(mean['interval'])}, n = {mean['n']}"
        marks.append(_marker(series.look, x, _down(scale, mean["value"]), said, hollow=mean["n"] < FEW))
    return lines + marks


def _down(scale: Scale, value: float) -> float:
    return round(8 + (1 - scale.share(value)) * PLOT, 1)


def _marker(look: Look, x: str, y: float, title: str = "", hollow: bool = False) -> Svg:
    inside = [element("title", title)] if title else []
    path = element("path", *inside, class_="mark hollow" if hollow else "mark", d=MARKERS[look.marker])
    return element("svg", path, x=x, y=y, overflow="visible")


def _line(css: str, x: str, y1: float, y2: float) -> Svg:
    return element("line", class_=css, x1=x, x2=x, y1=y1, y2=y2)


def _anchor(scale: Scale, tick: float) -> str:
    return "start" if tick == scale.low else "end" if tick == scale.high else "middle"


def _drawing(height: float, label: str | None, parts: Iterable[Svg], css: str = "") -> Svg:
    about = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return element("svg", *parts, class_=f"chart {css}".strip(), width="100%", height=height, **about)


def _safe(value: Any) -> str:
    return value if isinstance(value, Svg) else html.escape(str(value))
