"""A language pack of the scenario bank: domains of life, people and leads, as YAML files in one folder.

```
<pack>/pack.yaml          words that join the parts: leads, small talk, relatives
<pack>/people.yaml        what people are composed of: names, places, habits
<pack>/domains/<id>.yaml  one domain of life: questions, requests, and what can be said of each value
```
A pack is read whole or not at all: whatever is missing or wrong is named with its file, variable and value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from amemgym import files
from amemgym.errors import DataError, UnknownName

PACKS = Path(__file__).parent / "packs"
#: how plainly an utterance tells a state, from its own words to what only an inference gives
LEVELS = ("explicit", "implicit", "subtle")
#: what a person's own words fill
PERSON_SLOTS = frozenset({"name", "city", "place", "friend", "hobby", "habit"})
#: and, in a line about somebody else, who that is
OTHER_SLOTS = PERSON_SLOTS | {"other", "Other"}
#: the longest answer of a variable's values may be so many times the shortest: length must not tell options apart
LENGTH_RATIO = 1.25

ONE_LINE = r"^[^\n\r]*$"
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, pattern=ONE_LINE)]
Id = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")]
ValueName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=ONE_LINE)]

ProfileField = Literal["name", "age", "gender", "city", "occupation", "hobby", "habit", "origin", "trait"]

#: what a relative's description and a person's sketch can name
RELATIVE_SLOTS, SKETCH_SLOTS = frozenset({"friend"}), frozenset(get_args(ProfileField))

M = TypeVar("M", bound=BaseModel)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Value(_Part):
    """What can be said of one value. `answers` are advice that suits it, the i-th of the same form for every value."""

    explicit: list[Line] = Field(min_length=3)
    implicit: list[Line] = Field(min_length=3)
    subtle: list[Line] = Field(min_length=3)
    events: list[Line] = Field(min_length=2)
    others: list[Line] = Field(min_length=1)
    answers: list[Line] = Field(min_length=2)

    def statements(self, level: str) -> list[str]:
        """The user's own sentences at that level."""
        found: list[str] = getattr(self, level)
        return found


class Variable(_Part):
    """One state variable: what it is about, and its values."""

    about: Line
    values: dict[ValueName, Value] = Field(min_length=3, max_length=4)


class Domain(_Part):
    """One domain of life. `chats` are what a user may ask about it without telling anything; `not_with` names domains
    whose states could contradict this one's, so that no user has both."""

    title: Line
    questions: list[Line] = Field(min_length=2)
    requests: list[Line] = Field(min_length=4)
    chats: list[Line] = Field(min_length=4)
    variables: dict[Id, Variable] = Field(min_length=2, max_length=3)
    ages: tuple[int, int] = (18, 99)
    not_with: list[Id] = []

    @model_validator(mode="before")
    @classmethod
    def _pair(cls, data: Any) -> Any:
        ages = data.get("ages") if isinstance(data, dict) else None
        return {**data, "ages": tuple(ages)} if isinstance(ages, list) else data


class Leads(_Part):
    """Sentences of the pack that stand before a statement, to say what kind of news it is."""

    first: list[Line] = Field(min_length=4)
    changed: list[Line] = Field(min_length=4)
    temporary: list[Line] = Field(min_length=3)
    reverted: list[Line] = Field(min_length=3)
    corrected: list[Line] = Field(min_length=3)


class PackFile(_Part):
    """pack.yaml. `space` joins sentences; `profile` names the lines of a profile, `sketch` is the last of them."""

    language: Id
    space: str
    leads: Leads
    relatives: list[Line] = Field(min_length=4)
    chats: list[Line] = Field(min_length=8)
    profile: dict[ProfileField, Line] = Field(min_length=1)
    sketch: Line


class Place(_Part):
    """A town and some spots in it."""

    city: Line
    spots: list[Line] = Field(min_length=2)


class Name(_Part):
    """A given name, and the gender it is usual for."""

    name: Line
    gender: Line


class PeopleFile(_Part):
    """people.yaml. Every list is drawn from apart."""

    names: list[Name] = Field(min_length=8)
    friends: list[Line] = Field(min_length=8)
    places: list[Place] = Field(min_length=3)
    occupations: list[Line] = Field(min_length=5)
    hobbies: list[Line] = Field(min_length=5)
    habits: list[Line] = Field(min_length=5)
    origins: list[Line] = Field(min_length=4)
    traits: list[Line] = Field(min_length=5)


@dataclass(frozen=True)
class Pack:
    """A whole language pack; `sha256` is that of all its files."""

    name: str
    words: PackFile
    people: PeopleFile
    domains: dict[str, Domain]
    sha256: str


def pack_names() -> list[str]:
    """The packs of this package."""
    return sorted(folder.name for folder in PACKS.iterdir() if (folder / "pack.yaml").is_file())


def find_pack(name: str) -> Path:
    """The folder of a pack by name or path. Raises UnknownName."""
    if name in pack_names():
        return PACKS / name
    if name.strip() and (Path(name) / "pack.yaml").is_file():
        return Path(name)
    raise UnknownName("language pack", name, pack_names(), "Or give the folder of one, with pack.yaml in it.")


