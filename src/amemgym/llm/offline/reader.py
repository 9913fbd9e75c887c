"""Read the current value of a variable from remembered lines, without a language model.

A stand-in to compare *memories* with, not an LLM. For one variable and its candidate values:
1. Lines are cut into units (lines of a record, pieces of a long text). Two words match fully when their stems
   are equal, else by the cosine of their static vectors above a floor: "bigger" meets "large".
2. *Relevance*: how well a unit fits the variable's name and the question, as wholes and word by word (rare words
   count more), against the best and the mean of the units so far. It becomes a gate between 0 and 1.
3. *Fit*: how well the value's own words, and the range of its numbers, are met in the unit; minus the mean over the
   values; minus what the relevant units so far said on average, for a word that every line repeats is no evidence.
4. In order of time, the belief moves towards each unit's view of the values by gate x how decided the view is: the
   latest clear statement wins, chatter moves little. A literal ``variable: value`` is taken at its word.
5. An option scores the sum of its values' log beliefs; ties fall to a stable hash of the question and the option.
No words or weights come from any scenario; the few constants were searched for on half of v1.base's users, and the last
of them set by hand with all its users in view, so accuracy there is a little better than on data never seen.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amemgym.llm.offline.values import NOWHERE, literal, numbers_in, range_of, value_words
from amemgym.llm.words import STOP, stem, words_of

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
Ints = NDArray[np.intp]
Embed = Callable[[Sequence[str]], F32]

FLOOR = 0.25  # cosine of two words below which they have nothing in common
PARTS = 0.6  # relevance = variable as a whole + PARTS x (its words + question as a whole + question's words)
# gate = sigmoid(SLOPE x (relevance - BEST x best so far - MEAN x mean so far)), that mean at most FEW x best:
# among few lines that all concern the question none should be held back
BEST, MEAN, FEW, SLOPE = 0.35, 0.85, 0.3, 15.0
AMOUNT, NUMBER = 0.3, 0.3  # fit = share of the value's words met + AMOUNT x how much is met (+ NUMBER in its range)
USUAL, PRIOR = 0.8, 2.0  # how much of the usual fit is taken off, and how many neutral units it starts from
DECIDED, SHARP = 0.2, 6.0  # lead of the best value at which a view counts 63%; view = softmax(SHARP x fit)
TRUST, LITERAL = 0.9, 0.995  # the highest gate of a unit, and the gate of a literal "variable: value"
CAUTION = 1e-4  # added to a belief before its log
UNIT, UNITS, ROOM = 1000, 4000, 80_000_000  # characters of a unit, units of a memory (the latest), bytes of cache
MEMORIES = 24  # sets of lines kept ready; the exams of several episodes come in turn

_TIME = re.compile(r"\[Current Time:[^\]\n]{0,80}\]", re.IGNORECASE)
_DATE = r"[\[(][^\])\n]{0,30}\d{4}-\d\d[^\])\n]{0,40}[\])]:?\s*"
_LEAD = re.compile(rf"\s*(?:[-*•]\s+)?(?:{_DATE})?(?:(?:user|assistant)\s*:)?", re.IGNORECASE)
_ENDS = (r"(?:(?<=[.!?。！？])(?=\s)|$)", r"(?<=[,;])(?=\s)", r"(?=\s)", "")  # of a piece, the best first
_CHUNK = re.compile("|".join(rf".{{1,{UNIT}}}{end}" for end in _ENDS))
_RECORD = re.compile(r"[^\w]{0,6}\w[^:=.?!]{0,80}[:=]\s*\S.{0,160}")


def _units(line: str) -> list[str]:
    parts = (_LEAD.sub("", part, count=1) for part in _TIME.sub(" ", line).splitlines())
    pieces = (piece for part in parts for piece in ([part] if len(part) <= UNIT else _CHUNK.findall(part)))
    return [piece.strip() for piece in pieces if piece.strip()]


class _Unit(NamedTuple):
    words: Ints  # ids of its content words
    plain: str  # all its words, joined by blanks
    numbers: list[int]
    vector: F32


class _Memory(NamedTuple):
    texts: list[str]
    units: list[_Unit]
    vectors: F32  # (units, d)
    vocabulary: Ints  # ids of the different words, the blank (0) first
    rows: F32  # their vectors (words, d)
    stems: Ints  # and of their stems
    places: Ints  # the units' words, a blank before each unit, as positions in vocabulary
    counts: Ints  # by stem, in how many units
    about: dict[str, F64]  # by text, how well each unit fits it


def _best(scores: F64, names: Sequence[str]) -> int:
    """The index of the highest score; among equals, decided by the names and not by their order."""
    best = (int(i) for i in np.flatnonzero(scores >= scores.max() - 1e-6))
    return min(best, key=lambda i: hashlib.blake2b(names[i].encode("utf-8", "replace")).digest())


class Reader:
    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        """Empty the caches; answers do not depend on what they hold."""
        self._size = 0
        self._ids: dict[str, int] = {}
        self._stem_ids: dict[str, int] = {}
        self._stem_of: list[int] = []
        self._rows: F32 = np.zeros((0, 0), dtype=np.float32)
        self._known: dict[str, _Unit] = {}
        self._whole: dict[str, F32] = {}
        self._memories: dict[tuple[str, ...], _Memory] = {}
        self._word_ids([" "])

    def value_scores(self, lines: Sequence[str], variable: str, values: Sequence[str]) -> F64:
        """The belief in each value, adding up to 1 over the different values; all equal when nothing is known."""
        with self._lock:
            return self._beliefs(self._memory(lines), variable, values, "")

    def choose(self, question: str, lines: Sequence[str], labels: Sequence[Mapping[str, str]]) -> int:
        """The index of the option whose values are the most likely current ones."""
        if not labels:
            raise ValueError("there is no option to choose from")
        scores = np.zeros(len(labels))
        with self._lock:
            memory = self._memory(lines)
            for variable in sorted({name for label in labels for name in label}):
                values = sorted({label[variable] for label in labels if variable in label})
                logs = np.log(self._beliefs(memory, variable, values, question) + CAUTION)
                known = dict(zip(values, logs, strict=True))
                scores += [known[label[variable]] if variable in label else logs.mean() for label in labels]

        return _best(scores, [repr((question, sorted(label.items()))) for label in labels])

    def most_likely(self, lines: Sequence[str], variable: str, values: Sequence[str]) -> str:
        """The value the variable most likely has now."""
        if not values:
            raise ValueError(f"there is no value that '{variable}' could have")
        scores = self.value_scores(lines, variable, values)
        return values[_best(scores, [repr((variable, value)) for value in values])]

    def _vectors(self, texts: Sequence[str]) -> F32:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        rows: F32 = np.nan_to_num(np.asarray(self._embed(clean), dtype=np.float32))
        self._size += rows.nbytes + sum(400 + 8 * len(text) for text in texts)
        return rows

    def _word_ids(self, words: Sequence[str]) -> Ints:
        new = [w for w in dict.fromkeys(words) if w not in self._ids]
        if new:
            rows, used = self._vectors(new), len(self._ids)
            if used + len(new) > len(self._rows):
                grown = np.zeros((used + len(new) + used // 2 + 1000, rows.shape[1]), dtype=np.float32)
                grown[:used] = self._rows[:used] if used else 0.0
                self._rows = grown
            self._rows[used : used + len(new)] = rows
            for word in new:
                self._ids[word] = len(self._ids)
                self._stem_of.append(self._stem_ids.setdefault(stem(word), len(self._stem_ids)))
        return np.array([self._ids[w] for w in words], dtype=np.intp)

    def _memory(self, lines: Sequence[str]) -> _Memory:
        key = tuple(lines)
        if key in self._memories:
            return self._memories[key]
        if self._size > ROOM:
            self._forget()
        texts = [unit for line in key for unit in _units(line)][-UNITS:]
        new = [t for t in dict.fromkeys(texts) if t not in self._known]
        if new:
            spoken = [words_of(t) for t in new]
            content = [[w for w in dict.fromkeys(words) if w not in STOP] for words in spoken]
            self._word_ids([w for words in content for w in words])
            for text, words, cs, row in zip(new, spoken, content, self._vectors(new), strict=True):
                self._known[text] = _Unit(self._word_ids(cs), f" {' '.join(words)} ", numbers_in(words), row)
        units = [self._known[t] for t in texts]
        blank = np.zeros(1, dtype=np.intp)  # opens every unit, so that none is empty
        parts = [part for unit in units for part in (blank, unit.words)]
        vocabulary, places = np.unique(np.concatenate([blank, *parts]), return_inverse=True)
        stem_of = np.array(self._stem_of, dtype=np.intp)
        different = [np.unique(stem_of[u.words]) for u in units]
        counts = np.bincount(np.concatenate([blank[:0], *different]), minlength=len(stem_of))
        vectors = np.stack([u.vector for u in units]) if units else np.zeros((0, 1), dtype=np.float32)
        while len(self._memories) >= MEMORIES:
            del self._memories[next(iter(self._memories))]
        rows, stems = self._rows[vocabulary], stem_of[vocabulary]
        memory = _Memory(texts, units, vectors, vocabulary, rows, stems, places.reshape(-1)[1:], counts, {})
        self._memories[key] = memory
        return memory

    def _met(self, memory: _Memory, words: Sequence[str]) -> tuple[F64, F64]:
        """(words, units): how well each word is met by the best word of each unit; and how rare each word is."""
        ids = self._word_ids(words)
        stems = np.array([self._stem_of[i] for i in ids], dtype=np.intp)
        near = self._rows[ids] @ memory.rows.T
        near[[w.isdecimal() for w in words]] = 0.0  # numbers are equal or not
        near[stems[:, None] == memory.stems] = 1.0
        near[:, 0] = 0.0
        keep = near.max(0) > FLOOR
        keep[0] = True
        places = memory.places[keep[memory.places]]  # the few words that meet any
        best = np.maximum.reduceat(near[:, places], np.flatnonzero(places == 0), axis=1).astype(np.float64)
        counts = np.array([memory.counts[i] if i < len(memory.counts) else 0 for i in stems])
        rare = np.maximum(np.log((len(memory.units) + 1) / (counts + 0.5)), 0.05)
        return np.maximum(best - FLOOR, 0.0) / (1 - FLOOR), rare

    def _about(self, memory: _Memory, text: str, share: float) -> F64:
        """How well each unit fits a text: share x as a whole, and PARTS x by the text's words."""
        if text not in memory.about:
            met, rare = self._met(memory, [w for w in dict.fromkeys(words_of(text)) if w not in STOP] or [" "])
            if text not in self._whole:
                self._whole[text] = self._vectors([text])[0]
            whole = (memory.vectors @ self._whole[text]).astype(np.float64)
            memory.about[text] = share * whole + PARTS * (rare @ met) / rare.sum()
        return memory.about[text]

    def _beliefs(self, memory: _Memory, variable: str, values: Sequence[str], question: str) -> F64:
        names = sorted(set(values))
        belief = np.full(len(names), 1.0 / max(len(names), 1))
        if memory.units and len(names) > 1:
            gate, view = self._views(memory, variable, names, question)
            self._literals(memory, variable, names, gate, view)
            left = np.concatenate([np.cumprod((1.0 - gate)[::-1])[::-1], [1.0]])  # what later units leave of a belief
            belief = left[0] * belief + (gate * left[1:]) @ view
        return belief[[names.index(value) for value in values]]

    def _views(self, memory: _Memory, variable: str, names: list[str], question: str) -> tuple[F64, F64]:
        """Each unit's gate (units,) and view of the values (units, values)."""
        relevance = self._about(memory, re.sub(r"[_\s]+", " ", variable), 1.0)
        if question:
            relevance = relevance + self._about(memory, question, PARTS)
        mean = np.cumsum(relevance) / np.arange(1, len(relevance) + 1)
        best = np.maximum.accumulate(relevance)
        lead = relevance - BEST * best - MEAN * np.minimum(mean, FEW * best)
        gate = 1.0 / (1.0 + np.exp(-SLOPE * lead))
        words, weights = value_words(tuple(names))
        met, rare = self._met(memory, words)
        weights = weights * np.sqrt(rare)
        amount = (weights @ met**1.5).T
        fit = amount / np.maximum(weights.sum(1), 1e-9) + AMOUNT * amount
        spans = [range_of(name) for name in names]
        if sum(span != NOWHERE for span in spans) > 1:
            for row, unit in zip(fit, memory.units, strict=True):
                hits = np.array([any(low <= n <= high for n in unit.numbers) for low, high in spans])
                row += NUMBER * hits / max(hits.sum(), 1)
        fit -= fit.mean(1, keepdims=True)
        fit -= USUAL * np.cumsum(gate[:, None] * fit, 0) / (np.cumsum(gate) + PRIOR)[:, None]
        top = np.sort(fit, axis=1)
        gate = TRUST * gate * (1.0 - np.exp((top[:, -2] - top[:, -1]) / DECIDED))
        view = np.exp(SHARP * (fit - top[:, -1:]))
        return gate, view / view.sum(1, keepdims=True)

    def _literals(self, memory: _Memory, variable: str, names: list[str], gate: F64, view: F64) -> None:
        """Take ``variable: value`` at its word; then records of other variables say nothing about this one."""
        name = " ".join(words_of(variable))
        found: dict[int, int] = {}
        for i in (i for i, unit in enumerate(memory.units) if name and name in unit.plain):
            for match in literal(variable, tuple(names)).finditer(memory.texts[i]):
                found[i] = int((match.lastgroup or "v0")[1:])
        for i, text in enumerate(memory.texts if found else ()):
            if i in found:
                gate[i] = LITERAL
                view[i] = np.where(np.arange(len(names)) == found[i], 0.999, 0.001 / len(names))
            elif _RECORD.fullmatch(text):
                gate[i] = 0.0
