"""`amemgym tune`: search an agent's settings on training users, and measure the best on held-out ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from amemgym.cli.console import Output
from amemgym.cli.progress import TuneBars
from amemgym.cli.report import show_paths
from amemgym.cli.run import field_help
from amemgym.evaluate import SHARED_SETTINGS
from amemgym.report.tuning import print_tuning
from amemgym.search.spec import TuneSpec, make_tune_spec
from amemgym.settings import read_settings
from amemgym.tuning import tune_spec


def _help(name: str) -> str:
    """The field's own description, and its default."""
    field = TuneSpec.model_fields[name]
    return f"{field.description}" + ("" if field.default is None else f" [{field.default}]")


def tune_command(
    agent: Annotated[str | None, typer.Option(help=_help("agent"))] = None,
    data: Annotated[str | None, typer.Option(help=field_help("data"))] = None,
    freq: Annotated[str | None, typer.Option(help=_help("freq"), metavar="N,…")] = None,
    n_s: Annotated[str | None, typer.Option(help=_help("n_s"), metavar="N,…")] = None,
    topk: Annotated[str | None, typer.Option(help=_help("topk"), metavar="N,…")] = None,
    policies: Annotated[str | None, typer.Option(help=_help("policies"), metavar="FILE,…")] = None,
    rooms: Annotated[str | None, typer.Option(help=_help("rooms"), metavar="N,…")] = None,
    trials: Annotated[int | None, typer.Option(help=_help("trials"))] = None,
    training: Annotated[str | None, typer.Option(help=_help("training"))] = None,
    rungs: Annotated[int | None, typer.Option(help=_help("rungs"))] = None,
    eta: Annotated[int | None, typer.Option(help=_help("eta"))] = None,
    model: Annotated[str | None, typer.Option(help=field_help("model"))] = None,
    base_url: Annotated[str | None, typer.Option(help=field_help("base_url"))] = None,
    user_model: Annotated[str | None, typer.Option(help=field_help("user_model"))] = None,
    user_base_url: Annotated[str | None, typer.Option(help=field_help("user_base_url"))] = None,
    users: Annotated[int | None, typer.Option(help=field_help("users"))] = None,
    periods: Annotated[int | None, typer.Option(help=field_help("periods"))] = None,
    seed: Annotated[
        int | None, typer.Option(help="seed of the split, the search, option order and reference agents [0]")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help=field_help("protocol"))] = None,
    rounds_initial: Annotated[int | None, typer.Option(help=field_help("rounds_initial"))] = None,
    rounds_later: Annotated[int | None, typer.Option(help=field_help("rounds_later"))] = None,
    temperature: Annotated[float | None, typer.Option(help=field_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=field_help("max_tokens"))] = None,
    user_temperature: Annotated[float | None, typer.Option(help=field_help("user_temperature"))] = None,
    user_max_tokens: Annotated[int | None, typer.Option(help=field_help("user_max_tokens"))] = None,
    context_tokens: Annotated[int | None, typer.Option(help=field_help("context_tokens"))] = None,
    choice: Annotated[str | None, typer.Option(help=field_help("choice"))] = None,
    embedder: Annotated[str | None, typer.Option(help=field_help("embedder"))] = None,
    language: Annotated[str | None, typer.Option(help=field_help("language"))] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    rpm: Annotated[int | None, typer.Option(help=field_help("rpm"))] = None,
    tpm: Annotated[int | None, typer.Option(help=field_help("tpm"))] = None,
    out: Annotated[
        str | None, typer.Option(help="the search's directory (default: runs/tune-<data>-<fingerprint>)")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="file with any of these settings (.yaml, .toml, .json)")] = None,
) -> None:
    """Search an agent's settings on training users by successive halving, and measure the best on held-out users.

    What is reported is the difference to the agent as it is named, on users that nothing was chosen on. Started again
    with the same settings, a search goes on where it was.
    """
    fields = (*TuneSpec.model_fields, *SHARED_SETTINGS)
    flags = {name: value for name, value in locals().items() if name in fields and value is not None}
    settings: dict[str, Any] = {}
    if config is not None:
        settings = {str(n).replace("-", "_"): v for n, v in read_settings(config, "topk: [5, 10, 30]").items()}
        make_tune_spec(settings, f"configuration {config}")
    spec, run = make_tune_spec({**settings, **flags})
    with TuneBars() as bars:
        report = tune_spec(spec, run, out=out, watcher=bars)
    print_tuning(Output(), report.summary)
    show_paths(list(report.written))
