"""What the tests of replay share: small data, and what a prediction left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from amemgym.evaluate import RunWatcher
from amemgym.memorybench import MemoryBenchResults
from tests.cli.helpers import contents
from tests.support.points import chat, point, trained

TRAIN = [*(trained(at, *(["like"] if at % 3 else ["dislike", "copy"])) for at in range(5)), trained(9, lang="zh")]
SYSTEM = [{"role": "system", "content": "Answer in one line."}, *chat("Is soup number 2 long?")]
TEST = [point(20, "How long is soup number 3?"), point(21, None, input_chat_messages=SYSTEM), point(22, "第9号汤呢？")]


class Told(RunWatcher):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)


def predictions(root: Path, agent: str) -> list[dict[str, Any]]:
    """An agent's predict.json, found by our reader."""
    results = MemoryBenchResults.from_local(root)
    [entry] = [entry for entry in results.entries if entry.baseline == agent]
    found: list[dict[str, Any]] = results.load_predict(*entry.cell)
    return found


def results(root: Path) -> dict[str, bytes]:
    """The archive: all but the journals, which have seconds."""
    return {name: data for name, data in contents(root).items() if not name.startswith("journal/")}
