"""The report holds all it needs, says every number with n and interval, and says what is missing."""

from __future__ import annotations

import html as stdlib_html
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.evaluate import RunDirectory
from amemgym.report import trace
from amemgym.report.html import html_report
from amemgym.scores.warnings import OFFLINE

Made = tuple[RunDirectory, dict[str, Any]]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Made]:
    def run(agents: str, **settings: Any) -> Made:
        out = tmp_path_factory.mktemp("run") / "r"
        return RunDirectory(out), amemgym.run("starter", agents, out=out, **settings).scores

    return run


@pytest.fixture(scope="module")
def made(make: Callable[..., Made]) -> Made:
    return make("rag,native,lag-1,uniform", users=2, periods=3)


class Page(HTMLParser):
    """The texts of a page by section, and every attribute."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: dict[str, str] = {"head": ""}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._section = "head"
        self._silent = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "section":
            self._section = str(given["aria-labelledby"])
            self.sections[self._section] = ""
        self._silent = tag in ("script", "style")
        if tag not in ("bdi", "sub", "strong", "code"):
            self.sections[self._section] += " "  # a cell, a line: apart from the one before

    def handle_endtag(self, tag: str) -> None:
        self._silent = False

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.sections[self._section] += data

    def words(self, section: str) -> str:
        return " ".join(self.sections[section].split())


def test_nothing_is_taken_from_elsewhere(made: Made) -> None:
    html = html_report(*made)
    assert not re.findall(r"""(?:https?:)?//[\w-]+\.""", html)
    assert not re.findall(r"""url\(|@import|\bsrc=|\bfetch\(|XMLHttpRequest|WebSocket""", html)
    for tag, given in Page(html).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in given and not any(name.startswith("on") for name in given)
        assert str(given.get("href", "#")).startswith("#")


def test_the_sections_stand_in_their_order_with_a_heading_each(made: Made) -> None:
    page = Page(html_report(*made))
    order = ["head", "warnings", "scores", "periods", "why", "states", "positions", "costs", "pairs", "traces"]
    assert list(page.sections) == order
    ids = [given["id"] for _, given in page.tags if "id" in given]
    assert len(ids) == len(set(ids))
    assert set(order[1:]) <= set(ids)
    assert [given["href"] for tag, given in page.tags if tag == "a"] == [f"#{name}" for name in order[1:]]
    assert all("scope" in given for tag, given in page.tags if tag == "th")
    assert all(
        given.get("aria-label") or given.get("aria-hidden") for tag, given in page.tags if given.get("width") == "100%"
    )


def test_scores_stand_with_n_and_interval(made: Made) -> None:
    words = Page(html_report(*made)).words("scores")
    for name, agent in made[1]["agents"].items():
        low, high = (f"{end:.3f}".replace("-", "−") for end in agent["interval"])
        score = agent["memory_score"]
        low_s, high_s = (f"{end:.3f}".replace("-", "−") for end in score["interval"])
        row = [name, f"{agent['overall']:.3f}", f"[{low}, {high}]", str(agent["n"])]
        low_m, high_m = (f"{end:.3f}".replace("-", "−") for end in score["intervals"]["mean_of_ratios"])
        row += [f"{score['ratio_of_means']:.3f}", f"[{low_s}, {high_s}]"]
        row += [f"{score['mean_of_ratios']:.3f}", f"[{low_m}, {high_m}]"]
        assert " ".join([*row, str(score["n"]), "2", "0"]).replace("-0.", "−0.") in words
    assert f"random {made[1]['random']:.3f} – {made[1]['random_n']}" in words


def test_what_was_run_is_said(made: Made) -> None:
    words = Page(html_report(*made)).words("head")
    for said in ("starter", made[1]["data"]["sha256"][:12], "2 users, 16 questions, 48 exams an agent", OFFLINE):
        assert said in words
    assert "NOT FINISHED" not in words and "Off-policy" not in words and "Imported" not in words


def test_a_real_model_is_not_called_a_stand_in(made: Made) -> None:
    agents = {name: {**told, "model": told["model"] and "openai:m"} for name, told in made[1]["agents"].items()}
    assert OFFLINE not in html_report(made[0], {**made[1], "model": "openai:m", "agents": agents})


def test_an_unfinished_run_is_marked_with_what_there_is(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made[0].path, tmp_path / "r")
    missing = next((tmp_path / "r" / "episodes").glob("rag*/*.json"))
    missing.unlink()
    scores = amemgym.score(tmp_path / "r").scores
    page = Page(html_report(RunDirectory(tmp_path / "r"), scores))
    assert "NOT FINISHED" in page.words("head")
    for said in ("rag: 1 of 2 episodes", "native: 2 of 2 episodes"):
        assert said in page.words("head")
    assert "only 1 of 2 episodes are finished" in page.words("warnings")


