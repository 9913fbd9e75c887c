"""A pack is read whole or not at all; every fault is named with its file, variable and value."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from amemgym.errors import DataError, UnknownName
from amemgym.generate import load_pack, pack_names
from amemgym.generate.bank.pack import LEVELS, slots
from tests.generate.bank.packs import DOMAINS, write_pack

Files = dict[str, dict[str, Any]]


def test_what_ships_is_whole() -> None:
    """English in at least 40 domains of two or three variables, Chinese in at least 8."""
    packs = {name: load_pack(name) for name in pack_names()}
    assert len(packs["en"].domains) >= 40
    assert len(packs["zh"].domains) >= 8
    for pack in packs.values():
        for domain in pack.domains.values():
            assert all(2 <= len(domain.variables) <= 3 for _ in domain.variables)
            for variable in domain.variables.values():
                assert 3 <= len(variable.values) <= 4


def test_people_are_many() -> None:
    """At least 200 different people, by any two of their traits alone."""
    people = load_pack("en").people
    towns = sum(len(place.spots) for place in people.places)
    assert len(people.names) * towns * len(people.habits) > 200


@pytest.mark.parametrize("name", ["en", "zh"])
def test_no_line_stands_for_two_values(name: str) -> None:
    """What tells one value of a variable tells no other, word for word; and so the answers."""
    for domain in load_pack(name).domains.values():
        for variable in domain.variables.values():
            for kind in (*LEVELS, "answers", "events", "others"):
                lines = [line for value in variable.values.values() for line in getattr(value, kind)]
                assert len(set(lines)) == len(lines)


def test_a_pack_is_only_files(tmp_path: Path) -> None:
    pack = load_pack(str(write_pack(tmp_path / "mine")))
    assert pack.name == "mine"
    assert tuple(pack.domains) == DOMAINS


def test_the_hash_is_that_of_the_files(tmp_path: Path) -> None:
    one = load_pack(str(write_pack(tmp_path / "a" / "p"))).sha256
    same = load_pack(str(write_pack(tmp_path / "b" / "p"))).sha256
    other = load_pack(str(write_pack(tmp_path / "c" / "p", lambda f: f["boats"].update(title="ships")))).sha256
    assert one == same != other


def _value(files: Files) -> dict[str, Any]:
    found: dict[str, Any] = files["boats"]["variables"]["size"]["values"]["two"]
    return found


FAULTS = {
    "missing fragment": (lambda f: _value(f).pop("subtle"), "variable 'size', value 'two', 'subtle' is missing"),
    "too few": (
        lambda f: _value(f).update(explicit=["a.", "b."]),
        "variable 'size', value 'two', explicit: list should",
    ),
    "no text": (
        lambda f: _value(f)["events"].__setitem__(0, ""),
        "value 'two', events, 0: string should have at least 1",
    ),
    "a number": (
        lambda f: _value(f)["events"].__setitem__(0, 7),
        "value 'two', events, 0: input should be a valid string",
    ),
    "two lines": (
        lambda f: _value(f)["implicit"].__setitem__(0, "a\nb"),
        "value 'two', implicit, 0: string should match",
    ),
    "unknown slot": (
        lambda f: _value(f)["subtle"].append("In {town}."),
        "value 'two', subtle: 'In {town}.' uses {town}",
    ),
    "slot in an answer": (
        lambda f: _value(f)["answers"].__setitem__(0, "Advice 0 for {city} boats size."),
        "uses {city}; known there: none",
    ),
    "half a brace": (lambda f: _value(f)["subtle"].append("In {city."), "value 'two', subtle: 'In {city.'"),
    "twice": (lambda f: _value(f)["explicit"].append("explicit 0 boats size two."), "is there 2 times"),
    "nobody": (lambda f: _value(f).update(others=["Somebody."]), "does not say who it is about"),
    "more answers": (
        lambda f: _value(f)["answers"].append("One more."),
        "answers must be as many for every value (one has 2, two has 3",
    ),
    "a long answer": (
        lambda f: _value(f)["answers"].__setitem__(1, "long " * 20),
        "variable 'size', answers 1: too unlike in length",
    ),
    "the same answer": (
        lambda f: _value(f)["answers"].__setitem__(1, "Advice 1 for boats size one."),
        "answers 1: two values have the same answer",
    ),
    "two values": (
        lambda f: f["boats"]["variables"]["size"]["values"].pop("two"),
        "variable 'size', values: dictionary should have at least 3",
    ),
    "unknown field": (lambda f: f["boats"].update(qestions=[]), "qestions: extra inputs are not permitted"),
    "an odd name": (
        lambda f: f["boats"]["variables"].update({"Big Size": f["boats"]["variables"].pop("size")}),
        "'Big Size'",
    ),
    "unknown domain": (lambda f: f["boats"].update(not_with=["ships"]), "not_with: there is no domain 'ships'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    edit, said = FAULTS[name]
    with pytest.raises(DataError) as error:
        load_pack(str(write_pack(tmp_path / "mine", edit)))
    assert str(error.value).startswith(str(tmp_path / "mine" / "domains" / "boats.yaml"))
    assert said.lower() in str(error.value).lower()


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda f: f["pack"]["leads"].pop("corrected"), "pack.yaml: leads, 'corrected' is missing"),
        (lambda f: f["pack"].update(sketch="{name} of {planet}"), "sketch: '{name} of {planet}' uses {planet}"),
        (lambda f: f["pack"]["relatives"].append("{uncle}"), "relatives: '{uncle}' uses {uncle}"),
        (lambda f: f["pack"]["profile"].update(shoes="shoes"), "profile, shoes"),
        (lambda f: f["people"].pop("names"), "people.yaml: 'names' is missing"),
        (lambda f: f["people"]["places"][0].pop("spots"), "people.yaml: places, 0, 'spots' is missing"),
    ],
)
def test_a_fault_of_the_pack_itself(edit: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        load_pack(str(write_pack(tmp_path / "mine", edit)))
    assert said in str(error.value)


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"a: [", b"- 1", b"", b"a: &x [*x]"])
def test_a_file_that_is_no_domain(raw: bytes, tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine")
    (folder / "domains" / "boats.yaml").write_bytes(raw)
    with pytest.raises(DataError, match=r"boats\.yaml"):
        load_pack(str(folder))


def test_missing_files(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine")
    (folder / "people.yaml").unlink()
    with pytest.raises(DataError, match=r"there is no .*people\.yaml"):
        load_pack(str(folder))
    with pytest.raises(UnknownName, match="unknown language pack 'nowhere'"):
        load_pack("nowhere")
    empty = write_pack(tmp_path / "empty")
    for path in (empty / "domains").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="holds no domain"):
        load_pack(str(empty))


def test_slots() -> None:
    assert slots("{Other} of {city}, {{not}} that") == {"Other", "city"}


@pytest.mark.parametrize(("edit", "code"), [(None, 0), (lambda f: f["boats"].pop("chats"), 2)])
def test_the_check_for_those_who_write_packs(edit: Any, code: int, tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine", edit)
    command = [sys.executable, "-m", "amemgym.generate.bank.check", str(folder)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == code
    assert ("mine: 4 domains" if code == 0 else "'chats' is missing") in done.stdout
    assert "Traceback" not in done.stderr


def test_every_faulty_file_is_named(tmp_path: Path) -> None:
    def edit(files: Files) -> None:
        files["boats"].pop("title")
        files["drums"]["chats"] = []

    with pytest.raises(DataError) as error:
        load_pack(str(write_pack(tmp_path / "mine", edit)))
    assert "boats.yaml: 'title' is missing" in str(error.value) and "drums.yaml: chats" in str(error.value)


def test_a_file_that_is_passed_over_is_named(tmp_path: Path) -> None:
    folder = write_pack(tmp_path / "mine")
    (folder / "domains" / "boats.yaml").rename(folder / "domains" / "boats.yml")
    with pytest.raises(DataError, match=r"boats\.yml is no domain; the name of one ends in \.yaml"):
        load_pack(str(folder))
