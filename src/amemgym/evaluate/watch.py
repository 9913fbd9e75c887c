"""What a run tells whoever watches: the plan, each step, each remark. It does nothing by itself."""

from __future__ import annotations

from pathlib import Path

from amemgym.llm import Watcher


class RunWatcher(Watcher):
    """Subclass it to show a run; every method may be left as it is."""

    def begins(self, directory: Path) -> None:
        """The run begins, or goes on, in this directory (of the undertaking that it is a part of, if it is one)."""

    def planned(self, users: int, episodes: int, turns: int, exams: int) -> None:
        """How much there is to do in all, what is finished already included."""

    def turned(self, count: int = 1) -> None:
        """User messages were replied to."""

    def examined(self, count: int = 1) -> None:
        """Exam answers (and upper-bound answers) were given."""

    def finished(self, agent: str, user_id: str) -> None:
        """An episode ended."""
