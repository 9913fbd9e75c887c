"""The page and the figure of a table of results as they are seen: quiet, fit for a phone, with ink that can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from amemgym.report.archive import write_result_table
from amemgym.report.archive.figure import DARK, LIGHT
from amemgym.report.ink import INK
from tests.report.archive_tables import small
from tests.report.looking import quiet_page
from tests.report.test_archive import hostile


def luminance(colour: tuple[float, ...]) -> float:
    """WCAG 2's relative luminance of a colour in 0..1."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_figures_ink_can_be_read_on_all_its_colours() -> None:
    ink = tuple(int(INK[at : at + 2], 16) / 255 for at in (1, 3, 5))
    assert min(contrast(ink, LIGHT), contrast(ink, DARK)) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_fits_and_can_be_read(browser: Browser, tmp_path: Path, scheme: str) -> None:
    for number, made in enumerate((small(), hostile())):
        path = write_result_table(made, "html", tmp_path / f"{number}.html")
        with quiet_page(browser, path, scheme) as page:
            ground = _colour(page.evaluate("getComputedStyle(document.body).backgroundColor"))
            found = page.evaluate(
                """[...document.querySelectorAll("table.heat td[style]")].flatMap((cell) =>
                  [cell, cell.querySelector("small")].map((part) =>
                    [getComputedStyle(part).color, getComputedStyle(cell).backgroundColor]))"""
            )
            assert len(found) > 10
            for ink, over in found:
                *colour, alpha = (*_colour(over), 1.0)[:4]
                seen = tuple(alpha * c + (1 - alpha) * g for c, g in zip(colour, ground, strict=True))
                assert contrast(_colour(ink)[:3], seen) >= 4.5


def _colour(css: str) -> tuple[float, ...]:
    red, green, blue, *alpha = map(float, re.findall(r"[\d.]+", css))
    return (red / 255, green / 255, blue / 255, *alpha)
