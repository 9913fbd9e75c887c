"""What the adapters to servers share: addresses and keys, calls that are tried again, names, waiting, and times.

A server is the user's own (or a service that the user pays); what fails there is raised as a sentence and is never
taken for an empty memory. A call is tried again only where that can help, and where it cannot do a thing twice: when
the server was not reached, or said that it is too busy; other failures only for calls that may be repeated.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from amemgym import secrets
from amemgym.errors import MemoryFailed, UsageError
from amemgym.llm.address import checked_url, sendable
from amemgym.memory.protocol import Memory

T = TypeVar("T")

#: how often a call is tried, and the seconds between (doubled each time, at most the longest)
ATTEMPTS, FIRST_PAUSE, LONGEST_PAUSE = 4, 1.0, 30.0
#: seconds between two looks at work that a server has begun: at first, and at most
FIRST_LOOK, LONGEST_LOOK = 0.05, 3.0
#: characters of a server's own words that are repeated
TOLD = 200
#: 429, and those a server says of itself while it starts, stops or is overloaded: nothing was done
BUSY = {429, 503}
#: the server failed, and may have done what it was asked
BROKEN = {408, 500, 502, 504}


@dataclass(frozen=True)
class Fault:
    """Why a call failed: in words, and the HTTP status, if there was one; `unsent` where no connection was opened,
    `lost` where it broke or nothing came in time. `wait` is what the server asked for, in seconds."""

    said: str
    status: int | None = None
    unsent: bool = False
    lost: bool = False
    wait: float | None = None


class CallFailed(Exception):
    """A call ended with a fault; only inside this module."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.said)
        self.fault = fault


@dataclass(frozen=True)
class Server:
    """A server at an address.

    Args:
        name: as the user knows it.
        address: its URL.
        variable: the environment variable that names another address.
        key_variable: the one that holds its key, or "" where it takes none.
        start: how to get one.
        fault_of: the fault that an exception of its client means, or None for any other exception, which is raised.
    """

    name: str
    address: str
    variable: str
    key_variable: str
    start: str
    fault_of: Callable[[Exception], Fault | None]

    def ask(
        self, doing: str, call: Callable[[], T], *, repeatable: bool = True, gone: T | None = None, once: bool = False
    ) -> T:
        """What `call` returns. `gone` is returned instead where it is given and the server says 404.

        Raises MemoryFailed with a sentence that says what the server was `doing`.
        """
        try:
            return self._try(call, repeatable, 1 if once else ATTEMPTS)
        except CallFailed as error:
            if error.fault.status == 404 and gone is not None:
                return gone
            raise MemoryFailed(self._sentence(doing, error.fault)) from None  # the client's own may hold the key

    def check(self, call: Callable[[], object]) -> None:
        """Raises UsageError where the server does not answer this call, and says what to do."""
        try:
            self._try(call, repeatable=False, attempts=1)
        except CallFailed as error:
            if error.fault.unsent or error.fault.lost:
                way = f"{self.start}, or set {self.variable} to the address of one"
                message = f"{self.name}: no server at {self.address} ({_told(error.fault.said)}); {way}"
            else:
                message = self._sentence("asked whether it is there", error.fault)
            raise UsageError(message) from None

    def unexpected(self, doing: str, got: str) -> MemoryFailed:
        """The error for an answer that is not what this server's interface promises."""
        return MemoryFailed(
            f"{self.name} at {self.address}, {doing}: {_told(got)}. Is {self.variable} the address of such a server,"
            " and is its version supported?"
        )

    def _try(self, call: Callable[[], T], repeatable: bool, attempts: int) -> T:
        def again(error: BaseException) -> bool:
            if not isinstance(error, CallFailed):
                return False
            fault = error.fault
            undone = fault.unsent or fault.status in BUSY
            return undone or (repeatable and (fault.lost or fault.status in BROKEN))

        def attempt() -> T:
            try:
                return call()
            except Exception as error:
                if (fault := self.fault_of(error)) is None:
                    raise
                raise CallFailed(fault) from error

        retrying = Retrying(
            stop=stop_after_attempt(attempts),
            retry=retry_if_exception(again),
            wait=_pause_before,
            sleep=lambda seconds: pause(seconds),
            reraise=True,
        )
        return retrying(attempt)

    def _sentence(self, doing: str, fault: Fault) -> str:
        status = f"status {fault.status}: " if fault.status is not None else ""
        way = ""
        if fault.status in (401, 403):
            way = f"; the key in {self.key_variable} is missing or wrong" if self.key_variable else ""
        elif fault.unsent or fault.lost:
            way = "; is it still running?"
        return f"{self.name} at {self.address}, {doing}: {status}{_told(fault.said)}{way}"


