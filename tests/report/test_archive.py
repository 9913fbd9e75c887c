"""Tables of results in every format: their numbers, what is missing, and names that would like to be more than text."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import pytest

from amemgym import secrets
from amemgym.errors import UnknownName, UsageError
from amemgym.memorybench.comparing.comparison import ResultTable
from amemgym.report.archive import (
    FORMATS,
    TEXTS,
    result_frame,
    result_table_text,
    write_result_table,
)
from amemgym.report.archive.figure import MOST, heat_map
from tests.report.archive_tables import OPEN, SHOWN, UNTOLD, WITHOUT, complete, small, table
from tests.report.hostile import EVIL, MARKUP
from tests.report.test_figures import texts

FORMULA = "=cmd|'/c calc'!A1"
TEX = r"\input{x}%$&_#^~{}[b]*--\\ a\end{tabular}"
NAMES = (EVIL, FORMULA, TEX, "a|b`c`*d*_e_[f](g)", "\x1b[31mred\r\nnext", "[bold]rich[/bold]")


def hostile() -> ResultTable:
    """Every name is one that means something somewhere."""
    rows: dict[tuple[str, ...], Any] = {
        (EVIL, name, TEX, f"{name} {EVIL}"): (0.5, 0.25, 0.75, None if at == 5 else 0.375, 0.125, 1.0)
        for at, name in enumerate(NAMES)
    }
    more = {"metric": f"score{MARKUP}", "notes": (EVIL, TEX, FORMULA)}
    return table(rows, NAMES, {name: SHOWN for name in NAMES[1:]}, **more)


class Cells(HTMLParser):
    """The tables of a page, each a list of rows of texts; its tags; and the attributes that could do something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.tags: list[str] = []
        self.odd: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.odd += [name for name, _ in attrs if name.startswith("on") or name in ("src", "srcset", "action")]
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self._inside = True
            self.tables[-1][-1].append("")
        if tag == "small" and self._inside:
            self.tables[-1][-1][-1] += " "

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.tables[-1][-1][-1] += data.strip()


def rows_of(text: str) -> list[list[str]]:
    """The rows of a Markdown text's first table."""
    lines = text.split("\n\n")[1].splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


# --- numbers ---


def test_the_terminal_marks_the_best_and_shows_gains() -> None:
    text = result_table_text(small(), "text")
    lines = text.splitlines()
    assert lines[1].split() == ["model", "type", "set", WITHOUT, "bm25_message", "a_mem", "mem0", "n"]
    assert lines[2].split() == ["m-8b", "domain", "Legal", "0.500", "0.625*", "0.250", "0.510", "40"]
    assert lines[3].split() == ["m-8b", "domain", "Academic&Knowledge", "0.400", "0.525*", "0.150", "–", "40"]
    assert "+0.125 ±0.074 ▲" in text and "-0.250 ±0.150 ▼" in text and re.search(r"\+0\.010 ±0\.060\s", text)
    assert "gain" not in result_table_text(small().without_gains(), "text")


def test_markdown_has_every_number() -> None:
    header, _, *rows = rows_of(result_table_text(small(), "md"))
    assert header == ["model", "type", "set", r"wo\_memory", r"bm25\_message", r"a\_mem", "mem0", "n"]
    assert rows[0][2:] == ["Legal", "0.500", "**0.625**", "0.250", "0.510", "40"]
    assert rows[1][2:] == ["Academic&amp;Knowledge", "0.400", "**0.525**", "0.150", "–", "40"]
    assert "-0.250 [-0.400, -0.100] ▼" in result_table_text(small(), "md")


def test_latex_has_every_number() -> None:
    text = result_table_text(small(), "latex")
    assert r"Legal & $0.500$ & $\mathbf{0.625}$ & $0.250$ & $0.510$ & 40 \\" in text
    assert r"Academic\&Knowledge & $0.400$ & $\mathbf{0.525}$ & $0.150$ & \textendash{} & 40 \\" in text
    assert r"$-0.250$ $[-0.400, -0.100]$ $\downarrow$" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == text.count(r"\end{tabular}") == 2
    assert result_table_text(small().without_gains(), "latex").count(r"\toprule") == 1


