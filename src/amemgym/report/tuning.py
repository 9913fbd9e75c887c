"""What a search prints and writes: the configurations that were tried, the best, and what it does on held-out users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.report.markdown import text
from amemgym.report.table import print_whole
from amemgym.report.wording import chance, interval, number, signed
from amemgym.scores.verdict import BETTER, NOT_SHOWN, WORSE
from amemgym.secrets import redact

Summary = Mapping[str, Any]
HEADER = ("trial", "agent", "rung", "users", "periods", "training accuracy", "95%", "n")
#: columns of HEADER that hold words
WORDS = (1,)


def print_tuning(console: Console, summary: Summary) -> None:
    """Print a search from its tune.json."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(HEADER):
        table.add_column(name, justify="left" if place in WORDS else "right", no_wrap=True)
    for trial in _ranked(summary):
        best = trial["trial"] == summary["best"]["trial"]
        table.add_row(*(escape(_shown(cell)) for cell in _row(trial, summary)), style="bold" if best else "")
    print_whole(console, table)
    for line in _lines(summary):
        console.print(f"  {_shown(line)}", markup=False, highlight=False, style="dim", soft_wrap=True)
    for line in _result(summary):
        console.print(_shown(line), markup=False, highlight=False, soft_wrap=True)


def markdown(summary: Summary) -> str:
    """The same as GitHub-flavoured Markdown. Names of others are escaped."""
    rule = ["---" if place in WORDS else "---:" for place in range(len(HEADER))]
    rows = [list(HEADER), rule]
    for trial in _ranked(summary):
        rows.append([text(cell) if place in WORDS else cell for place, cell in enumerate(_row(trial, summary))])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    sides = [["held-out users", "agent", "accuracy", "95%", "memory score", "95%", "n"], ["---", "---", *["---:"] * 5]]
    for name, agent, side in _sides(summary):
        score = [number(side["memory_score"]), interval(side["memory_score_interval"])]
        sides.append([name, text(agent), number(side["accuracy"]), interval(side["interval"]), *score])
        sides[-1].append(str(side["n"]))
    parts = [
        f"# Tuning of {text(summary['agent'])}: {text(summary['data']['name'])}, {text(summary['model'])}",
        "\n".join(f"- {text(line)}" for line in _result(summary)),
        "## On held-out users",
        "\n".join("| " + " | ".join(row) + " |" for row in sides),
        "## On training users",
        "\n".join(f"- {text(line)}" for line in _lines(summary)),
        table,
    ]
    return "\n\n".join(parts) + "\n"


def _sides(summary: Summary) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """As named and best: what each is, which agent, and its scores."""
    held_out = summary["held_out"]
    yield "as named", str(held_out["start"]["agent"]), held_out["start"]
    if "best" in held_out:
        yield "best", _named(summary["best"], summary), held_out["best"]


def _ranked(summary: Summary) -> list[Mapping[str, Any]]:
    """Those that came further first, of these the better."""

    def order(trial: Mapping[str, Any]) -> tuple[int, float, int]:
        accuracy = trial["rungs"][-1]["accuracy"]
        return (-len(trial["rungs"]), 2.0 if accuracy is None else -accuracy, trial["trial"])

    return sorted(summary["trials"], key=order)


def _row(trial: Mapping[str, Any], summary: Summary) -> list[str]:
    last = trial["rungs"][-1]
    return [
        str(trial["trial"]),
        _named(trial, summary),
        f"{len(trial['rungs'])} of {len(summary['rungs'])}",
        str(last["users"]),
        str(last["periods"]),
        number(last["accuracy"]),
        interval(last["interval"]),
        str(last["n"]),
    ]


def _named(configuration: Mapping[str, Any], summary: Summary) -> str:
    """The agent, and of what else was searched, its choice."""
    words = [str(configuration["agent"])]
    if "policy" in summary["searched"] or configuration["policy"] is not None:
        policy = configuration["policy"]
        words.append(f"policy {'none' if policy is None else Path(policy).name}")
    if "room" in summary["searched"] or configuration["room"] is not None:
        words.append(f"room {'none' if configuration['room'] is None else configuration['room']}")
    return ", ".join(words)


def _lines(summary: Summary) -> Iterator[str]:
    data, users = summary["data"], summary["users"]
    yield (
        f"data {data['name']} (sha256 {data['sha256'][:12]}…), model {summary['model']}, seed {summary['seed']};"
        f" {len(users['training'])} training user{'' if len(users['training']) == 1 else 's'},"
        f" {len(users['held_out'])} held out"
    )
    steps = [f"{r['configurations']} on {r['users']} users × {r['periods']} periods" for r in summary["rungs"]]
    yield f"{len(summary['trials'])} of {summary['configurations']} configurations tried: {', then '.join(steps)}"
    yield (
        "training accuracies are for choosing alone: the best of many was lucky too, so its own says more than it is"
        " worth. Intervals are clustered by user; accuracies of other users or periods cannot be compared"
    )
    yield from (f"warning: {warning}" for warning in summary["held_out"]["warnings"])


def _result(summary: Summary) -> Iterator[str]:
    best, held_out = summary["best"], summary["held_out"]
    yield f"best on training users: {_named(best, summary)} (trial {best['trial']})"
    users = len(summary["users"]["held_out"])
    for name, agent, side in _sides(summary):
        accuracy = _value(side["accuracy"], side["interval"])
        yield f"held-out users ({users}), {name}: {agent} {accuracy}, n {side['n']}"
    yield _verdict(held_out)
    yield f"play the best with: {best['command']}"


def _verdict(held_out: Mapping[str, Any]) -> str:
    pair = held_out["pair"]
    if pair is None:
        return "no other configuration was better than the agent as named, so there is nothing to compare"
    users = f"{pair['users']} user{'' if pair['users'] == 1 else 's'}"
    difference = _value(pair["difference"], pair["interval"], True)
    told = f"difference {difference}, p {chance(pair['p'])}, n {pair['n']}, {users}"
    if pair["memory_score_difference"] is not None:
        score = _value(pair["memory_score_difference"], pair["memory_score_interval"], True)
        told += f"; of memory scores {score}"
    said = {
        BETTER: "the best is better on held-out users: the interval lies above 0, and p below 0.05",
        WORSE: "the best is worse on held-out users, whom it was not chosen on: the interval lies below 0",
        NOT_SHOWN: f"the best is not shown to be better on held-out users: {_why_not(pair)}",
        "no interval": f"no interval, so nothing is shown: {pair['why_no_interval'] or 'no exam is in both'}",
    }[held_out["verdict"]]
    needed = ""
    if held_out["verdict"] == NOT_SHOWN:
        needed = _needed(pair["users_needed"])
    return f"{told}: {said}{needed}"


def _why_not(pair: Mapping[str, Any]) -> str:
    low, high = pair["interval"] or (0, 0)
    if low <= 0 <= high:
        return "the interval holds 0"
    return f"p is not below 0.05 (with so few users it is {pair['smallest_p']:.3g} or more)"


def _needed(users_needed: Mapping[str, int | None]) -> str:
    """With how many users a difference would be found, at this spread."""
    known = [f"{users} for {float(d):.2f}" for d, users in users_needed.items() if users is not None]
    return f" (users it takes to find a difference: {', '.join(known)})" if known else ""


def _value(value: float | None, pair: Sequence[float] | None, is_difference: bool = False) -> str:
    shown = signed(value) if is_difference else number(value)
    return shown if pair is None else f"{shown} {interval(pair)}"


def _shown(line: str) -> str:
    return files.printable(redact(line))
