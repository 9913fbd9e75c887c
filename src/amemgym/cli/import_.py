"""`amemgym import`: results of the original benchmark into a run directory, scored by our rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from amemgym import api, files
from amemgym.cli.console import Output
from amemgym.cli.progress import ProgressBars
from amemgym.cli.run import show
from amemgym.evaluate import RunWatcher

#: more users than this are not listed one by one
LISTED_USERS = 10
#: more remarks than this are left to the manifest
LISTED_REMARKS = 20


def import_command(
    directory: Annotated[Path, typer.Argument(help="folder with AGENT/USER/overall_results.json and what is beside")],
    data: Annotated[str, typer.Option(help="the scenarios they were made on: a name, or the path of a v1 JSON file")],
    upper_bound: Annotated[Path | None, typer.Option(help="the upper bound's file (memory scores need it)")] = None,
    model: Annotated[str, typer.Option(help="a label for the model that gave the replies")] = "imported",
    out: Annotated[
        Path | None, typer.Option(help="run directory (default: runs/<data>-imported-<fingerprint>)")
    ] = None,
) -> None:
    """Import results of the original benchmark: parse every reply again, score, diagnose, print the table.

    What is missing or odd is named and left out; the rest is imported, into a directory that score reads too.
    """
    remarks = _Remarks()
    with ProgressBars() as bars:
        report = api.import_run(directory, data, upper_bound=upper_bound, model=model, out=out, watcher=remarks)
        for sentence in remarks.shown(report.directory):
            bars.said(sentence)
    show(report, report=True)
    console = Output()
    if report.scores["data"]["users"] <= LISTED_USERS:
        for line in _user_lines(report.scores):
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


class _Remarks(RunWatcher):
    """Keeps remarks until the import has come to its end."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def said(self, sentence: str) -> None:
        self._said.append(sentence)

    def shown(self, directory: Path) -> Iterator[str]:
        yield from self._said[:LISTED_REMARKS]
        if len(self._said) > LISTED_REMARKS:
            yield f"{len(self._said) - LISTED_REMARKS} more remarks: {directory / 'manifest.json'}, remarks"


def _user_lines(scores: Mapping[str, Any]) -> Iterator[str]:
    """A line for each agent and user."""
    agents: Mapping[str, Mapping[str, Any]] = scores["agents"]
    names = _short(list(dict.fromkeys(one["user_id"] for agent in agents.values() for one in agent["by_user"])))
    for agent, told in agents.items():
        for one in told["by_user"]:
            yield files.printable(f"{agent}, user {names[one['user_id']]}: {_numbers(one)}")


def _short(ids: list[str]) -> dict[str, str]:
    """The beginnings of long ids, unless two are alike."""
    short = [name if len(name) <= 12 else f"{name[:8]}…" for name in ids]
    return dict(zip(ids, short if len(set(short)) == len(ids) else ids, strict=True))


def _numbers(one: Mapping[str, Any]) -> str:
    shares = dict(one["diagnosis"] or {}, undiagnosed=one["undiagnosed"] / one["n"])
    always = ("write", "read", "utilization")
    shown = [f"{name} {_share(share)}" for name, share in shares.items() if share or name in always]
    floor = [f"random {_share(one['random'])}"]
    if one["upper_bound"] is not None:
        floor.append(f"upper bound {_share(one['upper_bound'])}")
    return ", ".join([f"overall {_share(one['overall'])} (n {one['n']})", *shown, *floor])


def _share(value: float) -> str:
    """A share as in papers: .427."""
    return f"{value:.3f}".removeprefix("0")
