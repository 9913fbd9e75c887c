"""The card for people: the same facts in the terminal and on the page, the page safe whatever the data holds."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import amemgym
from amemgym.errors import UnknownName, UsageError
from amemgym.quality.card import Card
from amemgym.quality.gates import Verdict
from amemgym.report.card import card_page, print_card
from amemgym.report.charts import Scale
from amemgym.report.facts import ROWS, bars, facts, spread
from tests.quality.made import gold_first, users
from tests.quality.spreads import spread_of
from tests.report import hostile


class Page(HTMLParser):
    """The text of a page by the id of the section it is in, its elements, and its links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {}
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._section, self._silent = "", False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._silent = tag in ("script", "style")
        if tag == "section":
            self._section = dict(attrs)["aria-labelledby"] or ""

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.sections[self._section] = f"{self.sections.get(self._section, '')}{data} "


@pytest.fixture(scope="module")
def leaking() -> Card:
    return amemgym.card(users(8, seed=1, change=gold_first, still=True))


@pytest.fixture(scope="module")
def sound() -> Card:
    return amemgym.card("bank:mini")


def printed(card: Card, width: int = 80) -> str:
    out = io.StringIO()
    print_card(Console(file=out, width=width), card)
    return out.getvalue()


def test_the_terminal_shows_each_gate_whole_also_where_it_is_narrow(leaking: Card) -> None:
    lines = printed(leaking, 40).splitlines()
    row = next(line for line in lines if line.startswith("first (always-1)"))
    assert re.fullmatch(
        r"first \(always-1\) +1\.0000 +0\.2500 +\+0\.7500 +\[\+0\.5328, \+0\.7500\] +96 +8 +fails *", row
    )
    assert any("The order of the options is biased" in line for line in lines)
    assert any("so that all 11 hold together at 95% (Bonferroni)" in line for line in lines)


def test_every_fact_stands_in_both(sound: Card) -> None:
    page, text = Page(card_page(sound)), printed(sound)
    for part in facts(sound):
        for name, said in part.rows:
            assert f"  {name}: {said}" in text
            shown = page.sections[part.title.lower().replace(" ", "-")]
            assert name in shown and said in shown
    for gate in sound.gates:
        assert gate.label in page.sections["gates"] and gate.label in text
    for sentence in sound.advice:
        assert sentence in page.sections[""] and sentence in text


def test_the_page_says_at_its_head_how_many_gates_fail(leaking: Card, sound: Card) -> None:
    head = Page(card_page(leaking)).sections[""]
    assert f"{len(leaking.failing)} LEAK GATES FAIL" in head
    assert "1 LEAK GATE FAILS" in Page(card_page(_failing_alone(leaking))).sections[""]
    assert "LEAK GATE" not in Page(card_page(sound)).sections[""]


def _failing_alone(card: Card) -> Card:
    gates = tuple(
        gate if gate.name == "always-1" or gate.verdict is not Verdict.FAILS else replace(gate, verdict=Verdict.PASSES)
        for gate in card.gates
    )
    return replace(card, gates=gates)


def test_each_gate_is_drawn_round_0_and_says_its_numbers(leaking: Card) -> None:
    page = Page(card_page(leaking))
    drawn = {a["aria-label"]: a for tag, a in page.elements if tag == "svg" and "aria-label" in a}
    (first,) = (label for label in drawn if label and label.startswith("first (always-1)"))
    assert first == "first (always-1): 0.750, difference from chance, interval [0.533, 0.750]"
    assert "gate-fails" in (drawn[first]["class"] or "")
    assert len(drawn) == len(leaking.gates)


def test_a_scale_about_0_reaches_as_far_to_both_sides() -> None:
    assert Scale.about_zero([]) == Scale(-0.02, 0.02, 0.01)
    assert Scale.about_zero([0.03, -0.09, None]) == Scale(-0.1, 0.1, 0.05)
    assert Scale.about_zero([-17.0]) == Scale(-1, 1, 0.5)
    scale = Scale.about_zero([0.1])
    assert scale.share(0) == 0.5 and scale.ticks() == pytest.approx([-0.1, -0.05, 0, 0.05, 0.1])
    assert scale.named_ticks() == pytest.approx([-0.1, 0, 0.1])


def test_places_of_gold(leaking: Card) -> None:
    shown = " ".join(Page(card_page(leaking)).sections["places"].split())
    assert "1 96 24.0 1.000 96 2 0 24.0 0.000 96" in shown


def test_a_long_histogram_ends_in_one_row_of_all_that_is_beyond() -> None:
    rows = bars(spread_of(range(100)))
    assert len(rows) == ROWS and (rows[-1].name, rows[-1].count) == ("13 or more", 87)
    assert sum(row.share for row in rows) == pytest.approx(1) and max(row.length for row in rows) == 1


def test_how_a_spread_is_written() -> None:
    assert spread(spread_of([])) == "–"
    assert spread(spread_of([3, 3])) == "3"
    assert spread(spread_of([3, 4, 4])) == "mean 3.67, 3 to 4"


def test_a_card_without_anything_to_tell_is_whole(tmp_path: Path) -> None:
    card = amemgym.card(users(1, seed=0))
    assert "cannot be told" in printed(card) and "cannot be told" in card_page(card)


# --- files ---


def test_files(sound: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert amemgym.write_card(sound) == Path("card-bank-mini.html")
    assert Path("card-bank-mini.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    path = amemgym.write_card(sound, "json", "there/")
    assert path == Path("there/card-bank-mini.json")
    assert json.loads(path.read_bytes()) == json.loads(json.dumps(sound.as_dict()))
    with pytest.raises(UnknownName, match="unknown format 'pdf'"):
        amemgym.write_card(sound, "pdf")
    with pytest.raises(UsageError, match=r"ends in \.json, but the format is html"):
        amemgym.write_card(sound, out="x.json")


# --- hostile data ---


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Card:
    return evil_card(tmp_path_factory.mktemp("hostile"))


def evil_card(folder: Path) -> Card:
    """A card of the hostile user, whose every text is markup, made so that all lists of the card have some of it."""
    data = json.loads(hostile.write_data(folder / "data.json").read_bytes())
    (user,) = data
    for option in user["qas"][0]["answer_choices"]:
        option |= {"answer": f"The same but for {option['state']}. {hostile.EVIL * 9}", "type": hostile.EVIL}
    first, second = user["periods"][0]["sessions"][:2]
    first["query"] = second["query"]
    first["kind"] = hostile.EVIL
    user["generation"] = {hostile.evil("source"): hostile.EVIL}
    path = folder / f"{hostile.MARKUP[10:40].replace('/', ' ')}.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return amemgym.card(path)


def test_nothing_in_hostile_data_is_markup(evil: Card) -> None:
    assert evil.alike.near and evil.alike.repeated
    html = card_page(evil)
    page = Page(html)
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {tag for tag, _ in page.elements} & {"img", "b", "iframe", "object", "link"}
    events: list[Any] = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert events == []
    assert "&lt;script&gt;window.hacked=1" in html and "<script>window" not in html


def test_hostile_data_moves_no_cursor(evil: Card) -> None:
    text = printed(replace(evil, name="\x1b[2Jdata [bold]set[/bold] [/nothing]"), 200)
    assert not set(text) & set("\x1b\x07\x00") and "window.hacked" in text
    assert "data [bold]set[/bold] [/nothing]" in text