def test_csv_and_json_have_every_number() -> None:
    found = list(csv.DictReader(io.StringIO(result_table_text(small(), "csv"))))
    assert len(found) == 8
    assert (found[2]["baseline"], found[2]["value"], found[2]["rank"], found[2]["n"]) == ("a_mem", "0.25", "4.0", "40")
    assert (found[2]["gain"], found[2]["gain_low"], found[2]["gain_verdict"]) == ("-0.25", "-0.4", "worse")
    assert {name: found[7][name] for name in ("value", "n", "rank", "is_best", "gain")} == dict.fromkeys(
        ("value", "n", "rank", "is_best", "gain"), ""
    )
    said = json.loads(result_table_text(small(), "json"))
    assert said["rows"][1]["cells"][3]["value"] is None
    assert said["rows"][0]["cells"][2]["gain"]["interval"] == [-0.4, -0.1]


def test_frames() -> None:
    wide = result_frame(small())
    assert list(wide.columns) == ["model", "dataset_type", "set_name", WITHOUT, "bm25_message", "a_mem", "mem0"]
    assert wide["mem0"].dtype == "float64" and wide["mem0"][0] == 0.51 and math.isnan(wide["mem0"][1])
    long = result_frame(small(), long=True)
    assert len(long) == 8 and long["n"].dtype == "Int64" and long["gain_low"][2] == -0.4
    assert long.iloc[7][["value", "n", "rank", "gain", "is_best"]].isna().all()
    only_missing = result_frame(table({("e", "m", "domain", "s"): (None,)}, ["a"]))
    assert only_missing["a"].dtype == "float64"
    # a memory system that has the name of a column takes no other's place
    assert list(result_frame(table({("e", "m", "t", "s"): (0.5,)}, ["model"])).iloc[0]) == ["m", "t", "s", 0.5]


def test_without_pandas_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(UsageError, match=r"pip install 'amemgym\[pandas\]'"):
        result_frame(small())
    assert pandas is not None


def test_the_page_has_every_number() -> None:
    page = Cells(result_table_text(small(notes=("a note",)), "html"))
    values, gains = page.tables
    assert values[1] == ["m-8b", "domain", "Legal", "0.500 rank 3", "0.625 best", "0.250 rank 4", "0.510 rank 2", "40"]
    # its model and its type are those above
    assert values[2] == ["Academic&Knowledge", "0.400 rank 2", "0.525 best", "0.150 rank 3", "–", "40"]
    assert gains[1][3:] == [
        "▲ +0.125 [0.051, 0.199]",
        "▼ −0.250 [−0.400, −0.100]",
        "+0.010 [−0.050, 0.070]",
        "40",
    ]
    assert "a note" in result_table_text(small(notes=("a note",)), "html")
    assert len(Cells(result_table_text(small().without_gains(), "html")).tables) == 1


def test_standings_are_over_two_complete_rows_or_more() -> None:
    """Over one they say no more than its ranks do."""
    made = complete()
    assert re.search(r"bm25_message +2\.00 +1 +2\n", result_table_text(made, "text"))
    assert r"| bm25\_message | 2.00 | 1 | 2 |" in result_table_text(made, "md")
    assert r"bm25\_message & 2.00 & 1 & 2 \\" in result_table_text(made, "latex")
    page = result_table_text(made, "html")
    assert Cells(page).tables[1][2] == ["bm25_message", "2.00", "1", "2"] and "over the 2 of 3 rows" in page
    for format in ("text", "md", "latex", "html"):
        said = result_table_text(small(), format).lower()
        assert "mean rank" not in said and "over all rows" not in said, format
    assert len(json.loads(result_table_text(small(), "json"))["standings"]) == 4


def test_a_gain_without_an_interval_has_none_anywhere() -> None:
    found = table({("e", "m", "domain", "s"): (0.5, 0.52)}, (WITHOUT, "mine"), {"mine": UNTOLD})
    assert re.search(r"\+0\.020 +–\n", result_table_text(found, "text"))
    assert re.search(r"\| \+0\.020 \| – \|", result_table_text(found, "md"))
    assert r"& $+0.020$ & \textendash{} \\" in result_table_text(found, "latex")
    assert Cells(result_table_text(found, "html")).tables[1][1][3] == "+0.020 no interval"


