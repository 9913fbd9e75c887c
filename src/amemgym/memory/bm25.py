"""BM25 (Robertson & Zaragoza) over documents that come one after another.

Scores are Lucene's form of it, k1 = 1.5 and b = 0.75: the sum over the query's terms of
ln(1 + (N - n + 0.5) / (n + 0.5)) · f / (f + k1 · (1 - b + b · length / mean length)), where n of N documents have the
term and this one has it f times. N, n and the mean length change with each document, so what is kept is what the
formula is made of: for each term, which documents have it, and how often. A document costs its own length, and a query
the documents that have its terms.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K1, B = 1.5, 0.75


class Postings:
    """Documents by their terms, numbered from 0 in the order in which they were added."""

    def __init__(self) -> None:
        self._lengths = array("d")
        self._documents: dict[str, array[int]] = {}
        self._counts: dict[str, array[float]] = {}

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, terms: Sequence[str]) -> None:
        """Another document; its number is how many there were."""
        number = len(self._lengths)
        for term, count in Counter(terms).items():
            if term not in self._documents:
                self._documents[term], self._counts[term] = array("q"), array("d")
            self._documents[term].append(number)
            self._counts[term].append(count)
        self._lengths.append(len(terms))

    def take_last(self, terms: Sequence[str]) -> None:
        """The last document, which has these terms, goes."""
        for term in set(terms):
            self._documents[term].pop()
            self._counts[term].pop()
            if not self._documents[term]:
                del self._documents[term], self._counts[term]
        self._lengths.pop()

    def copy(self) -> Postings:
        twin = Postings()
        twin._lengths = self._lengths[:]
        twin._documents = {term: documents[:] for term, documents in self._documents.items()}
        twin._counts = {term: counts[:] for term, counts in self._counts.items()}
        return twin

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Each document's score for a query, shape (documents,); a term that stands in it twice counts twice."""
        scores = np.zeros(len(self), dtype=np.float64)
        lengths = np.array(self._lengths)
        if not lengths.any():
            return scores
        long = K1 * ((1 - B) + B * lengths / lengths.mean())
        for term in terms:
            if term in self._documents:
                documents, counts = np.array(self._documents[term]), np.array(self._counts[term])
                rarity = math.log(1 + (len(self) - len(documents) + 0.5) / (len(documents) + 0.5))
                scores[documents] += rarity * (counts / (long[documents] + counts))
        return scores

    def nearest(self, terms: Sequence[str], k: int) -> list[int]:
        """At most k documents that have any of the terms, best first; equals by smaller number."""
        scores = self.scores(terms)
        order = np.argsort(-scores, kind="stable")[: max(k, 0)]
        return [int(number) for number in order if scores[number] > 0]