class ServerMemory(Memory):
    """A memory that a server keeps under a name; whoever made it there also deletes it."""

    blocking: ClassVar[bool] = True

    def clear(self) -> None:
        self._let_go(once=False)
        self.__init__()  # type: ignore[misc]

    def close(self) -> None:
        with suppress(MemoryFailed):  # it is deleted when this name is used again
            self._let_go(once=True)

    @abstractmethod
    def _let_go(self, once: bool) -> None:
        """Delete what this memory made on the server, if anything; `once`: without trying again."""


def server_address(variable: str, otherwise: str, key_variable: str = "") -> str:
    """The URL in this variable, else the other one, without a slash at its end. Raises UsageError where it is none, or
    holds more than an address."""
    given = os.environ.get(variable, "").strip() or otherwise
    return checked_url(given, key_variable, f"address in {variable}", "http://localhost:8000").rstrip("/")


def server_key(variable: str) -> str | None:
    """The key in this variable. Raises UsageError for one that cannot be sent."""
    key = secrets.from_environment(variable)
    return sendable(key, variable).get_secret_value() if key else None


def server_name(name: str) -> str:
    """A memory's name as servers take it: letters, digits, `-` and `_`, and still its own."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    if safe == name and len(name) <= 80:
        return f"amemgym-{name}"
    return f"amemgym-{safe[:80]}-{hashlib.sha256(name.encode('utf-8')).hexdigest()[:12]}"


def wait_until(done: Callable[[], bool], what: str, patience: float) -> None:
    """Look until `done`. Raises MemoryFailed after so many seconds of `patience`."""
    end, look = time.monotonic() + patience, FIRST_LOOK
    while not done():
        if time.monotonic() >= end:
            raise MemoryFailed(f"{what} has not ended within {patience:g} seconds")
        pause(look)
        look = min(look * 1.5, LONGEST_LOOK)


def pause(seconds: float) -> None:
    time.sleep(seconds)


def as_utc(moment: datetime) -> str:
    """A simulated time as servers are told it. Simulated times have no zone; they are sent and read as UTC."""
    return moment.replace(tzinfo=UTC).isoformat()


def from_utc(moment: datetime | str | None) -> datetime | None:
    """The simulated time that a server gives back; None for none. Raises ValueError for what is no time."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if moment is None or moment.tzinfo is None:
        return moment
    return moment.astimezone(UTC).replace(tzinfo=None)


def seconds(text: str | None) -> float | None:
    """What a Retry-After header says, where it is a number."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def fact_text(fact: str, ended: datetime | None, superseded: bool) -> str:
    """A fact of a graph with times, and that it holds no more, where that is so."""
    if ended is not None:
        return f"{fact} (until {ended.date().isoformat()})"
    return f"{fact} (no longer so)" if superseded else fact


def _pause_before(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.fault.wait if isinstance(error, CallFailed) else None
    own = FIRST_PAUSE * 2 ** (state.attempt_number - 1)
    return float(min(max(asked or 0.0, own), LONGEST_PAUSE))


def _told(text: str) -> str:
    line = secrets.redact(" ".join(text.split()))
    return line if len(line) <= TOLD else line[:TOLD] + "…"
