"""People's labels: read with every fault named, sampled by seed, harmless in a spreadsheet, compared with the judge."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from amemgym.errors import DataError, UsageError
from amemgym.quality.findings import Judged, Verdict, judged
from amemgym.quality.labels import Label, Turn, harmless, read_labels, write_template
from amemgym.quality.raters import agreements
from amemgym.quality.turns import Item
from tests.quality.test_findings import ANSWER, LATER, UTTERANCE

HEAD = "user,period,session,round,label"


def read(tmp_path: Path, text: str, encoding: str = "utf-8") -> list[Label]:
    path = tmp_path / "labels.csv"
    path.write_bytes(text.encode(encoding))
    return read_labels(path)


def test_labels_are_read(tmp_path: Path) -> None:
    found = read(
        tmp_path, f"{HEAD},rater,agent,trial,dimension\nada,0,1,0,OK,ann,,,exposure\nada,3,0,2,leak + wrong,,rag,1,\n"
    )
    assert found == [
        Label(Turn("ada", None, None, 0, 1, 0), "ann", "ok", 2),
        Label(Turn("ada", "rag", 1, 3, 0, 2), "the rater", "leak+wrong", 3),
    ]


@pytest.mark.parametrize("head", ["\ufeff", ""])
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_as_spreadsheets_save_it(tmp_path: Path, head: str, sign: str) -> None:
    """With a mark at the start, another separator, quoted line breaks, rows that are not filled in, short rows."""
    text = head + sign.join(["Text", "User", "period", "session", "round", "label", "rater"]) + "\r\n"
    text += sign.join(['"a\r\nb, ""c"""', "ada", "0", "0", "0", "faulty"]) + "\r\n"
    text += sign.join(["x", "ada", "0", "1", "0", "", ""]) + "\r\n" + sign * 6 + "\r\n"
    assert [(label.turn.session, label.label) for label in read(tmp_path, text)] == [(0, "faulty")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (HEAD, "holds no label"),
        ("user,period,session,label\nada,0,0,ok", "line 1: no column 'round'"),
        (f"{HEAD},label\nada,0,0,0,ok,ok", "line 1: column 'label' appears twice"),
        (f"{HEAD}\nada,0,0,0,ok\nada,0,1,0,fine", "line 3, column 'label': 'fine' is neither ok nor faulty"),
        (f"{HEAD}\nada,0,0,0,ok+leak", "line 2, column 'label'"),
        (f"{HEAD}\nada,-1,0,0,ok", "line 2, column 'period': '-1' is no whole number"),
        (f"{HEAD}\nada,0,0.0,0,ok", "line 2, column 'session'"),
        (f"{HEAD}\nada,0,0,,ok", "line 2, column 'round': '' is no whole number"),
        (f"{HEAD}\n,0,0,0,ok", "line 2, column 'user' is empty"),
        (f"{HEAD}\nada,0,0,0,ok,x", "line 2 has 6 cells, but there are 5 columns"),
        (f"{HEAD}\nada,0,0,0,ok\nada,0,0,0,faulty", "line 3: the same rater labels a turn that line 2 labels already"),
        (f"{HEAD},dimension\nada,0,0,1,ok,exposure", "line 2, column 'dimension': 'exposure', but round 1 is one of"),
        (f'{HEAD}\nada,0,0,0,"ok', "line 2: not readable as CSV"),
    ],
)
def test_faults_are_named_by_line_and_column(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DataError) as error:
        read(tmp_path, text)
    assert said in str(error.value) and "labels.csv" in str(error.value)


def test_what_is_no_utf_8_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not UTF-8"):
        read(tmp_path, f"{HEAD}\nadä,0,0,0,ok", "latin-1")
    with pytest.raises(DataError, match="cannot read"):
        read_labels(tmp_path / "none.csv")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", " =1", '=HYPERLINK("http://x","y")'])
def test_a_cell_that_would_be_a_formula_is_made_harmless(cell: str) -> None:
    assert harmless(cell) == "'" + cell
    assert harmless("plain = text") == "plain = text"


