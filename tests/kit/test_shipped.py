"""Every memory that ships keeps every rule; one whose package is not here is skipped with the reason.

Those that live on a server are held to their promises by tests of their own, over a server made for it; mem0, which
takes seconds to import, is held to these rules where it is imported anyway (tests/memory/test_mem0.py).
"""

from __future__ import annotations

import pytest

from amemgym.errors import UsageError
from amemgym.kit import check_memory
from amemgym.memory import find_memory, known_memories

NAMES = [name for name in known_memories() if not find_memory(name).environment and not name.startswith("mem0")]


@pytest.mark.parametrize("name", NAMES)
def test_a_memory_that_ships_keeps_every_rule(name: str) -> None:
    try:
        report = check_memory(name)
    except UsageError as error:
        pytest.skip(str(error))
    assert report.passed, str(report)
