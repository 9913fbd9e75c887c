"""Pages of cards and of an evolution in a browser: nothing from data runs or is asked for, and each fits a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

import amemgym
from amemgym.evolving import evolve
from amemgym.report import write_evolution
from tests.quality.made import gold_first, users
from tests.report.test_browser import OVERFLOW, PHONE
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
        context = browser.new_context(viewport=PHONE, color_scheme=scheme)  # type: ignore[arg-type]
        page, said, asked = context.new_page(), [], []  # type: ignore[var-annotated]
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        assert page.evaluate("window.hacked") is None
        assert page.evaluate(OVERFLOW) <= 0
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
        assert page.evaluate(OVERFLOW) <= 0
        assert page.locator("svg.chart .mark").count() > 8
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
        assert (said, asked) == ([], [path.as_uri()])
        context.close()
