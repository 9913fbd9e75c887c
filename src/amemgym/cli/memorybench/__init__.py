"""`amemgym memorybench …`: the commands over archives of MemoryBench results."""

from __future__ import annotations

from collections.abc import Callable

import typer

from amemgym.cli.memorybench.show import show_command
from amemgym.cli.memorybench.table import table_command
from amemgym.cli.memorybench.verify import verify_command

MEMORYBENCH: dict[str, Callable[..., None]] = {
    "show": show_command,
    "table": table_command,
    "verify": verify_command,
}

memorybench_app = typer.Typer(
    help="Read, check, compare and publish results of MemoryBench.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _name, _command in MEMORYBENCH.items():
    memorybench_app.command(_name)(_command)
