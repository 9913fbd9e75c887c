"""The groups that an archive lists: by its manifest, or by its folders where it has none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from amemgym.errors import DataError
from amemgym.memorybench.entry import MANIFEST, PREDICT, RUN_CONFIG, SUMMARY, ResultEntry
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.layout import STEP_PREDICT, config_of, find_groups
from amemgym.memorybench.reading.manifest import read_manifest
from amemgym.memorybench.reading.paths import joined_path
from amemgym.memorybench.reading.places import Place
from amemgym.memorybench.reading.stream import read_json


def list_groups(place: Place, has_manifest: bool, problems: Problems) -> list[ResultEntry]:
    """The groups of one archive, every run of a cell. Raises DataError where there are none."""
    if has_manifest:
        return read_manifest(place.path(MANIFEST), f"{place.name}/{MANIFEST}", problems)

    def run_configs(paths: Sequence[str]) -> Iterator[Any]:
        place.fetch(paths)
        for path in paths:
            try:
                yield read_json(place.path(path), f"{place.name}/{path}")
            except DataError as error:
                problems.tell(f"{place.name}/{path}", str(error))
                yield None

    entries = find_groups(place.listed(problems), place.around(), place.name, problems, run_configs)
    if not entries:
        first = f"; the first problem: {problems[0]}" if problems else ""
        raise DataError(
            f"{place.name} is no results archive: it has no {MANIFEST}, and no folder such as"
            f" off-policy-MODEL/domain/SET/BASELINE with a {SUMMARY}{first}"
        )
    return entries


def file_of(entry: ResultEntry, name: str) -> str | None:
    """The path of a group's file; None where it is not listed. A step has its run's configuration, and its answers
    under a name of their own."""
    if name == PREDICT and name not in entry.files and STEP_PREDICT in entry.files:
        name = STEP_PREDICT
    at = joined_path(entry.relative_dir, name)
    if name in entry.files:
        return at
    shared = config_of(entry.relative_dir, entry.files) if name == RUN_CONFIG else at
    return shared if shared != at else None
