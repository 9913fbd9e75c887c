"""The table a run ends with: each agent's scores with interval and n, beside the baselines that give them meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from amemgym.report.costs import costs_something
from amemgym.report.sparkline import sparkline
from amemgym.report.wording import dollars
from amemgym.scores import models_played

#: the column of failure shares
FAILURES = "write/read/use"
#: the columns of what memories asked of a model
MEMORY = ("memory in/out", "calls")
#: the column of what one user's episode costs
COST = "$/user"
SCORES = {"ratio_of_means": "ratio of means", "mean_of_ratios": "mean of ratios"}


def print_scores(console: Console, scores: Mapping[str, Any], seconds: Mapping[str, float] | None = None) -> None:
    """Print the scores of scores.json, at least so wide that nothing is cut off. `seconds` are those models took."""
    print_whole(console, _table(scores, seconds or {}))
    for note in notes(scores):
        console.print(f"  {escape(note)}", highlight=False, style="dim")
    for warning in warnings(scores):
        console.print(f"  warning: {escape(warning)}", highlight=False, style="yellow")


def print_whole(console: Console, table: Table) -> None:
    """Print a table as wide as it is: rich prints no wider than the console, and would cut the numbers short."""
    width = console.width
    console.width = max(width, Measurement.get(console, console.options.update(max_width=1000), table).maximum)
    console.print(table)
    console.width = width


def warnings(scores: Mapping[str, Any]) -> list[str]:
    """Every warning, the agents' under their names."""
    of_agents = [f"{name}: {w}" for name, agent in scores["agents"].items() for w in agent["warnings"]]
    return [*scores["warnings"], *of_agents]


def notes(scores: Mapping[str, Any]) -> list[str]:
    """What must be known to read the table: what was run, what its columns are, and what the numbers stand on."""
    data, first, other = scores["data"], scores["first_score"], _other(scores["first_score"])
    return [
        f"data {data['name']} (sha256 {data['sha256'][:12]}…): {data['users']} user{'s' if data['users'] != 1 else ''},"
        f" {data['questions']} questions,"
        f" {data['exams']} exams; protocol {scores['protocol']['name']} (version {scores['protocol']['version']}),"
        f" seed {scores['seed']}, trials {scores['trials']}",
        f"memory score: (overall − random) / (upper bound − random), {SCORES[first]} ({SCORES[other]}: scores.json)."
        " ±: 95%, clustered by user. By period: ▁ 0 to █ 1. Tokens: the agent's replies and exams; memory: its"
        " own calls. Seconds: what the model took, summed. ~: estimated",
        *remarks(scores),
    ]


def remarks(scores: Mapping[str, Any]) -> list[str]:
    """What the numbers stand on: who played, why there are no intervals, and what each agent's leave out."""
    found = []
    if part := scores.get("shard"):
        found.append(
            f"shard {part['number']} of {part['of']}: the scores are of its users alone; bring all together with"
            " amemgym merge"
        )
    if any(agent["diagnosis"] for agent in scores["agents"].values()):
        found.append(
            f"{FAILURES}: shares of all exams that are wrong since a fact was never known, is known no more, or was not"
            " used; their intervals are in the report"
        )
    if models_played(scores) != {"offline"}:
        found.append(f"model: {scores['model']}, simulated user: {scores['user_model']}")
    if costs_something(scores):
        found.append(_what_dollars_are(scores))
    if scores["why_no_interval"]:
        found.append(f"no intervals: {scores['why_no_interval']}")
    found += [
        f"{name}: {note}" for name, agent in scores["agents"].items() for note in _agent_notes(name, agent, scores)
    ]
    return found


def _what_dollars_are(scores: Mapping[str, Any]) -> str:
    """Over what they are, and by which prices, or why they are not known."""
    sources = dict.fromkeys(
        entry["rate"]["source"] + (f" of {entry['rate']['date']}" if entry["rate"]["date"] else "")
        for entry in (scores["cost"]["prices"] or {}).get("models", ())
        if entry["rate"] and not entry["rate"]["free"]
    )
    said = f"{COST}: US dollars of one user's conversation, exams and probes, mean over finished episodes, without the"
    said += " upper bound" + (f"; prices: {', '.join(sources)}" if sources else "")
    why = scores["cost"]["why_unknown"]
    return f"{said}. {why[0].upper()}{why[1:]}" if why else said


