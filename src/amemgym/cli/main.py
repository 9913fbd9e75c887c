"""The entry point: the commands, and every error as one sentence with its exit code (2 usage or data, 1 run)."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Any

import typer
from rich.console import Console

from amemgym import files
from amemgym.cli.lazy import lazy_app
from amemgym.cli.memorybench import MEMORYBENCH
from amemgym.errors import AMemGymError, Interrupted
from amemgym.secrets import redact
from amemgym.version import __version__

# typer brings its own copy of click in newer versions; this is the class its usage errors have, whichever it is
_ClickException: type[Any] = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

#: command → module
COMMANDS = {
    "run": "run",
    "estimate": "estimate",
    "resume": "resume",
    "merge": "merge",
    "score": "score",
    "report": "report",
    "compare": "compare",
    "import": "import_",
    "evolve": "evolve",
    "generate": "generate",
    "validate": "validate",
    "audit": "audit",
    "card": "card",
    "tune": "tune",
    "check-memory": "check_memory",
    "list": "listing",
    "memorybench": "memorybench",
}
app = lazy_app("amemgym", "Measure the long-term memory of conversational assistants.", "amemgym.cli", COMMANDS)


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
