"""What is told to the memories that are tried: people with the same kinds of facts, each with names of their own.

A memory may keep what is said word for word or say it anew, so a fact is looked for by its key: a rare name that no
rewording drops. Two people tell the same things with other keys, so that whatever is mixed up between them shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from amemgym.memory import Item
from amemgym.messages import Message, opening

START = datetime(2021, 3, 1, 9, 30)
#: after everything that is told
LATER = datetime(2021, 9, 1, 12)


@dataclass(frozen=True)
class Fact:
    """Something a user says, a question near to it, and the name by which it is known again."""

    said: str
    asked: str
    key: str
    time: datetime

    def messages(self) -> list[Message]:
        """As it is said in a run: one round with the assistant's reply."""
        told = Message("user", opening(self.said, self.time), self.time)
        return [told, Message("assistant", "Thank you for telling me.", self.time)]


_TELLING = (
    ("I adopted a grey cat, and her name is {}.", "What is the name of the grey cat I adopted?"),
    ("My sister left for her studies and now lives in {}.", "Where does my sister live for her studies?"),
    ("I started a new job as a beekeeper at a farm called {}.", "At which farm did I start my new job?"),
    ("For my birthday I got a violin built by {}.", "Who built the violin I got for my birthday?"),
    ("My doctor told me to take a medicine against headaches, {}.", "Which medicine did my doctor tell me to take?"),
    ("Every Tuesday I train for the marathon with a friend, {}.", "With which friend do I train for the marathon?"),
)
_KEYS = (
    ("Quillonwick", "Ljubljana", "Harrowmead", "Castellanos", "Veltraphine", "Bramwell"),
    ("Marzipandra", "Timbuktu", "Wexcombe", "Guarnieri", "Doxilampril", "Octavian"),
    ("Thistlebert", "Reykjavik", "Dunmorrow", "Stradella", "Kavatrioxin", "Leopoldina"),
    ("Pumpernella", "Samarkand", "Foxhollow", "Montagnana", "Zerbuphenol", "Anastasius"),
)
PEOPLE = len(_KEYS)


def facts_of(person: int) -> list[Fact]:
    """What a person (from 0) tells, a fact a day."""
    days = (START + timedelta(days=day, hours=person) for day in range(len(_TELLING)))
    told = zip(_TELLING, _KEYS[person], days, strict=True)
    return [Fact(said.format(key), asked, key, time) for (said, asked), key, time in told]


#: the same thing told twice, as it was and as it became
OLD_HOME = Fact("I live in Bergen, in a flat near the harbour.", "", "Bergen", datetime(2021, 3, 20, 18))
NEW_HOME = Fact(
    "I moved in May and do not live there any more: I live in Oslo now, in a flat near the park.",
    "In which city do I live now, in a flat near what?",
    "Oslo",
    datetime(2021, 5, 9, 18),
)


def mention(text: str, keys: Iterable[str]) -> str | None:
    """The first of the names that stands in the text, as a word of its own, however it is written."""
    found = _any_of(tuple(keys)).search(text)
    return found[0] if found else None


def mentions(text: str, key: str) -> bool:
    """Whether that name stands in the text."""
    return mention(text, [key]) is not None


def found_in(items: Iterable[Item], facts: Sequence[Fact]) -> set[str]:
    """The keys of the facts that the items hold."""
    texts = {item.text for item in items}
    return {fact.key for fact in facts if any(mentions(text, fact.key) for text in texts)}


@lru_cache
def _any_of(keys: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, keys)) or '(?!)'})(?!\w)", re.IGNORECASE)


def quoted(text: str, length: int = 80) -> str:
    """A text as a sentence can quote it."""
    line = " ".join(text.split())
    return f"'{line}'" if len(line) <= length else f"'{line[:length]}…'"
