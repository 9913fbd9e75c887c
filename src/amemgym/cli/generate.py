"""`amemgym generate`: make a data set, by a language model or from the scenario bank."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from amemgym.cli.console import Output
from amemgym.cli.progress import GenerationBars
from amemgym.errors import RunFailed, UsageError
from amemgym.generate import GenerationReport, GenerationSpec, Plan, Shape, is_begun, make_planned, plan_generation
from amemgym.generate.estimate import Cost
from amemgym.generate.shape import ROUNDS


def _help(name: str) -> str:
    """The field's own description, and its default."""
    field = (Shape.model_fields | GenerationSpec.model_fields)[name]
    return f"{field.description}" + ("" if field.default is None else f" [{field.default}]")


def generate_command(
    config: Annotated[
        str | None,
        typer.Option(help="base or extra (as published), or a file with any of these settings (.yaml, .toml, .json)"),
    ] = None,
    source: Annotated[str | None, typer.Option(help=_help("source"))] = None,
    model: Annotated[str | None, typer.Option(help=_help("model"))] = None,
    base_url: Annotated[str | None, typer.Option(help=_help("base_url"))] = None,
    judge_model: Annotated[str | None, typer.Option(help=_help("judge_model"))] = None,
    temperature: Annotated[float | None, typer.Option(help=_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=_help("max_tokens"))] = None,
    personas: Annotated[str | None, typer.Option(help=_help("personas"))] = None,
    language: Annotated[str | None, typer.Option(help=_help("language"))] = None,
    repairs: Annotated[int | None, typer.Option(help=_help("repairs"))] = None,
    users: Annotated[int | None, typer.Option(help=_help("users"))] = None,
    seed: Annotated[int | None, typer.Option(help=_help("seed"))] = None,
    periods: Annotated[int | None, typer.Option(help=_help("periods"))] = None,
    questions: Annotated[int | None, typer.Option(help=_help("questions"))] = None,
    states: Annotated[int | None, typer.Option(help=_help("states"))] = None,
    values: Annotated[int | None, typer.Option(help=_help("values"))] = None,
    changes: Annotated[int | None, typer.Option(help=_help("changes"))] = None,
    max_changes: Annotated[int | None, typer.Option(help=_help("max_changes"))] = None,
    months: Annotated[int | None, typer.Option(help=_help("months"))] = None,
    start: Annotated[str | None, typer.Option(help=_help("start"))] = None,
    options: Annotated[int | None, typer.Option(help=_help("options"))] = None,
    explicitness: Annotated[str | None, typer.Option(help=_help("explicitness"))] = None,
    distractors: Annotated[int | None, typer.Option(help=_help("distractors"))] = None,
    others: Annotated[int | None, typer.Option(help=_help("others"))] = None,
    temporary: Annotated[float | None, typer.Option(help=_help("temporary"))] = None,
    corrections: Annotated[int | None, typer.Option(help=_help("corrections"))] = None,
    contradictions: Annotated[int | None, typer.Option(help=_help("contradictions"))] = None,
    gaps: Annotated[int | None, typer.Option(help=_help("gaps"))] = None,
    concurrency: Annotated[int | None, typer.Option(help=_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=_help("attempts"))] = None,
    rpm: Annotated[int | None, typer.Option(help=_help("rpm"))] = None,
    tpm: Annotated[int | None, typer.Option(help=_help("tpm"))] = None,
    prices: Annotated[str | None, typer.Option(help=_help("prices"), metavar="FILE")] = None,
    out: Annotated[str | None, typer.Option(help="the file to write")] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="print what it would take, and stop")] = False,
) -> None:
    """Make a data set: by a language model, stage by stage, or from the scenario bank (--source bank:base).

    The key comes from the environment: OPENAI_API_KEY. Started again with the same settings, it goes on where it was.
    """
    fields = Shape.model_fields | GenerationSpec.model_fields
    flags = {name: value for name, value in locals().items() if name in fields and value is not None}
    plan = plan_generation(config, **flags)
    if estimate:
        show_estimate(plan)
        return
    if not out:
        raise UsageError("--out is missing; give the file to write, such as --out data.json")
    try:
        with GenerationBars() as bars:
            for remark in plan.remarks:
                bars.said(remark)
            if plan.bank is None and not is_begun(out):
                bars.said(f"about {_told(plan.estimate())}, without repairs")
            report = make_planned(plan, out, bars)
    except RunFailed as error:
        if isinstance(error.report, GenerationReport):
            show(error.report, _rounds(config, plan))
        raise
    show(report, _rounds(config, plan))


def show_estimate(plan: Plan) -> None:
    """Print what a plan takes."""
    console = Output(highlight=False)
    if plan.bank is not None:
        console.print(f"{plan.bank.name} needs no model and costs nothing", markup=False, soft_wrap=True)
        return
    costs = plan.estimate()
    _show_costs(console, costs)
    console.print(
        f"about {_told(costs)} for {plan.shape.users} users; repairs come on top, and tokens are characters / 4",
        markup=False,
        soft_wrap=True,
    )


def show(report: GenerationReport, rounds: str) -> None:
    """Print what was made, what it cost, and what to do with it; `rounds` are the flags of how long to talk."""
    console = Output(highlight=False)
    if report.bill:
        _show_costs(console, report.bill)
        console.print(f"used: {_told(report.bill)}, over all starts", markup=False, soft_wrap=True)
    if report.path is None:
        return
    size = f"{report.users} users, {report.questions} questions"
    for line in (
        f"written to {report.path}: {size}, sha256 {report.sha256}",
        f"check it: amemgym validate {_quoted(report.path)}",
        f"run it: amemgym run --data {_quoted(report.path)}{rounds}",
    ):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _show_costs(console: Output, costs: Sequence[Cost]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("stage")
    for name in ("calls", "tokens in", "tokens out", "US$"):
        table.add_column(name, justify="right")
    for cost in costs:
        price = "unknown" if cost.price is None else f"{cost.price:.4f}"
        table.add_row(cost.stage, f"{cost.calls:,}", f"{cost.input:,}", f"{cost.output:,}", price)
    console.print(table)


def _told(costs: Sequence[Cost]) -> str:
    """The sum of all stages as words."""
    calls, asked, said = (sum(getattr(cost, name) for cost in costs) for name in ("calls", "input", "output"))
    prices = [cost.price for cost in costs if cost.price is not None]
    known = f"US$ {sum(prices):.2f}" if prices else "price unknown"
    if prices and len(prices) < len(costs):
        known += " and what the stages without a known price cost"
    return f"{calls:,} calls, {asked:,} tokens in and {said:,} out, {known}"


def _rounds(config: str | None, plan: Plan) -> str:
    """The flags of a published configuration, or of the bank's set, whose sessions are longer than a run's are."""
    bank = plan.bank.name.partition("?")[0].partition(":")[2] if plan.bank else None
    initial, later = next((ROUNDS[name] for name in (config, bank) if name in ROUNDS), ROUNDS["base"])
    return "" if (initial, later) == ROUNDS["base"] else f" --rounds-initial {initial} --rounds-later {later}"


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
