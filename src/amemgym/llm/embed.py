"""Texts as vectors: the embedder protocol, and the default one, whose words ship in a package."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from amemgym.errors import UnknownName
from amemgym.plugins import load_plug_in, plug_in_version, plug_ins

Vectors = NDArray[np.float32]

#: texts whose vectors are kept; at 256 numbers each about 50 MB
CACHED_TEXTS = 40_000
#: so many texts are many
MANY = 64


class Embedder(Protocol):
    """Anything that embeds."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Unit rows, shape (len(texts), dimension); a text without any known word gives a row of zeros."""
        ...


class WordLlamaEmbedder:
    """Static word embeddings (WordLlama, 256 dimensions, in its package): quick, offline, deterministic.

    Each text is embedded alone, so that its vector does not depend on which others are asked for beside it.
    """

    def __init__(self) -> None:
        with _logging_untouched():
            import wordllama

        model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        model.tokenizer.no_padding()  # else each text would get as many words as the longest beside it
        self._tokenizer = model.tokenizer
        self._words: Vectors = model.embedding
        self._cache: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self._words.shape[1]), dtype=np.float32)
        found = {text: self._cache[text] for text in texts if text in self._cache}
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            found |= zip(new, self._vectors(new), strict=True)
        for text in found:
            self._cache[text] = found[text]
            self._cache.move_to_end(text)
        while len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        return np.stack([found[text] for text in texts])

    def _vectors(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Many texts are cut into words together, on several processors, which for a few costs more than it gains; a
        text's words are then averaged alone."""
        # a lone surrogate cannot be tokenised
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        if len(clean) >= MANY:
            cuts = self._tokenizer.encode_batch(clean, add_special_tokens=False)
        else:
            cuts = (self._tokenizer.encode(text, add_special_tokens=False) for text in clean)
        for cut in cuts:
            rows = np.minimum(np.array(cut.ids, dtype=np.int64), len(self._words) - 1)
            # as the package does it: the sum in this precision, one word after the other
            total = np.sum(self._words[rows], axis=0, dtype=np.float32)
            mean = np.asarray(total / np.float32(max(len(rows), 1)), dtype=np.float32)
            length = float(np.linalg.norm(mean))
            yield mean / length if np.isfinite(length) and length > 0 else np.zeros_like(mean)


class OneAtATime:
    """An embedder that is asked by one thread after the other: memories at work in threads share it with the run, and
    it need not stand that."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._turn = threading.RLock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
            return self._inner.embed(texts)


class _WhenNeeded:
    """The default embedder, loaded when it first embeds: half a second and 70 MB, which a run without need of it is
    spared."""

    @cached_property
    def _inner(self) -> Embedder:
        return WordLlamaEmbedder()

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._inner.embed(texts)


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """wordllama sets up the root logger when it is imported, which would print every request of an HTTP client."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def embedder(name: str = "wordllama") -> Embedder:
    """The embedder of that name, loaded once. Raises UnknownName or UsageError."""
    return _load(name)


@lru_cache
def _load(name: str) -> Embedder:
    if name == "wordllama":
        return OneAtATime(_WhenNeeded())
    embedder_identity(name)
    return OneAtATime(load_plug_in("embedders", name)())


def embedder_identity(name: str) -> str:
    """The embedder's name and the version of what its vectors come from, for the manifest. Raises UnknownName."""
    if name == "wordllama":
        return f"wordllama-256:{version('wordllama')}"
    if name not in plug_ins("embedders"):
        raise UnknownName("embedder", name, ["wordllama", *plug_ins("embedders")])
    return f"{name}:{plug_in_version('embedders', name)}"
