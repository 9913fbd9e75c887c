"""Texts of others on their way to a terminal, and files that were left half written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from amemgym.evaluate import RunDirectory
from amemgym.files import printable


def test_only_control_characters_are_replaced() -> None:
    assert printable("a\x1b]0;x\x07\r\x00\x7f\x9b31m") == "a�]0;x�����31m"
    assert printable("a\n\tb 记忆 👩‍👩‍👧 é\u00a0") == "a\n\tb 记忆 👩‍👩‍👧 é\u00a0"


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    at_work = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (tmp_path / "figures").mkdir()
    (tmp_path / "manifest.json").write_text("{}")
    names = [f".report.html.{at_work.pid}.tmp", f"figures/.a.1.svg.{at_work.pid}.tmp", ".odd.tmp"]
    for name in names:
        (tmp_path / name).write_text("half")
    try:
        with RunDirectory(tmp_path).lock():
            assert [(tmp_path / name).exists() for name in names] == [True, True, False]
    finally:
        at_work.communicate(b"\n")
    with RunDirectory(tmp_path).lock():
        assert not any((tmp_path / name).exists() for name in names)
