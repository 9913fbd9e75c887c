"""A finished run of the small data, for what is made of a run directory; and a browser for its pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from amemgym import api
from amemgym.evaluate import RunDirectory
from tests.cli.data import users, write

QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
QUIET += " --disable-component-update --disable-sync"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Two users, two periods, three questions; three agents; the offline model."""
    folder = tmp_path_factory.mktemp("finished")
    data = write(folder / "small.json", users())
    api.run(data, "native,rag,lag-1", out=folder / "run")
    return RunDirectory(folder / "run")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    names = ("chromium", "chromium-browser", "google-chrome")
    program = os.environ.get("AMEMGYM_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("no Chromium found; install one, or name it in AMEMGYM_CHROMIUM")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=QUIET.split())
        yield started
        started.close()
