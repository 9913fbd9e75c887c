"""Keep and revise a policy of memory without a language model: a list of topics, one a line behind a dash.

A record that is full loses first what later lines tell of too: each sentence of a line is of the topic it is nearest
to, and the line with the fewest topics that are told nowhere later goes, the oldest of equals first. Without topics the
oldest line goes. To revise a policy is to add topics to it: from complete feedback the names of what was exposed to
users who answered wrongly, from questions alone their own words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from amemgym.llm.offline.reader import F32, Embed
from amemgym.llm.words import STOP, stem, words_of
from amemgym.tasks import CompleteFeedback, ReconcileFacts, RevisePolicy

#: what a word in common adds to the cosine of a sentence and a topic, if it is the topic's only one
WORDS = 0.3
#: words of a question that make a topic; topics that are added at once; texts whose topics are kept ready
TOPIC_WORDS, ADDED, READY = 8, 60, 20_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_TOPIC = re.compile(r"^\s*-\s+(\S.*?)\s*$", re.MULTILINE)
_ROOTS = frozenset(stem(word) for word in STOP)


def topics_of(policy: str) -> list[str]:
    """The lines behind a dash."""
    return list(dict.fromkeys(match[1] for match in _TOPIC.finditer(policy)))


class Keeper:
    """Chooses what a full record keeps."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._topics: dict[str, tuple[list[str], F32, list[set[str]]]] = {}
        self._known: dict[tuple[str, str], frozenset[int]] = {}

    def kept(self, lines: Sequence[str], room: int, policy: str) -> list[int]:
        """The places of at most `room` of the lines, in order; the lines are given oldest first."""
        kept = list(range(len(lines)))
        if not topics_of(policy):
            return kept[max(0, len(kept) - room) :]
        while len(kept) > room:
            later: set[int] = set()
            alone: list[tuple[int, int]] = []
            for place in reversed(kept):
                topics = self._topics_in(lines[place], policy)
                alone.append((len(topics - later), place))
                later |= topics
            kept.remove(min(alone)[1])
        return kept

    def within_room(self, operations: Sequence[dict[str, Any]], task: ReconcileFacts) -> list[dict[str, Any]]:
        """The operations, and the deletions that leave no more facts than there is room for."""
        updated = {op["id"] for op in operations if op["event"] == "update"}
        as_it_is = [(number, text) for number, text in task.stored if number not in updated]
        fresh = [place for place, op in enumerate(operations) if op["event"] != "keep"]
        lines = [text for _, text in as_it_is] + [operations[place]["text"] for place in fresh]
        kept = set(self.kept(lines, task.room or len(lines), task.policy))
        gone = [number for place, (number, _) in enumerate(as_it_is) if place not in kept]
        # by their places, as two may be alike
        lost = [place for line, place in enumerate(fresh, len(as_it_is)) if line not in kept]
        gone += [operations[place]["id"] for place in lost if operations[place]["event"] == "update"]
        left = [op for place, op in enumerate(operations) if place not in lost and op.get("id") not in gone]
        return [*left, *({"event": "delete", "id": number} for number in gone)]

    def _topics_in(self, line: str, policy: str) -> frozenset[int]:
        """The topics its sentences are nearest to; a question beside a statement tells nothing."""
        if (policy, line) in self._known:
            return self._known[policy, line]
        if policy not in self._topics:
            topics = topics_of(policy)
            self._topics[policy] = topics, self._embed(topics), [_roots(topic) for topic in topics]
        _, vectors, roots = self._topics[policy]
        sentences = [part for part in _SENTENCE.split(line) if part.strip()]
        stated = [part for part in sentences if not part.rstrip().endswith(("?", "？"))] or sentences
        found: set[int] = set()
        for sentence, vector in zip(stated, self._embed(stated), strict=True):
            own = _roots(sentence)
            words = np.array([len(own & root) / max(1, len(root)) for root in roots])
            found.add(int(np.argmax(vectors @ vector + WORDS * words)))
        if len(self._known) >= READY:
            self._known.clear()
        self._known[policy, line] = frozenset(found)
        return self._known[policy, line]


def revised(task: RevisePolicy) -> str:
    """The policy with the topics that the feedback speaks of. The form of a query stays as it is: words that join every
    query only draw it away from what is asked."""
    if task.purpose == "query":
        return task.policy
    known = set(topics_of(task.policy))
    policy, added = task.policy, 0
    for topic in _wanted(task):
        line = f"\n- {topic}"
        if topic in known or len(policy) + len(line) > task.longest or added >= ADDED:
            continue
        known.add(topic)
        policy, added = policy + line, added + 1
    return policy


def _wanted(task: RevisePolicy) -> Iterable[str]:
    """Topics by how often the feedback speaks of them; among equals, in order of the alphabet."""
    counts: Counter[str] = Counter()
    for exam in task.exams:
        if isinstance(exam, CompleteFeedback):
            if any(question.choice != question.right for question in exam.asked):
                counts.update(" ".join(variable.replace("_", " ").split()) for variable, _ in exam.exposed)
        else:
            for question in exam.asked:
                words = [word for word in dict.fromkeys(words_of(question.query)) if word not in STOP]
                counts[" ".join(words[:TOPIC_WORDS])] += 1
    return (topic for topic, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])) if topic)


def _roots(text: str) -> set[str]:
    return {stem(word) for word in words_of(text)} - _ROOTS
