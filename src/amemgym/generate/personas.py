"""Personas: who the users are, from a file of one's own, from Nemotron-Personas, or from the scenario bank.

A file has a row a person (JSON lines, JSON, CSV, or parquet, of which a folder may hold several files). One column has
to be there: the text that describes the person. Which rows are taken depends on the seed alone: with more users, the
first ones stay the same people. Of a parquet file only the row groups that hold a chosen row are read.
"""

from __future__ import annotations

import csv
import hashlib
import heapq
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError, UsageError
from amemgym.generate.bank import draw_person, load_pack, profile
from amemgym.seeds import generator

BANK = "bank"

#: columns that can hold what has to be there
TEXT = ("persona", "description", "profile")
ID = ("uuid", "id", "persona_id")
#: other names of fields
_SAME = {"sex": "gender", "job": "occupation"}
#: the order of a profile's lines; other columns with a short value follow
FIRST = (
    "name",
    "age",
    "gender",
    "marital_status",
    "education_level",
    "bachelors_field",
    "occupation",
    "city",
    "state",
    "country",
    "hobbies_and_interests",
    "skills_and_expertise",
)
#: columns of Nemotron-Personas that would make a profile long and add little
_LEFT_OUT = {
    "sports_persona",
    "arts_persona",
    "travel_persona",
    "culinary_persona",
    "cultural_background",
    "career_goals_and_ambitions",
    "zipcode",
}
_LISTS = ("hobbies_and_interests", "skills_and_expertise")
#: a column this package does not know is told where its value has at most so many characters
SHORT = 200
#: rows of a parquet file that are in memory at once
_BATCH = 1024
ENDINGS = (".jsonl", ".json", ".csv", ".parquet")
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Persona:
    """One person: `fields` in order, and `text`, the profile that models are told."""

    id: str
    fields: Mapping[str, str | int]
    text: str

    def profile(self) -> dict[str, Any]:
        """The user profile of the v1 format."""
        return {"uuid": self.id, **self.fields, "formatted_str": self.text}


def find_personas(personas: str, language: str, users: int, seed: int) -> list[Persona]:
    """So many people, of the bank (`bank`, or `bank:PACK` for another pack than the language's) or of a file.

    Raises UsageError, UnknownName or DataError.
    """
    name, _, pack = personas.partition(":")
    if name == BANK:
        return _bank_people(pack or language, users, seed)
    if not personas.strip():
        raise UsageError("--personas names no file; give one, or bank")
    return read_personas(files.at_home(personas), users, seed)


def _bank_people(name: str, users: int, seed: int) -> list[Persona]:
    pack = load_pack(name)
    people: list[Persona] = []
    for number in range(users):
        own = f"person-{pack.name}-{seed}-{number:05d}"
        told = profile(pack, draw_person(pack, generator(seed, "personas", pack.name, number)), own)
        fields = told.model_dump(exclude={"uuid", "formatted_str"})
        people.append(Persona(own, fields, told.text))
    return people


def read_personas(path: Path, users: int, seed: int) -> list[Persona]:
    """So many people of a file, drawn by seed. Raises UsageError or DataError, with file, line and column."""
    try:
        parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not parts:
            raise DataError(f"{path} is a folder without parquet files; give a file, or a folder of *.parquet")
        if parts[0].suffix == ".parquet":
            places, rows = _chosen_parquet(parts, path, users, seed)
        elif path.suffix in ENDINGS:
            places, rows = _chosen(_rows(path), path, users, seed)
        else:
            raise UsageError(f"personas {path} should end in {', '.join(ENDINGS)}")
    except OSError as error:
        raise DataError(f"cannot read personas {path}: {error.strerror or error}") from error
    found = [_persona(place, row) for place, row in zip(places, rows, strict=True)]
    return _distinct(found, path)


def _distinct(people: Sequence[Persona], path: Path) -> list[Persona]:
    ids = [person.id for person in people]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise DataError(f"{path}: two of the people drawn have the id '{twice[0]}'; give each row its own")
    return list(people)


def _chosen(rows: Iterator[tuple[str, Row]], path: Path, users: int, seed: int) -> tuple[list[str], list[Row]]:
    """The places and rows with the lowest ranks; every row is read, and none but these is kept."""
    kept: list[tuple[int, int, str, Row]] = []
    count = 0
    for number, (place, row) in enumerate(rows):
        count += 1
        entry = (-_rank(seed, number), number, place, row)
        if len(kept) < users:
            heapq.heappush(kept, entry)
        elif entry[0] > kept[0][0]:
            heapq.heapreplace(kept, entry)
    _check_count(path, count, users)
    kept.sort(key=lambda entry: -entry[0])
    return [place for _, _, place, _ in kept], [row for _, _, _, row in kept]


def _rank(seed: int, number: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/persona/{number}".encode()).digest()[:8], "big")


def _check_count(path: Path, count: int, users: int) -> None:
    if count < users:
        raise DataError(f"{path} has {count} people, and {users} users are wanted; lower --users, or give more people")


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """(place, row) of a text file; the place is the file and line."""
    if path.suffix == ".jsonl":
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"{path}, line {number}", _object(line, f"{path}, line {number}")
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start})") from None
    if path.suffix == ".csv":
        yield from _csv(path, text)
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON ({error})") from None
    if not isinstance(value, list):
        raise DataError(f"{path} should hold a JSON list with an object a person")
    for number, row in enumerate(value, start=1):
        if not isinstance(row, dict):
            raise DataError(f"{path}, entry {number} is no JSON object")
        yield f"{path}, entry {number}", row


