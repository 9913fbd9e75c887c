"""`amemgym memorybench predict`: agents remember MemoryBench's training dialogs and answer its test prompts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from amemgym import files
from amemgym.cli.console import Output
from amemgym.cli.memorybench.source import names
from amemgym.cli.progress import Bars
from amemgym.cli.run import field_help
from amemgym.errors import RunFailed
from amemgym.evaluate import RunWatcher
from amemgym.memorybench import PredictReport, predict
from amemgym.memorybench.dialogs.predicting import AGENTS, KEPT, SETTINGS
from amemgym.memorybench.dialogs.sessions import SEED
from amemgym.memorybench.problems import counted


class PredictBars(Bars, RunWatcher):
    """Bars for the dialogs' turns and for the answers, over all agents."""

    noted = "answers"

    def interrupted(self, place: Path) -> str:
        return f"interrupted; {KEPT}"

    def planned(self, users: int, episodes: int, turns: int, exams: int) -> None:
        self._add("turns", turns)
        self._add("answers", exams)

    def turned(self, count: int = 1) -> None:
        self._advance("turns", count)

    def examined(self, count: int = 1) -> None:
        self._advance("answers", count)


def predict_command(
    train: Annotated[
        list[Path],
        typer.Option(
            help="training points with dialogs: .json, .jsonl, .parquet, or a folder's train* (may be repeated)",
            metavar="PATH",
            show_default=False,
        ),
    ],
    test: Annotated[
        list[Path],
        typer.Option(help="test points, or a folder's test* (may be repeated)", metavar="PATH", show_default=False),
    ],
    agents: Annotated[str, typer.Option(help="agents, separated by commas")] = ",".join(AGENTS),
    model: Annotated[str, typer.Option(help=field_help("model"), show_default=False)] = "offline",
    base_url: Annotated[str | None, typer.Option(help=field_help("base_url"))] = None,
    out: Annotated[
        Path | None, typer.Option(help="the archive's folder (default: runs/prediction-<set>-<fingerprint>)")
    ] = None,
    with_: Annotated[
        str | None,
        typer.Option("--with", help="only dialogs whose user gave one of these: like, copy …", metavar="ACTION,…"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="the memory system whose dialogs are taken, where there are some for each", metavar="NAME"),
    ] = None,
    set_name: Annotated[
        str | None, typer.Option(help="what the archive calls the set (default: its one data set)", metavar="NAME")
    ] = None,
    dataset_type: Annotated[str | None, typer.Option(help="single, domain or task [single]")] = None,
    seed: Annotated[int, typer.Option(help="seed of the dialogs' order")] = SEED,
    temperature: Annotated[float | None, typer.Option(help=field_help("temperature"))] = None,
    max_tokens: Annotated[int | None, typer.Option(help=field_help("max_tokens"))] = None,
    context_tokens: Annotated[int | None, typer.Option(help=field_help("context_tokens"))] = None,
    embedder: Annotated[str | None, typer.Option(help=field_help("embedder"))] = None,
    language: Annotated[str | None, typer.Option(help="language of the prompts [the data's]")] = None,
    concurrency: Annotated[int | None, typer.Option(help=field_help("concurrency"))] = None,
    timeout: Annotated[float | None, typer.Option(help=field_help("timeout"))] = None,
    attempts: Annotated[int | None, typer.Option(help=field_help("attempts"))] = None,
) -> None:
    """Have agents remember recorded dialogs (off-policy) and answer test prompts; write an archive of their replies.

    All dialogs feed one memory, in an order drawn by seed. Each prompt is put to a copy, so none changes the memory or
    another answer. A prompt begins a new conversation: windows are empty, but for native and recent, which have nothing
    else; wo_memory sees the prompt alone. The archive has no scores: MemoryBench's own evaluators give them. Started
    again with the same settings, it goes on where it was.
    """
    given = locals()
    settings = {name: given[name] for name in SETTINGS if name != "model" and given[name] is not None}
    try:
        with PredictBars() as bars:
            report = predict(
                train,
                test,
                agents,
                model,
                out=out,
                actions=names(with_, "--with"),
                method=method,
                set_name=set_name,
                dataset_type=dataset_type,
                seed=seed,
                watcher=bars,
                **settings,
            )
    except RunFailed as error:
        if isinstance(error.report, PredictReport):
            show(error.report)
        raise
    show(report)


def show(report: PredictReport) -> None:
    """Print what was written, and what comes next."""
    lines = []
    for group in report.groups:
        missing = f", {group.missing} of them without a response" if group.missing else ""
        heard, asked = counted(group.sessions, "dialog"), counted(group.prompts, "prompt")
        lines.append(f"{group.entry.cell}: {heard} remembered, {asked}{missing}")
        lines.append(f"  {report.directory / group.entry.relative_dir / 'predict.json'}")
    where = shlex.quote(str(report.directory))
    if report.groups:
        lines.append(f"written to {where}, without scores: MemoryBench's evaluators give them")
    else:
        lines.append(f"no predictions written: no agent finished. {_kept(report.directory)}")
    for line in lines:
        Output().print(files.printable(line), markup=False, highlight=False, soft_wrap=True)


def _kept(directory: Path) -> str:
    """What there is to go on from."""
    where = shlex.quote(str(directory))
    try:
        some = any(file.stat().st_size for file in (directory / "journal").glob("*.jsonl"))
    except OSError:
        some = False
    return f"Replies that came are kept in {where}" if some else f"{where} has no reply yet"
