"""What a run or a generation shows while it goes on: bars for what is done, and what the calls cost so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from amemgym import files
from amemgym.api import continue_with
from amemgym.errors import Interrupted
from amemgym.evaluate import RunWatcher
from amemgym.generate import GenerationWatcher, go_on_with
from amemgym.llm import Usage, Watcher
from amemgym.search.watch import TuneWatcher
from amemgym.secrets import redact
from amemgym.tuning import interrupted


class Bars(Watcher, ABC):
    """Bars on a terminal; elsewhere only remarks are printed. Everything goes to standard error.

    An interrupt inside the `with` ends it with a sentence that says how to go on.
    """

    #: the bar that the calls and tokens so far stand beside
    noted = "users"

    def __init__(self) -> None:
        self._place: Path | None = None
        self._console = Console(stderr=True, highlight=False)
        self._progress = Progress(
            TextColumn("{task.description:<6}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}"),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._bars: dict[str, TaskID] = {}
        self._retries = self._replayed = self._calls = self._input = self._output = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        if kind is KeyboardInterrupt and self._place is not None:
            raise Interrupted(self.interrupted(self._place)) from error

    @abstractmethod
    def interrupted(self, place: Path) -> str:
        """The sentence that an interrupt ends with."""

    def begins(self, place: Path) -> None:
        self._place = place

    def called(self, usage: Usage, replayed: bool) -> None:
        self._calls += 1
        self._replayed += replayed
        self._input += usage.input
        self._output += usage.output
        if self._calls % 20 == 0:
            self._note()

    def retried(self, why: str, wait: float) -> None:
        self._retries += 1
        self._note()
        if self._retries == 1:
            end = "" if why.endswith(".") else "."
            self.said(f"{why}{end} Trying again in {wait:.1f} s.")

    def said(self, sentence: str) -> None:
        self._console.print(f"note: {files.printable(redact(sentence))}", markup=False, soft_wrap=True)

    def _add(self, name: str, total: int) -> None:
        if total:
            self._bars[name] = self._progress.add_task(name, total=total, note="")

    def _advance(self, name: str, count: int) -> None:
        if name in self._bars:
            self._progress.advance(self._bars[name], count)

    def _note(self) -> None:
        tokens = f"tokens {self._input / 1000:.0f}k in, {self._output / 1000:.0f}k out"
        note = f"calls {self._calls}, {tokens}, retries {self._retries}"
        if self._replayed:
            note += f", from the journal {self._replayed}"
        if self.noted in self._bars:
            self._progress.update(self._bars[self.noted], note=note)


class ProgressBars(Bars, RunWatcher):
    """A run's bars: users, turns and exams."""

    def __init__(self) -> None:
        super().__init__()
        self._episodes_a_user = 1
        self._ended: Counter[str] = Counter()

    def interrupted(self, place: Path) -> str:
        return continue_with("interrupted.", place)

    def planned(self, users: int, episodes: int, turns: int, exams: int) -> None:
        self._episodes_a_user = max(1, episodes // users)
        for name, total in (("users", users), ("turns", turns), ("exams", exams)):
            self._add(name, total)

    def turned(self, count: int = 1) -> None:
        self._advance("turns", count)

    def examined(self, count: int = 1) -> None:
        self._advance("exams", count)

    def finished(self, agent: str, user_id: str) -> None:
        self._ended[user_id] += 1
        if self._ended[user_id] == self._episodes_a_user:
            self._advance("users", 1)


class TuneBars(Bars, TuneWatcher):
    """A search's bar: exam answers, those taken from earlier runs included."""

    noted = "exams"

    def interrupted(self, place: Path) -> str:
        return interrupted(place)

    def searching(self, exams: int) -> None:
        self._add("exams", exams)

    def examined(self, count: int = 1) -> None:
        self._advance("exams", count)

    def tried(self, configuration: str, said: str) -> None:
        self.said(f"{configuration}: {said}")


class GenerationBars(Bars, GenerationWatcher):
    """A generation's bars: users, and the calls that they take if nothing has to be repaired."""

    def interrupted(self, place: Path) -> str:
        return go_on_with("interrupted.", place)

    def planned(self, users: int, calls: int) -> None:
        self._add("users", users)
        self._add("calls", calls)

    def called(self, usage: Usage, replayed: bool) -> None:
        super().called(usage, replayed)
        self._advance("calls", 1)

    def made(self, user_id: str) -> None:
        self._advance("users", 1)
