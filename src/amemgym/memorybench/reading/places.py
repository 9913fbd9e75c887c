"""Where an archive's files are. A place gives the path, on this machine, of a file that the archive names.

Here the place that is a folder; the hub is in `hub`. Nothing outside the folder is given, whatever the archive says:
not by the form of a path (`paths`), not by a symbolic link in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from amemgym.errors import DataError, ResultFileMissing
from amemgym.memorybench.entry import DATASET_TYPES
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.paths import joined_path, path_fault

#: a group lies at most so many folders deep: exp, model, type, set, baseline, run, step
DEEPEST = 7


class Place(Protocol):
    """Where the files of one archive are; `name` stands for it in messages, and two of the same `identity` are one."""

    name: str
    identity: str

    def path(self, relative: str) -> Path:
        """The file's path. Raises ResultFileMissing where it is absent, DataError where it cannot or may not be had."""
        ...

    def may_have(self, relative: str) -> bool:
        """Whether the file is there, as far as that is known without fetching it."""
        ...

    def fetch(self, relatives: Sequence[str]) -> None:
        """Have these files at hand, together where that is faster; those that are absent are passed over."""
        ...

    def listed(self, problems: Problems) -> list[str]:
        """All JSON files, as relative paths, sorted; links that are not followed are told. Raises DataError."""
        ...

    def around(self) -> tuple[str, ...]:
        """The names of the folders that the archive's root lies in, itself last, where they may tell what it holds."""
        ...


class Folder:
    """An archive in a folder. Raises DataError where there is none."""

    def __init__(self, root: Path) -> None:
        self.root, self.name = root, str(root)
        try:
            if not root.is_dir():
                raise DataError(f"no results archive at {root}: there is no such folder")
            self._real = root.resolve()
        except (OSError, ValueError, RuntimeError) as error:  # no permission, a NUL in it, a loop of links
            raise DataError(f"cannot read {root}: {getattr(error, 'strerror', None) or error}") from error
        self.identity = str(self._real)
        self._allowed = [self._real, *_blobs(self._real)]

    def path(self, relative: str) -> Path:
        if fault := self.fault(relative):
            raise DataError(f"{self.name}: a path in it {fault}; it is not opened")
        path = self._real / relative
        try:
            is_there = path.is_file()  # a pipe is none; it would be waited for
        except OSError as error:
            raise DataError(f"cannot read {path}: {error.strerror or error}") from error
        if not is_there:
            raise ResultFileMissing(f"{self.name} has no file {relative}")
        return path

    def may_have(self, relative: str) -> bool:
        try:
            return self.fault(relative) is None and (self._real / relative).is_file()
        except OSError:
            return False

    def lacks(self, relative: str) -> bool:
        """Whether nothing is there, by one look; where links lead is asked as it is opened."""
        return path_fault(relative) is None and not os.path.lexists(self._real / relative)

    def fault(self, relative: str) -> str | None:
        """Why a path is refused, by its form or by where its links lead; None where it is not."""
        if fault := path_fault(relative):
            return fault
        try:
            found = (self._real / relative).resolve()
        except (OSError, RuntimeError) as error:
            return f"cannot be followed ({getattr(error, 'strerror', None) or 'a loop of links'}): {relative!a}"
        return None if self._is_within(found) else f"leads out of the archive by a symbolic link: {relative!a}"

    def fetch(self, relatives: Sequence[str]) -> None:
        pass

    def listed(self, problems: Problems) -> list[str]:
        return sorted(self._walk(self._real, "", (self._real,), problems))

    def around(self) -> tuple[str, ...]:
        return self._real.parts[1:]

    def _walk(self, folder: Path, relative: str, above: tuple[Path, ...], problems: Problems) -> Iterator[str]:
        """Its files; `above` are the folders it lies in, so that a link to one of them is not gone round."""
        try:
            found = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            raise DataError(f"cannot read {folder}: {error.strerror or error}") from error
        for entry in found:
            at = joined_path(relative, entry.name)
            if is_passed_over(at, self.around()) or path_fault(at):
                continue
            real = Path(entry.path)
            if entry.is_symlink():
                if fault := self.fault(at):
                    problems.tell(f"{self.name}/{at}", f"it {fault}; it is passed over")
                    continue
                real = real.resolve()
            if real.is_dir():
                if len(above) <= DEEPEST and real not in above:
                    yield from self._walk(real, at, (*above, real), problems)
            elif at.endswith(".json") and real.is_file():
                yield at

    def _is_within(self, path: Path) -> bool:
        return any(path.is_relative_to(root) for root in self._allowed)


def is_passed_over(relative: str, around: Sequence[str] = ()) -> bool:
    """Whether a path leads through a hidden folder, or through a cache, which holds copies in the same layout as
    results. What lies below a type's folder is a set and then a baseline, whatever their names; `around` are the
    folders that the root lies in."""
    parts = relative.split("/")
    before = len(around[-2:])
    above = [*around[-2:], *parts]
    return any(
        part.startswith(".")
        or (
            part.lower().rstrip("_").endswith(("cache", "caches"))
            and not any(name in DATASET_TYPES for name in above[max(0, before + at - 2) : before + at])
        )
        for at, part in enumerate(parts)
    )


def _blobs(root: Path) -> list[Path]:
    """Where a snapshot in the hub's cache keeps its files, which are links to there."""
    blobs = root.parent.parent / "blobs"
    return [blobs] if root.parent.name == "snapshots" and blobs.is_dir() and blobs.resolve() == blobs else []
