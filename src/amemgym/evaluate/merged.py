"""Shards of one run brought together: the directory that the run would have made by itself.

Every episode and upper bound is one item: its result, its journal, and what is said where it failed. An item is taken
whole from one directory, its journal first and its result last, each file whole or not at all, so a merge that was
killed is made again by the same command, and takes what is there already as one more shard.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import differences
from amemgym.errors import RunDirectoryError, StorageError, UsageError
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.shard import Shard, played_users, shard_of, whole
from amemgym.llm import atrest


@dataclass(frozen=True)
class _Item:
    """One episode or upper bound by its places in a directory: `journal` as it is called while it grows."""

    named: str
    user: int
    result: str
    journal: str
    failed: str | None


@dataclass(frozen=True)
class Merged:
    """What was brought together: of how many episodes and upper bounds how many are there, and which shards would have
    the users that no directory plays."""

    there: int
    wanted: int
    missing: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return self.there == self.wanted


class Merge:
    """Directories that are shards of one run, checked; nothing is written yet.

    Raises:
        RunDirectoryError: where one is no run directory, or in use.
        UsageError: where one is no shard, or they are of different runs.
    """

    def __init__(self, directories: Sequence[str | Path]) -> None:
        if not directories:
            raise UsageError("no shard is named; give the directories of two or more")
        self._parts = list({files.at_home(path).resolve(): RunDirectory(path) for path in directories}.values())
        manifests = [part.manifest() for part in self._parts]
        first = whole(manifests[0])
        for part, manifest in zip(self._parts, manifests, strict=True):
            if shard_of(manifest) is None:
                raise UsageError(
                    f"{part.path} is no shard, but a whole run; shards are made with: amemgym run --shard i/n"
                )
            told = whole(manifest)
            if told["fingerprint"] != first["fingerprint"]:
                changed = "; ".join(differences(first["compared"], told["compared"])[:3]) or "the fingerprint"
                raise UsageError(
                    f"{self._parts[0].path} and {part.path} are shards of different runs: {changed}; merge those of"
                    " one run"
                )
        #: the manifest of the whole run
        self.manifest = first
        self._manifests = manifests
        #: the one whose prices count, where they are not the same in all
        self.priced_by = self._parts[0].path if any(m.get("prices") != first.get("prices") for m in manifests) else None

    def write(self, directory: RunDirectory) -> Merged:
        """Bring everything into a directory, which the caller holds.

        Raises UsageError where that is one of the shards; RunDirectoryError where it holds another run, or where two
        directories have different results of one episode; StorageError.
        """
        if directory.path.resolve() in {part.path.resolve() for part in self._parts}:
            raise UsageError(f"{directory.path} is one of the shards; give another folder for the whole with --out")
        with ExitStack() as held:
            for part in self._parts:
                with suppress(StorageError):  # one that cannot be written to is not being played
                    held.enter_context(part.lock())
            directory.claim(self.manifest)
            # the data decides what fits, so it is read before anything else is taken
            dataset = self._parts[0].dataset()
            directory.write_data(dataset)
            if (policy := self._parts[0].policy) is not None and directory.policy is None:
                files.write_bytes_atomically(directory.path / policy.name, policy.read_bytes())
            places = [directory, *self._parts]
            users = [set(range(len(dataset))), *(set(played_users(manifest)) for manifest in self._manifests)]
            there = wanted = 0
            for item in _items(self.manifest, [scenario.id for scenario in dataset]):
                wanted += 1
                having = [place for place, has in zip(places, users, strict=True) if item.user in has]
                there += _take(item, directory.path, [place.path for place in having])
        return Merged(there, wanted, self._missing(len(dataset)))

    def _missing(self, users: int) -> tuple[str, ...]:
        played = {user for manifest in self._manifests for user in played_users(manifest)}
        of = max(part.of for manifest in self._manifests if (part := shard_of(manifest)) is not None)
        begun = {user % of for user in played}
        return tuple(str(Shard(number + 1, of)) for number in range(min(of, users)) if number not in begun)


def _items(manifest: Mapping[str, Any], users: Sequence[str]) -> Iterator[_Item]:
    compared, bounds = manifest["compared"], manifest["upper_bound"]
    models = sorted({name for name in (bounds["run"], *bounds["agents"].values()) if name})
    for user, user_id in enumerate(users):
        own = files.slug(user_id)
        for model in models:
            name = f"upper-bound/{files.slug(model)}/{own}"
            yield _Item(f"the upper bound of user {user}", user, f"{name}.json", f"journal/{name}.jsonl", None)
        for trial in range(compared["trials"]):
            for agent in compared["agents"]:
                name = f"{files.slug(agent['name'])}/{own}-t{trial}"
                named = f"agent '{agent['name']}', user {user}, trial {trial}"
                yield _Item(named, user, f"episodes/{name}.json", f"journal/{name}.jsonl", f"failed/{name}.json")


def _take(item: _Item, into: Path, places: Sequence[Path]) -> bool:
    """Take an item from where it is finished, else from where most of it is played; whether it is finished."""
    finished = [place for place in places if (place / item.result).exists()]
    if finished:
        first = finished[0]
        for other in finished[1:]:
            _check_equal(item, first / item.result, other / item.result)
        if first != into:
            _copy_journal(item, first, into)
            _copy(first / item.result, into / item.result)
        if item.failed is not None:
            with suppress(OSError):
                (into / item.failed).unlink(missing_ok=True)
        return True
    begun = max(places, key=lambda place: len(atrest.kept(place / item.journal)))
    if begun != into:
        _copy_journal(item, begun, into)
    if item.failed is not None:
        failed = next((place for place in places if (place / item.failed).exists()), into)
        if failed != into:
            _copy(failed / item.failed, into / item.failed)
    return False


def _check_equal(item: _Item, one: Path, other: Path) -> None:
    """Raises RunDirectoryError where two results differ in more than the seconds that replies took."""
    texts = [_read(path) for path in (one, other)]
    if texts[0] == texts[1] or _timeless(texts[0], one) == _timeless(texts[1], other):
        return
    raise RunDirectoryError(
        f"{one} and {other} are different results of {item.named}; leave one of the two directories out"
    )


def _timeless(text: bytes, path: Path) -> Any:
    try:
        value = json.loads(text)
        for count in value["ledger"].values():
            count.pop("seconds", None)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunDirectoryError(f"{path} is damaged ({error}); delete it and resume, its journal is kept") from error
    return value


def _copy_journal(item: _Item, place: Path, into: Path) -> None:
    if atrest.is_kept(place / item.journal):
        atrest.copy(place / item.journal, into / item.journal)


def _copy(source: Path, to: Path) -> None:
    files.write_bytes_atomically(to, _read(source))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