def load_pack(name: str) -> Pack:
    """A pack by name or path. Raises UnknownName, or DataError, which names what is missing or wrong."""
    folder = find_pack(name)
    paths = [folder / "pack.yaml", folder / "people.yaml", *sorted((folder / "domains").glob("*.yaml"))]
    raw = {path: _read(path) for path in paths}
    words = _parsed(PackFile, paths[0], raw[paths[0]])
    people = _parsed(PeopleFile, paths[1], raw[paths[1]])
    if faults := list(_words_faults(words)):
        raise DataError(_told(paths[0], faults))
    if strangers := sorted(path for path in (folder / "domains").glob("*") if path.suffix != ".yaml"):
        raise DataError(f"{strangers[0]} is no domain; the name of one ends in .yaml")
    domains: dict[str, Domain] = {}
    told: list[str] = []
    for path in paths[2:]:
        try:
            domains[path.stem] = _parsed(Domain, path, raw[path])
        except DataError as error:
            told.append(str(error))
    stems = {path.stem for path in paths[2:]}
    for path in paths[2:]:
        if path.stem in domains and (faults := list(_file_faults(path.stem, domains[path.stem], stems))):
            told.append(_told(path, faults))
    if told:
        raise DataError("\n".join(told))
    if not domains:
        raise DataError(f"{folder / 'domains'} holds no domain (a YAML file each)")
    digest = files.sha256(b"\x1e".join(path.name.encode() + b"\x1f" + raw[path] for path in paths))
    return Pack(folder.name, words, people, domains, digest)


def _words_faults(words: PackFile) -> Iterator[str]:
    for kind, lines in words.leads.model_dump().items():
        yield from _slot_faults(f"leads, {kind}", lines, frozenset())
    yield from _slot_faults("chats", words.chats, frozenset())
    yield from _slot_faults("relatives", words.relatives, RELATIVE_SLOTS)
    yield from _slot_faults("sketch", [words.sketch], SKETCH_SLOTS)


def _file_faults(stem: str, domain: Domain, stems: Set[str]) -> Iterator[str]:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
        yield "the file's name is the domain's id: lower-case letters, digits and underscores"
    yield from domain_faults(domain)
    yield from (f"not_with: there is no domain '{name}'" for name in domain.not_with if name not in stems)


def domain_faults(domain: Domain) -> Iterator[str]:
    """What is wrong in a domain whose structure is right, each with its variable and value."""
    for kind in ("questions", "requests", "chats"):
        yield from _slot_faults(kind, getattr(domain, kind), PERSON_SLOTS)
    for name, variable in domain.variables.items():
        for value_name, value in variable.values.items():
            place = f"variable '{name}', value '{value_name}'"
            for level in LEVELS:
                yield from _slot_faults(f"{place}, {level}", value.statements(level), PERSON_SLOTS)
            yield from _slot_faults(f"{place}, events", value.events, PERSON_SLOTS)
            yield from _slot_faults(f"{place}, answers", value.answers, frozenset())
            yield from _slot_faults(f"{place}, others", value.others, OTHER_SLOTS)
            for line in value.others:
                if not {"other", "Other"} & slots(line):
                    yield f"{place}, others: '{line}' does not say who it is about; use {{other}} or {{Other}}"
        yield from _answer_faults(name, variable)


def slots(line: str) -> set[str]:
    """The names in braces; raises ValueError for a brace without its other half."""
    return {field for _, field, _, _ in Formatter().parse(line) if field is not None}


def _slot_faults(place: str, lines: list[str], known: frozenset[str]) -> Iterator[str]:
    for line, count in ((line, lines.count(line)) for line in dict.fromkeys(lines)):
        if count > 1:
            yield f"{place}: '{line}' is there {count} times"
        try:
            unknown = sorted(slots(line) - known)
        except ValueError as error:
            yield f"{place}: '{line}': {error}"
            continue
        if unknown:
            allowed = ", ".join(f"{{{name}}}" for name in sorted(known)) or "none"
            yield f"{place}: '{line}' uses {{{unknown[0]}}}; known there: {allowed}"


def _answer_faults(name: str, variable: Variable) -> Iterator[str]:
    counts = {value_name: len(value.answers) for value_name, value in variable.values.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{value} has {count}" for value, count in counts.items())
        yield f"variable '{name}': answers must be as many for every value ({told})"
        return
    for form, answers in enumerate(zip(*(value.answers for value in variable.values.values()), strict=True)):
        lengths = [len(answer) for answer in answers]
        if max(lengths) > LENGTH_RATIO * min(lengths):
            told = ", ".join(f"{value} {length}" for value, length in zip(counts, lengths, strict=True))
            yield f"variable '{name}', answers {form}: too unlike in length ({told} characters)"
        if len(set(answers)) < len(answers):
            yield f"variable '{name}', answers {form}: two values have the same answer"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no {path}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error


def _parsed(model: type[M], path: Path, raw: bytes) -> M:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(raw.decode("utf-8-sig"), Loader=loader)  # noqa: S506 - it is a safe loader
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise DataError(f"{path} cannot be read as YAML ({' '.join(str(error).split())})") from None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise DataError(_told(path, [_said(detail) for detail in error.errors(include_url=False)])) from None


def _said(detail: Any) -> str:
    words = {"variables": "variable", "values": "value"}
    place: list[str] = []
    parts = [str(part) for part in detail["loc"] if part != "[key]"]
    while len(parts) > 1 and parts[0] in words:
        place.append(f"{words[parts.pop(0)]} '{parts.pop(0)}'")
    place += parts
    if detail["type"] == "missing":
        name = place.pop()
        return ", ".join([*place, f"'{name}' is missing"])
    found = "" if isinstance(detail["input"], dict | list) else f" (found: {detail['input']!r})"
    return f"{', '.join(place) or 'the file'}: {detail['msg'][0].lower()}{detail['msg'][1:]}{found}"


def _told(path: Path, faults: list[str]) -> str:
    more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
    return f"{path}: {'; '.join(faults[:3])}{more}"
