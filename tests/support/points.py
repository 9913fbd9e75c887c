"""MemoryBench data points in the published schema, in words of our own; what is never to be seen has the canary."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: stands in every `info`
CANARY = "cnry-gold-5c1e"
Record = dict[str, Any]


def chat(*said: str) -> list[dict[str, str]]:
    """Messages that the user and the assistant say in turn."""
    return [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(said)]


def point(test_idx: int | str, prompt: str = "How long does rice take?", **more: Any) -> Record:
    """A test point; a training point with a `dialog` among `more`."""
    info = {"golden_answer": f"{CANARY} {test_idx}"}
    return {"test_idx": test_idx, "input_prompt": prompt, "dataset_name": "Kitchen", "lang": "en", "info": info} | more


def trained(test_idx: int | str, *actions: str, dataset: str = "Kitchen", lang: str = "en") -> Record:
    """A training point of the older generation, whose user gave these actions after the first round."""
    said = {
        "en": (
            f"Soup number {test_idx}?",
            f"Boil it {test_idx} minutes.",
            "Shorter.",
            f"Then {test_idx} less.",
        ),
        "zh": (f"第{test_idx}号汤怎么煮？", f"煮{test_idx}分钟。", "再短一些。", f"那就少煮{test_idx}分钟。"),
    }[lang]
    given = [{"implicit_actions": list(actions), "round": 1, "satisfaction_score": 4, "terminated": False}]
    more = {"dialog": chat(*said), "implicit_feedback": given, "dataset_name": dataset, "lang": lang}
    return point(test_idx, said[0], **more)


def jsonl(path: Path, records: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
