"""The pytest fixture, in a pytest of its own, as a package that tests its memory would use it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
TESTS = """
from amemgym import Item, Memory


class Diary(Memory):
    def __init__(self):
        self.items = []

    def write(self, messages, now):
        self.items += [Item(message.content, message.time) for message in messages]

    def read(self, query, now, k):
        return self.items[-k:]


class Tenfold(Diary):
    def read(self, query, now, k):
        return self.items


def test_diary(check_memory):
    report = check_memory(Diary, rules=["written-comes-back"])
    assert [str(verdict.outcome) for verdict in report.verdicts] == ["passed"]


def test_tenfold(check_memory):
    check_memory(Tenfold, rules=["k-respected", "update-wins"])


def test_by_name(check_memory):
    assert check_memory("none", ["k-respected"]).passed
"""


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        # plug-ins take longer than the tests; ours is named where it is wanted
        env={**environment, "PYTHONPATH": str(SOURCE), "COLUMNS": "200", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )


def test_the_fixture_passes_and_fails_with_the_verdicts(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(TESTS, encoding="utf-8")
    done = run("-m", "pytest", "-p", "amemgym.kit.plugin", "-p", "no:cacheprovider", "-q", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 failed, 2 passed" in done.stdout, done.stdout
    assert "k-respected: failed: read(…, k=1) returned 12 items" in done.stdout
    assert "update-wins: passed" in done.stdout
    assert "check.py" not in done.stdout  # verdicts, no traceback
