"""The Python face of merging: `merge`, the shards of one run as the run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from amemgym.api import RunReport, score
from amemgym.evaluate import RunDirectory, RunWatcher, default_directory
from amemgym.evaluate.merged import Merge, Merged
from amemgym.llm import know_keys


def merge(
    directories: Sequence[str | Path], *, out: str | Path | None = None, watcher: RunWatcher | None = None
) -> RunReport:
    """Bring shards of one run (`amemgym run --shard i/n`) together, and score the whole.

    Args:
        directories: the shards' run directories. Two that play the same users may be among them, if their results are
            the same.
        out: where the run is made (default: runs/<data>-<model>-<fingerprint>, where it would have been made
            unsharded); where it was begun, it goes on.
        watcher: is told what is missing, and where the shards' prices differ.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunDirectoryError or UsageError where they are not shards of one run.
    """
    know_keys()
    found = Merge(directories)
    place = RunDirectory(out or default_directory(found.manifest))
    with place.lock():
        is_new = not place.is_claimed
        merged = found.write(place)
        if watcher is not None and found.priced_by is not None and is_new:
            watcher.said(
                f"the shards were begun with different prices; those of {found.priced_by} count. Others: amemgym score"
                f" {shlex.quote(str(place.path))} --prices FILE"
            )
        if watcher is not None and not merged.is_whole:
            watcher.said(_missing(merged, place.path))
        return score(place.path)


def _missing(merged: Merged, place: Path) -> str:
    shards = f", among them all of shard {', '.join(merged.missing)}" if merged.missing else ""
    return (
        f"{merged.wanted - merged.there} of {merged.wanted} episodes and upper bounds are not there{shards}; merge the"
        f" shards that have them too, or play them with: amemgym resume {shlex.quote(str(place))}"
    )
