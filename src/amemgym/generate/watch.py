"""What a generation tells whoever watches. It does nothing by itself."""

from __future__ import annotations

from pathlib import Path

from amemgym.llm import Watcher


class GenerationWatcher(Watcher):
    """Subclass it to show a generation; every method may be left as it is."""

    def begins(self, out: Path) -> None:
        """The generation begins, or goes on; that file is to be written."""

    def planned(self, users: int, calls: int) -> None:
        """How many users are to be made, and about how many calls that takes."""

    def made(self, user_id: str) -> None:
        """A user is finished."""