def test_values_with_their_intervals_in_every_format() -> None:
    made = small()
    cells = made.rows[0].cells
    row = replace(
        made.rows[0],
        cells=(replace(cells[0], interval=(0.38, 0.6)), replace(cells[1], interval=(0.6, 0.65)), *cells[2:]),
    )
    made = replace(made, rows=(row, *made.rows[1:]))
    text = result_table_text(made, "text")
    assert "0.500 [0.380, 0.600] " in text and "0.625 ±0.025*" in text
    assert "± or [low, high]: 95% interval, data sets as strata" in text
    assert rows_of(result_table_text(made, "md"))[2][3:5] == ["0.500 [0.380, 0.600]", "**0.625 ±0.025**"]
    assert r"$0.500\ [0.380, 0.600]$ & $\mathbf{0.625} \pm 0.025$ & $0.250$" in result_table_text(made, "latex")
    assert Cells(result_table_text(made, "html")).tables[0][1][3:5] == [
        "0.500 [0.380, 0.600] rank 3",
        "0.625 ±0.025 best",
    ]
    (first, *_) = csv.DictReader(io.StringIO(result_table_text(made, "csv")))
    assert (first["low"], first["high"]) == ("0.38", "0.6")
    assert json.loads(result_table_text(made, "json"))["rows"][0]["cells"][0]["interval"] == [0.38, 0.6]
    assert {"[0.380, 0.600]", "±0.025", "0.500", "40"} <= set(texts(heat_map(made, "svg")))
    assert result_frame(made, long=True)["high"][1] == 0.65


def test_only_normalised_values_are_scaled_by_rows() -> None:
    for metric, is_said in (("weighted_average", True), ("accuracy", False)):
        for format in ("text", "md", "html", "svg"):
            made = small(metric=metric)
            told = "".join(texts(heat_map(made, "svg"))) if format == "svg" else result_table_text(made, format)
            assert ("scaled by" in told.replace("scaled by its data", "")) is is_said, (metric, format)


def test_the_terminals_notes_are_a_line_each() -> None:
    text = result_table_text(small(notes=("a note",)), "text")
    notes = text.split("more is better")[1].splitlines()
    notes[0] = f"  more is better{notes[0]}"
    assert len(notes) == 5 and all(note.startswith("  ") and len(note) < 100 for note in notes)
    assert len(result_table_text(small(), "md")) > len(text)  # how to read it stands there


def test_n_that_differs_or_is_not_known() -> None:
    made = small()
    cells = made.rows[0].cells
    one, other = (replace(cells[at], n=n) for at, n in ((1, 1234), (2, None)))
    row = replace(made.rows[0], cells=(cells[0], one, other, cells[3]))
    assert rows_of(result_table_text(replace(made, rows=(row,)), "md"))[2][-1] == "40–1,234?"


# --- names ---


def test_names_are_text_in_html() -> None:
    plain = {
        (f"e{at}", f"m{at}", "t", f"s{at}"): (0.5, 0.25, 0.75, None if at == 5 else 0.375, 0.125, 1.0)
        for at in range(len(NAMES))
    }
    names = [f"n{at}" for at in range(len(NAMES))]
    same = table(plain, names, {name: SHOWN for name in names[1:]}, metric="m", notes=("a", "b", "c"))
    page, expected = (Cells(result_table_text(one, "html")) for one in (hostile(), same))
    without = [[tag for tag in one.tags if tag != "wbr"] for one in (page, expected)]
    # both have as many words; they are grouped otherwise, as the hostile ones share theirs
    assert set(without[0]) == set(without[1]) and page.odd == []
    assert page.tags.count("script") == 1 and "img" not in page.tags and "b" not in page.tags
    assert any(MARKUP in cell for row in page.tables[0] for cell in row)


def test_names_are_text_in_markdown() -> None:
    text = result_table_text(hostile(), "md")
    header, _, *rows = rows_of(text)
    assert {len(row) for row in rows} == {len(header)} == {3 + len(NAMES) + 1}
    assert len(rows) == len(NAMES)
    assert "<" not in text and "\x1b" not in text and "\u202e" not in text
    assert r"a\|b\`c\`\*d\*\_e\_\[f\](g)" in text


