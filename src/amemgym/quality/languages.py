"""In which languages a data set is written, and where each is met first.

The language of a short text is a guess, so a user's texts are judged joined: what is said in one period, or a question
with its options, and where these are short, with those that follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amemgym.scenario import Scenario

#: characters from which the language of a text can be told, and those it is told by at most
ENOUGH, JUDGED = 300, 4000


@dataclass(frozen=True)
class Language:
    """One language (`code`: ISO 639-1), its share of the characters, and the first place that is judged to be in it."""

    code: str
    share: float
    user: int
    user_id: str
    place: str


class LanguageCounter:
    """Judges one user after the other."""

    def __init__(self) -> None:
        self._characters: Counter[str] = Counter()
        self._first: dict[str, tuple[int, str, str]] = {}

    def add(self, number: int, user: Scenario) -> None:
        said = ((f"period {p}", " ".join(s.query for s in period.sessions)) for p, period in enumerate(user.periods))
        asked = (
            (f"question {q}", " ".join([question.query, *(option.answer for option in question.answer_choices)]))
            for q, question in enumerate(user.qas)
        )
        for place, text in [*_joined(said), *_joined(asked)]:
            if code := _judge(text):
                self._characters[code] += len(text)
                self._first.setdefault(code, (number, user.id, place))

    def result(self) -> tuple[Language, ...]:
        """The languages, the most used first."""
        rows = sorted(self._characters.items(), key=lambda row: (-row[1], row[0]))
        return tuple(Language(code, n / self._characters.total(), *self._first[code]) for code, n in rows)


def _joined(texts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """(place, text): texts that are too short go together with those after them, the last ones alone if need be."""
    first, held = "", ""
    for place, text in texts:
        first, held = first if held else place, f"{held} {text}".strip()
        if len(held) >= ENOUGH:
            yield first, held
            held = ""
    if held:
        yield first, held


def _judge(text: str) -> str | None:
    """The language's code; None where there is no letter to judge by."""
    if not any(sign.isalpha() for sign in text):
        return None
    from py3langid import classify  # loads its table of n-grams

    return str(classify(text[:JUDGED].encode("utf-8", "replace").decode())[0])
