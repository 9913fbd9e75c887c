"""The figures: files of their kind, the same for the same scores, with every agent's name as text."""

from __future__ import annotations

import re
import struct
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any

import matplotlib
import pytest

from amemgym import api
from amemgym.errors import UsageError
from amemgym.evaluate import RunDirectory
from amemgym.report.figures import draw_figures
from amemgym.report.ink import LONGEST, drawn, plain

NAMES = ("scores", "periods", "failures", "recall", "positions")
#: what a name may be: mathtext, markup, a name that matplotlib takes for hidden, signs that cannot be drawn
ODD = ("$x^2$ and $", "<b>&amp;</b>", "_hidden", "a\nb\x1bc", "记忆")


@pytest.fixture(scope="module")
def scores(finished: RunDirectory) -> dict[str, Any]:
    return api.score(finished.path, write=False).scores


@pytest.fixture(scope="module")
def png(scores: dict[str, Any]) -> dict[str, bytes]:
    return draw_figures(scores, "png")


def with_agents(scores: dict[str, Any], *names: str, **fields: Any) -> dict[str, Any]:
    agent = scores["agents"]["rag"]
    return {**scores, "agents": {name: {**agent, **fields} for name in names}}


@pytest.fixture(scope="module")
def svg(scores: dict[str, Any]) -> dict[str, bytes]:
    """Of one agent: drawing takes a while."""
    return draw_figures(with_agents(scores, "native"), "svg")


def texts(svg: bytes) -> list[str]:
    """Every text in an SVG, which must be XML to be read."""
    root = ElementTree.fromstring(svg)
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_png_files_are_fit_to_be_printed(png: dict[str, bytes]) -> None:
    assert tuple(png) == NAMES
    for data in png.values():
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        per_metre = struct.unpack(">I", data[(at := data.index(b"pHYs") + 4) : at + 4])[0]
        assert round(per_metre * 0.0254) == 200
        width, height = struct.unpack(">II", data[16:24])
        assert width > 500 and height > 250


def test_svg_files_have_all_names_and_numbers_as_text(scores: dict[str, Any]) -> None:
    figures = draw_figures(with_agents(scores, "native", *ODD), "svg")
    assert tuple(figures) == NAMES
    for data in figures.values():
        found = texts(data)
        for name in ("native", "$x^2$ and $", "<b>&amp;</b>", "_hidden", "a b�c", "记忆"):
            assert name in found
        assert not any("UNFINISHED" in said for said in found)
    overall, score = scores["agents"]["rag"]["overall"], scores["agents"]["rag"]["memory_score"]["ratio_of_means"]
    found = texts(figures["scores"])
    assert sum(said.startswith(f"{overall:.3f} [") and said.endswith("n 12") for said in found) == 6
    assert sum(said.startswith(f"{score:.3f} [") for said in found) >= 6
    assert f"random {scores['random']:.3f}" in found and f"upper bound {scores['upper_bound']:.3f}" in found
    by_period = scores["agents"]["rag"]["by_period"]
    assert [said for said in texts(figures["periods"]) if re.fullmatch(r"\d\.\d\d", said)] == [
        f"{value:.2f}" for _ in range(6) for value in by_period
    ]


def test_the_same_scores_give_the_same_bytes(
    scores: dict[str, Any], png: dict[str, bytes], svg: dict[str, bytes]
) -> None:
    assert draw_figures(scores, "png") == png
    assert draw_figures(with_agents(scores, "native"), "svg") == svg
    for data in [*png.values(), *svg.values()]:
        assert not re.search(rb"<dc:date>|tIME|[Cc]reation", data)


def settings() -> dict[str, Any]:
    """All but the backend, as they are: to look that one up in the usual way would choose one."""
    return {name: value for name, value in dict.items(matplotlib.rcParams) if name != "backend"}


def test_the_settings_of_others_are_left_alone_and_do_not_matter(scores: dict[str, Any], svg: dict[str, bytes]) -> None:
    with matplotlib.rc_context({"font.size": 20, "axes.grid": True, "svg.fonttype": "path"}):
        theirs = settings()
        assert draw_figures(with_agents(scores, "native"), "svg") == svg
        assert settings() == theirs


def test_a_failure_while_drawing_leaves_the_settings() -> None:
    def fail(figure: object) -> None:
        raise LookupError("lost")

    with matplotlib.rc_context({"font.size": 20}):
        theirs = settings()
        with pytest.raises(LookupError):
            drawn(fail, "svg")
        assert settings() == theirs


def test_an_unfinished_run_and_its_agents_are_marked(scores: dict[str, Any]) -> None:
    part = with_agents(scores, "rag", episodes={"finished": 1, "planned": 2})
    for data in draw_figures({**part, "finished": False}, "svg").values():
        found = texts(data)
        assert "rag (1/2)" in found
        assert any("UNFINISHED RUN: 1 of 2 episodes" in said for said in found)


def test_what_was_not_measured_is_not_drawn(scores: dict[str, Any]) -> None:
    bare = with_agents(scores, "rag", diagnosis=None, recall=None, update_lag=None, interval=None)
    score = {**scores["agents"]["rag"]["memory_score"], "ratio_of_means": None, "interval": None}
    bare["agents"]["rag"]["memory_score"] = score
    figures = draw_figures({**bare, "why_no_interval": "one user", "upper_bound": None, "random": None}, "svg")
    assert tuple(figures) == ("scores", "periods", "failures", "positions")
    assert "Why answers are wrong" not in texts(figures["failures"])
    assert "What wrong options are" in texts(figures["failures"])
    assert "undefined  n 12" in texts(figures["scores"])
    assert any("No intervals: one user." in said for said in texts(figures["scores"]))
    assert draw_figures(with_agents(scores, "rag", n=0), "svg") == {}


def test_a_period_that_one_agent_lacks_stays_empty(scores: dict[str, Any]) -> None:
    some = with_agents(scores, "long", "short")
    some["agents"]["short"] = {**some["agents"]["short"], "by_period": [0.26]}
    found = texts(draw_figures(some, "svg")["periods"])
    assert [said for said in found if said in ("0.26", "–")] == ["0.26", "–"]


def test_a_long_name_keeps_its_ends() -> None:
    shown = plain("begin" + "x" * 200 + "end")
    assert len(shown) <= LONGEST
    assert shown.startswith("begin") and shown.endswith("end") and "…" in shown
    assert plain("n" * LONGEST) == "n" * LONGEST


def test_without_matplotlib_the_way_to_it_is_named(monkeypatch: pytest.MonkeyPatch, scores: dict[str, Any]) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'amemgym\[figures\]'"):
        draw_figures(scores, "png")
