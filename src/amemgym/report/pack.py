"""Traces inside a page: each user's is JSON, compressed, as text that no browser runs; unpacked when it is looked at.

A user's agents hear the same questions and much the same utterances, so each text is kept once for a user. What stands
before a text in a memory or a conversation (its date, who said it) is kept apart, so that the text is shared there too.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

from amemgym.secrets import redact

_LEAD = re.compile(r"\[Current Time: [^\]\n]{1,30}\]\n|\[\d{4}-\d\d-\d\d\] (?:(?:user|assistant): )?")


class TextPool:
    """Texts by place. An entry is a text, or [lead, place of the rest]."""

    def __init__(self) -> None:
        self.entries: list[str | list[str | int]] = []
        self._places: dict[tuple[str, str], int] = {}

    def place(self, text: str) -> int:
        """Where the text is kept, from now on at the latest."""
        lead = _LEAD.match(text)
        return self._kept(lead[0], text[lead.end() :]) if lead else self._kept("", text)

    def _kept(self, lead: str, rest: str) -> int:
        if (lead, rest) not in self._places:
            entry: str | list[str | int] = [lead, self._kept("", rest)] if lead else rest
            self._places[lead, rest] = len(self.entries)
            self.entries.append(entry)
        return self._places[lead, rest]


def pack(value: Any) -> str:
    """JSON, without any known key, → gzip → base64; the same bytes for the same value."""
    text = redact(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    # half a character (of a broken emoji) cannot be written, and is shown as unreadable
    raw = text.encode("utf-8", "replace")
    return base64.b64encode(gzip.compress(raw, compresslevel=9, mtime=0)).decode("ascii")
