"""Every test here starts without keys, endpoints or proxies in its environment, and knows no key from another test."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable
from functools import cache

import pytest

from amemgym import secrets
from amemgym.llm import clock

SETTINGS = ("OPENAI_", "AMEMGYM_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")

#: every client reads the certificates anew, which takes ten times as long as a call
default_context = cache(ssl.create_default_context)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.upper().startswith(SETTINGS):
            monkeypatch.delenv(name)
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setattr(ssl, "create_default_context", default_context)


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody sleeps; the list fills with the seconds that were asked for, which the limiters' clock goes on by."""
    asked: list[float] = []
    monkeypatch.setattr(clock, "monotonic", lambda: sum(asked))
    real: Callable[[float], object] = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds:
            asked.append(seconds)
        await real(0)  # type: ignore[misc]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return asked
