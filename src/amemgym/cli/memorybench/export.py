"""`amemgym memorybench export`: our own runs as an archive of MemoryBench results."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from amemgym import files
from amemgym.cli.console import Output
from amemgym.memorybench import Exported, export_runs
from amemgym.memorybench.problems import counted


def export_command(
    directories: Annotated[list[Path], typer.Argument(help="run directories", metavar="DIR…", show_default=False)],
    out: Annotated[Path, typer.Option(help="the archive: a new folder, or one to add to", show_default=False)],
    set_name: Annotated[
        str | None, typer.Option(help="what the data is called in it (default: its own name)", metavar="NAME")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="take what is finished of a run that is not")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="write anew what the archive has of these runs")] = False,
) -> None:
    """Write runs as an archive of MemoryBench results: a group for each agent, which is the baseline; the data is the
    set; exam accuracy and memory score are metrics.

    Needs no model. Several runs (on- and off-policy, other seeds, other models) can share an archive.
    """
    show(export_runs(directories, out, set_name=set_name, partial=partial, replace=replace))


def show(exported: Exported) -> None:
    """Print what was written, and how to look at it."""
    lines = []
    for group in exported.groups:
        failed = f", {group.failed} of them without an answer" if group.failed else ""
        lines.append(f"{group.entry.cell}: {counted(group.items, 'item')}{failed}")
        lines += [f"  note: {note}" for note in group.notes]
    lines.append(f"{counted(len(exported.groups), 'group')} written; {exported.directory} has {exported.total} now")
    if exported.faulty:
        lines.append(f"{counted(exported.faulty, 'line')} of its manifest cannot be read; `show` says which, and why")
    if exported.rivals:
        lines.append(
            f"{exported.rivals} of the {exported.total} share their cell with other runs; --choose says which counts"
        )
    choose = " --choose last" if exported.rivals else ""
    lines.append(f"next: amemgym memorybench table {shlex.quote(str(exported.directory))} --metric accuracy{choose}")
    for line in lines:
        Output().print(files.printable(line), markup=False, highlight=False, soft_wrap=True)
