"""How hard a text is to read: the Coleman-Liau index where words are written apart, else characters a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from amemgym.llm.words import CJK

_CJK = re.compile(rf"[{CJK}]")
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
#: a sentence's end: a mark before a blank or the text's end (so not that of 3.5), or a full-width mark
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+")


@dataclass(frozen=True)
class Reading:
    """Counts over texts: `texts`, letters (digits count), words and sentences of those whose words are written apart,
    and `cjk_texts`, their characters and sentences, of those in Chinese, Japanese or Korean writing."""

    texts: int = 0
    letters: int = 0
    words: int = 0
    sentences: int = 0
    cjk_texts: int = 0
    cjk_characters: int = 0
    cjk_sentences: int = 0

    @property
    def coleman_liau(self) -> float | None:
        """The school grade (US) at which English like this is read: 0.0588 L − 0.296 S − 15.8, with L letters and S
        sentences per 100 words (Coleman and Liau 1975, Journal of Applied Psychology 60, 283)."""
        if not self.words:
            return None
        return 0.0588 * 100 * self.letters / self.words - 0.296 * 100 * self.sentences / self.words - 15.8

    @property
    def characters_a_sentence(self) -> float | None:
        """Of the texts in Chinese, Japanese or Korean writing."""
        return self.cjk_characters / self.cjk_sentences if self.cjk_sentences else None

    def __add__(self, other: Reading) -> Reading:
        return Reading(**{name: count + getattr(other, name) for name, count in vars(self).items()})


def read(text: str) -> Reading:
    """The counts of one text; a text without a closing mark is one sentence."""
    characters = len(_CJK.findall(text))
    sentences = max(1, len(_END.findall(text)))
    words = _WORD.findall(_CJK.sub(" ", text))
    letters = sum(sign.isalnum() for word in words for sign in word)
    if 2 * characters > letters:
        return Reading(cjk_texts=1, cjk_characters=characters + letters, cjk_sentences=sentences)
    return Reading(1, letters, len(words), sentences) if words else Reading()
