"""Judge what a message tells of its writer, and what an advice was written for, without a language model.

A stand-in for a judge: it sees words, not meaning, and what is told between the lines escapes it.
1. Of a message, sentences about somebody else alone are left out ("My sister travels alone."), and so is what is said
   to be so no longer ("instead of the bus").
2. Each value of each variable gets a score: how well the value's own words and numbers are met, and how near the value
   is as a whole, against the variable's other values; and how well the variable's name is met, against the other
   variables and against what is usual, since of variables that are all beside the point one is always the nearest.
3. Silence scores 0. A variable is told where some value is likelier than TOLD (softmax over silence and the values);
   the value is that of the highest score. A literal ``variable: value`` is taken at its word.
4. An answer's variant takes each variable's likeliest value, silence being no choice, and none below SURE.
The weights were fitted on every other user of v1.base (whole schemas and random parts); no words come from there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from amemgym.llm.offline.reader import F64, FLOOR, Embed, Ints
from amemgym.llm.offline.values import NOWHERE, literal, numbers_in, range_of, value_words
from amemgym.llm.words import STOP, stem, words_of

Variables = Mapping[str, Sequence[str]]

# the score of a value: what share of its words is met, how much is met, its lead as a whole, its lead by numbers …
SHARE, AMOUNT, WHOLE, NUMBER = 3.5, 0.87, 6.0, 2.6
# … and of its variable: nearness and name, each less the best one's and less the mean; all against silence
ABOUT_BEST, ABOUT_MEAN, NAMED_BEST, NAMED_MEAN, SILENCE = 6.7, 3.1, 3.1, 1.2, 3.2
#: the best and the mean nearness and name to be expected, and how many variables the means count for
USUAL_ABOUT, USUAL_NAMED, USUAL_COUNT = (0.4, 0.14), (0.5, 0.11), 5.0
TOLD, SURE = 0.44, 0.5
SCHEMAS = 64  # schemas kept ready

_TIME = re.compile(r"\[Current Time:[^\]\n]{0,80}\]", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_OWN = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b|我|咱", re.IGNORECASE)
_PERSON = (
    r"(?:sister|brother|mother|mum|mom|mam|father|dad|son|daughter|aunt|uncle|cousin|niece|nephew|grand\w+|gran"
    r"|neighbou?r|colleague|co-?worker|boss|manager|teacher|friend|flatmate|roommate|doctor|hairdresser)s?"
)
_OTHER = re.compile(
    rf"\W*(?:(?:my|our|an?|(?:one|some) of my)\s+(?:[\w-]+\s+){{0,2}}?{_PERSON}\b(?:-in-law)?(?:\s+of\s+(?:mine|ours))?"
    r"|我的?[一两几]?[个位名]?(?:[姐妹哥弟妈爸母父叔姨舅姑]|表|堂|爷|奶|外[公婆]|同[事学]|朋友|邻居|老师|上司|室友))",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"(?:\b(?:no longer|(?<!am )(?<!get )(?<!got )used to|instead of|rather than"
    r"|(?:away|switched|moved|changed|back|apart) from)\b(?:(?!\b(?:but|to|now|and|so|since|because)\b)[^.,;:!?—–])*)"
    r"|(?:不再|而不是)[^，。；！？]*",
    re.IGNORECASE,
)


class _Schema(NamedTuple):
    """Variables, and their values one after the other; `owner` is the place of each value's variable."""

    names: tuple[str, ...]
    values: tuple[str, ...]
    owner: Ints
    words: list[str]  # the different words of names and values
    rows: F64  # their vectors
    stems: list[str]
    in_names: F64  # (variables, words), rows adding up to 1
    in_values: F64  # (values, words)
    about: F64  # vectors of the names
    wholes: F64  # vectors of name and value
    spans: list[tuple[float, float]]  # NOWHERE too where no other value of the variable has one


