"""What is said in a conversation: a role, a text, and the simulated time it was said at.

This is all an agent or a memory ever sees of a scenario. Times are simulated; the wall clock never enters one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["system", "user", "assistant"]

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `time` is simulated and missing only in requests that stand outside a conversation."""

    role: Role
    content: str
    time: datetime | None = None

    def as_chat(self) -> dict[str, str]:
        """The message as chat endpoints take it: {"role", "content"}, whole."""
        return {"role": self.role, "content": whole(self.content)}


def opening(utterance: str, now: datetime) -> str:
    """A session's first user message: the simulated time on a line of its own, then the utterance (SPEC section 2)."""
    return f"[Current Time: {now.strftime(TIME_FORMAT)}]\n{utterance}"


def whole(text: str) -> str:
    """The text with half characters (of a broken emoji, which no file or request can hold) replaced."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
