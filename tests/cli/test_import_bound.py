"""The upper bound's file beside imported results: refused where nothing of it can be used, since it was asked for by
name; else what is odd about it is named and left out."""

from __future__ import annotations

from pathlib import Path

import pytest

import amemgym
from amemgym.errors import DataError
from tests.cli.data import users
from tests.cli.helpers import contents, inside, sentence, strict_json
from tests.cli.importing import imported
from tests.support.v1_results import put, upper_bound, write_results


@pytest.fixture(autouse=True)
def _results(tmp_path: Path) -> None:
    for user in users():
        write_results(tmp_path / "results/native", user)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (b"[", "is not JSON"),
        (b"[]", "is not in the original's form"),
        (b'{"order": ["Ann-1"], "results": []}', "is not in the original's form"),
        (b'{"order": [], "results": []}', "user Ann-1: missing"),
        (b'{"order": ["Eve"], "results": [[]]}', "user Eve: no user of data 'small'; left out"),
        (b'{"order": ["Ann-1"], "results": [null]}', "user Ann-1: is null, not a list of questions"),
    ],
)
def test_an_upper_bound_that_cannot_be_used(content: bytes | None, why: str, small: Path) -> None:
    if content is not None:
        Path("bound.json").write_bytes(content)
    told = sentence(inside("import", "results", "--data", small, "--upper-bound", "bound.json"), 2)
    assert "upper bound bound.json" in told and why in told
    assert not Path("runs").exists()


def test_an_upper_bound_with_holes(small: Path) -> None:
    value = upper_bound(users())
    first, second = value["results"]
    first[0][0]["raw_response"] = None
    first[1][0] = None
    first[2][1] = first[2][0]
    del second[2]
    second[0][1]["answer_state"] = ["moon"]
    second[1] = "none"
    put(Path("bound.json"), value)
    remarks, native = imported(small, "--upper-bound", "bound.json")
    place = "bound.json, user"
    assert remarks == [
        f"{place} Ann-1, question 0: variant 0: no reply (raw_response is null); left out",
        f"{place} Ann-1, question 1: variant 0: is null, not an object; left out",
        f"{place} Ann-1, question 2: variant 1: the same variant again; left out",
        f"{place} Ben-1: 2 questions where the data has 3",
        f"{place} Ben-1, question 0: variant 1: answer_state ['moon'] is no option's in the data; left out",
        f"{place} Ben-1, question 1: variant 0: is a text, not an object; left out",
    ]
    # of Ann's exams, questions 1 (when fish) and 2 (when vegan), of Ben's question 0 have a bound
    assert (native["n"], native["memory_score"]["n"]) == (12, 4)


def test_an_upper_bound_of_some_users(small: Path) -> None:
    put(Path("bound.json"), upper_bound(users()[:1]))
    remarks, native = imported(small, "--upper-bound", "bound.json")
    assert remarks == ["bound.json, user Ben-1: missing; no upper bound for this user"]
    assert native["memory_score"]["n"] == 6
    assert strict_json(Path("run/scores.json"))["finished"] is True  # nothing more will come
    assert native["n"] == 12  # the other half has no bound, and is in no memory score


def test_another_upper_bound_is_another_import(small: Path) -> None:
    value = upper_bound(users())
    put(Path("bound.json"), value)
    imported(small, "--upper-bound", "bound.json")
    before = contents(Path("run"))
    value["results"][0][0][0]["raw_response"] = '{"answer": 2}'
    put(Path("bound.json"), value)
    command = ["import", "results", "--data", small, "--out", "run", "--upper-bound", "bound.json"]
    assert "imported.upper_bound is" in sentence(inside(*command), 2)
    assert contents(Path("run")) == before


def test_a_path_from_the_home_folder(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    bound = put(tmp_path / "home/ub.json", upper_bound(users()))
    report = amemgym.import_run("results", small, upper_bound="~/ub.json", out="run")
    assert report.scores["upper_bound"] == 1.0
    assert strict_json(Path("run/manifest.json"))["settings"]["upper_bound_file"] == str(bound)
    with pytest.raises(DataError, match="cannot read the upper bound ~nobody-at-all/ub"):
        amemgym.import_run("results", small, upper_bound="~nobody-at-all/ub.json", out="run")
