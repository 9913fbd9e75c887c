"""`amemgym check-memory`: does a memory keep the rules that its scores stand on?"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from amemgym.cli.console import Output


def check_memory_command(
    memory: Annotated[str, typer.Argument(help="a memory's name, file.py:Class or module:Class")],
    rule: Annotated[list[str] | None, typer.Option(help="try this rule alone (may be given several times)")] = None,
    seconds: Annotated[float, typer.Option(help="how long a rule may take", min=0.1)] = 60.0,
) -> None:
    """Try the rules of the test kit on a memory: keeping, forgetting, keeping users apart, no cheating.

    Ends with 0 if no rule fails, with 1 if one does. It uses the offline model: no key, no network.
    """
    from amemgym.kit import check_memory  # no other command needs any of it
    from amemgym.report.kit import print_kit

    report = check_memory(memory, rule or None, seconds=seconds)
    print_kit(Output(), report)
    code = 0 if report.passed else 1
    if report.hung:  # what hangs in a thread would keep the interpreter from its end
        sys.stdout.flush()
        os._exit(code)
    raise typer.Exit(code)
