"""What an audit prints: the qualities with n and interval, the findings by kind, the first of each with their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.quality.findings import KINDS, Finding, Kind
from amemgym.report.table import print_whole
from amemgym.secrets import redact

#: findings of a kind that are shown, and characters of their text
SHOWN, LENGTH = 3, 160
#: what counts in no share: the judge chose no value, its reply could not be read, its call ended in an error
UNCOUNTED = ("undecided", "unreadable", "errors")
MEANING: dict[Kind, str] = {
    "missing": "a state that should be told was not recovered",
    "wrong": "it was recovered with another value",
    "leak": "a state is told that should not be",
    "contradiction": "what is told is not so",
    "answer": "an answer fits another variant than its own",
}
STAND_IN = (
    "the judge is the offline stand-in: it sees words, not meaning, misses what is only hinted at, can hardly tell what"
    " an answer was written for, and finds faults where there are none; for figures to report, use a language model"
    " (--model openai:NAME)"
)


def print_audit(
    console: Console,
    summary: Mapping[str, Any],
    findings: Sequence[Finding],
    agreement: Mapping[str, Any] | None = None,
) -> None:
    """Print an audit."""
    print_whole(console, _table(summary))
    for line in [*_notes(summary), *(_agreement_lines(agreement) if agreement else ())]:
        console.print(f"  {_shown(line)}", markup=False, highlight=False, style="dim", soft_wrap=True)
    for line in _finding_lines(summary, findings):
        console.print(_shown(line), markup=False, highlight=False, soft_wrap=True)


def _table(summary: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("quality")
    for name in ("share", "95%", "n", *UNCOUNTED):
        table.add_column(name, justify="right")
    for name, share, counts in _rows(summary):
        value, interval = share["value"], share["interval"]
        shown = "–" if value is None else _share(value)
        around = "" if interval is None else f"{_share(interval[0])}–{_share(interval[1])}"
        table.add_row(name, shown, around, str(share["n"]), *(str(counts.get(c, "")) for c in UNCOUNTED))
    return table


def _rows(summary: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    exposure, integrity, answers = summary["exposure"], summary["integrity"], summary["answers"]
    yield "exposure: states recovered", exposure["states"], {}
    yield "exposure: utterances without fault", exposure["utterances"], exposure
    yield "integrity: later turns without fault", integrity["turns"], integrity
    if len(integrity["by_agent"]) > 1:
        for agent, share in integrity["by_agent"].items():
            yield _shown(f"  with {escape(agent)}"), share, {}
    yield "answers: own variant recovered", answers["answers"], answers


def _notes(summary: Mapping[str, Any]) -> Iterator[str]:
    data, users = summary["data"], summary["users"]
    run = f"run {summary['run']}, " if summary["run"] else ""
    done = (
        str(users["planned"]) if users["finished"] == users["planned"] else f"{users['finished']} of {users['planned']}"
    )
    yield f"{run}data {data['name']} (sha256 {data['sha256'][:12]}…), {done} users; judge: {summary['judge']}"
    shares = [summary["exposure"]["states"], summary["integrity"]["turns"], summary["answers"]["answers"]]
    yield from dict.fromkeys(f"not measured: {share['why_undefined']}" for share in shares if share["why_undefined"])
    yield from dict.fromkeys(
        f"no intervals: {share['why_no_interval']}" for share in shares if share["why_no_interval"]
    )
    yield "intervals are clustered by user; undecided and unreadable replies and errors of the judge count in no share"
    if summary["judge"] == "offline":
        yield STAND_IN


def _agreement_lines(agreement: Mapping[str, Any]) -> Iterator[str]:
    raters = ", ".join(agreement["raters"])
    yield f"{agreement['labels']} labels by {raters}; Gwet's AC1 [95%], percent agreement, n:"
    for name, what in (("turns", "all"), ("exposure", "exposure"), ("integrity", "integrity"), ("by_kind", "by kind")):
        for who, shown in (("judge_human", "judge–human"), ("human_human", "human–human")):
            if one := (agreement.get(name) or {}).get(who):
                yield f"  {what}, {shown}: {_agreed(one)}"
    if unknown := agreement["unknown"]:
        more = f" (and {len(unknown) - 3} more)" if len(unknown) > 3 else ""
        yield f"labels of turns that were not judged are left out: {'; '.join(unknown[:3])}{more}"


def _agreed(one: Mapping[str, Any]) -> str:
    percent = "" if one["percent"] is None else f", {100 * one['percent']:.1f}%, n {one['n']}"
    if one["ac1"] is None:
        return f"undefined ({one['why_undefined']}){percent}"
    interval = one["interval"]
    around = f" [{interval[0]:.3f} to {interval[1]:.3f}]" if interval else f" (no interval: {one['why_no_interval']})"
    return f"{one['ac1']:.3f}{around}{percent}"


def _finding_lines(summary: Mapping[str, Any], findings: Sequence[Finding]) -> Iterator[str]:
    if not findings:
        yield "no findings"
    for kind in KINDS:
        if count := summary["findings"][kind]:
            told = summary["leaks_told_before"] if kind == "leak" else 0
            more = f"; {told} of them repeat what an earlier session told" if told else ""
            yield f"{kind}: {count} ({MEANING[kind]}{more})"
            some = [finding for finding in findings if finding.kind == kind]
            for finding in some[:SHOWN]:
                yield f"  {finding.place}: {_what(finding)}"
                yield f"    “{_short(finding.text)}”"
            if len(some) > SHOWN:
                yield f"  … and {len(some) - SHOWN} more"


def _what(finding: Finding) -> str:
    if finding.kind == "missing":
        return f"{finding.variable} should be {finding.intended}, nothing found"
    if finding.kind in ("wrong", "answer"):
        return f"{finding.variable} should be {finding.intended}, found {finding.found}"
    if finding.kind == "leak":
        return f"{finding.variable} = {finding.found}"
    return f"{finding.variable}: found {finding.found}, it is {finding.current}"


def _shown(line: str) -> str:
    return files.printable(redact(line))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LENGTH else line[: LENGTH - 1] + "…"


def _share(value: float) -> str:
    return f"{100 * value:.1f}%"
