"""What an undertaking allows itself at its endpoints: calls under way, tries, requests and tokens a minute."""

from __future__ import annotations

from dataclasses import dataclass

#: settings of an undertaking that say how it asks, and change nothing of what comes out
LIMIT_SETTINGS = ("concurrency", "timeout", "attempts", "rpm", "tpm")


@dataclass(frozen=True)
class Limits:
    """How much is asked at once, and how often.

    Args:
        concurrency: calls under way at once, at each endpoint.
        attempts: tries of a call where trying again can help.
        rpm, tpm: requests and tokens a minute at each endpoint; None for no limit of our own.
    """

    concurrency: int = 8
    attempts: int = 6
    rpm: int | None = None
    tpm: int | None = None
