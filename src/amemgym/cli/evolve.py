"""`amemgym evolve`: let an agent revise what it remembers by feedback, and score it on users it did not learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym.cli.console import Output
from amemgym.cli.progress import ProgressBars
from amemgym.cli.report import show_paths
from amemgym.cli.run import field_help
from amemgym.evolution import EvolveSpec, make_evolve_spec
from amemgym.evolving import EvolveReport, evolve_spec
from amemgym.report import print_evolution, write_evolution


def own_help(name: str) -> str:
    """The field's own description, and its default."""
    field = EvolveSpec.model_fields[name]
    default = ",".join(field.default) if isinstance(field.default, tuple) else field.default
    return f"{field.description} [{default}]"


def evolve_command(
    agent: Annotated[str | None, typer.Option(help=own_help("agent"))] = None,
    feedback: Annotated[str | None, typer.Option(help=own_help("feedback"))] = None,
    data: Annotated[str | None, typer.Option(help=field_help("data"))] = None,
    training: Annotated[float | None, typer.Option(help=own_help("training"))] = None,
    room: Annotated[int | None, typer.Option(help=own_help("room"))] = None,
    model: Annotated[str | None, typer.Option(help=field_help("model"))] = None,
    base_url: Annotated[str | None, typer.Option(help=field_help("base_url"))] = None,
    user_model: Annotated[str | None, typer.Option(help=field_help("user_model"))] = None,
    user_base_url: Annotated[str | None, typer.Option(help=field_help("user_base_url"))] = None,
    users: Annotated[int | None, typer.Option(help=field_help("users"))] = None,
    periods: Annotated[int | None, typer.Option(help=field_help("periods"))] = None,
    seed: Annotated[int | None, typer.Option(help="seed of the split, of option order and of what is told")] = None,
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
    policy: Annotated[str | None, typer.Option(help="text file to begin with", metavar="FILE")] = None,
    probe: Annotated[bool | None, typer.Option(help="probe the held-out users too")] = None,
    upper_bound: Annotated[bool | None, typer.Option(help="measure the held-out users' upper bound")] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    rpm: Annotated[int | None, typer.Option(help=field_help("rpm"))] = None,
    tpm: Annotated[int | None, typer.Option(help=field_help("tpm"))] = None,
    episode_timeout: Annotated[float | None, typer.Option(help=field_help("episode_timeout"))] = None,
    budget: Annotated[str | None, typer.Option(help=field_help("budget"), metavar="USD|TOKENS")] = None,
    prices: Annotated[str | None, typer.Option(help=field_help("prices"), metavar="FILE")] = None,
    out: Annotated[str | None, typer.Option(help="directory (default: runs/evolve-<data>-<fingerprint>)")] = None,
) -> None:
    """Let an agent revise what it is told to remember, and score it on users it has not learned from.

    After each period the agent sees feedback on the training users' exams and rewrites its policy. Held-out users then
    play by what was learned, beside the agent that learned nothing. Started again with the same settings, an evolution
    continues where it was.
    """
    given = {name: value for name, value in locals().items() if value is not None}
    spec = make_evolve_spec(given)
    with ProgressBars() as bars:
        report = evolve_spec(spec, watcher=bars)
    show_evolution(report)


def show_evolution(report: EvolveReport) -> None:
    """Print the table, write the report, and print where everything is."""
    print_evolution(Output(), report.summary)
    policies = sorted(Path(report.directory, "policies").glob("*.txt"))
    show_paths([report.directory, *policies, write_evolution(report.directory, report.summary)])
