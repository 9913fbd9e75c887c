"""The v1 format: what is read is written again, field for field and in order; its hash; its times; files that are bad.

Fields this package does not know are kept at every level, users may differ in every length, and a file that holds no
list of users is refused in one sentence that names it.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym import files
from amemgym.errors import DataError, StorageError
from amemgym.scenario import Dataset, Period, UserProfile, load_dataset, parse_dataset, read_dataset, save_dataset
from amemgym.scenario.model import parse_time
from tests.scenario.build import JSON_VALUES, as_bytes, edited, objects_by_level, put, small_user, valid_users
from tests.support.shared import shared

BASE = "data/amemgym-v1.base/data.json"
RECORDED = "data/recorded/scenarios.json"


def in_order(value: Any) -> str:
    """A JSON value as a text that tells orders, 1 from 1.0 and 1 from true."""
    return json.dumps(value)


def written(dataset: Dataset) -> Any:
    """What `save_dataset` makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved.json")
        save_dataset(dataset.scenarios, path)
        return json.loads(path.read_text(encoding="utf-8"))


def read_well(raw: bytes) -> Dataset:
    dataset, faults = parse_dataset(raw, name="test")
    assert faults == []
    return dataset


# --- reading and writing ---


@pytest.mark.parametrize("name", [BASE, RECORDED])
def test_a_published_file_is_written_as_it_was_read(name: str) -> None:
    path = shared(name)
    dataset, _ = read_dataset(path, "published")
    assert in_order(written(dataset)) == in_order(json.loads(path.read_text(encoding="utf-8")))


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    starter = load_dataset("starter")
    save_dataset(starter.scenarios, tmp_path / "again.json")
    again = load_dataset(tmp_path / "again.json")
    assert again.scenarios == starter.scenarios
    assert again.sha256 == hashlib.sha256((tmp_path / "again.json").read_bytes()).hexdigest()


#: names of fields, among them those that the classes themselves use
OWN = ("text", "time", "end", "gold", "limited", "model_extra", "_order", "_index_of_variant", "__class__", "__dict__")
FIELDS = st.text(max_size=8) | st.sampled_from(OWN)
KNOWN = {field for objects in objects_by_level(small_user()).values() for entry in objects for field in entry}
EXTRAS = st.dictionaries(FIELDS.filter(lambda name: name not in KNOWN), JSON_VALUES, max_size=2)


def shuffled(value: Any, random: Random) -> Any:
    """The same JSON with the fields of every object in some other order."""
    if isinstance(value, list):
        return [shuffled(item, random) for item in value]
    if isinstance(value, dict):
        return {key: shuffled(value[key], random) for key in random.sample(list(value), len(value))}
    return value


@settings(deadline=None, max_examples=25)
@given(st.fixed_dictionaries({level: EXTRAS for level in objects_by_level(small_user())}), st.integers())
def test_unknown_fields_and_any_order_survive(extras: dict[str, dict[str, Any]], seed: int) -> None:
    user = small_user()
    for level, objects in objects_by_level(user).items():
        for entry in objects:
            entry.update(extras[level])
    user = shuffled(user, Random(seed))
    dataset = read_well(as_bytes(user))
    assert dataset.scenarios[0].gold(3, 0) == 2  # what is derived must not be written
    assert in_order(written(dataset)) == in_order([user])


@settings(deadline=None, max_examples=15)
@given(st.tuples(valid_users("ada"), valid_users("bob")))
def test_users_of_any_lengths_go_together(users: tuple[Any, Any]) -> None:
    dataset = read_well(as_bytes(*users))
    assert [len(user.periods) for user in dataset] == [len(user["periods"]) for user in users]
    assert in_order(written(dataset)) == in_order(users)


def test_optional_fields_that_are_absent_stay_absent() -> None:
    user = small_user()
    del user["start_time"]
    for period in user["periods"]:
        for field in ("period_start", "period_summary", "update_cnts"):
            del period[field]
        for session in period["sessions"]:
            del session["event"], session["messages"]
    for change in user["periods"][0]["updates"].values():
        del change["old"]
    for question in user["qas"]:
        for option in question["answer_choices"]:
            del option["type"]
    user["user_profile"] = {}
    assert in_order(written(read_well(as_bytes(user)))) == in_order([user])


def test_the_first_periods_of_a_user_are_written_alone() -> None:
    user = small_user()
    kept = read_well(as_bytes(user)).limited(periods=2)
    assert in_order(written(kept)) == in_order([user | {"periods": user["periods"][:2]}])


