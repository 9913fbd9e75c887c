"""Personas from files: what a row becomes, which rows are drawn, and how each fault of a file is told."""

from __future__ import annotations

import builtins
import csv
import json
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import AMemGymError, DataError, UnknownName, UsageError
from amemgym.generate.personas import Persona, find_personas, read_personas
from tests.generate.helpers import jsonl

#: the columns of Nemotron-Personas, with words of our own
NEMOTRON = {
    "uuid": "0f2c",
    "professional_persona": "Ada Quist runs a small bakery and counts every gram.",
    "sports_persona": "Ada swims.",
    "arts_persona": "Ada paints.",
    "travel_persona": "Ada stays at home.",
    "culinary_persona": "Ada bakes.",
    "persona": "A baker who\nplans ahead",
    "cultural_background": "Grew up at the coast.",
    "skills_and_expertise": "She knows all about dough, and more.",
    "skills_and_expertise_list": "['dough', 'book-keeping']",
    "hobbies_and_interests": "She likes to paint.",
    "hobbies_and_interests_list": ["painting", "chess"],
    "career_goals_and_ambitions": "A second shop.",
    "sex": "Female",
    "age": 41,
    "marital_status": "married",
    "education_level": "high_school",
    "bachelors_field": None,
    "occupation": "baker",
    "city": "Hull",
    "state": "ME",
    "zipcode": "04032",
    "country": "USA",
}


def rows(count: int) -> list[dict[str, Any]]:
    return [{"id": f"u{n}", "persona": f"Person {n}", "name": f"N{n}", "age": 20 + n} for n in range(count)]


def as_file(path: Path, people: list[dict[str, Any]]) -> Path:
    """The people in the format of the path's ending."""
    if path.suffix == ".jsonl":
        return jsonl(path, people)
    if path.suffix == ".json":
        path.write_text(json.dumps(people), encoding="utf-8")
    elif path.suffix == ".csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(people[0]))
            writer.writeheader()
            writer.writerows(people)
    else:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(people), path, row_group_size=3)
    return path


ENDINGS = ["jsonl", "json", "csv", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_format_gives_the_same_people(ending: str, tmp_path: Path) -> None:
    found = read_personas(as_file(tmp_path / f"people.{ending}", rows(10)), 4, seed=3)
    assert found == read_personas(jsonl(tmp_path / "same.jsonl", rows(10)), 4, seed=3)
    one = found[0]
    number = int(one.id[1:])
    assert one.fields == {"name": f"N{number}", "age": 20 + number, "description": f"Person {number}"}
    assert one.text == f"name: N{number}\nage: {20 + number}\ndescription: Person {number}"
    assert one.profile() == {"uuid": one.id, **one.fields, "formatted_str": one.text}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_which_people_are_drawn_depends_on_the_seed_and_more_users_keep_the_first(ending: str, tmp_path: Path) -> None:
    path = as_file(tmp_path / f"people.{ending}", rows(30))
    drawn = {seed: [person.id for person in read_personas(path, 6, seed)] for seed in range(4)}
    assert len({tuple(ids) for ids in drawn.values()}) == 4
    assert [person.id for person in read_personas(path, 12, 0)][:6] == drawn[0]
    assert len({person.id for person in read_personas(path, 30, 0)}) == 30


def test_a_row_of_nemotron_personas_becomes_a_profile_of_its_main_columns(tmp_path: Path) -> None:
    [person] = read_personas(jsonl(tmp_path / "n.jsonl", [NEMOTRON]), 1, 0)
    assert person.id == "0f2c"
    assert person.fields == {
        "age": 41,
        "gender": "Female",
        "marital_status": "married",
        "education_level": "high_school",
        "occupation": "baker",
        "city": "Hull",
        "state": "ME",
        "country": "USA",
        "hobbies_and_interests": "painting, chess",
        "skills_and_expertise": "dough, book-keeping",
        "professional_persona": "Ada Quist runs a small bakery and counts every gram.",
        "description": "A baker who plans ahead",
    }


def test_a_folder_of_parquet_files_is_one_file_and_only_groups_with_a_chosen_row_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyarrow.parquet import ParquetFile

    folder = tmp_path / "data"
    folder.mkdir()
    as_file(folder / "train-0.parquet", rows(30)[:15])
    as_file(folder / "train-1.parquet", rows(30)[15:])
    read: list[int] = []
    whole = ParquetFile.iter_batches

    def iter_batches(self: Any, row_groups: list[int], **more: Any) -> Any:
        read.extend(row_groups)
        return whole(self, row_groups=row_groups, **more)

    monkeypatch.setattr(ParquetFile, "iter_batches", iter_batches)
    monkeypatch.setattr("amemgym.generate.personas._BATCH", 2)
    assert read_personas(folder, 2, 0) == read_personas(jsonl(tmp_path / "p.jsonl", rows(30)), 2, 0)
    assert 1 <= len(read) <= 2  # of ten


def test_without_an_id_a_person_is_called_by_a_hash_of_what_is_known(tmp_path: Path) -> None:
    people = [{"description": "Likes tea"}, {"description": "Likes coffee"}]
    found = read_personas(jsonl(tmp_path / "p.jsonl", people), 2, 0)
    assert len({person.id for person in found}) == 2
    assert all(person.id.startswith("user-") for person in found)


def test_other_columns_are_told_where_they_are_short(tmp_path: Path) -> None:
    row = {"profile": "Likes tea", "pets": "two dogs", "notes": "x" * 500, "score": float("nan"), "nested": {"a": 1}}
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(row) + "\n\n", encoding="utf-8")
    [person] = read_personas(path, 1, 0)
    assert person.fields == {"pets": "two dogs", "description": "Likes tea"}


