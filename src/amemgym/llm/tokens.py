"""How many tokens a text has: by a tokenizer where one is installed, else an estimate; the name says which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from amemgym.llm.provider import CHARACTERS_PER_TOKEN, estimate_tokens

ENCODING = "o200k_base"


@dataclass(frozen=True)
class Tokenizer:
    """`count` gives a text's tokens; `name` is how they are counted."""

    name: str
    count: Callable[[str], int]

    @property
    def estimates(self) -> bool:
        return self.name == ESTIMATE.name


ESTIMATE = Tokenizer(f"characters / {CHARACTERS_PER_TOKEN}", lambda text: estimate_tokens([text]))


@lru_cache
def tokenizer() -> Tokenizer:
    """`bpe-openai` (o200k, which needs no network) where it is installed, else characters / 4."""
    try:
        import bpe_openai
    except ImportError:
        return ESTIMATE
    encoding = bpe_openai.get_encoding(ENCODING)
    return Tokenizer(f"bpe-openai, {ENCODING}", lambda text: len(encoding.encode_ordinary(text)))
