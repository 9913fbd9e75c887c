"""What the tests of the command line share: data that no one else edits, a finished run, and an endpoint."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import signal
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import typer

from amemgym import secrets
from amemgym.scenario import find_data
from tests.cli.data import users, write
from tests.cli.generating import PEOPLE, Made
from tests.cli.helpers import Ended, against, answer, environment, inside, succeeded
from tests.cli.warm import warm
from tests.generate.helpers import jsonl
from tests.support.generator import served
from tests.support.mock_openai import MockOpenAI, Request

# a shell that starts the tests in the background has them ignore Ctrl-C, and whatever they start would ignore it too
signal.signal(signal.SIGINT, signal.default_int_handler)

#: agents with and without a memory that a model writes, and two that cost nothing
AGENTS = "native,awe,uniform,oracle"

# What a process does once, and these tests would do anew with each of their many commands inside one process: read the
# certificates, look through what is installed for plug-ins, and build the command line from its functions.
default_context = cache(ssl.create_default_context)
installed = cache(importlib.metadata.entry_points)
command_line = cache(typer.main.get_command)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each test stands in an empty folder, without keys, and knows no key from another test."""
    clean = environment()
    for name in set(os.environ) - set(clean):
        monkeypatch.delenv(name)
    for name, value in clean.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setattr(ssl, "create_default_context", default_context)
    monkeypatch.setattr(typer.main, "get_command", command_line)
    for name, module in list(sys.modules.items()):
        if name.startswith("amemgym.") and hasattr(module, "entry_points"):
            monkeypatch.setattr(module, "entry_points", installed)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The starter data as it is now, so that no edit of it falls into the middle of a test."""
    copy = tmp_path_factory.mktemp("data") / "starter.json"
    shutil.copyfile(find_data("starter")[1], copy)
    return copy


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small data set."""
    return write(tmp_path_factory.mktemp("data") / "small.json", users())


@dataclass(frozen=True)
class Whole:
    """An unbroken run with the offline model."""

    directory: Path
    data: Path
    printed: Ended

    @property
    def arguments(self) -> list[str | Path]:
        """The same run again, but for where it is written."""
        return ["run", "--data", self.data, "--agents", AGENTS]

    def copy(self, to: Path) -> Path:
        """The run directory again, to do harm to."""
        return Path(shutil.copytree(self.directory, to))


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory, small: Path) -> Whole:
    """An unbroken offline run of the small data."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    printed = succeeded(warm("run", "--data", small, "--agents", AGENTS, "--out", directory))
    return Whole(directory, small, printed)


@dataclass
class Endpoint:
    """The mock endpoint, and an unbroken run against it."""

    server: MockOpenAI
    directory: Path
    data: Path
    requests: list[Request]
    printed: Ended

    @property
    def arguments(self) -> list[str | Path]:
        """The same run again, but for where it is written."""
        return against(self.server, self.data, "--agents", AGENTS)

    def since(self, arrived: int) -> list[Request]:
        """The requests after the first `arrived`."""
        return self.server.requests[arrived:]


@pytest.fixture(scope="session")
def _endpoint(tmp_path_factory: pytest.TempPathFactory, small: Path) -> Iterator[Endpoint]:
    directory = tmp_path_factory.mktemp("endpoint") / "run"
    with MockOpenAI(answer, delay=0.02) as server:
        printed = succeeded(warm(*against(server, small, "--agents", AGENTS), "--out", directory))
        yield Endpoint(server, directory, small, list(server.requests), printed)


@pytest.fixture
def endpoint(_endpoint: Endpoint) -> Iterator[Endpoint]:
    """The endpoint as it was at first: whatever a test made of it is undone."""
    server = _endpoint.server
    server.responder, server.delay = answer, 0.0
    yield _endpoint
    server.responder, server.delay, server.faults, server.limit = answer, 0.0, None, None


@pytest.fixture(scope="session")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("made")
    people = jsonl(folder / "people.jsonl", PEOPLE)
    with MockOpenAI(served()) as server:
        made = Made(server, folder / "data.json", people, [], "")
        made.printed = succeeded(inside(*made.command, "--out", made.out)).out
        made.requests = list(server.requests)
        yield made


@pytest.fixture
def made(_made: Made) -> Iterator[Made]:
    """The endpoint as it was at first."""
    server = _made.server
    server.responder, server.delay = served(), 0.0
    yield _made
    server.responder, server.delay, server.errors = served(), 0.0, []
