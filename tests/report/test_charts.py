"""Charts are where the numbers are, say them, and keep apart what is drawn alike."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from amemgym.report.charts import (
    MARKERS,
    Look,
    Scale,
    Series,
    element,
    interval_row,
    line_chart,
    marks_head,
    stacked_row,
    y_axis,
)

LOOK = Look("agent-0", 0)


def find(svg: str, tag: str, css: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg).iter(tag) if css in e.get("class", "").split()]


def test_a_dot_stands_at_its_value_and_a_line_over_its_interval() -> None:
    svg = interval_row("rag", 0.25, [0.1, 0.5], LOOK, Scale(), [0.2, 1.0])
    (dot,) = [e for e in ET.fromstring(svg).iter("svg") if e.find("path") is not None]
    assert dot.get("x") == "25.00%"
    line = find(svg, "line", "range")[0]
    assert (line.get("x1"), line.get("x2")) == ("10.00%", "50.00%")
    assert [mark.get("x1") for mark in find(svg, "line", "bound")] == ["20.00%", "100.00%"]
    assert 'aria-label="rag: 0.250, 95% interval [0.100, 0.500]"' in svg


def test_an_interval_that_goes_on_beyond_the_chart_has_no_end_there() -> None:
    lines = find(interval_row("rag", 0.25, [-9.0, 0.5], LOOK, Scale(), []), "line", "range")
    assert [(line.get("x1"), line.get("x2")) for line in lines] == [("0.00%", "50.00%"), ("50.00%", "50.00%")]


def test_without_a_value_nothing_is_drawn_at_any() -> None:
    svg = interval_row("rag", None, None, LOOK, Scale(), [])
    assert not find(svg, "line", "range") and "<path" not in svg
    assert "rag: –" in svg


def test_a_scale_reaches_as_far_as_its_values_but_no_further_than_makes_sense() -> None:
    assert Scale.around([]) == Scale.around([None, 0.3, 1.0]) == Scale(0, 1)
    assert Scale.around([-0.1, 1.1]) == Scale(-0.25, 1.25)
    assert Scale.around([-9.0, 9.0]) == Scale(-1, 2)
    assert Scale(-1, 2).share(5) == 1 and Scale(-1, 2).share(-5) == 0 and Scale(-1, 2).share(0.5) == 0.5
    assert Scale().named_ticks() == [0, 0.25, 0.5, 0.75, 1]
    assert Scale(-0.25, 1.25).named_ticks() == [0, 0.5, 1]


def test_a_stacked_bar_is_as_long_as_its_shares_and_leaves_out_empty_ones() -> None:
    svg = stacked_row("rag", {"right": 0.75, "write": 0.0, "read": 0.05, "utilization": 0.2})
    boxes = [(e.get("x"), e.get("width")) for e in ET.fromstring(svg).iter("rect")]
    assert boxes == [("0.000%", "75.000%"), ("75.000%", "5.000%"), ("80.000%", "20.000%")]
    assert [e.text for e in ET.fromstring(svg).iter("text")] == ["75%", "20%"]
    assert find(svg, "g", "kind-read")
    assert not find(svg, "g", "kind-write")


def mean(value: float | None, n: int, interval: list[float] | None = None) -> dict[str, object]:
    return {"value": value, "n": n, "interval": interval}


def test_a_line_skips_what_is_not_known_and_few_answers_are_hollow() -> None:
    means = [mean(1.0, 10, [0.5, 1.5]), mean(None, 0), mean(0.0, 9)]
    svg = line_chart("recall", [Series("a<b", LOOK, means)], Scale(), ["0", "1", "8+"])
    lines = find(svg, "line", "line")
    assert len(lines) == 1
    assert float(lines[0].get("y1", "")) < float(lines[0].get("y2", ""))  # 1 is above 0
    assert len(find(svg, "path", "mark")) == 2
    assert len(find(svg, "path", "hollow")) == 1
    (bar,) = find(svg, "line", "thin")
    assert bar.get("y1") == lines[0].get("y1")  # cut where the scale ends
    assert "a&lt;b: 0.000 –, n = 9" in svg
    assert [e.text for e in find(svg, "text", "label")] == ["0", "1", "8+"]
    assert len(find(y_axis(Scale()), "text", "label")) == 5


def test_lines_of_several_agents_stand_beside_each_other_in_their_place() -> None:
    series = [Series(str(number), Look(f"agent-{number}", number), [mean(0.5, 20)] * 3) for number in range(8)]
    svg = line_chart("recall", series, Scale(), ["0", "1", "2"])
    marks = [e for e in ET.fromstring(svg).iter("svg") if e.find("path") is not None]
    places = [float((e.get("x") or "").rstrip("%")) for e in marks]
    assert len(set(places)) == 24
    assert all(33.3 * (i % 3) < place < 33.4 * (i % 3 + 1) for i, place in enumerate(places))


def test_marks_that_lie_close_are_named_one_below_the_other() -> None:
    svg = marks_head({"random": 0.2, "upper bound": 0.21}, Scale())
    one, two = ET.fromstring(svg).iter("text")
    assert one.get("y") != two.get("y")


def test_agents_differ_besides_colour() -> None:
    assert len(set(MARKERS)) == 8
    assert len({re.sub(r"agent-\d", "", Look(f"agent-{n}", n).swatch()) for n in range(8)}) == 8


@pytest.mark.parametrize("text", ["<b>", '"x" onload="y"', "a&b"])
def test_texts_in_a_chart_are_escaped(text: str) -> None:
    svg = element("text", text, aria_label=text)
    parsed = ET.fromstring(svg)
    assert (parsed.text, dict(parsed.attrib)) == (text, {"aria-label": text})
