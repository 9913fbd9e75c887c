"""The console that commands print to."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class Output(Console):
    """Standard output. A reader who leaves early (`| head`) is no error."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError
