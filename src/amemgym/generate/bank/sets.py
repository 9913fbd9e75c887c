"""The bank's data sets by name: `bank:base`, `bank:base?users=1000&seed=7`, `bank:mini?pack=zh`.

After the question mark stand the names of a `Shape`'s fields, and `pack` for another language pack (a name, or a folder
of one's own).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amemgym.errors import UnknownName, UsageError
from amemgym.generate.bank.pack import Pack, load_pack
from amemgym.generate.bank.sampler import Composer, check_shape
from amemgym.generate.shape import CONFIGURATIONS, Shape, make_shape, parse_query
from amemgym.scenario import Scenario

PREFIX = "bank:"
#: name → (what differs from a Shape's defaults, what it is)
SETS: dict[str, tuple[dict[str, Any], str]] = {
    "mini": ({"users": 3, "periods": 6, "questions": 6}, "3 people, 6 periods, 6 questions: a first look"),
    "base": (CONFIGURATIONS["base"], "20 people, 11 periods, 10 questions of 2 states: as published"),
    "extra": (
        CONFIGURATIONS["extra"],
        "20 people, 21 periods, 10 questions of 3 states: as published",
    ),
    "noise": (
        {
            "explicitness": "mixed",
            "distractors": 2,
            "others": 2,
            "temporary": 0.25,
            "corrections": 1,
            "contradictions": 1,
        },
        "base, told less plainly, among small talk, facts about others, exceptions and mistakes",
    ),
}


@dataclass(frozen=True)
class Bank:
    """One data set of the bank: so many users, each made when it is asked for."""

    name: str
    pack: Pack
    shape: Shape

    def __len__(self) -> int:
        return self.shape.users

    def __iter__(self) -> Iterator[Scenario]:
        # however the name is written, what it makes is the same to the byte
        composer = Composer(self.pack, self.shape, self.name.partition("?")[0])
        return (composer.user(number) for number in range(self.shape.users))


def is_bank_name(data: str) -> bool:
    """Whether that names a data set of the bank (known or not)."""
    return data.startswith(PREFIX)


def open_bank(data: str, **settings: Any) -> Bank:
    """The bank's data set of that name; `settings` override what stands in it.

    Raises UnknownName, UsageError, or DataError where the pack's files are not whole.
    """
    name, _, query = data.removeprefix(PREFIX).partition("?")
    if name not in SETS:
        raise UnknownName("bank set", name, SETS, "Write bank:base, or bank:base?users=1000&seed=7.")
    given = {**parse_query(query, data), **settings}
    if "language" in given:
        raise UsageError(f"{data}: 'language' is not set here; a language pack is, as in {PREFIX}{name}?pack=zh")
    pack = load_pack(str(given.pop("pack", "en")))
    shape = make_shape({**SETS[name][0], **given}, data)
    check_shape(pack, shape, data)
    return Bank(data, pack, shape)


def bank_names() -> dict[str, str]:
    """Every set of the bank, with one line on what it is."""
    return {f"{PREFIX}{name}": text for name, (_, text) in SETS.items()}
