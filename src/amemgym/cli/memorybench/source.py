"""What every command over archives is given: where they are, and which of their results are meant."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from amemgym.errors import UsageError


def names(text: str | None, flag: str) -> list[str] | None:
    """Names with commas between them. Some names of sets have an &, none has a comma. Raises UsageError, which names
    the flag, where there is none."""
    if text is None:
        return None
    if not (found := [name for part in text.split(",") if (name := part.strip())]):
        raise UsageError(f"{flag} is empty; give a name, or leave {flag} out")
    return found


def check_given(**options: str | None) -> None:
    """Raises UsageError for the first option that is an empty text, which would mean as much as none."""
    for name, text in options.items():
        if text is not None and not text.strip():
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} is empty; give a name, or leave {flag} out")


def chosen(
    exp: str | None, models: str | None, dataset_type: str | None, sets: str | None, baselines: str | None
) -> dict[str, Any]:
    """The options below by which results are chosen, by the names that functions have for them. Raises UsageError for
    one that is empty."""
    check_given(exp=exp, dataset_type=dataset_type)
    return {
        "exp": exp,
        "models": names(models, "--models"),
        "dataset_type": dataset_type,
        "set_names": names(sets, "--sets"),
        "baselines": names(baselines, "--baselines"),
    }


def metrics_of(text: str | None, flag: str) -> str | dict[str, str] | None:
    """The items' metric, or one for each data set. Raises UsageError for a mixture, which names the flag."""
    given = names(text, flag)
    if given is None:
        return None
    pairs = [one.partition("=") for one in given]
    if len(given) == 1 and not pairs[0][1]:
        return given[0]
    if any(not (dataset.strip() and name.strip()) for dataset, _, name in pairs):
        raise UsageError(f"{flag} {text}: write one name for all data sets, or DATASET=NAME with commas between them")
    return {dataset.strip(): name.strip() for dataset, _, name in pairs}


Archives = Annotated[
    list[str],
    typer.Argument(
        help="archives, read as one: folders, or hub:OWNER/NAME[@REVISION] on Hugging Face (hub: the published one)",
        metavar="ARCHIVE…",
        show_default=False,
    ),
]
Exp = Annotated[str | None, typer.Option(help="experiment, such as off-policy")]
Models = Annotated[str | None, typer.Option(help="only these models", metavar="NAME,…")]
DatasetType = Annotated[str | None, typer.Option(help="only these sets: single, domain or task")]
Sets = Annotated[str | None, typer.Option(help="only these sets", metavar="NAME,…")]
Baselines = Annotated[str | None, typer.Option(help="only these memory systems, in this order", metavar="NAME,…")]
Choose = Annotated[
    str, typer.Option(help="of several runs of one cell: latest (by the time in their ids), first, last or error")
]
