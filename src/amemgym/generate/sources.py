"""Opening a data set by name or path, whichever way it is made: the bank's are made as they are read, user by user."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from amemgym import scenario
from amemgym.errors import DataError
from amemgym.generate.bank import bank_names, is_bank_name, open_bank
from amemgym.scenario import Dataset, Fault, Scenario, data_names, dataset_json, find_faults


class Users(Protocol):
    """Users one after another, as often as wanted. Of a data set that is made, only one need be in memory at a time."""

    @property
    def name(self) -> str: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Scenario]: ...


def open_users(data: str | Path) -> Users:
    """The users of a data set. Raises DataError or UsageError; those of a file are checked, those of the bank sound."""
    return open_bank(str(data)) if is_bank_name(str(data)) else scenario.load_dataset(data)


def load_dataset(data: str | Path) -> Dataset:
    """A whole data set in memory, by path or name. Raises DataError or UsageError."""
    if not is_bank_name(str(data)):
        return scenario.load_dataset(data)
    dataset, faults = check_dataset(data)
    if errors := [fault for fault in faults if fault.is_error]:
        raise DataError(f"{data} cannot be run: {errors[0]}. That is a fault of the bank's pack or of its sampler")
    return dataset


def check_dataset(data: str | Path) -> tuple[Dataset, list[Fault]]:
    """A data set and all its faults; users whose structure is broken are left out. Raises DataError or UsageError."""
    if not is_bank_name(str(data)):
        name, path = scenario.find_data(data)
        return scenario.read_dataset(path, name)
    users = tuple(open_bank(str(data)))
    return Dataset(str(data), users_sha256(users), users), find_faults(users)


def users_sha256(users: Users | tuple[Scenario, ...]) -> str:
    """The hash of the file that the users would be saved as."""
    hasher = hashlib.sha256()
    for piece in dataset_json(users):
        hasher.update(piece)
    return hasher.hexdigest()


def all_data_names() -> dict[str, str]:
    """Every data set known by name, with one line on what it is."""
    return data_names() | bank_names()
