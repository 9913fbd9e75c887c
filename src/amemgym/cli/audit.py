"""`amemgym audit`: are a data set's utterances and answers, and a run's conversations, what they should be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amemgym.auditing import AUDIT_SETTINGS, KEPT, audit_settings, audit_spec, raise_for_unfinished, sample_labels
from amemgym.cli.console import Output
from amemgym.cli.progress import ProgressBars
from amemgym.cli.report import show_paths
from amemgym.cli.run import field_help
from amemgym.errors import Interrupted, UsageError
from amemgym.report.audit import print_audit


def audit_command(
    data: Annotated[str, typer.Argument(help="a data set's name or path, or a finished run's directory")],
    model: Annotated[
        str, typer.Option(help="the judge: offline (a weak stand-in), openai:<name>, or local:<file.gguf>")
    ] = "offline",
    base_url: Annotated[str | None, typer.Option(help="the judge's endpoint, if not OPENAI_BASE_URL")] = None,
    users: Annotated[int | None, typer.Option(help=field_help("users"))] = None,
    temperature: Annotated[float | None, typer.Option(help=field_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=field_help("max_tokens"))] = None,
    embedder: Annotated[str | None, typer.Option(help="what the offline judge embeds with")] = None,
    language: Annotated[str | None, typer.Option(help=field_help("language"))] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
    out: Annotated[
        str | None, typer.Option(help="the audit's directory (default: audits/<name>-<judge>-<fingerprint>)")
    ] = None,
    labels: Annotated[Path | None, typer.Option(help="CSV of people's labels: how far does the judge agree?")] = None,
    labels_template: Annotated[
        Path | None, typer.Option(help="write a CSV of turns for people to label, and judge nothing")
    ] = None,
    sample: Annotated[int | None, typer.Option(help="so many turns in it, drawn by --seed [50]")] = None,
    seed: Annotated[int, typer.Option(help="seed of the sample")] = 0,
    strict: Annotated[bool, typer.Option(help="end with 1 if there are findings")] = False,
) -> None:
    """Judge whether utterances tell what they should and nothing else, and whether answers fit their own variant.

    Of a run's directory also: whether the user's later turns give a state away or contradict one. Every finding names
    its turn. Started again with the same settings, an audit goes on where it was.
    """
    given = {name: value for name, value in locals().items() if name in AUDIT_SETTINGS and value is not None}
    spec = audit_settings(given)
    if labels_template is not None:
        if labels is not None:
            raise UsageError("--labels and --labels-template cannot be combined; write the template, have it filled in")
        written = sample_labels(data, labels_template, 50 if sample is None else sample, seed=seed, users=users)
        Output().print(f"{written} turn{'' if written == 1 else 's'} to be labelled", highlight=False)
        show_paths([labels_template])
        return
    if sample is not None:
        raise UsageError(f"--sample {sample} needs --labels-template FILE, where the sample is written")
    try:
        with ProgressBars() as bars:
            report = audit_spec(spec, data, out=out, labels=labels, watcher=bars)
    except KeyboardInterrupt as error:
        raise Interrupted(f"interrupted; {KEPT}") from error
    print_audit(Output(), report.summary, report.findings, report.agreement)
    show_paths(list(report.written))
    raise_for_unfinished(report)
    if strict and report.findings:
        raise typer.Exit(1)
