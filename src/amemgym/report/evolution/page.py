"""An evolution as one HTML page: the gain on held-out users, both curves, and the policies with what changed in each.

Policies are a model's text. Templates escape them, like everything else, and each line of them is a box of its own, so
that none can turn the direction of what stands around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amemgym.report import charts
from amemgym.report.charts import Look, Scale, Series, Svg
from amemgym.report.evolution.diff import Fold, Line, counts, diff
from amemgym.report.evolution.said import (
    TRAINING,
    VERDICTS,
    anything_learned,
    cost,
    gain_sentence,
    history,
    is_offline,
    unusable,
)
from amemgym.report.evolution.told import Arm, Curve, Evolved, Gain, Step, told
from amemgym.report.page import render
from amemgym.report.table import SCORES
from amemgym.report.view import COLOURS
from amemgym.scores import OFFLINE
from amemgym.scores.verdict import BETTER, WORSE

#: settings of a run that stand at the top or are of no matter here
SHOWN = ("model", "user_model", "seed", "protocol", "room", "users", "periods", "trials")
#: how the agent that learned nothing is drawn
NONE = Look("reference-0", 4)


@dataclass(frozen=True)
class Row:
    """An agent on one part of the users, as it is called and drawn."""

    name: str
    look: Look
    curve: Curve

    @property
    def swatch(self) -> Svg:
        return self.look.swatch()


@dataclass(frozen=True)
class Panel:
    """Curves over periods that are looked at together."""

    title: str
    chart: Svg
    y_axis: Svg
    rows: Sequence[Row]


@dataclass(frozen=True)
class Change:
    """One step of an arm's history: scores of the training users before and after it, of the arm and of who learned
    nothing, each {value, n, interval}; and the change of the policy."""

    step: Step
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    none_before: Mapping[str, Any]
    none_after: Mapping[str, Any]
    lines: Sequence[Line | Fold]
    added: int
    removed: int


@dataclass(frozen=True)
class Learned:
    """One arm's history."""

    name: str
    swatch: Svg
    arm: Arm
    sentences: Sequence[str]
    unusable: Sequence[tuple[int, str]]
    changes: Sequence[Change]
    cost: str


def evolution_page(summary: Mapping[str, Any], runs: Mapping[str, bool] | None = None) -> str:
    """The self-contained page, in HTML.

    Args:
        summary: as in evolution.json.
        runs: the folders of the runs that lie beside the page, and whether they have reports to link.
    """
    evolved = told(summary)
    looks = _looks(evolved)
    parts = {part: [Row(name, looks[name], curve) for name, curve in curves] for part, curves in evolved.curves()}
    return render(
        "evolution.html",
        told=evolved,
        offline=OFFLINE if is_offline(evolved) else None,
        warnings=[warning for warning in evolved.warnings if warning != OFFLINE],
        gains=[(gain, looks[gain.agent].swatch(), gain_sentence(gain), _css(gain)) for gain in evolved.gains],
        gain_chart=_gain_chart(evolved.gains, looks),
        learned_something=anything_learned(evolved),
        training_note=TRAINING,
        verdicts=VERDICTS,
        panels=_panels(evolved, parts),
        parts=parts,
        random={"training users": evolved.random.training, "held-out users": evolved.random.held_out},
        score_name=SCORES[evolved.first_score],
        whys=evolved.whys(),
        learned=[_learned(name, arm, evolved, looks) for name, arm in evolved.arms.items()],
        settings=_settings(evolved),
        runs=runs or {},
    )


def _looks(evolved: Evolved) -> dict[str, Look]:
    """By agent; the one told the last policy has its arm's colour, and a marker and dashes of its own."""
    found = {evolved.agent: NONE}
    for place, name in enumerate(evolved.arms):
        css, marker = f"agent-{place % COLOURS}", 2 * place % 8
        found[name] = Look(css, marker)
        found[evolved.last(name)] = Look(f"{css} last", marker + 1)
    return found


def _css(gain: Gain) -> str:
    return {BETTER: "better", WORSE: "worse"}.get(gain.verdict, "open")


def _gain_chart(gains: Sequence[Gain], looks: Mapping[str, Look]) -> dict[str, Any]:
    """A row for each gain, about 0."""
    scale = Scale.about_zero(end for gain in gains for end in (gain.difference, *(gain.interval or ())))
    marks = {"as none": 0.0}
    rows = [
        (
            {"name": gain.agent, "swatch": looks[gain.agent].swatch()},
            charts.interval_row(gain.agent, gain.difference, gain.interval, looks[gain.agent], scale, marks.values()),
        )
        for gain in gains
    ]
    return {"rows": rows, "head": charts.marks_head(marks, scale), "axis": charts.axis(scale)}


def _panels(evolved: Evolved, parts: Mapping[str, Sequence[Row]]) -> list[Panel]:
    """Training; held out as they were told period by period; held out and told the last policy from the beginning."""
    training, held_out = parts["training users"], parts["held-out users"]
    last = {evolved.last(name) for name in evolved.arms}
    none = evolved.agent
    following = [row for row in held_out if row.name not in last]
    panels = [
        _panel("Training users", training, evolved.random.training),
        _panel("Held-out users, told period by period", following, evolved.random.held_out),
    ]
    if last:
        rows = [row for row in held_out if row.name in last or row.name == none]
        panels.append(_panel("Held-out users, told the last policy", rows, evolved.random.held_out))
    return panels


def _panel(title: str, rows: Sequence[Row], random: float | None) -> Panel:
    periods = max((len(row.curve.by_period) for row in rows), default=0)
    series = [Series(row.name, row.look, row.curve.means()) for row in rows]
    marks = {} if random is None else {"random": random}
    chart = charts.line_chart(f"{title}: accuracy by period", series, Scale(), list(map(str, range(periods))), marks)
    return Panel(title, chart, charts.y_axis(Scale()), rows)


def _learned(name: str, arm: Arm, evolved: Evolved, looks: Mapping[str, Look]) -> Learned:
    none, policies = evolved.none.training, arm.policies
    changes = []
    for place, step in enumerate(arm.revisions):
        lines = diff(policies[place], policies[place + 1])
        added, removed = counts(lines)
        before, after = step.period, step.period + 1
        changes.append(
            Change(
                step,
                arm.training.mean(before),
                arm.training.mean(after),
                none.mean(before),
                none.mean(after),
                lines,
                added,
                removed,
            )
        )
    return Learned(name, looks[name].swatch(), arm, list(history(arm)), list(unusable(arm)), changes, cost(arm))


def _settings(evolved: Evolved) -> list[tuple[str, str]]:
    """What the agent is, and the settings of both runs that were set."""
    own = {name: value for name, value in evolved.about.items() if name != "name"}
    rest = {name: value for name, value in evolved.settings.items() if name not in SHOWN and name not in own}
    return [
        (
            name if name == "n_s" else name.replace("_", " "),
            "yes" if value is True else "no" if value is False else str(value),
        )
        for name, value in {**own, **rest}.items()
        if value is not None
    ]
