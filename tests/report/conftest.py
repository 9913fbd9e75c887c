"""A finished run of the small data, for what is made of a run directory."""

from __future__ import annotations

import pytest

from amemgym import api
from amemgym.evaluate import RunDirectory
from tests.cli.data import users, write


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """Two users, two periods, three questions; three agents; the offline model."""
    folder = tmp_path_factory.mktemp("finished")
    data = write(folder / "small.json", users())
    api.run(data, "native,rag,lag-1", out=folder / "run")
    return RunDirectory(folder / "run")
