"""People composed of a pack's parts: a name, a town, habits. Nothing of them says what state their life is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from amemgym.generate.bank.pack import Pack, slots
from amemgym.scenario import UserProfile

YOUNGEST, OLDEST = 23, 74


@dataclass(frozen=True)
class Person:
    """One composed person. `friends` are names of others in their life, the first that of `{friend}`."""

    name: str
    age: int
    gender: str
    city: str
    place: str
    occupation: str
    hobby: str
    habit: str
    origin: str
    trait: str
    friends: tuple[str, ...]

    @property
    def words(self) -> dict[str, str]:
        """What fills the slots of a pack's lines."""
        named = {"name": self.name, "city": self.city, "place": self.place, "friend": self.friends[0]}
        return named | {"hobby": self.hobby, "habit": self.habit}


def draw_person(pack: Pack, random: Random) -> Person:
    """A person from the pack's lists."""
    people = pack.people
    name, town = random.choice(people.names), random.choice(people.places)
    return Person(
        name=name.name,
        age=random.randint(YOUNGEST, OLDEST),
        gender=name.gender,
        city=town.city,
        place=random.choice(town.spots),
        occupation=random.choice(people.occupations),
        hobby=random.choice(people.hobbies),
        habit=random.choice(people.habits),
        origin=random.choice(people.origins),
        trait=random.choice(people.traits),
        friends=tuple(random.sample(people.friends, len(people.friends))),
    )


def profile(pack: Pack, person: Person, user_id: str) -> UserProfile:
    """The person as a v1 profile: its fields, and all of them as lines."""
    fields: dict[str, Any] = {name: getattr(person, name) for name in pack.words.profile}
    sketch = fill(pack.words.sketch, {name: str(value) for name, value in vars(person).items()})
    lines = [f"{label}: {fields[name]}" for name, label in pack.words.profile.items()]
    return UserProfile.model_validate({"uuid": user_id, **fields, "formatted_str": "\n".join([*lines, sketch])})


def fill(line: str, words: Mapping[str, str]) -> str:
    """The line with its slots filled; what is filled in is not searched for slots."""
    return line.format_map({name: words[name] for name in slots(line)}) if "{" in line else line
