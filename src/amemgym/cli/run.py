"""`amemgym run`: play a data set against agents, score their memories, print the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr

from amemgym import api
from amemgym.cli.console import Output
from amemgym.cli.progress import ProgressBars
from amemgym.errors import RunFailed
from amemgym.evaluate import RunSpec, make_spec, read_config
from amemgym.report import print_scores


def field_help(name: str) -> str:
    """The field's own description, and its default."""
    field = RunSpec.model_fields[name]
    default = ",".join(field.default) if isinstance(field.default, tuple) else field.default
    return f"{field.description}" + ("" if default is None or name in ("upper_bound", "probe") else f" [{default}]")


def run_command(
    data: Annotated[str | None, typer.Option(help=field_help("data"))] = None,
    agents: Annotated[str | None, typer.Option(help=field_help("agents"))] = None,
    model: Annotated[str | None, typer.Option(help=field_help("model"))] = None,
    base_url: Annotated[str | None, typer.Option(help=field_help("base_url"))] = None,
    user_model: Annotated[str | None, typer.Option(help=field_help("user_model"))] = None,
    user_base_url: Annotated[str | None, typer.Option(help=field_help("user_base_url"))] = None,
    users: Annotated[int | None, typer.Option(help=field_help("users"))] = None,
    periods: Annotated[int | None, typer.Option(help=field_help("periods"))] = None,
    only: Annotated[str | None, typer.Option(help=field_help("only"), metavar="ID,…")] = None,
    trials: Annotated[int | None, typer.Option(help=field_help("trials"))] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    seed: Annotated[int | None, typer.Option(help=field_help("seed"))] = None,
    protocol: Annotated[str | None, typer.Option(help=field_help("protocol"))] = None,
    rounds_initial: Annotated[int | None, typer.Option(help=field_help("rounds_initial"))] = None,
    rounds_later: Annotated[int | None, typer.Option(help=field_help("rounds_later"))] = None,
    temperature: Annotated[float | None, typer.Option(help=field_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=field_help("max_tokens"))] = None,
    user_temperature: Annotated[float | None, typer.Option(help=field_help("user_temperature"))] = None,
    user_max_tokens: Annotated[int | None, typer.Option(help=field_help("user_max_tokens"))] = None,
    context_tokens: Annotated[int | None, typer.Option(help=field_help("context_tokens"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    choice: Annotated[str | None, typer.Option(help=field_help("choice"))] = None,
    embedder: Annotated[str | None, typer.Option(help=field_help("embedder"))] = None,
    policy: Annotated[str | None, typer.Option(help=field_help("policy"), metavar="FILE")] = None,
    room: Annotated[int | None, typer.Option(help=field_help("room"))] = None,
    language: Annotated[str | None, typer.Option(help=field_help("language"))] = None,
    probe: Annotated[bool | None, typer.Option(help=field_help("probe"))] = None,
    off_policy: Annotated[str | None, typer.Option(help=field_help("off_policy"), metavar="DIR")] = None,
    off_policy_agent: Annotated[str | None, typer.Option(help=field_help("off_policy_agent"))] = None,
    upper_bound: Annotated[bool | None, typer.Option(help=field_help("upper_bound"))] = None,
    shard: Annotated[str | None, typer.Option(help=field_help("shard"), metavar="I/N")] = None,
    rpm: Annotated[int | None, typer.Option(help=field_help("rpm"))] = None,
    tpm: Annotated[int | None, typer.Option(help=field_help("tpm"))] = None,
    episode_timeout: Annotated[float | None, typer.Option(help=field_help("episode_timeout"))] = None,
    budget: Annotated[str | None, typer.Option(help=field_help("budget"), metavar="USD|TOKENS")] = None,
    prices: Annotated[str | None, typer.Option(help=field_help("prices"), metavar="FILE")] = None,
    executor: Annotated[str | None, typer.Option(help=field_help("executor"))] = None,
    workers: Annotated[int | None, typer.Option(help=field_help("workers"))] = None,
    out: Annotated[str | None, typer.Option(help=field_help("out"))] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="file with any of these settings (.yaml, .toml, .json), or a v1 environment file"),
    ] = None,
    report: Annotated[bool, typer.Option(help="write the report when the run ends")] = True,
) -> None:
    """Play a data set against agents and score their memories.

    Keys come from the environment: OPENAI_API_KEY (and AMEMGYM_USER_API_KEY for another simulated user's endpoint,
    AMEMGYM_AGENT_API_KEY for the assistant at an address).
    Started again with the same settings, a run continues where it was.
    """
    flags = {name: value for name, value in locals().items() if name in RunSpec.model_fields}
    spec, user_key, remarks = settled(flags, config)
    with ProgressBars() as bars:
        for remark in remarks:
            bars.said(remark)
        outcome = api.run_spec(spec, watcher=bars, user_key=user_key)
    show(outcome, report)
    api.raise_for_failures(outcome)


def settled(flags: Mapping[str, Any], config: Path | None) -> tuple[RunSpec, SecretStr | None, list[str]]:
    """What these flags and the file ask for, the simulated user's key from the file, and remarks on the file.

    A flag that is None was not given. Raises UsageError.
    """
    settings: dict[str, Any] = {}
    user_key: SecretStr | None = None
    remarks: list[str] = []
    if config is not None:
        settings, user_key, remarks = read_config(config)
    given = {name: value for name, value in flags.items() if value is not None}
    spec = make_spec({**settings, **given}, "the settings")
    if spec.user_base_url != settings.get("user_base_url"):
        user_key = None  # the file's key is for the file's address
    return spec, user_key, remarks


def show(outcome: api.RunReport, report: bool) -> None:
    """Print the table, write the report where it is wanted, and print where everything is."""
    console = Output()
    print_scores(console, outcome.scores, outcome.seconds)
    where = [f"written to {outcome.directory}"]
    if report:
        where += [f"report: {path}" for path in api.write_report(outcome)]
    for line in where:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


@contextmanager
def showing(report: bool) -> Iterator[None]:
    """Show what is finished also where something did not finish."""
    try:
        yield
    except RunFailed as error:
        if isinstance(error.report, api.RunReport):
            show(error.report, report)
        raise
