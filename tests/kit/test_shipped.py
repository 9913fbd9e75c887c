"""Every memory that ships keeps the rules; one whose package is not here is skipped with the reason.

A whole check of them all takes minutes, and each is one command. So what has to start a process is tried on one memory
of each kind of snapshot, and of the adapters what users and copies depend on. Servers are stood in for by fakes. mem0,
which takes seconds to import, is held to the rules where it is imported anyway (tests/memory/test_mem0.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from amemgym.kit import check_memory
from amemgym.kit.rules import RULES
from amemgym.memory import known_memories
from amemgym.memory.registry import BUILT_IN
from tests.support.fake_graphiti import FakeGraphiti
from tests.support.fake_letta import FakeLetta
from tests.support.fake_zep import BASE, FakeZep

IN_PROCESSES = ("snapshot-new-process", "deterministic-new-process")
#: memories whose snapshots differ in kind
SNAPSHOTS = ("vector", "bm25-message", "notes")
OF_ADAPTERS = (
    "written-comes-back",
    "empty-memory",
    "clear-empties",
    "users-apart",
    "snapshot-round-trip",
    "exam-changes-nothing",
    "simulated-time",
    "errors-are-errors",
    "deterministic",
)


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, str]]:
    """The environment in which every server is a fake one, and no account's."""
    with ExitStack() as stack:
        letta, zep, graphiti = (stack.enter_context(fake()) for fake in (FakeLetta, FakeZep, FakeGraphiti))
        yield {
            "LETTA_BASE_URL": letta.url,
            "LETTA_API_KEY": "fake-key-0123456789-for-tests",
            "ZEP_API_URL": zep.url + BASE,
            "ZEP_API_KEY": "fake-key-0123456789-for-tests",
            "GRAPHITI_URL": graphiti.url,
        }


@pytest.mark.parametrize("name", [name for name in known_memories() if not name.startswith("mem0")])
def test_a_memory_that_ships_keeps_the_rules(name: str, fakes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in fakes.items():
        monkeypatch.setenv(variable, value)
    rules = list(OF_ADAPTERS)
    if name in BUILT_IN:
        rules = [id for id in RULES if id not in IN_PROCESSES or name in SNAPSHOTS]
    if missing := known_memories()[name].missing:  # and nothing else is a reason
        pytest.skip(missing)
    report = check_memory(name, rules)
    assert report.passed, str(report)