class Judge:
    """Reads single messages and answers. `embed` gives unit rows."""

    def __init__(self, embed: Embed) -> None:
        self._embed = embed
        self._schemas: dict[tuple[tuple[str, tuple[str, ...]], ...], _Schema] = {}

    def revealed(self, message: str, variables: Variables) -> dict[str, str]:
        """The variables that a message tells, each with its value; in the variables' order."""
        schema, sentences = self._schema(variables), own_sentences(message)
        if not sentences or not schema.values:
            return {}
        of_values, of_variables = self._scores(sentences, schema)
        scores = of_values + of_variables[schema.owner]
        found: dict[str, str] = {}
        for place, name in enumerate(schema.names):
            mine = np.flatnonzero(schema.owner == place)
            values = tuple(schema.values[i] for i in mine)
            said = [match for s in sentences for match in literal(name, values).finditer(s)] if name.strip() else []
            top = float(max(scores[mine].max(), 0.0))
            some = float(np.exp(scores[mine] - top).sum())
            if said:
                found[name] = values[int((said[-1].lastgroup or "v0")[1:])]
            elif some / (some + np.exp(-top)) > TOLD:
                found[name] = values[int(np.argmax(scores[mine]))]
        return found

    def variant(self, answer: str, variables: Variables) -> dict[str, str | None]:
        """Each variable's value that the answer fits best; None where it fits none clearly better than the rest."""
        schema = self._schema(variables)
        found: dict[str, str | None] = dict.fromkeys(variables)
        if not answer.strip() or not schema.values:
            return found
        scores, _ = self._scores([answer], schema)
        for place, name in enumerate(schema.names):
            mine = np.flatnonzero(schema.owner == place)
            likely = np.exp(scores[mine] - scores[mine].max())
            if 1.0 / likely.sum() > SURE:
                found[name] = schema.values[mine[int(np.argmax(likely))]]
        return found

    def _scores(self, sentences: Sequence[str], schema: _Schema) -> tuple[F64, F64]:
        """The scores of the values (values,) and of the variables (variables,)."""
        whole = " ".join(sentences)
        rows, met, owner = self._vectors([whole, *sentences]), self._met(whole, schema), schema.owner
        amount = schema.in_values @ met
        share = amount / np.maximum(schema.in_values.sum(1), 1e-9)
        numbers = numbers_in(words_of(whole))
        hits = np.array([any(low <= n <= high for n in numbers) for low, high in schema.spans], dtype=np.float64)
        hits /= np.maximum(np.bincount(owner, hits)[owner], 1.0)
        leads = WHOLE * _lead(schema.wholes @ rows[0], owner) + NUMBER * _lead(hits, owner)
        of_values = SHARE * share + AMOUNT * amount + leads
        about_best, about_mean = _against((schema.about @ rows.T).max(1), USUAL_ABOUT)
        named_best, named_mean = _against(schema.in_names @ met, USUAL_NAMED)
        of_variables = ABOUT_BEST * about_best + ABOUT_MEAN * about_mean
        of_variables += NAMED_BEST * named_best + NAMED_MEAN * named_mean
        return of_values, of_variables - SILENCE

    def _met(self, text: str, schema: _Schema) -> F64:
        """How well each word of the schema is met by the best word of the text, 0 to 1; equal stems meet fully."""
        said = [word for word in dict.fromkeys(words_of(text)) if word not in STOP]
        if not said:
            return np.zeros(len(schema.words))
        near = schema.rows @ self._vectors(said).T
        near[[word.isdecimal() for word in schema.words]] = 0.0  # numbers are equal or not
        near[np.array(schema.stems)[:, None] == np.array([stem(word) for word in said])] = 1.0
        met: F64 = np.maximum(near.max(1) - FLOOR, 0.0) / (1.0 - FLOOR)
        return met

    def _schema(self, variables: Variables) -> _Schema:
        key = tuple((name, tuple(values)) for name, values in variables.items() if values)
        if key not in self._schemas:
            while len(self._schemas) >= SCHEMAS:
                del self._schemas[next(iter(self._schemas))]
            self._schemas[key] = self._read(key)
        return self._schemas[key]

    def _read(self, key: tuple[tuple[str, tuple[str, ...]], ...]) -> _Schema:
        texts = [[name, *values] for name, values in key]
        words = list(dict.fromkeys(word for group in texts for text in group for word in words_of(text))) or [" "]
        place = {word: i for i, word in enumerate(words)}
        common = Counter(root for group in texts for root in {stem(w) for text in group for w in words_of(text)})
        pairs = [(name, value) for name, values in key for value in values]
        in_names, in_values = np.zeros((len(key), len(words))), np.zeros((len(pairs), len(words)))
        spans: list[tuple[float, float]] = []
        for row, (name, values) in enumerate(key):
            for word in words_of(name):
                if word not in STOP:
                    in_names[row, place[word]] = max(np.log((len(key) + 1) / common[stem(word)]), 0.05)
            first = len(spans)
            for column, word in zip(value_words(values)[1].T, value_words(values)[0], strict=True):
                if word in place:
                    in_values[first : first + len(values), place[word]] += column
            ranges = [range_of(value) for value in values]
            spans += ranges if sum(span != NOWHERE for span in ranges) > 1 else [NOWHERE] * len(values)
        in_names /= np.maximum(in_names.sum(1, keepdims=True), 1e-9)
        return _Schema(
            names=tuple(name for name, _ in key),
            values=tuple(value for _, value in pairs),
            owner=np.array([row for row, (_, values) in enumerate(key) for _ in values], dtype=np.intp),
            words=words,
            rows=self._vectors(words),
            stems=[stem(word) for word in words],
            in_names=in_names,
            in_values=in_values,
            about=self._vectors([_plain(name) for name, _ in key]),
            wholes=self._vectors([_plain(f"{name} {value}") for name, value in pairs]),
            spans=spans,
        )

    def _vectors(self, texts: Sequence[str]) -> F64:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        rows: F64 = np.nan_to_num(np.asarray(self._embed(clean), dtype=np.float64))
        return rows


def own_sentences(message: str) -> list[str]:
    """What of a message may tell of its writer: no sentence about others alone, nothing that is so no longer."""
    found: list[str] = []
    for sentence in _SENTENCE.split(_TIME.sub(" ", message)):
        other = _OTHER.match(sentence)
        if other and not _OWN.search(sentence, other.end()):
            continue
        if kept := _GONE.sub(" ", sentence).strip():
            found.append(kept)
    return found


def _lead(fits: F64, owner: Ints) -> F64:
    """How much more than the mean of its variable's values each value fits."""
    lead: F64 = fits - (np.bincount(owner, fits) / np.bincount(owner))[owner]
    return lead


def _against(fits: F64, usual: tuple[float, float]) -> tuple[F64, F64]:
    """How much each variable fits less than the best, and more than the mean, of these variables and of the usual."""
    best, mean = usual
    return fits - max(fits.max(), best), fits - (fits.sum() + USUAL_COUNT * mean) / (len(fits) + USUAL_COUNT)


def _plain(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name)
