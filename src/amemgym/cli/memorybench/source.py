"""What every command over archives is given: where they are, and which of their results are meant."""

from __future__ import annotations

from typing import Annotated

import typer


def names(text: str | None) -> list[str] | None:
    """Names with commas between them. Some names of sets have an &, none has a comma."""
    return None if text is None else [name for part in text.split(",") if (name := part.strip())]


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
