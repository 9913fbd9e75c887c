"""The Python face of data sets: `card` and `write_card`."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sized
from dataclasses import replace
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError, ModelError, UnknownName
from amemgym.evaluate import RunWatcher, check_addresses, make_spec
from amemgym.generate import Users, open_users
from amemgym.llm import check_model_name, embedder, embedder_identity, know_keys
from amemgym.quality.blind import BlindModel, folder_of
from amemgym.quality.card import Card, describe
from amemgym.scenario import Dataset, Scenario, dataset_json, find_faults
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
KEPT = "Replies are kept in {}; the same command asks for the others alone"


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
        data: a name or a path, a data set, or scenarios. They are taken one at a time, so a set of the bank, which is
            made as it is read, needs no more memory with many users than with few.
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
    users: Users | Iterable[Scenario] = open_users(data) if isinstance(data, str | Path) else data
    if isinstance(users, Sized):
        watcher.planned(len(users), len(users), 0, 0)
    work = WORK if work is None and model != "offline" else work
    folder = None if work is None else folder_of(asked, files.at_home(work))
    blind = BlindModel(
        asked,
        prompts_for(spec.language),
        folder,
        concurrency=spec.concurrency,
        attempts=spec.attempts,
        watcher=watcher,
    )
    if model != "offline":
        # what can be gone through only once is not counted before
        before = "" if isinstance(users, Iterator) else f"{blind.estimate(_checked(users))}; "
        watcher.said(
            f"{before}{model} is asked; replies are kept in {folder}, and none that is there is asked for again"
        )
    counted = _Counted(_checked(users))

    async def work_through() -> Card:
        try:
            return await describe(
                str(getattr(users, "name", "scenarios")),
                counted,
                embedder(spec.embedder),
                embedder_name,
                asked.model,
                blind,
                spec.seed,
                watcher,
            )
        finally:
            await blind.aclose()

    try:
        with files.held(folder, "--work") if folder is not None else contextlib.nullcontext():
            made = wait_for(work_through)
    except ModelError as error:
        if folder is not None:
            error.args = (f"{error}{'' if str(error).endswith('.') else '.'} {KEPT.format(folder)}",)
        raise
    if not made.size.users:
        raise DataError("there are no users, so there is nothing to describe")
    return replace(made, sha256=users.sha256 if isinstance(users, Dataset) else counted.sha256)


class _Counted:
    """Users passed on one at a time; once they are all through, `sha256` is that of the file they would be saved as."""

    def __init__(self, users: Iterable[Scenario]) -> None:
        self._users = users
        self._hasher = hashlib.sha256()

    def __iter__(self) -> Iterator[Scenario]:
        passing: list[Scenario] = []

        def noted() -> Iterator[Scenario]:
            for user in self._users:
                passing.append(user)
                yield user

        for piece in dataset_json(noted()):
            self._hasher.update(piece)
            while passing:
                yield passing.pop()

    @property
    def sha256(self) -> str:
        return self._hasher.hexdigest()


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
