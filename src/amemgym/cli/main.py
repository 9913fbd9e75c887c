"""The entry point: the commands, and every error as one sentence with its exit code (2 usage or data, 1 run)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from typing import Any

import typer
from rich.console import Console

from amemgym import files
from amemgym.cli.audit import audit_command
from amemgym.cli.card import card_command
from amemgym.cli.check_memory import check_memory_command
from amemgym.cli.compare import compare_command
from amemgym.cli.evolve import evolve_command
from amemgym.cli.generate import generate_command
from amemgym.cli.import_ import import_command
from amemgym.cli.listing import list_command
from amemgym.cli.memorybench import MEMORYBENCH, memorybench_app
from amemgym.cli.report import report_command
from amemgym.cli.resume import resume_command
from amemgym.cli.run import run_command
from amemgym.cli.score import score_command
from amemgym.cli.tune import tune_command
from amemgym.cli.validate import validate_command
from amemgym.errors import AMemGymError, Interrupted
from amemgym.secrets import redact
from amemgym.version import __version__

# typer brings its own copy of click in newer versions; this is the class its usage errors have, whichever it is
_ClickException: type[Any] = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

app = typer.Typer(
    name="amemgym",
    help="Measure the long-term memory of conversational assistants.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
COMMANDS: dict[str, Callable[..., None]] = {
    "run": run_command,
    "resume": resume_command,
    "score": score_command,
    "report": report_command,
    "compare": compare_command,
    "import": import_command,
    "evolve": evolve_command,
    "generate": generate_command,
    "validate": validate_command,
    "audit": audit_command,
    "card": card_command,
    "tune": tune_command,
    "check-memory": check_memory_command,
    "list": list_command,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(memorybench_app, name="memorybench")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without these characters still shows the numbers
    given = sys.argv[1:] if arguments is None else arguments
    sys.exit(_run([*given, "--help"] if given in ([], ["memorybench"]) else given))


def _run(arguments: list[str]) -> int:
    try:
        if arguments == ["--version"]:
            typer.echo(f"amemgym {__version__}")
            return 0
        code = app(arguments, standalone_mode=False)
        if code == Interrupted.exit_code:  # typer's own end of Ctrl-C says nothing
            return _say("interrupted", code)
        return code if isinstance(code, int) else 0
    except AMemGymError as error:
        return _say(str(error), error.exit_code)
    except typer.Abort:
        return _say("interrupted", Interrupted.exit_code)
    except _ClickException as error:
        command = " ".join(["amemgym", *_command_words(arguments)])
        sentence = " ".join(error.format_message().split()).rstrip(".")
        return _say(f"{sentence} (see: {command} --help)", 2)
    except KeyboardInterrupt:
        return _say("interrupted", Interrupted.exit_code)
    except BrokenPipeError:
        # whoever read our output has gone; do not complain on the way out
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        # what a run writes has sentences of its own; this is the table on its way to a full disk, or the like
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _say(f"{error.filename or 'the output'}: {error.strerror or error}", 1)


def _command_words(arguments: list[str]) -> list[str]:
    """The words that name the command, as far as they do."""
    if arguments[0] == "memorybench":
        return arguments[: 2 if set(arguments[1:2]) <= set(MEMORYBENCH) else 1]
    return [name for name in arguments[:1] if name in COMMANDS]


def _say(sentence: str, code: int) -> int:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"amemgym: {files.printable(redact(sentence))}", markup=False)
    return code