def _agent_notes(name: str, agent: Mapping[str, Any], scores: Mapping[str, Any]) -> list[str]:
    found = []
    if agent["policies"]:
        found.append(f"told what to remember (policy, sha256 {agent['policies'][:12]}…), not by its own prompt")
    if agent["room"] is not None:
        found.append(f"its memory has room for {agent['room']} lines or facts")
    if agent["why_no_interval"] and not scores["why_no_interval"]:
        found.append(f"no intervals: {agent['why_no_interval']}")
    if agent["probes"]["cut_short"]:
        found.append(f"in {agent['probes']['cut_short']} probes the oldest messages did not fit the model's context")
    episodes, score = agent["episodes"], agent["memory_score"]
    if episodes["finished"] < episodes["planned"]:
        found.append(f"only {episodes['finished']} of {episodes['planned']} episodes are finished")
    if score[scores["first_score"]] is None and score["why_undefined"] and agent["n"]:
        found.append(f"memory score undefined: {score['why_undefined']}")
    if agent["failed"]:
        found.append(f"{agent['failed']} exams ended in an error and count in no score")
    if agent["guessed"]:
        found.append(f"{agent['guessed']} unreadable replies replaced by a seeded guess (protocol v1)")
    if agent["dropped_messages"]:
        found.append(f"{agent['dropped_messages']} oldest messages dropped because the model's context was full")
    if agent["exams_cut_short"]:
        found.append(f"in {agent['exams_cut_short']} exams the oldest messages did not fit the model's context")
    if agent["model"] not in (None, scores["model"], name):
        found.append(f"its own model: {agent['model']}")
    if agent["upper_bound"] is not None and scores["upper_bound"] is not None and score["n"] == agent["n"]:
        if abs(agent["upper_bound"] - scores["upper_bound"]) > 1e-9:
            found.append(f"memory score against its own upper bound, {agent['upper_bound']:.3f}")
    elif 0 < score["n"] < agent["n"]:
        found.append(f"memory score over {score['n']} of {agent['n']} exams; the others have no upper bound")
    for role, count in agent["unreadable"].items():
        if role not in ("exam", "probe"):
            found.append(f"{count} replies as {role} could not be read and changed nothing")
    return found


def _table(scores: Mapping[str, Any], seconds: Mapping[str, float]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("agent", no_wrap=True)
    for name in ("overall", "memory score"):
        table.add_column(name, no_wrap=True)
    table.add_column("by period", no_wrap=True)
    probed = any(agent["diagnosis"] for agent in scores["agents"].values())
    if probed:
        table.add_column(FAILURES, no_wrap=True)
    asks = any(agent["memory_calls"] for agent in scores["agents"].values())
    priced = costs_something(scores)
    # the cost tells more than the number of a memory's calls, and the table is wide enough
    memory = MEMORY[: 1 if priced else 2] if asks else ()
    for name in ("n", "invalid", "tokens in/out", *memory, *((COST,) if priced else ()), "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    first = scores["first_score"]
    entries = ranked(scores)
    for place, (name, agent) in enumerate(entries):
        score = agent["memory_score"]
        interval = score["intervals"][first]
        played = not agent["reference"]
        last_played = played and (place + 1 == len(entries) or entries[place + 1][1]["reference"])
        table.add_row(
            escape(name),
            with_interval(agent["overall"], agent["interval"]),
            with_interval(score[first], interval),
            sparkline(agent["by_period"]),
            *([_failures(agent["diagnosis"])] if probed else []),
            str(agent["n"]),
            _count(agent["invalid"], agent["n"]) if played else "",
            _tokens(agent["agent_tokens"]) if played else "",
            *_asked(agent)[: len(memory)],
            *([_dollars(agent) if played else ""] if priced else []),
            f"{seconds[name]:.1f}" if played and name in seconds else "",
            style="" if played else "dim",
            end_section=last_played,
        )
    blank = [""] if probed else []
    if scores["upper_bound"] is not None:
        bound = with_interval(scores["upper_bound"], scores["upper_bound_interval"])
        table.add_row("upper bound", bound, f"{1:.3f}", "", *blank, str(scores["upper_bound_n"]), style="dim")
    if scores["random"] is not None:
        table.add_row("random", f"{scores['random']:.3f}", f"{0:.3f}", "", *blank, str(scores["random_n"]), style="dim")
    return table


def _asked(agent: Mapping[str, Any]) -> tuple[str, str]:
    """What a memory asked of a model; blank where it asked nothing."""
    calls = agent["memory_calls"]
    return (_tokens(agent["memory_tokens"]), str(calls)) if calls else ("", "")


def _dollars(agent: Mapping[str, Any]) -> str:
    """What one user's episode costs."""
    return dollars(agent["cost"]["usd_per_user"], agent["cost"]["estimated"])


def _failures(diagnosis: Mapping[str, float] | None) -> str:
    shares = [diagnosis[name] if diagnosis else None for name in ("write", "read", "utilization")]
    return "/".join("–" if share is None else f"{share:.3f}".lstrip("0") for share in shares)


def ranked(scores: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The agents with their names, best first, the reference agents after the others."""
    return sorted(scores["agents"].items(), key=lambda entry: (entry[1]["reference"], _descending(entry[1]["overall"])))


def _descending(value: float | None) -> float:
    return 2.0 if value is None else -value


def _other(first: str) -> str:
    return next(name for name in SCORES if name != first)


def with_interval(value: float | None, interval: Sequence[float] | None, sign: str = "") -> str:
    """A score as `0.922 ±0.134`; `sign` is + for a difference."""
    if value is None:
        return "–"
    if interval is None:
        return f"{value:{sign}.3f}"
    low, high = interval
    # an interval that ends where a share does is cut there; its longer side is the half that was not
    return f"{value:{sign}.3f} ±{max(high - value, value - low):.3f}"


def _count(count: int, n: int) -> str:
    return "0" if not count else f"{count} ({count / n:.0%})"


def _tokens(tokens: Mapping[str, Any] | None) -> str:
    if tokens is None:
        return "–"
    mark = "~" if tokens["estimated"] else ""
    return f"{mark}{_short(tokens['input'])}/{_short(tokens['output'])}"


def _short(count: int) -> str:
    if count < 10_000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 10_000_000 else f"{count / 1_000_000:.0f}M"
