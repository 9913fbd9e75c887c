"""A comparison for people: the table and the page say its numbers, and texts of others stay texts."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from amemgym import secrets
from amemgym.errors import UsageError
from amemgym.report.comparison import (
    check_comparison,
    comparison_figure,
    comparison_page,
    print_comparison,
    write_comparison,
)
from amemgym.scores.comparison import Comparison, compare_runs
from tests.report.test_figures import texts
from tests.scores.played import SHA, played
from tests.scores.test_comparison import A_OFF, A_ON, B_OFF, B_ON, ORACLE

ODD = "<script>alert('x')</script> [red]$x$"


def compared(a: str = "a", users: int = 3, **off: Any) -> Comparison:
    runs = [
        played({a: a_answers[:users], "b": b_answers[:users], "oracle": ORACLE[:users]}, reference=["oracle"], **more)
        for a_answers, b_answers, more in ((A_ON, B_ON, {}), (A_OFF, B_OFF, {"off_policy": a, **off}))
    ]
    return compare_runs(*runs)


class Page(HTMLParser):
    """The rows of the page's table, all its text, its tags, and the addresses it names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.text = ""
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self._into: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href", "action", "srcset")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        self._into.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._into and self._into.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._into):
            self.text += data
        if {"td", "th"} & set(self._into):
            self.rows[-1][-1] += (" " if "small" in self._into else "") + data.strip()


def printed(comparison: Comparison, width: int = 80) -> str:
    file = io.StringIO()
    print_comparison(Console(file=file, width=width), comparison)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 200])
def test_the_table_says_every_number(width: int) -> None:
    text = printed(compared(), width)
    lines = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    # worked out in the test of the scores
    assert re.sub(" +", " ", lines["a"]).startswith("a 1 → 2 (▼1) 0.667 ±")
    for number in ("0.167 ±", "-0.500 ±1.242", "0.833 ±", "0.583 ±", "-0.250 ±0.621", " 0.500 "):
        assert number in lines["a"]
    assert re.search(r" 12 +3$", lines["a"].rstrip())
    assert lines["oracle"].split()[1] == "–"
    flat = " ".join(text.split())
    assert "ON: openai:m, on-policy (run " in flat
    assert "OFF: openai:m, off-policy, conversations of a (run " in flat
    assert "Kendall's τ of the two orders: -1.000" in flat
    assert "; with 3 users it is 0.25 or more" in flat
    assert "unfinished" not in flat and "warning" not in flat


def test_the_page_says_every_number() -> None:
    page = Page(comparison_page(compared()))
    header, *rows = page.rows
    assert len(header) == 11
    assert rows[0][:2] == ["a", "1 → 2 (▼1)"]
    assert rows[0][4] == "-0.500 [-1.742, +0.742]"
    assert rows[0][7:] == ["-0.250 [-0.871, +0.371]", "0.500", "12", "3"]
    assert [row[0] for row in rows] == ["a", "b", "oracle"]
    assert rows[2][1] == "–"
    assert SHA in page.text
    for label in ("1. a: 0.667", "2. a: 0.167", "2. b: 0.000", "1. b: 0.500"):
        assert label in page.text
    assert "off-policy, conversations of a" in page.text
    assert page.addresses == []


def test_names_are_text_wherever_they_stand() -> None:
    comparison = compared(ODD)
    page = Page(comparison_page(comparison))
    plain = Page(comparison_page(compared()))
    assert page.tags == plain.tags
    assert ODD in [row[0] for row in page.rows]
    assert ODD in printed(comparison)
    assert f"off-policy, conversations of {ODD}" in page.text
    found = texts(comparison_figure(compared("$x^2$"), "svg"))
    assert "1. $x^2$: 0.667" in found and "2. $x^2$: 0.167" in found


def test_figures_are_files_of_their_kind_and_the_same_again() -> None:
    comparison = compared()
    assert comparison_figure(comparison, "png").startswith(b"\x89PNG\r\n\x1a\n")
    svg = comparison_figure(comparison, "svg")
    assert svg == comparison_figure(compared(), "svg")
    assert {"ON", "OFF", "1. a: 0.667", "1. b: 0.500"} <= set(texts(svg))
    assert not any("oracle" in said for said in texts(svg))


def test_an_unfinished_run_is_marked() -> None:
    whole = played({"a": A_ON, "b": B_ON})
    part = compare_runs(whole, played({"a": A_OFF[:2], "b": B_OFF}, users=3))
    said = "a has 2 of 3 episodes in OFF; the numbers are over what both have"
    assert f"unfinished: {said}" in " ".join(printed(part).split())
    assert f"unfinished: {said}" in Page(comparison_page(part)).text
    assert "ranks are provisional" in Page(comparison_page(part)).text
    assert f"unfinished: {said}" in " ".join(texts(comparison_figure(part, "svg")))


def test_one_user_has_no_intervals_and_the_reason_is_given() -> None:
    comparison = compared(users=1)
    text = " ".join(printed(comparison).split())
    assert "±" not in text.split("ON: ")[0]
    assert "no intervals: one user" in text
    assert Page(comparison_page(comparison)).rows[1][4] == "-1.000"
    assert "no intervals: one user" in Page(comparison_page(comparison)).text


def test_what_is_undefined_or_other_is_told() -> None:
    on = played({"a": A_ON, "only": B_ON}, bound=None)
    off = played({"a": A_OFF, "too": B_OFF}, model="openai:n", language="zh")
    text = " ".join(printed(compare_runs(on, off)).split())
    assert "a: memory score in ON undefined: no upper bound was measured" in text
    assert "ranks by overall" in text
    assert "only in ON: only" in text and "only in OFF: too" in text
    assert "other settings that differ: language" in text
    assert "OFF: openai:n, on-policy" in text


def test_no_agent_with_a_rank_means_no_chart() -> None:
    run = played({"oracle": ORACLE}, reference=["oracle"])
    page = Page(comparison_page(compare_runs(run, run)))
    assert "svg" not in page.tags and "table" in page.tags
    assert comparison_figure(compare_runs(run, run), "png").startswith(b"\x89PNG")


def test_where_the_file_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compared("sk-very-secret")
    monkeypatch.setattr(secrets, "_known", {"sk-very-secret"})
    assert write_comparison(comparison, tmp_path) == tmp_path / "comparison.html"
    assert "sk-very-secret" not in (tmp_path / "comparison.html").read_text(encoding="utf-8")
    assert write_comparison(comparison, tmp_path, "svg", tmp_path / "new/c.svg") == tmp_path / "new/c.svg"
    assert b"sk-very-secret" not in (tmp_path / "new/c.svg").read_bytes()
    assert write_comparison(comparison, tmp_path, "html", tmp_path / "new") == tmp_path / "new/comparison.html"
    for format, out, why in (("pdf", None, "unknown format 'pdf'"), ("html", Path("c.svg"), "add --format svg")):
        with pytest.raises(UsageError, match=why):
            check_comparison(format, out)
    check_comparison("svg", Path("c.svg"))


def test_a_footnote_leaves_the_svg_xml() -> None:
    said = texts(comparison_figure(compared(model="m\x1b[31m\x07\uffff"), "svg"))
    assert any("m�[31m��" in line for line in said)


def test_agents_with_models_of_their_own_are_not_offline() -> None:
    agents = [{"name": "a", "model": {"model": "openai:m"}}]
    run = played({"a": A_ON}, model="offline", agents=agents)
    assert "offline" not in printed(compare_runs(run, run))
    assert "offline" in printed(compare_runs(run, played({"a": A_ON}, model="offline")))