def test_warnings_remarks_and_the_source_of_conversations_are_shown(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, scores = made
    manifest = directory.manifest()
    manifest["remarks"] = ["Token counts are <b>not</b> known."]
    manifest["compared"]["off_policy"] = {"agent": "nativ&", "run": "abcdef" * 10, "conversations": "0" * 64}
    monkeypatch.setattr(RunDirectory, "manifest", lambda self: manifest)
    said = {"rag": ["Few <i>replies</i>."]}
    agents = {name: {**told, "warnings": said.get(name, [])} for name, told in scores["agents"].items()}
    page = Page(html_report(directory, {**scores, "warnings": ["Two users are few."], "agents": agents}))
    assert page.words("warnings") == "Warnings Two users are few. rag: Few <i>replies</i>."
    assert "Token counts are <b>not</b> known." in page.words("head")
    assert "those of nativ& in run abcdefabcdef" in page.words("head")
    quiet = {name: {**told, "warnings": []} for name, told in agents.items()}
    none = Page(html_report(directory, {**scores, "warnings": [], "agents": quiet}))
    assert none.words("warnings") == "Warnings No others than the one above."


def test_without_probes_the_page_says_so(make: Callable[..., Made]) -> None:
    page = Page(html_report(*make("rag", users=2, periods=2, probe=False)))
    assert "were not probed in this run (--no-probe)" in page.words("why")
    assert "What the wrong options are" in page.words("why")
    assert (
        page.words("states")
        == "Memory of single states Not known: the agents were not probed in this run (--no-probe)."
    )


def test_one_user_says_why_there_is_no_interval(make: Callable[..., Made]) -> None:
    directory, scores = make("rag,oracle", users=1, periods=2)
    page = Page(html_report(directory, scores))
    for section in ("scores", "why", "states"):
        assert f"No intervals: {scores['why_no_interval']}." in page.words(section)
        assert not re.search(r"\[\d\.\d+, \d\.\d+\]", page.words(section))
    assert not re.search(r"\[\d\.\d+, \d\.\d+\]", Page(html_report(directory, scores)).words("periods"))


def test_trials_stand_beside_each_other(make: Callable[..., Made]) -> None:
    directory, scores = make("uniform", users=2, periods=2, trials=2)
    by_trial = ", ".join(f"{value:.3f}" for value in scores["agents"]["uniform"]["by_trial"])
    assert by_trial in Page(html_report(directory, scores)).words("scores")


def test_pairs_are_shown_as_they_are_told(made: Made) -> None:
    pair = {
        **{"a": "rag", "b": "<lag>", "n": 48, "users": 2, "difference": -0.125, "interval": None, "p": 0.5},
        **{"smallest_p": 0.5, "p_adjusted": 0.0312, "effect_size": None, "only_a": 3, "only_b": 9},
        **{"memory_score_difference": -0.15, "memory_score_interval": [-0.3, 0.0]},
        "users_needed": {"0.02": 1234, "0.05": 200, "0.10": None},
    }
    words = Page(html_report(made[0], {**made[1], "pairs": [pair]})).words("pairs")
    numbers = "−0.125 – 48 2 0.500 0.031 0.500 – 3 9 −0.150 [−0.300, 0.000] 1,234 200 –"
    assert f"rag − <lag> {numbers}" in words
    assert "Benjamini and Hochberg" in words and "standard deviation" in words
    assert "0.02 0.05 0.10" in words
    assert "hold no comparison" in Page(html_report(made[0], {**made[1], "pairs": []})).words("pairs")


def test_the_heat_map_has_no_cell_without_answers(made: Made) -> None:
    agents = {name: dict(told) for name, told in made[1]["agents"].items()}
    agents["rag"] |= {"by_period": [1.0, None], "by_period_n": [16, 0], "by_period_intervals": [[0.75, 1.0], None]}
    html = html_report(made[0], {**made[1], "agents": agents})
    section = html[html.index('aria-labelledby="periods"') : html.index('aria-labelledby="why"')]
    (row,) = re.findall(r"<bdi>rag</bdi></th>(.*?)</tr>", section, re.S)
    assert row.count("<td></td>") == 2
    (cell,) = re.findall(r'<td style="--share: 1.000" title="95% interval \[0.750, 1.000\]">(.*?)</td>', row)
    assert re.sub(r"<.*?>", " ", cell).split() == ["1.00", "±0.25", "n", "16"]


def test_estimated_tokens_are_marked(made: Made) -> None:
    words = Page(html_report(*made)).words("costs")
    used = made[1]["agents"]["rag"]["agent_tokens"]
    assert f"rag ~{used['input']:,} ~{used['output']:,}" in words
    agents = {
        name: {**told, "agent_tokens": {**told["agent_tokens"], "estimated": False}}
        for name, told in made[1]["agents"].items()
    }
    exact = Page(html_report(made[0], {**made[1], "agents": agents})).words("costs")
    assert f"rag {used['input']:,} {used['output']:,}" in exact
    assert "uniform" not in words


def test_what_is_left_out_is_said_with_the_command_that_shows_it(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = html_report(*made)
    assert "left out" not in Page(whole).words("traces")
    monkeypatch.setattr(trace, "BUDGET", 1)
    page = html_report(*made)
    last = made[0].dataset().scenarios[1].id
    words = Page(page).words("traces")
    assert "the traces of 1 user are left out" in words
    assert "amemgym report DIR --user ID" in words and last in words
    assert len(page) < len(whole)
    only = html_report(*made, users=[last])
    assert only.count('class="packed"') == 1
    assert "of those that were asked for" in Page(only).words("traces")


def test_names_are_escaped(made: Made) -> None:
    evil = "<script>alert('x')</script>"
    scores = {**made[1], "model": evil, "user_model": evil, "data": {**made[1]["data"], "name": evil}}
    scores["agents"] = {**scores["agents"], evil: scores["agents"]["rag"]}
    html = html_report(made[0], scores)
    assert evil not in html
    assert evil in stdlib_html.unescape(html)
    assert html.count("<script") == html.count("</script>") == 2 + 2  # index and the script; a trace each user
