"""What the test kit found, for a terminal: a line for each rule, and what a failed one protects."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from amemgym import files
from amemgym.kit import KitReport, Outcome, Verdict
from amemgym.kit.verdicts import MODEL_NOTE
from amemgym.report.table import print_whole
from amemgym.secrets import redact

_STYLES = {Outcome.PASSED: "", Outcome.FAILED: "bold red", Outcome.NOT_APPLICABLE: "dim"}


def print_kit(console: Console, report: KitReport) -> None:
    """Print the verdicts, the failures with what was seen, and what it was checked with."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("rule", "verdict", "what it protects, or why it does not apply"):
        table.add_column(name, no_wrap=True)
    for verdict in report.verdicts:
        table.add_row(verdict.rule, str(verdict.outcome), _beside(verdict), style=_STYLES[verdict.outcome])
    print_whole(console, table)
    for verdict in report.failures:
        _say(console, f"{verdict.rule}: {verdict.sentence}", "red")
    _say(console, f"{report.memory} ({report.version}): {report.counts()}", "bold")
    _say(console, f"  {report.versions}; {MODEL_NOTE}", "dim")


def _beside(verdict: Verdict) -> str:
    return _shown(verdict.sentence if verdict.outcome is Outcome.NOT_APPLICABLE else verdict.meaning)


def _say(console: Console, text: str, style: str) -> None:
    console.print(_shown(text), style=style, highlight=False, soft_wrap=True)


def _shown(text: str) -> str:
    return escape(files.printable(redact(text)).encode("utf-8", "replace").decode("utf-8"))
