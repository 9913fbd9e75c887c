"""The Python face of data sets: `card` and `write_card`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from amemgym.api import check_addresses
from amemgym.errors import DataError, UnknownName
from amemgym.evaluate import RunWatcher, make_spec
from amemgym.llm import check_model_name, embedder, embedder_identity, know_keys
from amemgym.quality.blind import BlindModel, folder_of, held
from amemgym.quality.card import Card, describe
from amemgym.scenario import Dataset, Scenario, find_faults, load_dataset
from amemgym.tasks import prompts_for
from amemgym.together import wait_for

#: fields of `RunSpec` that a card has too
CARD_SETTINGS = (
    "model",
    "base_url",
    "seed",
    "temperature",
    "max_tokens",
    "embedder",
    "language",
    "concurrency",
    "timeout",
    "attempts",
)
#: where replies of a model that costs something are kept, if nothing else is said
WORK = Path("runs/card")


def card(
    data: str | Path | Dataset | Iterable[Scenario],
    model: str = "offline",
    *,
    work: str | Path | None = None,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> Card:
    """Describe a data set: its size, changes and wording, and its leak gates, measured without any memory.

    Args:
        data: a name or a path, a data set, or scenarios, which are taken one at a time.
        model: the no-context model: `offline`, or `openai:<name>`.
        work: the folder in which the model's replies are kept, so that none is asked for twice; default: none for the
            offline model, else `runs/card`.
        watcher: is told what happens.
        settings: any of base_url, seed, temperature, max_tokens, embedder, language, concurrency, timeout, attempts.

    Raises:
        AMemGymError: one of `amemgym.errors`; DataError where the data cannot be run.
    """
    for name in settings:
        if name not in CARD_SETTINGS:
            raise UnknownName("setting of a card", name, CARD_SETTINGS)
    spec, watcher = make_spec({"model": model, **settings}), watcher or RunWatcher()
    know_keys()
    asked = spec.model_settings()
    check_model_name(asked.model)
    check_addresses(spec, [asked])
    embedder_name = embedder_identity(spec.embedder)
    dataset = load_dataset(data) if isinstance(data, str | Path) else data
    name = str(getattr(dataset, "name", "scenarios"))
    if isinstance(dataset, Dataset):
        watcher.planned(len(dataset), len(dataset), 0, 0)
    work = WORK if work is None and model != "offline" else work
    folder = None if work is None else folder_of(asked, Path(work).expanduser())
    blind = BlindModel(
        asked,
        prompts_for(spec.language),
        folder,
        concurrency=spec.concurrency,
        attempts=spec.attempts,
        watcher=watcher,
    )
    if folder is not None and model != "offline":
        before = f"{blind.estimate(_checked(dataset))}, " if not isinstance(dataset, Iterator) else ""
        watcher.said(f"{before}asked of {model}; replies are kept in {folder}, and what is there is not asked again")

    async def work_through() -> Card:
        try:
            return await describe(
                name,
                getattr(dataset, "sha256", None),
                _checked(dataset),
                embedder(spec.embedder),
                embedder_name,
                asked.model,
                blind,
                spec.seed,
                watcher,
            )
        finally:
            await blind.aclose()

    with held(folder) if folder is not None else contextlib.nullcontext():
        return wait_for(work_through)


def _checked(users: Iterable[Scenario]) -> Iterator[Scenario]:
    """The users, none of them broken. Raises DataError."""
    for number, user in enumerate(users):
        errors = [fault for fault in find_faults([user], [number]) if fault.is_error]
        if errors:
            raise DataError(f"the data cannot be described: {errors[0]}")
        yield user


def write_card(card: Card, format: str = "html", out: str | Path | None = None) -> Path:
    """Write a card as `html` (a page) or `json`; returns the file.

    Args:
        card: what `card` gave.
        format: html or json.
        out: the file, or a folder (what ends in / is one); default: card-<data>.<format> in the working folder.

    Raises:
        AMemGymError: one of `amemgym.errors`.
    """
    from amemgym.report.card import check_card, write

    check_card(format, out)
    return write(card, format, out)
