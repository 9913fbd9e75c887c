"""Our own runs as an archive of MemoryBench results, which readers of the published layout read.

    OUT/
      manifest.jsonl                                                    a line a group; written last
      <exp>-<model>/single/<set>/<agent>/<run>/run_config.json          what was run
                                               predict.json             each exam: question, reply, what was read
                                               evaluate_details.json    each exam's metrics
                                               summary.json             the scores

An agent of a run is a group: the baseline is the agent, the set its data. What is added to an archive leaves the groups
that are there as they are, and what replaces a group is written to another folder: until the manifest is written, in
one step, the old archive is whole.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError, UsageError
from amemgym.llm import know_keys
from amemgym.memorybench.entry import GROUP_FILES, MANIFEST, RUN_CONFIG, Cell, ResultEntry
from amemgym.memorybench.exporting.folders import check_folder, group_folder, inside, is_group_folder
from amemgym.memorybench.exporting.group import write_group
from amemgym.memorybench.exporting.played import PlayedRun
from amemgym.memorybench.exporting.writing import entry_in, manifest_line, manifest_lines
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.manifest import read_manifest

#: a cell and a run's id: what one group is known by
Key = tuple[Cell, str]


@dataclass(frozen=True)
class ExportedGroup:
    """A group that was written: how many items it has, how many of these ended in an error, without an answer, and
    what they have to be read with."""

    entry: ResultEntry
    items: int
    failed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exported:
    """What was written to an archive, how many groups can be read in it now, how many of all these are of a cell that
    it has several runs of, between which a reader has to choose, and how many lines of its manifest are faulty."""

    directory: Path
    groups: tuple[ExportedGroup, ...]
    total: int
    rivals: int
    faulty: int = 0


def export_runs(
    directories: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    set_name: str | None = None,
    partial: bool = False,
    replace: bool = False,
) -> Exported:
    """Write runs to an archive of MemoryBench results, or add them to one.

    Args:
        directories: run directories, played or imported.
        out: the archive's folder: an archive, empty, or new.
        set_name: what the runs' data is called in it, if not by its own name.
        partial: take what is finished of a run that is not.
        replace: write groups anew that the archive has from the same run.

    Raises:
        RunDirectoryError: where a directory holds no run or one that is not finished, or `out` something else.
        UsageError: where the archive has a group already, or other data under the same name.
        DataError: where the archive's manifest cannot be read.
        StorageError: where the disk refuses.
    """
    know_keys()
    listed = [directories] if isinstance(directories, str | Path) else list(directories)
    if not listed:
        raise UsageError("no run is named; give one or more run directories")
    root = files.at_home(out)
    check_folder(root)
    files.check_begun(root, "archive of results", MANIFEST)
    runs = [PlayedRun(directory, set_name, partial) for directory in listed]
    with files.held(root):
        archive = _Archive(root)
        planned = _planned(runs)
        archive.check(planned, runs, replace)
        archive.begin()
        return archive.add(planned)


def _planned(runs: Iterable[PlayedRun]) -> dict[Key, tuple[PlayedRun, Mapping[str, Any]]]:
    found: dict[Key, tuple[PlayedRun, Mapping[str, Any]]] = {}
    for run in runs:
        for agent in run.agents():
            key = run.cell(agent), run.run_id
            if key in found:
                raise UsageError(
                    f"{found[key][0].directory.path} and {run.directory.path} hold the same run of {key[0]}; name one"
                )
            found[key] = run, agent
    return found


class _Archive:
    """An archive's manifest, its lines as they are, and what of them is known by key."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lines: list[str] = manifest_lines(root / MANIFEST)
        found = ((number, entry_in(line)) for number, line in enumerate(self._lines))
        self._known = {(entry.cell, entry.run_id): (number, entry) for number, entry in found if entry is not None}

    def check(
        self, planned: Mapping[Key, tuple[PlayedRun, Mapping[str, Any]]], runs: Sequence[PlayedRun], replace: bool
    ) -> None:
        """Raises UsageError where a group is there and is not to be replaced, or where other data has the name."""
        for key, (run, _) in planned.items():
            if key in self._known and not replace:
                raise UsageError(
                    f"{self.root} has {key[0]} of {run.directory.path} already ({key[1]}); write it anew with"
                    " --replace, or choose another --out"
                )
        played: dict[str, tuple[str, str]] = {}
        for key, (_, entry) in self._known.items():
            if key not in planned and (data := self._played(entry)):
                played.setdefault(entry.set_name, (data, f"{self.root} has {entry.cell}, which"))
        for run in runs:
            data, has = played.setdefault(run.set_name, (run.played, f"{run.directory.path}"))
            if not run.plays(data):
                raise UsageError(
                    f"{has} plays other users or periods of '{run.set_name}' than {run.directory.path}, and their items"
                    " would be taken for the same; give this set another name with --set-name, or choose another --out"
                )

    def begin(self) -> None:
        """Make the folder an archive, so that an export that was killed can be made again."""
        if not (self.root / MANIFEST).exists():
            files.write_atomically(self.root / MANIFEST, "")

    def add(self, planned: Mapping[Key, tuple[PlayedRun, Mapping[str, Any]]]) -> Exported:
        """Write the groups, then the manifest, then away with what was replaced."""
        groups, lines, replaced = [], list(self._lines), []
        taken = {entry.relative_dir.casefold() for _, entry in self._known.values()}
        for (cell, run_id), (run, agent) in planned.items():
            folder = group_folder(cell, run_id, taken)
            taken.add(folder.casefold())
            written = write_group(run, agent, inside(self.root, folder))
            entry = ResultEntry(*cell, run_id, folder, list(GROUP_FILES))
            groups.append(ExportedGroup(entry, written.items, written.failed, written.notes))
            if old := self._known.get((cell, run_id)):
                lines[old[0]] = manifest_line(entry)
                replaced.append(old[1])
            else:
                lines.append(manifest_line(entry))
        files.write_atomically(self.root / MANIFEST, "".join(f"{line}\n" for line in lines))
        for entry in replaced:
            self._remove(entry)
        # as a reader counts: a line that none can read is no group
        told = Problems()
        there = read_manifest(self.root / MANIFEST, MANIFEST, told)
        distinct = {(entry.cell, entry.run_id, entry.relative_dir, tuple(entry.files)) for entry in there}
        runs = Counter(cell for cell, *_ in distinct)
        rivals = sum(count for count in runs.values() if count > 1)
        return Exported(self.root, tuple(groups), len(distinct), rivals, len(told))

    def _played(self, entry: ResultEntry) -> str | None:
        """The hash of what a group of ours plays; None where it is none of ours."""
        try:
            path = inside(self.root, entry.relative_dir) / RUN_CONFIG
            found = json.loads(path.read_text(encoding="utf-8"))["amemgym"]["data"]["played"]
        except (OSError, ValueError, RecursionError, KeyError, TypeError, DataError):
            return None
        return found if isinstance(found, str) else None

    def _remove(self, entry: ResultEntry) -> None:
        """Remove a group's files where they are ours for sure; what cannot be removed is in no manifest."""
        if is_group_folder(entry):
            folder = inside(self.root, entry.relative_dir)
            with suppress(OSError):
                for name in GROUP_FILES:
                    (folder / name).unlink(missing_ok=True)
                folder.rmdir()
