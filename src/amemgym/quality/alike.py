"""What is nearly the same: two options of one question, and utterances that are said again.

Options are near-duplicates where the cosine of their vectors reaches `COSINE`, or where they share so much of their
letters that the Dice coefficient of their character trigrams (each counted as often as it occurs) reaches `TRIGRAMS`.
Of v1.base's pairs, the nearest have .84 and .61.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations

import numpy as np

from amemgym.llm.embed import Vectors
from amemgym.scenario import Scenario

COSINE, TRIGRAMS = 0.97, 0.9
#: how many are listed; all are counted
LISTED = 20


@dataclass(frozen=True)
class Pair:
    """Two options of one question, all counted from 0, the texts of both, and how much alike they are."""

    user: int
    user_id: str
    question: int
    options: tuple[int, int]
    texts: tuple[str, str]
    cosine: float
    trigrams: float


@dataclass(frozen=True)
class Repeated:
    """An utterance that one user says more than once: in so many sessions (`times`)."""

    user: int
    user_id: str
    text: str
    times: int


@dataclass(frozen=True)
class Alike:
    """`near` of `pairs` pairs of options are near-duplicates. Of the `utterances`, `repeated` say again what the same
    user said before, and `distinct` are different over all users. The first of both are listed."""

    embedder: str
    pairs: int
    near: int
    listed: tuple[Pair, ...]
    utterances: int
    distinct: int
    repeated: int
    listed_repeated: tuple[Repeated, ...]


class AlikeCounter:
    """Counts one user after the other."""

    def __init__(self, embedder: str) -> None:
        self._embedder = embedder
        self._pairs = self._near = self._repeated = 0
        self._listed: list[Pair] = []
        self._listed_repeated: list[Repeated] = []
        self._hashes = array("Q")

    def add(self, number: int, user: Scenario, vectors: list[Vectors]) -> None:
        """`vectors` are those of each question's options, in order."""
        for question, rows in enumerate(vectors):
            texts = [option.answer for option in user.qas[question].answer_choices]
            grams, cosines = [_trigrams(text) for text in texts], rows @ rows.T
            for one, two in combinations(range(len(texts)), 2):
                self._pairs += 1
                cosine, shared = float(cosines[one, two]), _dice(grams[one], grams[two])
                if cosine >= COSINE or shared >= TRIGRAMS:
                    self._near += 1
                    if len(self._listed) < LISTED:
                        pair = (texts[one], texts[two])
                        self._listed.append(Pair(number, user.id, question, (one, two), pair, cosine, shared))
        said = Counter(_plain(session.query) for period in user.periods for session in period.sessions)
        for text, times in said.items():
            self._hashes.extend(
                [int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())] * times
            )
            self._repeated += times - 1
            if times > 1 and len(self._listed_repeated) < LISTED:
                self._listed_repeated.append(Repeated(number, user.id, text, times))

    def result(self) -> Alike:
        distinct = len(np.unique(np.frombuffer(self._hashes, dtype=np.uint64))) if self._hashes else 0
        return Alike(
            self._embedder,
            self._pairs,
            self._near,
            tuple(self._listed),
            len(self._hashes),
            distinct,
            self._repeated,
            tuple(self._listed_repeated),
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _trigrams(text: str) -> Counter[str]:
    plain = f" {_plain(text)} "
    return Counter(plain[place : place + 3] for place in range(len(plain) - 2))


def _dice(one: Counter[str], two: Counter[str]) -> float:
    """2 |one ∩ two| / (|one| + |two|), in multisets (Dice 1945, Ecology 26, 297)."""
    return 2 * (one & two).total() / (one.total() + two.total())
