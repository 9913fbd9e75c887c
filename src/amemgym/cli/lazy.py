"""Commands that are imported when they are named: a command pays for what it uses, and `--help` for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

#: how every command line here is set up
PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


def lazy_app(name: str, help: str, room: str, modules: Mapping[str, str]) -> typer.Typer:
    """An app of the commands that stand in modules of `room` (command → module): `NAME_command`, or an app `NAME_app`
    of its own."""

    class Commands(TyperGroup):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            self.commands = dict.fromkeys(modules)  # type: ignore[assignment]  # whose names a mistyped one is compared with

        def list_commands(self, ctx: Any) -> list[str]:
            return list(modules)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            if cmd_name not in modules:
                return None
            module, word = import_module(f"{room}.{modules[cmd_name]}"), cmd_name.replace("-", "_")
            own: typer.Typer | None = getattr(module, f"{word}_app", None)
            if own is None:
                own = typer.Typer(**PLAIN)
                own.command(cmd_name)(getattr(module, f"{word}_command"))
            return typer.main.get_command(own)

    app = typer.Typer(name=name, help=help, no_args_is_help=True, cls=Commands, **PLAIN)
    app.callback()(_nothing)  # an app needs one command or callback of its own
    return app


def _nothing() -> None:
    return None
