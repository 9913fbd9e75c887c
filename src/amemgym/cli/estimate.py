"""`amemgym estimate`: what a run with the same flags will take, before it is made."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.table import Table

from amemgym.cli.console import Output
from amemgym.cli.progress import Bars
from amemgym.cli.run import run_command, settled
from amemgym.estimating import estimate_spec
from amemgym.evaluate import UPPER_BOUND, RoleEstimate, RunEstimate, RunWatcher
from amemgym.evaluate.forecast import dollars, sums
from amemgym.report.table import print_whole

#: flags of `amemgym run` that say nothing of what a run takes; they are taken, so that its command line is one of these
MOOT = ("report", "out")


def as_run(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the flags of `amemgym run` before its own; it is given those as `flags` and `config`."""
    hints = get_type_hints(run_command, include_extras=True)
    hints |= {name: Annotated[get_args(hints[name])[0], typer.Option(hidden=True)] for name in MOOT}
    of_run = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(run_command).parameters.items()
    ]
    own_hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=own_hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in ("flags", "config")
    ]

    @wraps(command)
    def whole(**given: Any) -> None:
        own_values = {parameter.name: given.pop(parameter.name) for parameter in own}
        del given["report"]
        command(config=given.pop("config"), flags=given, **own_values)

    parameters = [*of_run, *own]
    whole.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    whole.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    del whole.__wrapped__
    return whole


class EstimateBars(Bars, RunWatcher):
    """Remarks alone: a rehearsal is short."""

    def interrupted(self, place: Path) -> str:
        return "interrupted"


@as_run
def estimate_command(
    flags: dict[str, Any],
    config: Path | None,
    sample: Annotated[
        int, typer.Option(help="calls of each kind of task that are put to the models, to see how they reply")
    ] = 0,
    latency: Annotated[
        float | None, typer.Option(help="seconds that a call is taken to last [the sample's mean, else 2]")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """What a run with the same flags will take: calls, tokens and US dollars by agent and role, and the least time.

    The run is rehearsed with stand-ins for its models. Nothing is asked (but for --sample) and nothing is written.
    """
    spec, user_key, remarks = settled(flags, config)
    with EstimateBars() as bars:
        for remark in remarks:
            bars.said(remark)
        found = estimate_spec(spec, sample=sample, latency=latency, watcher=bars, user_key=user_key)
    console = Output(highlight=False)
    if as_json:
        console.print(json.dumps(found.as_dict(), ensure_ascii=False, indent=1), markup=False, soft_wrap=True)
        return
    print_whole(console, _table(found))
    for line in (_whole(found), _time(found), *found.remarks):
        console.print(f"  {line}", markup=False, soft_wrap=True)


def _table(found: RunEstimate) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("agent")
    table.add_column("role")
    for name in ("calls", "tokens in", "tokens out", "US$", "US$ a user"):
        table.add_column(name, justify="right")
    for agent in dict.fromkeys(role.agent for role in found.roles):
        roles = found.of(agent)
        for number, role in enumerate(roles):
            name = "" if number else agent
            table.add_row(name, "" if role.role == UPPER_BOUND else role.role, *_cells([role], found.users))
        if len(roles) > 1:
            table.add_row("", "in all", *_cells(roles, found.users), style="bold", end_section=True)
    table.add_row("all", "", *_cells(found.roles, found.users, not found.unknown), style="bold")
    return table


def _cells(roles: Sequence[RoleEstimate], users: int, is_whole: bool = True) -> list[str]:
    is_one = len(roles) == 1  # also one that is in no sum
    counts = (roles[0].calls, roles[0].input, roles[0].output) if is_one else sums(roles)
    cost = dollars(roles) if is_whole else None
    prices = ["unknown"] * 2 if cost is None else [_dollars(cost), _dollars(cost / users)]
    return [*(f"{count:,}" for count in counts), *prices]


def _dollars(cost: float) -> str:
    return f"{cost:,.2f}" if cost >= 1 or not cost else f"{cost:.4f}"


def _whole(found: RunEstimate) -> str:
    """The sum as words, in all and for a user."""
    users = f"{found.users} users" if found.users != 1 else "1 user"
    trials = f" and {found.trials} trials" if found.trials != 1 else ""
    known = [role for role in found.roles if role.usd is not None]
    cost = dollars(known) or 0.0
    told = f"US$ {cost:,.2f}" if len(known) == len(found.roles) else f"US$ {cost:,.2f} and what has no known price"
    told = told if known else "price unknown"
    beside = " without what is unknown" if found.unknown else ""
    each = _each(sums(found.roles), found.users)
    return (
        f"{'' if found.exact else 'about '}{found.calls:,} calls, {found.input:,} tokens in and {found.output:,} out,"
        f" {told} for {users}{trials}{beside}; a user: {each}"
    )


def _each(counts: Iterable[int], users: int) -> str:
    calls, asked, said = (round(count / users) for count in counts)
    return f"{calls:,} calls, {asked:,} tokens in and {said:,} out"


def _time(found: RunEstimate) -> str:
    if not found.roles:
        return "no model is asked"
    chain = f"longest chain: {found.chain:,} calls, each of which needs the one before ({found.chain_of})"
    if found.seconds is None or found.latency is None:
        return chain
    at = f"at {found.latency:.3g} s a call, as many at once as is allowed,"
    return f"{chain}; {at} the run takes at least {_duration(found.seconds)}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