def _object(line: bytes, place: str) -> Row:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise DataError(f"{place} is not UTF-8 text") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise DataError(f"{place} is no JSON object")
    return value


def _csv(path: Path, text: str) -> Iterator[tuple[str, Row]]:
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # some spreadsheets write ; where the comma is the decimal sign
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        _check_columns(f"{path}, line 1", reader.fieldnames or ())
        for row in reader:
            place = f"{path}, line {reader.line_num}"
            if None in row:
                raise DataError(f"{place} has more fields than the {len(reader.fieldnames or [])} columns")
            yield place, row
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num} is not CSV ({error})") from None


def _chosen_parquet(parts: Sequence[Path], path: Path, users: int, seed: int) -> tuple[list[str], list[Row]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(
            f"{path}: reading parquet needs an extra: pip install 'amemgym[parquet]', or convert it to JSON lines"
        ) from None
    try:
        opened = [ParquetFile(part) for part in parts]
    except (ArrowException, ValueError) as error:
        raise DataError(f"{path} cannot be read as parquet ({' '.join(str(error).split())})") from None
    groups = [
        (file, group, file.metadata.row_group(group).num_rows)
        for file in opened
        for group in range(file.metadata.num_row_groups)
    ]
    total = sum(rows for *_, rows in groups)
    _check_count(path, total, users)
    chosen = heapq.nsmallest(users, range(total), key=lambda number: _rank(seed, number))
    found: dict[int, tuple[str, Row]] = {}
    first = 0
    try:
        for file, group, rows in groups:
            inside = {number - first for number in chosen if first <= number < first + rows}
            if inside:
                read = _rows_of(file, group, inside)
                found |= {first + at: (f"{path}, row {first + at + 1}", row) for at, row in read}
            first += rows
    except (ArrowException, ValueError, OverflowError) as error:  # a time that no calendar has overflows
        raise DataError(f"{path} cannot be read as parquet ({' '.join(str(error).split())})") from None
    return [found[number][0] for number in chosen], [found[number][1] for number in chosen]


def _rows_of(file: Any, group: int, wanted: set[int]) -> Iterator[tuple[int, Row]]:
    """(number in the group, row) of those wanted, with what a profile can use, a few rows in memory at a time."""
    columns = [name for name in file.schema_arrow.names if name not in _LEFT_OUT]
    first = 0
    for batch in file.iter_batches(batch_size=_BATCH, row_groups=[group], columns=columns):
        for number in sorted(number for number in wanted if first <= number < first + batch.num_rows):
            [row] = batch.slice(number - first, 1).to_pylist()
            yield number, row
        first += batch.num_rows


def _check_columns(place: str, columns: Sequence[Any]) -> str:
    """The column that holds the person. Raises DataError where there is none."""
    column = next((name for name in TEXT if name in columns), None)
    if column is None:
        there = ", ".join(str(name) for name in columns[:12]) or "nothing"
        raise DataError(f"{place}: there is no column '{TEXT[0]}' (or {', '.join(TEXT[1:])}); it has {there}")
    return column


def _persona(place: str, row: Row) -> Persona:
    """Raises DataError where the text is missing."""
    column = _check_columns(place, list(row))
    said = row[column]
    if not isinstance(said, str) or not said.strip():
        raise DataError(f"{place}: '{column}' should be a text that describes the person; found {_short(said)}")
    given = {_one_line(name): value for name, value in row.items() if isinstance(name, str)}
    for name in _LISTS:  # Nemotron-Personas has each as a list too, which is shorter
        if text := _text(given.pop(f"{name}_list", None)):
            given[name] = text
    fields: dict[str, str | int] = {}
    named = {_SAME.get(name, name): name for name in given if name not in (*TEXT, *ID) and name not in _LEFT_OUT}
    for field in [*FIRST, *(name for name in named if name not in FIRST)]:
        value = _text(given.get(named.get(field, field)))
        if value and (field in FIRST or field.endswith("_persona") or len(value) <= SHORT):
            fields[field] = int(value) if field == "age" and value.isdecimal() and len(value) < 4 else value
    fields["description"] = _one_line(said)
    own = next((text for name in ID if (text := _text(row.get(name)))), None)
    digest = files.sha256(files.canonical_json(fields).encode("utf-8", "surrogatepass"))
    text = "\n".join(f"{name}: {value}" for name, value in fields.items())
    return Persona(own or f"user-{digest[:16]}", fields, text)


def _text(value: Any) -> str:
    """A cell as one line of text, also a list of such; nothing for what is empty or of another kind."""
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, str) and value.startswith("['") and value.endswith("']"):
        value = value[2:-2].split("', '")  # a list that was written as text
    if isinstance(value, list | tuple):
        return ", ".join(text for entry in value if not isinstance(entry, list | tuple) and (text := _text(entry)))
    return _one_line(str(value)) if isinstance(value, str | int | float) else ""


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"
