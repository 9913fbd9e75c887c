"""One row an exam: what stands in it, and that CSV and Parquet give it back as it was."""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym import api, secrets
from amemgym.errors import UsageError
from amemgym.evaluate import EpisodeResult, ExamResult, ProbeResult, RunDirectory
from amemgym.report.rows import COLUMNS, Row, episode_rows, guarded, rows, write_csv, write_parquet
from amemgym.scenario import Scenario
from tests.report.inverse import unguarded
from tests.scenario.build import small_user

SCENARIO = Scenario.model_validate(small_user())


def exam(period: int, question: int, order: Sequence[int], option: int | None, **fields: Any) -> ExamResult:
    gold = order.index(SCENARIO.gold(period, question)) + 1
    fields = {"status": "ok", "correct": option == gold} | fields
    return ExamResult(period, question, tuple(order), gold, SCENARIO.variant(period, question), option, **fields)


def episode(*exams: ExamResult, probes: Sequence[ProbeResult] = (), agent: str = "rag") -> EpisodeResult:
    return EpisodeResult(agent, 2, SCENARIO.id, 1, exams, tuple(probes))


def test_a_wrong_answer() -> None:
    wrong = exam(1, 0, (2, 0, 1, 3), 2, items=(4, 5), dropped=3, reply="2, said she")
    probe = ProbeResult(1, 0, {"home": "coast", "job": "nurse"}, "ok")
    (row,) = episode_rows(episode(wrong, probes=[probe]), SCENARIO, {(2, 0, ("coast", "nurse")): 1})
    assert row == {
        "agent": "rag",
        "user": 2,
        "user_id": "ada",
        "trial": 1,
        "period": 1,
        "question": 0,
        "query": "What shall I do on Sunday?",
        "options": 4,
        "gold": 3,
        "option": 2,
        "gold_index": 1,
        "option_index": 0,
        "correct": False,
        "status": "ok",
        "guessed": False,
        "error": None,
        "failure": "utilization",
        "mistake": "stale",
        "gold_variant": '{"home": "coast", "job": "nurse"}',
        "chosen_variant": '{"home": "city", "job": "nurse"}',
        "probe": '{"home": "coast", "job": "nurse"}',
        "known": True,
        "upper_bound": 1,
        "random": 0.25,
        "dropped": 3,
        "items": 2,
    }
    assert list(row) == list(COLUMNS)


def test_what_is_not_there_is_null() -> None:
    lost = exam(0, 1, (0, 1, 2), None, status="error", error="the context is full")
    mute = exam(2, 0, (0, 1, 2, 3), None, status="invalid")
    right = exam(3, 1, (2, 1, 0), 2)
    probes = [
        ProbeResult(0, 1, {"home": "city"}, "error", error="the context is full"),
        ProbeResult(3, 1, {"home": "city"}, "ok"),
    ]
    found = list(episode_rows(episode(lost, mute, right, probes=probes), SCENARIO, {(2, 1, ("coast",)): 0}))
    names = ("correct", "option", "error", "failure", "mistake", "chosen_variant", "probe", "known", "upper_bound")
    assert [tuple(row[name] for name in names) for row in found] == [
        (None, None, "the context is full", None, None, None, None, None, None),
        (False, None, None, "unparsed", None, None, None, None, None),
        (True, 2, None, None, None, '{"home": "coast"}', '{"home": "city"}', False, 0),
    ]


def test_rows_add_up_to_the_scores(finished: RunDirectory) -> None:
    scores = api.score(finished.path, write=False).scores["agents"]
    found = list(rows(finished))
    places = [(row["agent"], row["user"], row["trial"], row["period"], row["question"]) for row in found]
    agents, every = ("native", "rag", "lag-1"), range(3)
    assert places == [(a, u, 0, p, q) for a in agents for u in range(2) for p in range(2) for q in every]
    for name in agents:
        some = [row for row in found if row["agent"] == name]
        assert sum(bool(row["correct"]) for row in some) / len(some) == pytest.approx(scores[name]["overall"])
        assert len(some) == scores[name]["n"] == 12
        for kind, share in scores[name]["diagnosis"].items():
            assert sum(row["failure"] == kind for row in some) / 12 == pytest.approx(share)
        for kind, share in scores[name]["errors"].items():
            assert sum(row["mistake"] == kind for row in some) / 12 == pytest.approx(share)
        bound = sum(row["upper_bound"] or 0 for row in some) / 12
        assert bound == pytest.approx(scores[name]["upper_bound"])
        # what is right earlier is all that lag-1 gets wrong
        assert name != "lag-1" or {row["mistake"] for row in some} == {None, "stale"}
    assert all(row["random"] == 1 / int(str(row["options"])) for row in found)