def test_letters_of_every_script_are_written_as_themselves(tmp_path: Path) -> None:
    user = edited(put("user_profile.name", "Žofie 李娜 🌿"), put("id", "é"))
    path = tmp_path / "new" / "folder" / "data.json"
    save_dataset(read_well(as_bytes(user)).scenarios, path)
    raw = path.read_bytes()
    assert "Žofie 李娜 🌿".encode() in raw
    assert raw.endswith(b"]\n")
    assert [entry.name for entry in path.parent.iterdir()] == ["data.json"]


def test_a_refused_write_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("I am no folder", encoding="utf-8")
    with pytest.raises(StorageError, match=r"cannot write .*data\.json: "):
        save_dataset(read_well(as_bytes(small_user())).scenarios, tmp_path / "file" / "data.json")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "I am no folder"


@pytest.mark.parametrize("place", ["hobby", "periods.0.sessions.0.query", "user_profile.name"])
def test_half_a_character_is_refused_or_kept(place: str, tmp_path: Path) -> None:
    """JSON can hold one half of a surrogate pair, UTF-8 can not: no run may die of it later."""
    user = edited(put(place, "\ud83d"))
    try:
        dataset, faults = parse_dataset(json.dumps([user]).encode("ascii"), name="test")
    except DataError as error:
        assert "\n" not in str(error)
        return
    if any(fault.is_error for fault in faults):
        return
    save_dataset(dataset.scenarios, tmp_path / "data.json")
    assert in_order(json.loads((tmp_path / "data.json").read_text(encoding="utf-8"))) == in_order([user])


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises((UnicodeError, StorageError)):
        files.write_atomically(path, "half of it is fine, half is not: \ud83d")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.json"]


# --- the hash ---


def test_the_hash_is_that_of_the_file_whatever_part_is_used(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf " + as_bytes(small_user("ada"), small_user("bob"))  # a mark of order and white space count
    path = tmp_path / "two.json"
    path.write_bytes(raw)
    whole = load_dataset(path)
    assert whole.sha256 == hashlib.sha256(raw).hexdigest()
    assert whole.limited(users=1, periods=1).sha256 == whole.sha256


# --- what is known of the published data (SPEC section 4) ---


@pytest.fixture(scope="module")
def base() -> Dataset:
    return load_dataset(shared(BASE))


def test_the_published_file_is_the_one_the_numbers_are_of(base: Dataset) -> None:
    assert base.sha256 == "a63f731508a60104bc27676926134ac4d889fb143141fb4634176f0905fb659a"
    assert base.name == "amemgym-v1.base"


def test_the_published_counts(base: Dataset) -> None:
    assert len(base) == len(base.scenarios) == 20
    assert {len(user.periods) for user in base} == {11}
    assert sum(len(user.qas) for user in base) == 200
    assert sum(len(period.sessions) for user in base for period in user.periods) == 943
    assert sum(len(user.state_schema) for user in base) == 398
    questions = [question for user in base for question in user.qas]
    assert Counter(len(question.answer_choices) for question in questions) == {4: 132, 5: 56, 6: 10, 7: 2}
    kinds = Counter(option.type for question in questions for option in question.answer_choices)
    assert kinds == {"experience": 831, "random": 51}


def test_the_published_sessions_expose_the_updates(base: Dataset) -> None:
    for user in base:
        for period in user.periods:
            exposed = {name for session in period.sessions for name in session.exposed_states}
            assert exposed == set(period.updates)


def test_recorded_users_have_different_lengths() -> None:
    recorded = load_dataset(shared(RECORDED))
    assert [len(user.periods) for user in recorded] == [11, 21]


# --- times ---


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2020-10-01", datetime(2020, 10, 1)),
        ("2020-09-22 20:15:06", datetime(2020, 9, 22, 20, 15, 6)),
        ("2020-09-22T20:15:06", datetime(2020, 9, 22, 20, 15, 6)),
        ("2020-09-22 20:15", datetime(2020, 9, 22, 20, 15)),
        ("2020-09-22 20:15:06.5", datetime(2020, 9, 22, 20, 15, 6, 500000)),
        ("2020-09-22T20:15:06Z", datetime(2020, 9, 22, 20, 15, 6)),
        ("2020-09-22 20:15:06+02:00", datetime(2020, 9, 22, 20, 15, 6)),
        ("2024-02-29", datetime(2024, 2, 29)),
    ],
)
def test_a_time(text: str, time: datetime) -> None:
    parsed = parse_time(text)
    assert (parsed, parsed.tzinfo) == (time, None)
    user = edited(put("periods.3.period_end", text) if time.year > 2023 else put("start_time", text))
    assert in_order(written(read_well(as_bytes(user)))) == in_order([user])  # and it is kept as it was written