HOSTILE: dict[str, tuple[str, dict[str, str | int]]] = {
    "an age of many digits": ('"age": "%s"' % ("9" * 5000), {"age": "9" * 5000}),
    "lists in lists": ('"x": %s' % ("[" * 900 + "]" * 900), {}),
    "a name of two lines": (r'"na\nme": "x"', {"na me": "x"}),
    "half a character as a name": (r'"\ud800": "x"', {"?": "x"}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_strange_cell_is_text_or_left_out(name: str, tmp_path: Path) -> None:
    cell, fields = HOSTILE[name]
    (tmp_path / "p.jsonl").write_text(f'{{"persona": "a", {cell}}}\n', encoding="utf-8")
    [person] = read_personas(tmp_path / "p.jsonl", 1, 0)
    assert person.fields == {**fields, "description": "a"}
    assert len(person.text.splitlines()) == len(person.fields) and person.text.encode("utf-8")


def test_a_time_that_no_calendar_has_is_said_of_a_parquet_file(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"persona": ["a"], "born": pyarrow.array([2**62], pyarrow.timestamp("us"))})
    pyarrow.parquet.write_table(table, tmp_path / "p.parquet")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        read_personas(tmp_path / "p.parquet", 1, 0)


def test_people_of_the_bank_are_drawn_by_seed_in_the_language_asked_for() -> None:
    people = find_personas("bank", "en", 3, 7)
    assert people == find_personas("bank", "en", 5, 7)[:3] == find_personas("bank:en", "zh", 3, 7)
    assert people != find_personas("bank", "en", 3, 8)
    assert all(isinstance(person, Persona) and person.fields["name"] in person.text for person in people)
    with pytest.raises(UnknownName, match="language pack"):
        find_personas("bank:xx", "en", 1, 0)


BROKEN: dict[str, tuple[str, str, str]] = {
    "no column": (
        "p.jsonl",
        '{"name": "Ada", "age": 4}\n',
        r"p\.jsonl, line 1: there is no column 'persona' .*has name, age",
    ),
    "no column in a table": ("p.csv", "name,age\nAda,4\n", r"p\.csv, line 1: there is no column 'persona'.*name, age"),
    "an empty text": ("p.jsonl", '{"persona": " "}\n', r"line 1: 'persona' should be a text .*found ' '"),
    "a number": ("p.jsonl", '{"persona": 7}\n', "line 1: 'persona' should be a text .*found 7"),
    "a broken line": ("p.jsonl", '{"persona": "a"}\n\n{"persona": \n', r"p\.jsonl, line 3 is not JSON"),
    "a line that is no object": ("p.jsonl", '{"persona": "a"}\n["b"]\n', r"line 2 is no JSON object"),
    "no list": ("p.json", '{"persona": "a"}', "should hold a JSON list"),
    "no json": ("p.json", "[", r"p\.json is not JSON"),
    "an entry that is no object": ("p.json", '[{"persona": "a"}, 3]', "entry 2 is no JSON object"),
    "too many fields": ("p.csv", "persona\na,b\n", r"line 2 has more fields than the 1 columns"),
    "an open quotation mark": ("p.csv", 'persona\n"a\n', r"p\.csv, line \d is not CSV"),
    "too few": ("p.jsonl", "", "has 0 people, and 1 users are wanted"),
    "another ending": ("p.txt", "x", "should end in .jsonl, .json, .csv, .parquet"),
    "no parquet": ("p.parquet", "x", "cannot be read as parquet"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_sentence_with_file_and_line(name: str, tmp_path: Path) -> None:
    file, text, said = BROKEN[name]
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(AMemGymError, match=said) as error:
        read_personas(tmp_path / file, 1, 0)
    assert "\n" not in str(error.value) and str(tmp_path / file) in str(error.value)


def test_bytes_that_are_no_text_are_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(b'{"persona": "a"}\n{"persona": "\xff"}\n')
    with pytest.raises(DataError, match="line 2 is not UTF-8"):
        read_personas(tmp_path / "p.jsonl", 1, 0)
    (tmp_path / "p.csv").write_bytes(b"persona\n\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        read_personas(tmp_path / "p.csv", 1, 0)


def test_one_id_twice_is_refused(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "p.jsonl", [{"id": "a", "persona": "x"}, {"id": "a", "persona": "y"}])
    with pytest.raises(DataError, match="have the id 'a'"):
        read_personas(path, 2, 0)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read personas .*none\.jsonl: No such file"):
        read_personas(tmp_path / "none.jsonl", 1, 0)
    with pytest.raises(DataError, match="folder without parquet files"):
        read_personas(tmp_path, 1, 0)
    with pytest.raises(UsageError, match="names no file"):
        find_personas(" ", "en", 1, 0)


def test_without_the_extra_parquet_is_refused_with_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = as_file(tmp_path / "p.parquet", rows(2))
    import_ = builtins.__import__

    def missing(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return import_(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(DataError, match=r"pip install 'amemgym\[parquet\]'"):
        read_personas(path, 1, 0)