def test_only_some_users(finished: RunDirectory) -> None:
    whole = list(rows(finished))
    assert list(rows(finished, ["Ben-1"])) == [row for row in whole if row["user_id"] == "Ben-1"]
    assert {row["user_id"] for row in whole} == {"Ann-1", "Ben-1"}


def read_csv(path: Path) -> list[Row]:
    """What a careful reader makes of it: quoted is text, unquoted and empty is null."""
    schema = {
        name: {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}[kind]
        for name, kind in COLUMNS.items()
    }
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=schema, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )
    found: list[Row] = table.to_pylist()
    return [{n: unguarded(v) if isinstance(v, str) else v for n, v in row.items()} for row in found]


def test_csv_and_parquet_hold_the_same(finished: RunDirectory, tmp_path: Path) -> None:
    write_csv(tmp_path / "r.csv", rows(finished))
    write_parquet(tmp_path / "r.parquet", rows(finished))
    table = pyarrow.parquet.read_table(tmp_path / "r.parquet")
    whole = list(rows(finished))
    assert table.to_pylist() == whole == read_csv(tmp_path / "r.csv")
    assert {field.name: str(field.type) for field in table.schema} == {
        name: {str: "string", int: "int64", float: "double", bool: "bool"}[kind] for name, kind in COLUMNS.items()
    }
    assert len(whole) == 36


def test_csv_is_as_the_rfc_has_it(tmp_path: Path) -> None:
    lost = exam(0, 1, (0, 1, 2), None, status="error", error='a "full"\ncontext, they say')
    write_csv(tmp_path / "r.csv", episode_rows(episode(lost, agent="=SUM(A1)"), SCENARIO, {}))
    written = (tmp_path / "r.csv").read_bytes()
    header, row = written.split(b"\r\n", 1)
    assert header.decode() == ",".join(COLUMNS)
    assert row.startswith(b'"\'=SUM(A1)",2,"ada",1,0,1,') and row.endswith(b",,0.3333333333333333,0,0\r\n")
    assert b',,"error",false,"a ""full""\ncontext, they say",,,' in row
    with (tmp_path / "r.csv").open(encoding="utf-8", newline="") as file:
        (found,) = csv.DictReader(file, strict=True)
    assert found["error"] == 'a "full"\ncontext, they say'
    assert found["correct"] == "" and found["guessed"] == "false"


TEXTS = st.text(st.sampled_from("=+-@'\"|,;\n\r\t$<&\\ aé記\x00\N{SLIGHTLY SMILING FACE}"), max_size=12) | st.text()


@settings(deadline=None, max_examples=40)
@given(TEXTS, TEXTS, TEXTS)
def test_any_text_comes_back(agent: str, query: str, value: str) -> None:
    user = small_user()
    user["qas"][1]["query"] = query
    scenario = Scenario.model_validate(user)
    right = exam(0, 1, (0, 1, 2), 3)
    probe = ProbeResult(0, 1, {"home": value}, "ok")
    given_rows = list(episode_rows(episode(right, probes=[probe], agent=agent), scenario, {}))
    assert json.loads(str(given_rows[0]["probe"])) == {"home": value}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r.csv"
        write_csv(path, iter(given_rows))
        with path.open(encoding="utf-8", newline="") as file:
            (found,) = csv.DictReader(file, strict=True)
        assert read_csv(path) == given_rows
    for name, text in (("agent", agent), ("query", query)):
        assert not found[name].startswith(("=", "+", "-", "@", "\t", "\r"))
        assert unguarded(found[name]) == text


@given(TEXTS)
def test_guarding_is_undone(text: str) -> None:
    assert unguarded(guarded(text)) == text
    assert guarded(text) in (text, f"'{text}")


def test_a_formula_is_made_safe_and_other_text_is_left() -> None:
    formulas = ["=1+1", "+1", "-1", "@x", "\t=1", "'=1"]
    assert [guarded(text) for text in formulas] == [f"'{text}" for text in formulas]
    for text in ("", "a=1", "'tis", "{}", " x", "awe-2-4-30"):
        assert guarded(text) == text


def test_a_known_key_is_struck_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", {"sk-very-secret"})
    lost = exam(0, 1, (0, 1, 2), None, status="error", error="401 for sk-very-secret")
    (row,) = episode_rows(episode(lost), SCENARIO, {})
    assert row["error"] == "401 for [key]"


def test_without_pyarrow_the_way_to_it_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'amemgym\[parquet\]'"):
        write_parquet(tmp_path / "r.parquet", iter(()))
    assert list(tmp_path.iterdir()) == []
