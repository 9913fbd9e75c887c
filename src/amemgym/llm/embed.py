"""Texts as vectors: the embedder protocol, and the default one, whose words ship in a package."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
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

        self._model = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
        self._cache: OrderedDict[str, Vectors] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, 256), dtype=np.float32)
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Vectors:
        if (known := self._cache.get(text)) is not None:
            self._cache.move_to_end(text)
            return known
        # a lone surrogate cannot be tokenised
        clean = text.encode("utf-8", "replace").decode("utf-8")
        vector = np.asarray(self._model.embed([clean])[0], dtype=np.float32)
        length = float(np.linalg.norm(vector))
        vector = vector / length if np.isfinite(length) and length > 0 else np.zeros_like(vector)
        self._cache[text] = vector
        if len(self._cache) > CACHED_TEXTS:
            self._cache.popitem(last=False)
        return vector


class OneAtATime:
    """An embedder that is asked by one thread after the other: memories at work in threads share it with the run, and
    it need not stand that."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._turn = threading.RLock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._turn:
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
        return OneAtATime(WordLlamaEmbedder())
    embedder_identity(name)
    return OneAtATime(load_plug_in("embedders", name)())


def embedder_identity(name: str) -> str:
    """The embedder's name and the version of what its vectors come from, for the manifest. Raises UnknownName."""
    if name == "wordllama":
        return f"wordllama-256:{version('wordllama')}"
    if name not in plug_ins("embedders"):
        raise UnknownName("embedder", name, ["wordllama", *plug_ins("embedders")])
    return f"{name}:{plug_in_version('embedders', name)}"
