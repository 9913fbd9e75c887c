"""Where a group of ours lies in an archive: the published layout, in names that no system takes for something else.

A name that is safe as it is stays as it is, so that a reader who has only the folders finds the names in them. Any
other becomes a slug, and no two groups share a folder, not even where a file system takes two names for one.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import count
from pathlib import Path

from amemgym import files
from amemgym.errors import DataError, RunDirectoryError
from amemgym.memorybench.entry import Cell, ResultEntry

#: no separator, nothing hidden, nothing that a shell or a file system reads as more than a name
_SAFE = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._&+@=,() -]{0,78}[A-Za-z0-9_&+@=)-])?")
#: what Windows takes for a device, whatever comes after a point
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE)


def check_folder(path: Path) -> None:
    """Raises RunDirectoryError where something that is no folder is there."""
    if path.exists() and not path.is_dir():
        raise RunDirectoryError(f"{path} is a file, not a folder; choose a folder with --out")


def folder_name(name: str) -> str:
    """The name itself where it is safe, else a slug of it."""
    return name if _SAFE.fullmatch(name) and not _DEVICE.fullmatch(name) else files.slug(name)


def group_folder(cell: Cell, run_id: str, taken: Collection[str]) -> str:
    """`<exp>-<model>/<type>/<set>/<baseline>/<run_id>`, or with a number after it where that is taken.

    `taken` are the folders that other groups have, with case folded, as it is by some file systems.
    """
    for number in count(1):
        folder = _place(cell) + folder_name(run_id) + (f"_{number}" if number > 1 else "")
        if folder.casefold() not in taken:
            return folder
    raise AssertionError("numbers do not end")


def is_group_folder(entry: ResultEntry) -> bool:
    """Whether an entry lies where `group_folder` would put it."""
    place = re.escape(_place(entry.cell) + folder_name(entry.run_id))
    return re.fullmatch(rf"{place}(?:_[0-9]+)?", entry.relative_dir) is not None


def inside(root: Path, folder: str) -> Path:
    """The folder below the root. Raises DataError where a link leads out of it."""
    path = root / folder
    try:
        is_inside = path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a ring of links
        is_inside = False
    if not is_inside:
        raise DataError(
            f"{path} leads out of {root}; nothing is written there. Remove the link, or choose another --out"
        )
    return path


def _place(cell: Cell) -> str:
    above = folder_name(f"{cell.exp}-{cell.model}")
    if above != f"{cell.exp}-{cell.model}":
        above = f"{cell.exp}-{files.slug(cell.model)}"  # the experiment stays to be read
    return f"{above}/{cell.dataset_type}/{folder_name(cell.set_name)}/{folder_name(cell.baseline)}/"