def test_the_sample_can_be_labelled_and_read_again(tmp_path: Path) -> None:
    evil = replace(UTTERANCE, text='=cmd|"/C calc"!A0', user_id="=ada", intended={"home": "coast"})
    items = [evil, *(replace(LATER, session=n, agent="+rag") for n in range(30)), ANSWER]
    path = tmp_path / "template.csv"
    assert write_template(items, path, 100, 0) == 31  # answers are not for labelling
    rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row)
    head, first = rows[0], dict(zip(rows[0], rows[1], strict=True))
    assert first["text"] == "'" + evil.text and first["should_tell"] == "home: coast"
    assert first["should_not_tell"] == "job: nurse; pet: cat"
    for row in rows[1:]:
        row[head.index("label")] = "ok"
    filled = tmp_path / "filled.csv"
    with open(filled, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    labels = read_labels(filled)
    assert labels[0].turn == Turn("=ada", None, None, 1, 0, 0)
    assert {label.turn.agent for label in labels[1:]} == {"+rag"}


def test_the_sample_is_drawn_by_seed(tmp_path: Path) -> None:
    items = [replace(LATER, session=n) for n in range(50)]
    texts = []
    for number, seed in enumerate((0, 0, 1)):
        path = tmp_path / f"{number}.csv"
        assert write_template(items, path, 5, seed) == 5
        texts.append(path.read_bytes())
    assert texts[0] == texts[1] != texts[2]
    with pytest.raises(UsageError, match="no turn"):
        write_template([ANSWER], tmp_path / "t.csv", 5, 0)


# ---- agreement


def turns(*found: dict[str, str] | None) -> list[Judged]:
    """Utterances of two users, of which the judge found these."""
    items: list[Item] = [
        replace(UTTERANCE, session=n, user=n % 2, user_id="ada" if n % 2 == 0 else "ben") for n in range(len(found))
    ]
    return [
        judged(i, Verdict(i.at, "ok" if f is not None else "invalid", f)) for i, f in zip(items, found, strict=True)
    ]


def label(one: Judged, said: str, rater: str = "x") -> Label:
    i = one.item
    return Label(Turn(i.user_id, None, None, 1, i.session or 0, 0), rater, said, (i.session or 0) + 2)


RIGHT, LEAK = {"home": "coast"}, {"home": "coast", "job": "nurse"}


def test_agreement_of_the_judge_with_people_and_of_people(tmp_path: Path) -> None:
    judge = turns(RIGHT, LEAK, RIGHT, {}, None)
    said = [label(judge[0], "ok"), label(judge[1], "faulty"), label(judge[2], "faulty"), label(judge[3], "missing")]
    said += [label(judge[4], "ok"), label(judge[0], "ok", "y"), label(judge[1], "leak", "y")]
    found = agreements(said, judge, tmp_path)
    assert found["labels"] == 7 and found["raters"] == ["x", "y"]
    one = found["turns"]["judge_human"]
    assert (one["n"], one["percent"]) == (6, pytest.approx(5 / 6))  # the unreadable one is no rating
    people = found["turns"]["human_human"]
    assert (people["n"], people["percent"], people["ac1"]) == (2, 1.0, pytest.approx(1.0))
    assert found["exposure"] == found["turns"] and "integrity" not in found
    assert found["by_kind"]["judge_human"]["n"] == 4  # `faulty` says not which


def test_labels_of_turns_that_are_not_there_are_named(tmp_path: Path) -> None:
    judge = turns(RIGHT, LEAK)
    stray = Label(Turn("cyd", None, None, 9, 0, 0), "x", "ok", 7)
    found = agreements([label(judge[0], "ok"), stray], judge, tmp_path)
    assert found["unknown"] == ["line 7: user 'cyd', period 9, session 0, round 0"] and found["labels"] == 1
    with pytest.raises(DataError, match="no label is of a turn that is judged; the first, line 7: user 'cyd'"):
        agreements([stray], judge, tmp_path)


def test_the_only_agent_of_a_run_need_not_be_named(tmp_path: Path) -> None:
    one = judged(LATER, Verdict(LATER.at, "ok", {}))
    bare = Label(Turn("ada", None, None, 1, 0, 1), "x", "ok", 2)
    assert agreements([bare], [one], tmp_path)["integrity"]["judge_human"]["percent"] == 1.0
    other = replace(LATER, agent="awe")
    with pytest.raises(DataError):
        agreements([bare], [one, judged(other, Verdict(other.at, "ok", {}))], tmp_path)


def test_a_file_of_labels_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("people's work", encoding="utf-8")
    with pytest.raises(UsageError, match="is there already, perhaps with people's labels in it"):
        write_template([UTTERANCE], path, 3, 0)
    assert path.read_text(encoding="utf-8") == "people's work"
