"""Texts of others on their way to a terminal."""

from __future__ import annotations

from amemgym.files import printable


def test_only_control_characters_are_replaced() -> None:
    assert printable("a\x1b]0;x\x07\r\x00\x7f\x9b31m") == "a�]0;x�����31m"
    assert printable("a\n\tb 记忆 👩‍👩‍👧 é\u00a0") == "a\n\tb 记忆 👩‍👩‍👧 é\u00a0"
