"""Documents found by their words: BM25 (Robertson & Zaragoza), by the library bm25s with our own terms.

Scores are Lucene's form of it, k1 = 1.5 and b = 0.75: the sum over the query's terms of
ln(1 + (N - n + 0.5) / (n + 0.5)) · f / (f + k1 · (1 - b + b · length / mean length)), where n of N documents have the
term and this one has it f times.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amemgym.memory.protocol import Item, Memory
from amemgym.memory.terms import terms_of
from amemgym.memory.units import add_messages, add_sessions
from amemgym.messages import Message

K1, B = 1.5, 0.75


class LexicalIndex:
    """The ranking of documents that do not change any more. Built when first asked, once for all who share it.

    Args:
        documents: the numbers of each document's terms.
        vocabulary: the number of each term; it may come to hold terms of later documents.
    """

    def __init__(self, documents: list[list[int]], vocabulary: Mapping[str, int]) -> None:
        self._documents = documents
        self._vocabulary = vocabulary

    def nearest(self, terms: Sequence[str], k: int) -> list[int]:
        """The places of at most k documents that have any of the terms, best first; equals by smaller place."""
        vocabulary, scorer = self._built
        known = [vocabulary[term] for term in terms if term in vocabulary]
        if not known:
            return []
        scores: NDArray[np.float64] = scorer.get_scores_from_ids(known)
        order = np.argsort(-scores, kind="stable")[: max(k, 0)]
        return [int(place) for place in order if scores[place] > 0]

    @cached_property
    def _built(self) -> tuple[dict[str, int], Any]:
        vocabulary = dict(self._vocabulary)
        return vocabulary, build(self._documents, vocabulary) if vocabulary else None


def build(documents: list[list[int]], vocabulary: dict[str, int]) -> Any:
    """A scorer of documents given by the numbers of their terms, of which there is at least one."""
    import bm25s  # not at the top: most runs need it not

    logging.getLogger("bm25s").setLevel(logging.NOTSET)  # it asks for debug messages, which others would then print
    scorer = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64", backend="numpy", csc_backend="numpy")
    scorer.index((documents, vocabulary), create_empty_token=False, show_progress=False)
    return scorer


class LexicalStore:
    """Items under numbers, found by their words. A text is cut into terms once, when it is first searched for."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self._vocabulary: dict[str, int] = {}
        self._terms: dict[int, list[int]] = {}
        self._index: LexicalIndex | None = None

    def add(self, item: Item) -> int:
        key = len(self.items)  # nothing is ever removed
        self.replace(key, item)
        return key

    def replace(self, key: int, item: Item) -> None:
        self.items[key] = item
        self._terms.pop(key, None)
        self._index = None

    def find(self, text: str, k: int) -> list[Item]:
        """At most k items that share a term with the text, best first; equals by age, the oldest first."""
        return [self.items[key] for key in self._indexed().nearest(terms_of(text), k)]

    def copy(self) -> LexicalStore:
        """A store of the same content that goes its own way from here; the index, built or not, is the same."""
        twin = LexicalStore()
        twin._index = self._indexed()
        twin.items, twin._vocabulary, twin._terms = dict(self.items), dict(self._vocabulary), dict(self._terms)
        return twin

    def _indexed(self) -> LexicalIndex:
        if self._index is None:
            for key in self.items:
                if key not in self._terms:
                    self._terms[key] = [self._number(term) for term in terms_of(self.items[key].text)]
            self._index = LexicalIndex([self._terms[key] for key in self.items], self._vocabulary)
        return self._index

    def _number(self, term: str) -> int:
        return self._vocabulary.setdefault(term, len(self._vocabulary))


class LexicalMemory(Memory):
    """A memory whose items are found by BM25; what is written to it is the subclass's.

    What shares no term with the query is no hit, so fewer than k items may come back, and none for a query without any
    known word.
    """

    def __init__(self) -> None:
        self._store = LexicalStore()

    def read(self, query: str, now: datetime, k: int) -> list[Item]:
        return self._store.find(query, k)

    def snapshot(self) -> object:
        return self._store.copy()

    def restore(self, snapshot: Any) -> None:
        self._store = snapshot.copy()

    def export(self) -> list[Item]:
        return list(self._store.items.values())


class LexicalMessageMemory(LexicalMemory):
    """BM25 over messages: each as it was said (`role: text`), found again by the words it shares with the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_messages(self._store, messages, now)


class LexicalDialogMemory(LexicalMemory):
    """BM25 over sessions: each whole conversation (`role: text` lines), found by the words it shares with the query."""

    def write(self, messages: Sequence[Message], now: datetime) -> None:
        add_sessions(self._store, messages, now)
