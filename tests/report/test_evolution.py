"""The report of an evolution: its numbers are those of evolution.json, its changes lead from one policy to the next,
nothing is called better that is not shown to be, and a policy stays a text."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

import amemgym
from amemgym.errors import RunDirectoryError, UsageError
from amemgym.evolving import evolve
from amemgym.messages import whole
from amemgym.report.evolution import evolution_page, print_evolution, write_evolution
from amemgym.report.evolution.diff import ADDED, KEPT, REMOVED, Fold, Line, diff
from amemgym.report.wording import interval, number, signed
from amemgym.scores.verdict import BETTER, NOT_SHOWN, WORSE, verdict
from tests.cli.helpers import inside, sentence, succeeded
from tests.report import hostile

Summary = dict[str, Any]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One training user, two held-out ones. Of the revisions one is unchanged, and one had nothing to learn from."""
    out = tmp_path_factory.mktemp("evolved") / "e"
    evolve("awi", "bank:mini", training=1, periods=2, probe=False, out=out)
    return out


@pytest.fixture
def summary(directory: Path) -> Summary:
    found: Summary = json.loads((directory / "evolution.json").read_text(encoding="utf-8"))
    return found


class Page(HTMLParser):
    """The rows of the page's tables by the id of their section, its text, its tags, and each shown change, as (sign,
    line)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.text, self.tags, self.links = "", [], []  # type: ignore[var-annotated]
        self.changes: list[list[tuple[str, str]]] = []
        self.gains: list[tuple[str, str]] = []
        self._section, self._within, self._line = "", [], None  # type: ignore[var-annotated]
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        css = (told.get("class") or "").split()
        self.tags.append(tag)
        self.links += [told[name] for name in ("src", "href") if told.get(name)]
        if tag == "section":
            self._section = str(told["aria-labelledby"])
        if tag == "tr":
            self.rows.setdefault(self._section, []).append([])
        if tag in ("td", "th"):
            self.rows[self._section][-1].append("")
        if css[:1] == ["gain"]:
            self.gains.append((css[1], ""))
        if css == ["policy", "diff"]:
            self.changes.append([])
        if css[:1] in (["added"], ["removed"], ["kept"], ["fold"]):
            self.changes[-1].append(("", ""))
        if tag not in ("meta", "br", "link"):
            self._within.append((tag, css))

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tags = {tag for tag, _ in self._within}
        if tags & {"style", "script", "svg"}:
            return
        self.text += data
        css = [name for _, names in self._within for name in names]
        if "gain" in css and self.gains:
            self.gains[-1] = (self.gains[-1][0], self.gains[-1][1] + data)
        if tags & {"td", "th"}:
            self.rows[self._section][-1][-1] += (" " if "small" in tags else "") + data.strip()
        if "diff" in css and css[-1] in ("sign", "text", "fold"):
            sign, line = self.changes[-1][-1]
            self.changes[-1][-1] = (sign + data, line) if css[-1] == "sign" else (sign, line + data)
        elif "diff" in css and "fold" in css and data.strip():
            self.changes[-1][-1] = (self.changes[-1][-1][0], data)

    def row(self, section: str, name: str) -> list[list[str]]:
        return [cells for cells in self.rows[section] if cells and cells[0] == name]


def applied(old: str, change: Sequence[tuple[str, str]]) -> str:
    """The text that a shown change makes of another one, which must be what it was made from."""
    left, made = old.split("\n"), []
    for sign, line in change:
        if sign == "…":
            count = int(line.split()[0])
            made += left[:count]
            del left[:count]
        elif sign == ADDED:
            made.append(line)
        else:
            assert left.pop(0) == line
            made += [line] if sign == KEPT else []
    assert not left
    return "\n".join(made)


def table(summary: Summary, width: int = 80) -> str:
    file = io.StringIO()
    print_evolution(Console(file=file, width=width, color_system=None), summary)
    return file.getvalue()


def test_scores_and_curves_are_those_of_the_summary(summary: Summary) -> None:
    page = Page(evolution_page(summary))
    none, arms = summary["none"], summary["arms"]
    shown = {summary["agent"]: [none["training"], none["held_out"]]}
    for name, arm in arms.items():
        shown[name] = [arm["training"], arm["held_out"]]
        shown[f"{name}:last"] = [arm["last"]]
    for name, curves in shown.items():
        scores = [[number(c["overall"]), interval(c["interval"]), str(c["n"]), str(c["users"])] for c in curves]
        assert [row[1:5] for row in page.row("scores", name)] == scores
        memory = [c["memory_score"] for c in curves]
        expected = [
            ["–"] * 3
            if m["ratio_of_means"] is None
            else [number(m["ratio_of_means"]), interval(m["intervals"]["ratio_of_means"]), str(m["n"])]
            for m in memory
        ]
        assert [row[5:8] for row in page.row("scores", name)] == expected
        for row, curve in zip(page.row("curves", name), curves, strict=True):
            places = zip(curve["by_period"], curve["by_period_n"], curve["by_period_intervals"], strict=True)
            for cell, (value, n, pair) in zip(row[1:], places, strict=True):
                assert cell.split()[0] == number(value, 2) and cell.endswith(f"n {n}")
                assert ("±" in cell) == (pair is not None)
    assert [row[1] for row in page.row("scores", "random")] == [
        number(summary["random"][part]) for part in ("training", "held_out")
    ]


def test_a_score_that_is_missing_is_no_zero(summary: Summary) -> None:
    arm = summary["arms"]["awi+complete"]
    assert arm["training"]["memory_score"]["ratio_of_means"] is None  # no upper bound of training users
    page = Page(evolution_page(summary))
    assert page.row("scores", "awi+complete")[0][5:8] == ["–", "–", "–"]
    arm["held_out"]["by_period"][1], arm["held_out"]["by_period_n"][1] = None, 0
    arm["held_out"]["by_period_intervals"][1] = None
    assert Page(evolution_page(summary)).row("curves", "awi+complete")[1][2] == ""
    line = next(line for line in table(summary).splitlines()[6:] if line.startswith("awi+complete "))
    assert re.search(r"[▁-█]  ", line) and "–" not in line


def test_history_has_the_scores_before_and_after_each_revision(summary: Summary) -> None:
    rows = [row for row in Page(evolution_page(summary)).rows["policies"] if row and row[0].isdigit()]
    steps = [(arm, step) for arm in summary["arms"].values() for step in arm["revisions"]]
    assert len(rows) == len(steps) == 4
    assert {step["outcome"] for _, step in steps} == {"revised", "unchanged", "nothing wrong"}
    for row, (arm, step) in zip(rows, steps, strict=True):
        period = step["period"]
        assert row[:2] == [str(period), step["outcome"]]
        curves = (arm["training"], summary["none"]["training"])
        values = [c["by_period"][at] if at < 2 else None for c in curves for at in (period, period + 1)]
        assert [cell.split()[0] for cell in row[2:6]] == [number(value) for value in values]
        assert all("n " in cell or cell == "–" for cell in row[2:6])
        assert row[6:9] == [str(step["questions"]), str(step["users"]), f"{len(step['policy']):,}"]


def test_shown_changes_lead_from_each_policy_to_the_next(summary: Summary) -> None:
    arm = summary["arms"]["awi+question"]
    long = [f"line {number}" for number in range(30)]
    policies = ["\n".join(long), "\n".join([*long[:4], "new", *long[5:20], *long[22:]]), "\u2028one\x0bline\n\n", "x"]
    arm["start"] = "first\nsecond"
    arm["revisions"] = [
        {**arm["revisions"][0], "period": at, "outcome": "revised", "policy": policy}
        for at, policy in enumerate(policies)
    ]
    del summary["arms"]["awi+complete"], summary["gains"][2:]
    page = Page(evolution_page(summary))
    text = arm["start"]
    assert len(page.changes) == len(policies)
    for change, policy in zip(page.changes, policies, strict=True):
        text = applied(text, change)
        assert text == policy
    assert ("…", "11 unchanged lines") in page.changes[1]  # of 15; two stand by each change


lines = st.lists(st.sampled_from(["a", "b", "", " a", "c\u2028d", "−x", "+y"]), max_size=12).map("\n".join)


@settings(max_examples=40, deadline=None)
@given(old=lines, new=lines)
def test_both_texts_can_be_read_from_a_change(old: str, new: str) -> None:
    change = diff(old, new)
    shown = [(f.sign, f"{f.lines} lines" if isinstance(f, Fold) else f.text) for f in change]
    assert applied(old, shown) == new
    turned = {ADDED: REMOVED, REMOVED: ADDED}
    back = sorted(  # a removed line stands before what came in its place
        ((place, turned.get(sign, sign), line) for place, (sign, line) in enumerate(shown)), key=lambda one: one[0]
    )
    assert applied(new, [(sign, line) for _, sign, line in back]) == old
    assert (old == new) == (not any(isinstance(f, Line) and f.sign != KEPT for f in change))


@pytest.mark.parametrize(
    ("pair", "p", "said"),
    [
        ((0.01, 0.1), 0.01, BETTER),
        ((-0.1, -0.01), 0.01, WORSE),
        ((-0.01, 0.1), 0.01, NOT_SHOWN),
        ((0.0, 0.1), 0.01, NOT_SHOWN),
        ((0.01, 0.1), 0.05, NOT_SHOWN),
        ((0.01, 0.1), None, NOT_SHOWN),
        (None, None, NOT_SHOWN),
    ],
)
def test_better_is_only_what_is_shown_to_be(
    summary: Summary, pair: tuple[float, float] | None, p: float | None, said: str
) -> None:
    assert verdict(pair, p) == said
    gain = summary["gains"][0]
    gain |= {"difference": 0.05, "interval": pair, "p": 0.001, "p_adjusted": p}
    summary["gains"] = [gain]
    page = Page(evolution_page(summary))
    ((css, text),) = page.gains
    assert (css, f"is {said} than awi" in " ".join(text.split())) == (
        {BETTER: "better", WORSE: "worse"}.get(said, "open"),
        True,
    )
    (row,) = page.row("gains", gain["agent"])
    assert row[1:3] == [signed(0.05), interval(pair)] and row[4:6] == [str(gain["n"]), str(gain["users"])]
    assert row[-1] == said
    shown = next(line for line in table(summary).splitlines() if "+0.050" in line)
    assert shown.rstrip().endswith(f" {said}")
    if said == NOT_SHOWN:
        assert f"{BETTER} than" not in page.text.replace(f"{NOT_SHOWN} than", "")


def evil(summary: Summary) -> Summary:
    """Whatever is a text of somebody else is a hostile one."""
    found = copy.deepcopy(summary)
    found["data"]["name"] = found["model"] = hostile.MARKUP
    found["data"]["held_out_users"][0] = hostile.USER
    found["warnings"] = [hostile.MARKUP]
    arm = found["arms"]["awi+question"]
    for place, step in enumerate(arm["revisions"]):
        step |= {"outcome": "unusable", "policy": f"{place}\n{hostile.EVIL}\n\ud83d", "refused": [hostile.EVIL]}
    return found


def test_a_policy_stays_a_text(summary: Summary) -> None:
    plain, html = Page(evolution_page(summary)), evolution_page(evil(summary))
    page = Page(html)
    assert {"img", "b"} & set(page.tags) <= {"b"} and page.tags.count("script") == plain.tags.count("script") == 1
    assert not any("onerror" in link or "javascript" in link for link in page.links)
    assert page.text.count(hostile.MARKUP) > 5
    # each line is a box of its own, whose direction is its own
    assert hostile.MARKUP in [line.partition(" \u202e")[0] for sign, line in page.changes[0] if sign == ADDED]
    assert html.count('<ins class="text" dir="auto">') == sum(sign == ADDED for c in page.changes for sign, _ in c)
    policy = evil(summary)["arms"]["awi+question"]["revisions"][0]["policy"]
    assert applied(summary["arms"]["awi+question"]["start"], page.changes[0]) == whole(policy)
    html.encode("utf-8")


def test_the_table_fits_a_terminal(summary: Summary) -> None:
    name = "awe-2-4-30"
    text = json.dumps(summary).replace('"awi', f'"{name}')
    said = table(json.loads(text))
    assert max(map(len, said.rstrip().splitlines())) <= 80
    for gain in summary["gains"]:
        assert re.search(rf"{re.escape(gain['agent'].replace('awi', name))} .* {gain['n']} +{gain['users']} ", said)
    for curve in (summary["none"]["training"], summary["none"]["held_out"]):
        assert re.search(rf"{name} +{curve['overall']:.3f}", said)
    assert "not what counts" in said and "offline" in said and "1 call, ~" in said
    odd = table(evil(summary))
    assert "after period 0 was not usable" in odd and "\x07" not in odd and "\x00" not in odd


def test_who_learned_nothing_at_all_is_told_so(summary: Summary) -> None:
    summary["arms"], summary["gains"] = {}, []
    assert "Nothing learned" in table(summary)
    page = Page(evolution_page(summary))
    assert "Nothing learned" in page.text and not page.gains
    assert page.row("scores", "awi")[1][1] == number(summary["none"]["held_out"]["overall"])


def test_report_writes_the_page_again_and_links_the_runs(directory: Path, summary: Summary, tmp_path: Path) -> None:
    first = write_evolution(directory, summary).read_bytes()
    (directory / "report.html").unlink()
    assert succeeded(inside("report", directory)).out.strip() == str(directory / "report.html")
    assert (directory / "report.html").read_bytes() == first
    assert "heldout/report.html" not in Page(first.decode()).links
    assert succeeded(inside("report", directory / "heldout")).code == 0
    amemgym.write_report(directory)
    assert "heldout/report.html" in Page((directory / "report.html").read_text(encoding="utf-8")).links
    held_out = (directory / "heldout" / "report.html").read_text(encoding="utf-8")
    assert "awi+complete:last" in held_out and "Why answers are wrong" in held_out
    # elsewhere, nothing lies beside it
    (elsewhere,) = amemgym.write_report(directory, out=tmp_path / "x.html")
    assert "heldout/report.html" not in Page(elsewhere.read_text(encoding="utf-8")).links


def test_what_an_evolution_has_not_is_told_in_a_sentence(directory: Path) -> None:
    for command in (["report", directory, "--format", "md"], ["report", directory, "--user", "x"]):
        assert f"{directory / 'heldout'} or {directory / 'training'}" in sentence(inside(*map(str, command)), 2)
    for command in (["score", directory], ["compare", directory, directory / "heldout"]):
        said = inside(*map(str, command))
        assert f"holds an evolution, not a run; name one of the runs in it: {directory / 'heldout'}" in said.err
        assert said.code != 0 and said.err.count("\n") == 1


def test_without_a_summary_there_is_a_way_on(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one HTML page"):
        amemgym.write_report(directory, "csv")
    (tmp_path / "manifest.json").write_bytes((directory / "manifest.json").read_bytes())
    with pytest.raises(RunDirectoryError, match="no finished evolution; continue it with: amemgym resume"):
        amemgym.write_report(tmp_path)
    whole = json.loads((directory / "evolution.json").read_text(encoding="utf-8"))
    del whole["none"]
    for damaged in ("[1]", "{", json.dumps(whole), "[" * 100_000):
        (tmp_path / "evolution.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(RunDirectoryError, match=r"damaged.*amemgym resume") as told:
            amemgym.write_report(tmp_path)
        assert len(str(told.value)) < 500
