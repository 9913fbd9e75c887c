"""Describe and link notes without a language model: by the words of a text and the nearness of texts.

Keywords are the words nearest to the whole text, context is the sentence that is, and tags are the broad topics nearest
to it. A note is linked to the neighbours it is near to; those on the very same subject take over its tags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from amemgym.llm.offline.reader import Embed
from amemgym.llm.words import STOP, words_of
from amemgym.tasks import DescribeNote, EvolveNotes

KEYWORDS, TAGS, MOST_TAGS = 6, 2, 5
#: characters of a context, and of a text that are looked at
LONGEST, READ = 160, 2000
#: cosine of two notes' texts from which they are linked, and from which they are on the same subject
LINKED, SAME_SUBJECT = 0.35, 0.8
TOPICS = (
    "home", "family", "friends", "work", "study", "money", "shopping", "food", "health", "sports", "travel",
    "transport", "holidays", "pets", "garden", "music", "art", "books", "technology", "community", "style", "plans",
)  # fmt: skip

_HEAD = re.compile(r"^\s*(?:user|assistant)\s*:\s*(?:\[Current Time:[^\]\n]{0,80}\])?", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


def described(task: DescribeNote, embed: Embed) -> dict[str, Any]:
    """Keywords, tags and context of a message."""
    text = _said(task.content)
    words = [word for word in dict.fromkeys(words_of(text)) if word not in STOP and not word.isdecimal()]
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence.strip()]
    return {
        "keywords": _nearest(text, words, KEYWORDS, embed),
        "tags": _nearest(text, TOPICS, TAGS, embed),
        "context": "".join(_nearest(text, sentences, 1, embed))[:LONGEST].strip(),
    }


def evolved(task: EvolveNotes, embed: Embed) -> dict[str, Any]:
    """Links to what is near, and the new note's tags for what is on the same subject."""
    vectors = embed([_said(note.content) for note in (task.new, *task.neighbours)])
    nearness = [float(value) for value in vectors[1:] @ vectors[0]]
    updates: list[dict[str, Any]] = []
    for number, (near, note) in enumerate(zip(nearness, task.neighbours, strict=True)):
        tags = list(dict.fromkeys([*note.about.tags, *task.new.about.tags]))[:MOST_TAGS]
        if near >= SAME_SUBJECT and tags != list(note.about.tags):
            updates.append({"id": number, "tags": tags})
    links = [number for number, near in enumerate(nearness) if near >= LINKED]
    return {"links": links, "tags": list(task.new.about.tags), "updates": updates}


def _said(content: str) -> str:
    return _HEAD.sub("", content, count=1).strip()[:READ]


def _nearest(text: str, candidates: Sequence[str], count: int, embed: Embed) -> list[str]:
    """The candidates nearest to the text, best first; equals in the order given."""
    if not candidates:
        return []
    vectors = embed([text, *candidates])
    order = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[:count]
    return [candidates[int(place)] for place in order]
