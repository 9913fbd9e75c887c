"""What pytest gets: the fixture `check_memory`, with which a package tests its own memory.

    def test_it_is_a_sound_memory(check_memory):
        check_memory(MyMemory)

pytest loads this module whenever it starts, so it imports nothing but pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from amemgym.kit.verdicts import KitReport
    from amemgym.memory import Memory

CheckMemory = Callable[..., "KitReport"]


@pytest.fixture(scope="session")
def check_memory() -> CheckMemory:
    """Try the kit's rules on a memory (a class, a registered name or `file.py:Class`); the test fails with the verdicts
    if one of them fails. `rules` are ids, all where it is left out. Gives the report."""
    from amemgym.kit.check import check_memory as check

    def checked(memory: str | type[Memory], rules: Sequence[str] | None = None) -> KitReport:
        __tracebackhide__ = True
        report = check(memory, rules)
        if not report.passed:
            pytest.fail(str(report), pytrace=False)
        return report

    return checked
