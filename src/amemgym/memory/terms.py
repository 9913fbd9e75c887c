"""The terms of a text for lexical search, in every script.

Texts are compared in Unicode's compatibility form without case (NFKC, case-folded). English function words are left out
and common English endings taken off (`llm.words`). Scripts written without spaces (Han, kana, Thai and its neighbours),
and Hangul, whose words carry their particles, give each character and each pair of neighbours: the characters find what
is asked with a single one, the pairs tell words apart.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import groupby, pairwise

from amemgym.llm.words import CJK, LONGEST, STOP, stem

#: as the inside of a character class: CJK with its rarer Han, 々, Thai, Lao, Burmese and Khmer
_UNSPACED = rf"{CJK}\u3005\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"


def terms_of(text: str) -> list[str]:
    """The terms in order, as often as they occur."""
    terms: list[str] = []
    for run, word in _words().findall(unicodedata.normalize("NFKC", text).casefold()):
        if run:
            terms += run
            terms += (first + second for first, second in pairwise(run))
        elif word not in STOP:
            terms.append(stem(word[:LONGEST]))
    return terms


@cache
def _words() -> re.Pattern[str]:
    """Runs without spaces, and words. A word may hold marks (vowel signs, accents), which `\\w` leaves out."""
    marks = [code for code in range(0x20000) if unicodedata.category(chr(code)).startswith("M")]
    ranges: list[str] = []
    for _, group in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0]):
        codes = [code for _, code in group]
        ranges.append(f"{chr(codes[0])}-{chr(codes[-1])}")
    spaced = rf"[^\W_{_UNSPACED}]"
    return re.compile(rf"([{_UNSPACED}]+)|({spaced}(?:{spaced}|[{''.join(ranges)}])*)")
