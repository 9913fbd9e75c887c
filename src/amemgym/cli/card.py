"""`amemgym card`: what a data set holds, how it is worded, and whether it leaks its answers."""

from __future__ import annotations

from typing import Annotated

import typer

from amemgym import datasets, files
from amemgym.cli.console import Output
from amemgym.cli.progress import ProgressBars
from amemgym.cli.report import show_paths
from amemgym.cli.run import field_help
from amemgym.errors import UsageError
from amemgym.report.card import check_card, format_of, print_card


def card_command(
    data: Annotated[str, typer.Argument(help="a data set's name, or the path of a v1 JSON file")],
    format: Annotated[
        str | None, typer.Option(help="also write it, as html or json (default: none, or as --out ends)")
    ] = None,
    out: Annotated[str | None, typer.Option(help="the file (default: card-<data>.<format>)")] = None,
    model: Annotated[str | None, typer.Option(help="the no-context model: offline, or openai:<name> [offline]")] = None,
    base_url: Annotated[str | None, typer.Option(help=field_help("base_url"))] = None,
    work: Annotated[
        str | None,
        typer.Option(
            help="folder in which the model's replies are kept, none asked for twice [runs/card]", metavar="DIR"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="seed of the gate that draws at random [0]")] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    temperature: Annotated[float | None, typer.Option(help=field_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=field_help("max_tokens"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    embedder: Annotated[
        str | None, typer.Option(help="what options and questions are embedded with [wordllama]")
    ] = None,
    language: Annotated[str | None, typer.Option(help=field_help("language"))] = None,
    strict: Annotated[bool, typer.Option("--strict", help="end with 1 where a leak gate fails")] = False,
) -> None:
    """Describe a data set, and measure what can be answered in it without any memory.

    Ends with 0 also where a leak gate fails, unless --strict is given.
    """
    if format is None and out is not None:
        format = format_of(out)
    if format is not None:
        check_card(format, out)
        if out is not None and files.at_home(out).resolve() == files.at_home(data).resolve():
            raise UsageError(f"--out {out} is the data itself, which the card would replace; name another file")
    given = {name: value for name, value in locals().items() if name in datasets.CARD_SETTINGS and value is not None}
    with ProgressBars() as bars:
        made = datasets.card(data, work=work, watcher=bars, **given)
    print_card(Output(), made)
    if format is not None:
        show_paths([datasets.write_card(made, format, out)])
    if strict and made.failing:
        raise typer.Exit(1)
