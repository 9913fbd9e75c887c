"""Every memory that ships keeps every rule; one whose package or server is not here is skipped with the reason."""

from __future__ import annotations

import pytest

from amemgym.errors import UsageError
from amemgym.kit import check_memory
from amemgym.memory import known_memories


@pytest.mark.parametrize("name", known_memories())
def test_a_memory_that_ships_keeps_every_rule(name: str) -> None:
    try:
        report = check_memory(name)
    except UsageError as error:
        pytest.skip(str(error))
    assert report.passed, str(report)