def test_names_are_text_in_latex() -> None:
    text = result_table_text(hostile(), "latex")
    lines = [line for line in text.splitlines() if line and not line.startswith("%")]
    commands = set(re.findall(r"\\([a-zA-Z]+)", "\n".join(lines)))
    assert commands <= {
        *("begin", "end", "toprule", "midrule", "bottomrule", "mathbf", "uparrow", "downarrow"),
        *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar"),
        *("textasciigrave", "textquotedbl", "textendash"),
    }
    rows = [line for line in lines if line.endswith(r" \\")]
    for line in rows:
        # every brace closes, no comment begins, and the cells are as many as there are columns
        bare = re.sub(r"\\[{}%$&#_]", "", line)
        assert bare.count("{") == bare.count("}") and "%" not in bare and "#" not in bare
        assert not re.match(r"\s*[\[*]", line) and bare.count(r"\\") == 1
    widths = [len(re.sub(r"\\&", "", line).split("&")) for line in rows]
    # values, gains and standings, each with a header
    assert widths == [10] * 14 + [4] * 7
    for line in text.splitlines():
        assert "\r" not in line and "\x1b" not in line


def test_names_are_no_formulas_in_csv() -> None:
    text = result_table_text(hostile(), "csv")
    found = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in found} == {26} and len(found) == 1 + len(NAMES) ** 2
    assert not any(re.match(r"[=+\-@\t\r]", cell) and not _is_number(cell) for row in found for cell in row)
    assert any(cell == f"'{FORMULA}" for row in found for cell in row)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_names_are_text_in_the_terminal() -> None:
    text = result_table_text(hostile(), "text")
    assert "[bold]rich[/bold]" in text and "[31mred next" in text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    # a title, a header, and a line for each row
    assert len(text.split("\n\n")[0].splitlines()) == 2 + len(NAMES)


def test_names_are_text_in_figures_and_json() -> None:
    said = texts(heat_map(hostile(), "svg"))
    assert any("\\input" in text for text in said)
    assert json.loads(result_table_text(hostile(), "json"))["baselines"][1] == FORMULA


def test_keys_are_struck_out_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = "sk-very<secret>&_key"
    monkeypatch.setattr(secrets, "_known", {key})
    rows: dict[tuple[str, ...], Any] = {("e", f"m {key}", "t", key): (0.5, 0.25)}
    made = table(rows, (WITHOUT, key), {key: OPEN}, metric=key, notes=(key,))
    for format in FORMATS:
        written = write_result_table(made, format, tmp_path / "here/").read_bytes()
        assert b"secret" not in written and b"&amp;_key" not in written, format
    assert "secret" not in str(result_frame(made).to_csv()) and "secret" not in str(result_frame(made, True).to_csv())


# --- files ---


def test_where_the_file_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert write_result_table(small()) == Path("memorybench-table.html")
    assert write_result_table(small(), "latex") == Path("memorybench-table.tex")
    assert write_result_table(small(), None, tmp_path / "a/t.tex").read_text(encoding="utf-8").startswith("% needs")
    for format in TEXTS:
        assert write_result_table(small(), format, tmp_path / format).read_text(encoding="utf-8")
    for wrong, out, why in (
        ("pdf", None, "unknown format 'pdf'"),
        (None, "c.pdf", "ends in .pdf"),
        ("html", "c.tex", "add --format latex"),
    ):
        with pytest.raises(UsageError, match=why):
            write_result_table(small(), wrong, out)
    with pytest.raises(UnknownName):
        result_table_text(small(), "png")


def test_figures_are_files_of_their_kind_and_the_same_again() -> None:
    assert heat_map(small(), "png").startswith(b"\x89PNG\r\n\x1a\n")
    svg = heat_map(small(), "svg")
    assert svg == heat_map(small(), "svg")
    assert {"0.625", "0.525", "–", "bm25_message", "m-8b  domain  Legal"} <= set(texts(svg))
    many = {("e", "m", "t", f"s{at}"): (0.5,) for at in range(MOST + 1)}
    with pytest.raises(UsageError, match="--models or --sets"):
        heat_map(table(many, ["a"]), "png")
    assert heat_map(table({("e", "m", "t", "s"): (None,)}, ["a"]), "png").startswith(b"\x89PNG")