@pytest.mark.parametrize(
    "text", ["", "soon", "2021-02-29", "2020-13-01", "2020-09-22 25:00:00", "22.09.2020", "1600000000"]
)
def test_no_time(text: str) -> None:
    with pytest.raises(ValueError):
        parse_time(text)
    _, faults = parse_dataset(as_bytes(edited(put("periods.1.sessions.0.session_time", text))), name="test")
    assert [fault.place for fault in faults] == ["period 1, session 0"]
    assert f"'{text}' is no time; write it like 2020-09-22 20:15:06" in faults[0].message


def test_an_exam_comes_after_its_period_and_all_its_sessions() -> None:
    def period(end: str, *times: str) -> Period:
        sessions = [{"query": "Hello.", "session_time": time} for time in times]
        return Period.model_validate({"period_end": end, "sessions": sessions, "state": {}})

    assert period("2020-10-01").end == datetime(2020, 10, 1)
    assert period("2020-10-01", "2020-09-22 20:15:06").end == datetime(2020, 10, 1)
    late = period("2020-10-01", "2020-09-22 20:15:06", "2020-10-01 19:08:40")
    assert late.end == late.sessions[1].time == datetime(2020, 10, 1, 19, 8, 40)


# --- the profile ---


def test_the_profile_as_text() -> None:
    told = UserProfile.model_validate({"name": "Ada", "age": 36, "formatted_str": "Ada, who is 36."})
    assert told.text == "Ada, who is 36."
    listed = UserProfile.model_validate({"age": 36, "name": "Ada", "pets": ["cat"]})
    assert listed.text == "age: 36\nname: Ada\npets: ['cat']"
    assert UserProfile.model_validate({"age": 36, "formatted_str": ""}).text == "age: 36"


# --- bad files ---

DEEP = b"[" * 100_000 + b"]" * 100_000
BAD_FILES = {
    "empty": (b"", "is empty; it should hold a JSON list of users in the v1 format"),
    "blank": (b" \n\t\n", "is empty"),
    "only a mark of order": (b"\xef\xbb\xbf", "; it should hold a JSON list of users"),
    "python": (b"[{'id': 'ada'}]", "is not JSON"),
    "prose": (b"Dear reader,", "is not JSON"),
    "cut short": (as_bytes(small_user())[:-30], "is not JSON"),
    "one user a line": (as_bytes(small_user())[1:-1] + b"\n" + as_bytes(small_user())[1:-1], "is not JSON"),
    "one user, no list": (as_bytes(small_user())[1:-1], "holds a JSON object; it should hold a JSON list"),
    "object": (b'{"users": []}', "holds a JSON object"),
    "string": (b'"users"', "holds a JSON string"),
    "number": (b"7", "holds a JSON number"),
    "fraction": (b"7.5", "holds a JSON number"),
    "boolean": (b"true", "holds a JSON boolean"),
    "null": (b"null", "holds a JSON null"),
    "no users": (b"[]", "holds no users"),
    "latin-1": (as_bytes(edited(put("id", "Zoë"))).decode("utf-8").encode("latin-1"), "is not UTF-8 text (byte "),
    "utf-16": (as_bytes(small_user()).decode("utf-8").encode("utf-16"), "is not UTF-8 text (byte 0)"),
    "zipped": (b"\x1f\x8b\x08\x00\x00", "is not UTF-8 text (byte 1)"),
    "NaN": (as_bytes(edited(put("height", float("nan")))), "NaN is no JSON value"),
    "Infinity": (as_bytes(edited(put("user_profile.height", float("inf")))), "Infinity is no JSON value"),
    "-Infinity": (as_bytes(edited(put("qas.0.x", float("-inf")))), "-Infinity is no JSON value"),
    "a number too large": (as_bytes(edited(put("height", "x"))).replace(b'"x"', b"1e999"), "1e999"),
    "a number too long": (as_bytes(edited(put("height", "x"))).replace(b'"x"', b"9" * 5000), "; it should hold"),
    "deeply nested": (DEEP, "is not JSON"),
    "deeply nested in a user": (as_bytes(edited(put("height", "x"))).replace(b'"x"', DEEP), "is not JSON"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_one_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    raw, fragment = BAD_FILES[name]
    path = tmp_path / "bad.json"
    path.write_bytes(raw)
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(str(path))
    assert fragment in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("depth", [50, 400, 800])
def test_nesting_that_is_read_can_be_written(depth: int) -> None:
    """However deep an unknown field goes: refused with a reason, or kept."""
    raw = as_bytes(edited(put("notes", "x"))).replace(b'"x"', b"[" * depth + b"]" * depth)
    try:
        dataset = read_well(raw)
    except DataError as error:
        assert "nested" in str(error) or "recursion" in str(error)
        return
    assert in_order(written(dataset)) == in_order(json.loads(raw))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no data file at .*gone\.json"):
        read_dataset(tmp_path / "gone.json", "gone")
    with pytest.raises(DataError, match=r"cannot read .*: Is a directory"):
        read_dataset(tmp_path, "folder")
