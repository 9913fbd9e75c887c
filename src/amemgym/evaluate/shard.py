"""A shard: the i-th of n parts of a run's users, to be played by itself and merged with the others.

It plays users i, i + n, … counted from 1, of the whole data, so that neighbours, which may be alike, are spread. Users
keep their numbers, and with them all that is drawn by seed; only who plays them differs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from amemgym import files
from amemgym.errors import UsageError
from amemgym.scenario import Dataset, Scenario

_WRITTEN = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `i/n`. Raises ValueError."""
        match = _WRITTEN.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"'{text}' is no part of a whole; write i/n, such as 1/4 for the first of four")
        shard = cls(int(match[1]), int(match[2]))
        if not 1 <= shard.number <= shard.of:
            raise ValueError(f"'{text}' counts from 1: the first of {max(shard.of, 1)} is 1/{max(shard.of, 1)}")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, user: int) -> bool:
        """Whether it plays the user of that number, counted from 0."""
        return user % self.of == self.number - 1


def users_of(dataset: Dataset, shard: str | None) -> list[tuple[int, Scenario]]:
    """The users that are played, with their numbers in the data. Raises UsageError where a shard has none."""
    part = None if shard is None else Shard.parse(shard)
    found = [(user, scenario) for user, scenario in enumerate(dataset) if part is None or part.has(user)]
    if not found:
        raise UsageError(
            f"--shard {part}: there is no user for it, as {len(dataset)} are played; make no more than"
            f" {len(dataset)} shards"
        )
    return found


def described(shard: str) -> dict[str, int]:
    """What the manifest says of it."""
    part = Shard.parse(shard)
    return {"number": part.number, "of": part.of}


def shard_of(manifest: Mapping[str, Any]) -> Shard | None:
    """The shard that a run directory is, by its manifest; None for a whole run."""
    told = manifest["compared"].get("shard")
    return None if told is None else Shard(told["number"], told["of"])


def played_users(manifest: Mapping[str, Any]) -> list[int]:
    """Numbers of the users that a run directory plays."""
    part = shard_of(manifest)
    return [user for user in range(manifest["data"]["users"]) if part is None or part.has(user)]


def whole(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest that the same run has where nothing is sharded."""
    compared = {name: value for name, value in manifest["compared"].items() if name != "shard"}
    settings = {**manifest["settings"], "shard": None}
    return {**manifest, "fingerprint": fingerprint(compared), "compared": compared, "settings": settings}


def fingerprint(compared: Mapping[str, Any]) -> str:
    """What a run is known by: the hash of all that can change a result."""
    return files.sha256(files.canonical_json(compared).encode("utf-8"))
