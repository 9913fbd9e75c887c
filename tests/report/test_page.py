"""A page holds all it needs, lets only its own script run, and can be read in light and dark."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape
from pathlib import Path

import pytest

from amemgym.report import page
from amemgym.report.page import FOLDER, render
from amemgym.report.wording import chance, count, interval, number, percent, signed, tokens


@pytest.fixture
def templates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the real templates, to add to."""
    for file in FOLDER.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    page._environment.cache_clear()
    body = "{% block title %}{{ said }}{% endblock %}{% block body %}<p>{{ said }}</p>{% endblock %}"
    (tmp_path / "x.html").write_text('{% extends "base.html" %}' + body)
    return tmp_path


@pytest.fixture(autouse=True)
def _forget_templates() -> object:
    yield
    page._environment.cache_clear()


def script_of(html: str) -> str:
    return html[html.rindex("<script>") + len("<script>") : html.rindex("</script>")]


@pytest.mark.parametrize("scripts", [None, "one.js", ("one.js", "two.js")])
def test_the_policy_allows_exactly_the_script_that_is_there(templates: Path, scripts: object) -> None:
    (templates / "one.js").write_text("const one = 1;\n")
    (templates / "two.js").write_text("const two = one;\n")
    html = render("x.html", scripts, said="hello")  # type: ignore[arg-type]
    digest = base64.b64encode(hashlib.sha256(script_of(html).encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in unescape(html)
    assert "default-src 'none'" in html
    assert ("const two = one;" in html) == (scripts == ("one.js", "two.js"))
    assert html.count("const root = document.documentElement;") == 1


def test_fields_are_escaped(templates: Path) -> None:
    html = render("x.html", said='</title><script>alert(1)</script>"')
    assert "<script>alert" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;&#34;") == 2


def test_a_field_that_is_missing_is_an_error(templates: Path) -> None:
    with pytest.raises(Exception, match="'said' is undefined"):
        render("x.html")


def test_our_scripts_can_stand_in_a_page_and_make_no_markup_of_texts() -> None:
    scripts = sorted(FOLDER.glob("*.js"))
    assert scripts
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert "</" not in text and "<!--" not in text
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text)


def luminance(colour: tuple[float, ...]) -> float:
    parts = [c / 255 / 12.92 if c / 255 <= 0.03928 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palette(which: str) -> dict[str, tuple[float, ...]]:
    css = (FOLDER / "style.css").read_text(encoding="utf-8")
    dark, light = css.split("{% endset %}")[0], css.split("{% endset %}")[1].split("}")[0]
    block = dark if which == "dark" else light
    found: dict[str, tuple[float, ...]] = {
        name: tuple(int(colour[i : i + 2], 16) for i in (0, 2, 4))
        for name, colour in re.findall(r"--([\w-]+): #([0-9a-f]{6});", block)
    }
    (heat,) = re.findall(r"--heat: ([\d ]+);", block)
    share = float(re.findall(r"var\(--share\) \* ([\d.]+)", css)[0])
    pairs = zip(heat.split(), found["ground"], strict=True)
    return found | {"hottest": tuple(share * float(hot) + (1 - share) * ground for hot, ground in pairs)}


@pytest.mark.parametrize("which", ["light", "dark"])
def test_texts_can_be_read_and_marks_be_seen_in_light_and_dark(which: str) -> None:
    colours = palette(which)
    texts = [(ink, ground) for ink in ("ink", "quiet", "accent", "good", "bad") for ground in ("ground", "panel")]
    texts += [("ink", "hottest"), ("ink", "warn-ground"), ("ink", "mark"), ("quiet", "warn-ground")]
    texts += [(name, name.removeprefix("on-")) for name in colours if name.startswith("on-")]
    assert len(texts) > 20
    for ink, ground in texts:
        assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    agents = [name for name in colours if name.startswith("agent-")]
    assert len(agents) == 8
    for agent in agents:
        assert contrast(colours[agent], colours["ground"]) >= 3, agent


def test_light_and_dark_have_the_same_colours() -> None:
    assert palette("light").keys() == palette("dark").keys()


def test_how_numbers_are_written() -> None:
    assert [number(0.5791), number(-0.0002), number(-0.25, 2), number(None)] == ["0.579", "0.000", "−0.25", "–"]
    assert [signed(0.02), signed(-0.02), signed(0.0001), signed(None)] == ["+0.020", "−0.020", "0.000", "–"]
    assert [interval([-0.1, 0.2]), interval(None)] == ["[−0.100, 0.200]", "–"]
    assert [percent(0.334), count(12345), count(None), chance(0.0004), chance(0.0312), chance(None)] == [
        *("33%", "12,345", "–", "< 0.001", "0.031", "–")
    ]
    used = {"input": 1200, "output": 7}
    assert tokens({**used, "estimated": True}, "input") == "~1,200"
    assert tokens({**used, "estimated": False}, "output") == "7"
