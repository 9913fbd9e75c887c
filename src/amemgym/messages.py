"""What is said in a conversation: a role, a text, and the simulated time it was said at.

This is all an agent or a memory ever sees of a scenario. Times are simulated; the wall clock never enters one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from json.encoder import encode_basestring
from typing import Literal

Role = Literal["system", "user", "assistant"]

TIME_FORMAT = "%Y-%m-%d %H:%M:%S"


class _Forms:
    """Where a message keeps its forms. They are no fields: not compared, not shown, not copied and not pickled."""

    __slots__ = ("_chat_json", "_digest")
    _chat_json: bytes
    _digest: bytes


@dataclass(frozen=True, slots=True)
class Message(_Forms):
    """One message. `time` is simulated and missing only in requests that stand outside a conversation.

    A conversation's messages stand in every request that is made in it, so what a request needs of a message is made
    once and kept with it.
    """

    role: Role
    content: str
    time: datetime | None = None

    def as_chat(self) -> dict[str, str]:
        """The message as chat endpoints take it: {"role", "content"}, whole."""
        return {"role": self.role, "content": whole(self.content)}

    @property
    def chat_json(self) -> bytes:
        """`as_chat` as JSON; such pieces, joined by commas, are a request's messages."""
        try:
            return self._chat_json
        except AttributeError:
            made = f'{{"role":"{self.role}","content":{encode_basestring(whole(self.content))}}}'.encode()
            object.__setattr__(self, "_chat_json", made)
            return made

    @property
    def digest(self) -> bytes:
        """Role and content by hash, 32 bytes."""
        try:
            return self._digest
        except AttributeError:
            said = f"{self.role}\x1f{self.content}".encode("utf-8", "surrogatepass")
            made = sha256(said).digest()
            object.__setattr__(self, "_digest", made)
            return made


def opening(utterance: str, now: datetime) -> str:
    """A session's first user message: the simulated time on a line of its own, then the utterance (SPEC section 2)."""
    return f"[Current Time: {now.strftime(TIME_FORMAT)}]\n{utterance}"


def whole(text: str) -> str:
    """The text with half characters (of a broken emoji, which no file or request can hold) replaced."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
