"""What a search tells whoever watches. It does nothing by itself."""

from __future__ import annotations

from amemgym.evaluate import RunWatcher
from amemgym.llm import Usage


class TuneWatcher(RunWatcher):
    """Subclass it to show a search; every method may be left as it is. `begins` is told the search's directory, and
    `examined` each answer, also one that is taken from a smaller rung or an earlier start."""

    def searching(self, exams: int) -> None:
        """How many exam answers there are at most, those that are taken included."""

    def tried(self, configuration: str, said: str) -> None:
        """A configuration was played at a rung; what it scored, in words."""


class Quiet(RunWatcher):
    """The watcher of one of the runs: passes on what was called, examined and said, each sentence once."""

    def __init__(self, watcher: TuneWatcher) -> None:
        self._watcher = watcher
        self._said: set[str] = set()

    def called(self, usage: Usage, replayed: bool) -> None:
        self._watcher.called(usage, replayed)

    def retried(self, why: str, wait: float) -> None:
        self._watcher.retried(why, wait)

    def said(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._watcher.said(sentence)

    def examined(self, count: int = 1) -> None:
        self._watcher.examined(count)
