"""Pages of cards and of an evolution in a browser: nothing from data runs or is asked for, and each fits a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import amemgym
from amemgym.evolving import evolve
from amemgym.report import write_evolution
from tests.quality.made import gold_first, users
from tests.report.looking import quiet_page
from tests.report.test_browser import OVERFLOW
from tests.report.test_card import evil_card
from tests.report.test_evolution import evil


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("cards")
    cards = [amemgym.card(users(8, seed=1, change=gold_first, still=True)), evil_card(folder)]
    written = [amemgym.write_card(card, out=folder / f"{number}.html") for number, card in enumerate(cards)]
    evolved = evolve("awi", "bank:mini", training=1, periods=2, probe=False, out=folder / "evolved").summary
    return [*written, write_evolution(folder, evil(evolved))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_quiet_whole_and_fits(browser: Browser, pages: list[Path], scheme: str) -> None:
    for path in pages:
        with quiet_page(browser, path, scheme) as page:
            page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
            assert page.evaluate(OVERFLOW) <= 0
            assert page.locator("svg.chart .mark").count() > 8
            ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
