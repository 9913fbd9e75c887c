"""How the mock endpoint misbehaves by chance, and what it allows a client.

Whether a request fails, and how, depends on the request, on how often it failed before, and on the seed; not on what
else arrives. So a run meets the same faults whatever the order of its calls.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Sequence
from hashlib import blake2b

from tests.support.mock_http import Request, Response

_JSON = {"content-type": "application/json"}
_REPLY = (
    b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Half of this"}, "finish_reason": "stop"}]}'
)
_WRONG = (
    "[]",
    "7",
    "null",
    '"text"',
    '{"choices": 3}',
    '{"choices": [[]]}',
    '{"choices": [{"message": [1]}]}',
    '{"choices": {"message": {"content": "nested"}}}',
    '{"data": {"choices": [{"message": {"content": "nested"}}]}}',
)


def _refused(status: int, **headers: str) -> Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"error": {"message": f"A fault by chance: {status}.", "code": None}}, named)


#: each makes a response of a number by which it may vary
KINDS: dict[str, Callable[[int], Response]] = {
    "429": lambda n: _refused(429),
    "429 with retry-after": lambda n: _refused(429, retry_after="0.01"),
    "500": lambda n: _refused(500),
    "503": lambda n: _refused(503),
    "reset": lambda n: Response(drop=True, reset=True),
    "reset in the answer": lambda n: Response(body=_REPLY, headers=_JSON, truncate=True, reset=True),
    "time-out": lambda n: Response(hang=True),
    "half a body": lambda n: Response(body=_REPLY, headers=_JSON, truncate=True),
    "invalid JSON": lambda n: Response(body=_REPLY[: 20 + n % 40], headers=_JSON),
    "empty body": lambda n: Response(body=b"", headers=_JSON),
    "wrong type": lambda n: Response(body=_WRONG[n % len(_WRONG)], headers=_JSON),
    "stall": lambda n: Response(body=_REPLY, headers=_JSON, stall=60.0),
}


class Faults:
    """Faults by chance.

    Args:
        chance: of each request.
        seed: decides, with the request, on the fault.
        kinds: those that happen, each as likely as the others.
    """

    def __init__(self, chance: float, seed: int = 0, kinds: Sequence[str] = tuple(KINDS)) -> None:
        self._chance, self._seed, self._kinds = chance, seed, kinds
        self._failed: dict[int, int] = {}  # request → how often it failed since it last did not
        self.happened = dict.fromkeys(kinds, 0)

    def __call__(self, request: Request) -> Response | None:
        """The fault that this request meets."""
        key = zlib.crc32(request.raw)
        before = self._failed.pop(key, 0)
        drawn = blake2b(b"%d %d %d" % (key, before, self._seed), digest_size=16).digest()
        if int.from_bytes(drawn[:8]) >= self._chance * 2**64:
            return None
        self._failed[key] = before + 1
        kind = self._kinds[drawn[8] % len(self._kinds)]
        self.happened[kind] += 1
        return KINDS[kind](drawn[9])


class RateLimit:
    """So many requests a minute, evenly: one second's worth may come at once. The others are told when to come back."""

    def __init__(self, rpm: float) -> None:
        self._each = 60.0 / rpm  # seconds that a request uses up
        self._most = max(1.0, self._each)
        self._free_at = 0.0

    def __call__(self, request: Request) -> Response | None:
        now = time.monotonic()
        start = max(self._free_at, now - self._most + self._each)
        if (wait := start - now) > 1e-9:
            error = {"message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded"}
            return Response(429, {"error": error}, {"retry-after": f"{wait:.3f}"}, delay=0.0)
        self._free_at = start + self._each
        return None
