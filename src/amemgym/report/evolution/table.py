"""An evolution in the terminal: both curves, the gain on held-out users, and what became of the policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.report.evolution.said import TRAINING, VERDICTS, cost, gain_sentence, history, unusable
from amemgym.report.evolution.told import Evolved, told
from amemgym.report.sparkline import sparkline
from amemgym.report.table import SCORES, print_whole, with_interval
from amemgym.report.wording import chance
from amemgym.scores.verdict import BETTER
from amemgym.secrets import redact

#: bars of a curve, so that a line stays within 80 characters
BARS = 16


def print_evolution(console: Console, summary: Mapping[str, Any]) -> None:
    """Print the tables, at least so wide that nothing is cut off, and what must be known to read them.

    `summary` is that of evolution.json.
    """
    evolved = told(summary)
    print_whole(console, _curves(evolved))
    if evolved.gains:
        console.print()
        print_whole(console, _gains(evolved))
    console.print()
    for sentence in _sentences(evolved):
        _say(console, sentence)
    for note in _notes(evolved):
        _say(console, note, "dim")
    for warning in evolved.warnings:
        _say(console, f"warning: {warning}", "yellow")


def _say(console: Console, text: str, style: str = "") -> None:
    # a reason why a policy was refused may quote it, and that is a model's text
    console.print(f"  {escape(files.printable(redact(text)))}", style=style, highlight=False)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in names:
        table.add_column(name, no_wrap=True, justify="right" if name in ("n", "users", "p") else "left")
    return table


def _curves(evolved: Evolved) -> Table:
    table = _table("agent", "overall", "memory score", "by period", "n", "users")
    random = {"training users": evolved.random.training, "held-out users": evolved.random.held_out}
    for part, curves in evolved.curves():
        table.add_row(part, style="bold")
        for name, curve in curves:
            table.add_row(
                escape(name),
                with_interval(curve.overall, curve.interval),
                with_interval(*evolved.score(curve)),
                sparkline(curve.by_period, width=BARS),
                str(curve.n),
                str(curve.users),
            )
        table.add_row("random", with_interval(random[part], None), style="dim")
    return table


def _gains(evolved: Evolved) -> Table:
    table = _table("gain on held-out users", f"over {escape(evolved.agent)}", "p", "n", "users", "")
    for gain in evolved.gains:
        table.add_row(
            escape(gain.agent),
            with_interval(gain.difference, gain.interval, "+"),
            chance(gain.p_adjusted).replace(" ", ""),
            str(gain.n),
            str(gain.users),
            gain.verdict,
            style="bold" if gain.verdict == BETTER else "",
        )
    return table


def _sentences(evolved: Evolved) -> Iterator[str]:
    """What the table of gains leaves open, and what became of the policies."""
    for gain in evolved.gains:
        if not gain.is_plain:
            yield f"{gain_sentence(gain)}."
    for name, arm in evolved.arms.items():
        yield f"{name}: {'; '.join(history(arm))}; {cost(arm)}."
        for period, reason in unusable(arm):
            yield f"{name}: the revision after period {period} was not usable: {reason}"
    if not evolved.arms:
        yield "Nothing learned: the only kind of feedback is none."


def _notes(evolved: Evolved) -> Iterator[str]:
    data, protocol = evolved.data, evolved.protocol
    yield (
        f"data {data.name} (sha256 {data.sha256[:12]}…); protocol {protocol.name} (version {protocol.version}), seed"
        f" {evolved.seed}; {evolved.agent} learns nothing"
    )
    if evolved.arms:
        yield f"{TRAINING}."
        name = next(iter(evolved.arms))
        yield (
            f"{name}: told what was learned a period after it was, as the training users were; {evolved.last(name)}:"
            " told the last of it from the beginning"
        )
        yield f"gains are paired by user; p: sign flips over users, adjusted for the number of gains. {VERDICTS}"
    yield (
        f"±: 95%, clustered by user. Memory score: {SCORES[evolved.first_score]}. By period: ▁ 0 to █ 1. ~: estimated"
    )
    if {evolved.model, evolved.user_model} != {"offline"}:
        yield f"model: {evolved.model}, simulated user: {evolved.user_model}"
    for why in evolved.whys():
        yield f"no intervals, {why}"
