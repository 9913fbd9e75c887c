"""A page opened in a browser on a phone, and watched: it says nothing, asks for nothing and runs nothing from data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.report.test_browser import OVERFLOW, PHONE


@contextmanager
def quiet_page(browser: Browser, path: Path, scheme: str) -> Iterator[Page]:
    """The page, to be looked at; at the end it must have been quiet all the time."""
    context = browser.new_context(viewport=PHONE, color_scheme=scheme)  # type: ignore[arg-type]
    page, said, asked = context.new_page(), [], []  # type: ignore[var-annotated]
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("window.hacked") is None
    assert page.evaluate(OVERFLOW) <= 0
    yield page
    assert (said, asked) == ([], [path.as_uri()])
    context.close()
