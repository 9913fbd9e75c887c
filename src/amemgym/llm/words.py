"""The words of a text, for whatever compares texts by their words: of every script, with a light English stem.

CJK characters are words by themselves. The stem takes off one common English ending; it is quick and crude, and the
same for both texts of a comparison.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: English function words
STOP = frozenset(
    re.findall(
        r"\w+",
        """
    a an the and or but if of to in on at for from with by as is are was were be been being am do does did doing
    have has had having i me my mine we us our ours you your yours he him his she her hers it its they them their
    theirs this that these those there here what which who whom whose when where why how can could would should will
    shall may might must nor so than too very just also some any each other such own same s t d ll m re ve don now
    about into again further then once above below between through because until while""",
    )
)
#: kana, Han and Hangul, as the inside of a character class
CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_SUFFIX = re.compile(r"(?<=\w{3})(?:ings?|ies|ied|ers?|est|e[ds]?|ly|s|y)$")
#: characters of a word that count
LONGEST = 40


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The word without a common English ending."""
    return _SUFFIX.sub("", word)


def words_of(text: str) -> list[str]:
    """The words in order, in small letters."""
    return [word[:LONGEST] for word in _WORD.findall(text.lower())]
