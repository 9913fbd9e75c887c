"""How things are said: lengths, how plainly an utterance names what it exposes, reading level, languages.

The *overlap* of an utterance with a value it exposes is the share of the value name's words that are in it, by stem and
without function words (where the name has others). The higher, the easier a lexical search finds the utterance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amemgym.llm.tokens import tokenizer
from amemgym.llm.words import STOP, stem, words_of
from amemgym.quality.languages import Language, LanguageCounter
from amemgym.quality.reading import Reading, read
from amemgym.quality.tally import Spread, Tally
from amemgym.scenario import Scenario


@dataclass(frozen=True)
class Wording:
    """`tokens` says how tokens are counted; lengths are by kind of text, in tokens (`user_utterances`: all of a user's
    together). `overlap` is a mean over `exposures`, of which `named` have every word of the value's name in the
    utterance, `unnamed` none."""

    tokens: str
    lengths: Mapping[str, Spread]
    exposures: int
    overlap: float | None
    named: int
    unnamed: int
    reading: Mapping[str, Reading]
    languages: tuple[Language, ...]

    @property
    def named_share(self) -> float | None:
        return self.named / self.exposures if self.exposures else None

    @property
    def unnamed_share(self) -> float | None:
        return self.unnamed / self.exposures if self.exposures else None


class WordingCounter:
    """Counts one user after the other."""

    def __init__(self) -> None:
        self._tokenizer = tokenizer()
        self._lengths = {
            name: Tally() for name in ("utterances", "user_utterances", "questions", "answers", "profiles")
        }
        self._overlap, self._reading = Tally(), {"utterances": Reading(), "answers": Reading()}
        self._languages = LanguageCounter()

    def add(self, number: int, user: Scenario) -> None:
        utterances = [session.query for period in user.periods for session in period.sessions]
        questions = [question.query for question in user.qas]
        answers = [option.answer for question in user.qas for option in question.answer_choices]
        counts = [self._measure("utterances", text) for text in utterances]
        self._lengths["user_utterances"].add(sum(counts))
        for text in questions:
            self._measure("questions", text)
        for text in answers:
            self._measure("answers", text)
        self._measure("profiles", user.user_profile.text)
        for share in _overlaps(user):
            self._overlap.add(round(share, 9))
        self._languages.add(number, user)

    def _measure(self, kind: str, text: str) -> int:
        count = self._tokenizer.count(text)
        self._lengths[kind].add(count)
        if kind in self._reading:
            self._reading[kind] += read(text)
        return count

    def result(self) -> Wording:
        overlap = self._overlap.spread()
        shares = dict(overlap.histogram)
        return Wording(
            tokens=self._tokenizer.name,
            lengths={name: tally.spread() for name, tally in self._lengths.items()},
            exposures=overlap.n,
            overlap=overlap.mean,
            named=shares.get(1.0, 0),
            unnamed=shares.get(0.0, 0),
            reading=self._reading,
            languages=self._languages.result(),
        )


def _overlaps(user: Scenario) -> Iterator[float]:
    for period in user.periods:
        for session in period.sessions:
            said = {stem(word) for word in words_of(session.query)} if session.exposed_states else set()
            for value in session.exposed_states.values():
                if (share := overlap(value, said)) is not None:
                    yield share


def overlap(value: str, said: set[str]) -> float | None:
    """The share of the value name's words that are among these stems; None where the name has no word."""
    words = words_of(value)
    wanted = {stem(word) for word in words if word not in STOP} or {stem(word) for word in words}
    return len(wanted & said) / len(wanted) if wanted else None
