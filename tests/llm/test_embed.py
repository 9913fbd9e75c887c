"""Texts as vectors: unit rows, zeros for nothing, the same for the same text whatever stands beside it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import UnknownName
from amemgym.llm import embed as embed_module
from amemgym.llm import embedder, embedder_identity
from amemgym.llm.embed import OneAtATime, Vectors, WordLlamaEmbedder

TEXTS = [
    "I cycle to work.",
    "",
    "漢字かな交じり文",
    "\ud800",
    "a\udfffb",
    "\0",
    "🦄🦄",
    "x" * 20_000,
    "I cycle to work.",
]
ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs", "Cc"]), max_size=60)


def test_rows_are_of_length_one_or_zero() -> None:
    rows = embedder().embed(TEXTS)
    assert rows.shape == (len(TEXTS), 256) and rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths[TEXTS.index("")] == 0
    assert lengths[[i for i, text in enumerate(TEXTS) if text]] == pytest.approx(1, abs=1e-5)


def test_no_texts_are_no_rows() -> None:
    assert embedder().embed([]).shape == (0, 256)


@settings(deadline=None, max_examples=150)
@given(ANY_TEXT)
def test_any_text_has_a_finite_row(text: str) -> None:
    (row,) = embedder().embed([text])
    assert np.isfinite(row).all()
    length = float(np.linalg.norm(row))
    assert length == pytest.approx(1, abs=1e-5) if text else length == 0


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    fresh = WordLlamaEmbedder()
    together = fresh.embed(TEXTS)
    backwards = WordLlamaEmbedder().embed(TEXTS[::-1])[::-1]
    alone = np.stack([embedder().embed([text])[0] for text in TEXTS])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)
    assert np.array_equal(together[0], together[-1])
    assert not np.array_equal(together[0], together[2])


def test_what_is_forgotten_is_found_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = embedder().embed(TEXTS)
    monkeypatch.setattr(embed_module, "CACHED_TEXTS", 2)
    small = WordLlamaEmbedder()
    for _ in range(2):
        assert np.array_equal(small.embed(TEXTS), expected)
    assert len(small._cache) == 2


def test_a_caller_may_change_its_rows() -> None:
    before = embedder().embed(["A text."]).copy()
    for texts in (["A text."], ["A text.", "Another."]):
        rows = embedder().embed(texts)
        rows *= 7
    assert np.array_equal(embedder().embed(["A text."]), before)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("I cycle to work.", "riding a bicycle", "playing the cello"),
        ("My puppy howls at night.", "a dog that barks", "a mortgage"),
        ("I stopped eating meat.", "vegetarian food", "running a marathon"),
    ],
)
def test_what_means_the_same_is_near(text: str, near: str, far: str) -> None:
    base, one, other = embedder().embed([text, near, far])
    assert base @ one > base @ other + 0.05


def test_it_is_loaded_once() -> None:
    assert embedder() is embedder("wordllama")


def test_an_unknown_embedder_names_the_nearest() -> None:
    for use in (embedder, embedder_identity):
        with pytest.raises(UnknownName, match=r"unknown embedder 'wordlama'\. Did you mean 'wordllama'"):
            use("wordlama")


def test_its_identity_names_the_version_of_the_vectors() -> None:
    import wordllama

    assert embedder_identity("wordllama") == f"wordllama-256:{wordllama.__version__}"


def test_threads_take_turns() -> None:
    free: list[bool] = []

    class Looks:
        def embed(self, texts: Sequence[str]) -> Vectors:
            other = threading.Thread(target=lambda: free.append(shared._turn.acquire(blocking=False)))
            other.start()
            other.join()
            return np.zeros((len(texts), 2), dtype=np.float32)

    shared = OneAtATime(Looks())
    assert shared.embed(["a"]).shape == (1, 2)
    assert free == [False], "another thread could come in"
    assert isinstance(embedder(), OneAtATime)
