"""What is wrong in somebody's files, and where; nothing here stops the reading of the rest."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `place` is the file (and line, record or cell), `text` the rest of the sentence."""

    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"
