"""The Markdown report, read back with a Markdown reader: the numbers of the scores, and names as they are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from amemgym import api
from amemgym.evaluate import RunDirectory
from amemgym.report.markdown import markdown_report, text

Table = list[list[str]]


@pytest.fixture(scope="module")
def scores(finished: RunDirectory) -> dict[str, Any]:
    return api.score(finished.path, write=False).scores


@pytest.fixture(scope="module")
def manifest(finished: RunDirectory) -> dict[str, Any]:
    return finished.manifest()


def read(report: str) -> tuple[dict[str, Table], dict[str, list[str]]]:
    """The table and the other texts below each heading. HTML would be tokens of its own, and is refused."""
    tables: dict[str, Table] = {}
    texts: dict[str, list[str]] = {}
    heading, kind = "", ""
    for token in MarkdownIt("commonmark").enable("table").parse(report):
        assert "html" not in token.type
        if token.type == "inline":
            assert not any(
                "html" in child.type or child.type in ("image", "link_open") for child in token.children or []
            )
            said = "".join(child.content for child in token.children or [] if child.type in ("text", "text_special"))
            if kind == "heading_open":
                heading = said
            elif kind in ("th_open", "td_open"):
                tables[heading][-1].append(said)
            else:
                texts.setdefault(heading, []).append(said)
        elif token.type == "tr_open":
            tables.setdefault(heading, []).append([])
        elif token.type.endswith("_open"):
            kind = token.type
    return tables, texts


def shown(value: float, interval: list[float] | None) -> str:
    return f"{value:.3f}" + (f" [{interval[0]:.3f}, {interval[1]:.3f}]" if interval else "")


def test_every_number_stands_in_its_table(scores: dict[str, Any], manifest: dict[str, Any]) -> None:
    tables, texts = read(markdown_report(scores, manifest))
    run = dict(row for row in tables["What was run"] if row[0])
    assert run["data"] == f"small, sha256 {scores['data']['sha256']}"
    assert run["fingerprint"] == scores["fingerprint"]
    assert run["protocol"] == "amemgym, version 1"
    by_name = {
        heading: {row[0]: row[1:] for row in table[1:]}
        for heading, table in tables.items()
        if heading != "What was run"
    }
    assert [row[0] for row in tables["Scores"][1:]][-3:] == ["lag-1", "upper bound", "random"]
    for name, agent in scores["agents"].items():
        score = agent["memory_score"]
        assert by_name["Scores"][name] == [
            shown(agent["overall"], agent["interval"]),
            "12",
            shown(score["ratio_of_means"], score["interval"]),
            shown(score["mean_of_ratios"], score["intervals"]["mean_of_ratios"]),
            "12",
            str(agent["invalid"]),
            str(agent["failed"]),
        ]
        pairs = zip(agent["by_period"], agent["by_period_intervals"], strict=True)
        periods = [f"{value:.3f} ±{max(high - value, value - low):.3f}" for value, (low, high) in pairs]
        assert by_name["Overall by period"][name] == [*periods, "6"]
        failures = [shown(agent["diagnosis"][kind], agent["diagnosis_intervals"][kind]) for kind in agent["diagnosis"]]
        assert by_name["Why answers are wrong"][name] == [*failures, str(agent["undiagnosed"]), "12"]
        mistakes = [shown(agent["errors"][kind], agent["errors_intervals"][kind]) for kind in agent["errors"]]
        assert by_name["What wrong options are"][name] == [*mistakes, "12"]
        now = agent["recall"]["now"]
        assert by_name["What is remembered"][name][1] == f"{shown(now['value'], now['interval'])} (n {now['n']})"
    tokens = scores["agents"]["rag"]["tokens"]
    assert by_name["Tokens"]["rag"][:3] == [
        str(scores["agents"]["rag"]["calls"]),
        f"≈{tokens['input']}",
        f"≈{tokens['output']}",
    ]
    assert "lag-1" not in by_name["Tokens"]
    (pair,) = scores["pairs"]
    row = by_name["Pairs of agents"]["native − rag"]
    assert row[0] == f"{pair['difference']:+.3f} [{pair['interval'][0]:+.3f}, {pair['interval'][1]:+.3f}]"
    assert row[-3:-1] == ["12", "2"]
    assert any("embedded stand-in" in note for note in texts["Notes"])
    assert "Unfinished run" not in str(texts)


def test_warnings_of_the_run_and_of_agents_are_there(scores: dict[str, Any], manifest: dict[str, Any]) -> None:
    agents = {**scores["agents"], "rag": {**scores["agents"]["rag"], "warnings": ["it is <b>odd</b> | $x$"]}}
    _, texts = read(markdown_report({**scores, "agents": agents, "warnings": ["# all is odd"]}, manifest))
    assert "Warning: # all is odd" in texts["Notes"]
    assert "Warning: rag: it is <b>odd</b> | $x$" in texts["Notes"]


def test_an_unfinished_run_says_so_at_once(scores: dict[str, Any], manifest: dict[str, Any]) -> None:
    rag = {**scores["agents"]["rag"], "episodes": {"finished": 1, "planned": 2}}
    agents = {**scores["agents"], "rag": rag}
    report = markdown_report({**scores, "finished": False, "agents": agents}, manifest)
    tables, texts = read(report)
    assert texts["Memory scores: small, offline"] == [
        "Unfinished run: 5 of 6 episodes are there; every number below is over these alone."
    ]
    assert "rag (unfinished)" in [row[0] for row in tables["Scores"]]


def test_what_was_not_measured_has_no_section(scores: dict[str, Any], manifest: dict[str, Any]) -> None:
    nothing = {"value": None, "ratio_of_means": None, "mean_of_ratios": None, "why_undefined": "no bound", "n": 0}
    agents = {
        name: {
            **agent,
            "diagnosis": None,
            "recall": None,
            "update_lag": None,
            "memory_score": {**nothing, "intervals": {"ratio_of_means": None, "mean_of_ratios": None}},
        }
        for name, agent in scores["agents"].items()
    }
    bare = {**scores, "agents": agents, "pairs": [], "upper_bound": None, "upper_bound_interval": None}
    tables, _ = read(markdown_report(bare, manifest))
    assert {"Why answers are wrong", "What is remembered", "Pairs of agents"}.isdisjoint(tables)
    rows = {row[0]: row for row in tables["Scores"]}
    assert rows["rag"][3:6] == ["–", "–", "0"]
    assert rows["upper bound"][1] == "–"


def test_off_policy_names_whose_conversations(scores: dict[str, Any], manifest: dict[str, Any]) -> None:
    off = {**manifest, "compared": {**manifest["compared"], "off_policy": {"agent": "a|b", "run": "ff00"}}}
    tables, _ = read(markdown_report(scores, off))
    run = dict(row for row in tables["What was run"])
    assert run["off-policy"] == "all agents were given the conversations of a|b in run ff00"
    assert "off-policy" not in dict(read(markdown_report(scores, manifest))[0]["What was run"])


NAMES = st.text(st.sampled_from("|\\`*_[]()<>&;#+-=.1 \n\t\r$~!ab'\"@:/é記"), min_size=1, max_size=12) | st.text(
    min_size=1
)


@settings(deadline=None, max_examples=60)
@given(NAMES)
@example("a | b")
@example("a\\|b\\")
@example("<script>alert(1)</script>")
@example("&lt;b&gt;")
@example("$x$ and **b** and `c`")
@example("![x](http://x/y)")
@example("1. a")
@example("---")
@example("a\n\n# b")
def test_any_name_is_one_cell_and_shows_as_it_is(scores: dict[str, Any], manifest: dict[str, Any], name: str) -> None:
    agent = scores["agents"]["rag"]
    tables, texts = read(markdown_report({**scores, "agents": {name: agent}}, manifest))
    (row,) = (row for row in tables["Scores"][1:] if row[0] not in ("upper bound", "random"))
    assert len(row) == 8
    line = " ".join(name.split())
    # a null character may not be in Markdown at all
    assert row[0] == line.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    assert set(tables) >= {"What was run", "Scores", "Tokens"}
    assert "# " not in texts


@given(NAMES)
def test_a_text_is_one_line_that_shows_it(said: str) -> None:
    line = text(said)
    assert "\n" not in line and "\r" not in line
    parsed = MarkdownIt("commonmark").parse(line)
    assert [token.type for token in parsed] in ([], ["paragraph_open", "inline", "paragraph_close"])
