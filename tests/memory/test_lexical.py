"""Memories found by words: the published formula, every script, units of a message or a session, one index for all."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.memory import Item, Memory, Tools, find_memory, new_memory, read_from, write_to
from amemgym.memory.bm25 import K1, B, Postings
from amemgym.memory.lexical import LexicalMessageMemory, LexicalStore
from amemgym.memory.terms import terms_of
from amemgym.messages import Message
from tests.support.models import Scripted, tools_of

NOW = datetime(2022, 5, 1, 12)
LATER = NOW + timedelta(days=1)


def holding(*texts: str) -> LexicalStore:
    store = LexicalStore()
    for text in texts:
        store.add(Item(text))
    return store


def found(store: LexicalStore, query: str, k: int = 9) -> list[str]:
    return [item.text for item in store.find(query, k)]


# ---- ranking


def scored(documents: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """BM25 as in Robertson & Zaragoza (2009), with Lucene's idf, k1 = 1.5 and b = 0.75."""
    mean = sum(map(len, documents)) / len(documents)

    def of(document: Sequence[str]) -> float:
        total, counts = 0.0, Counter(document)
        for term in query:
            n = sum(term in other for other in documents)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            total += idf * counts[term] / (counts[term] + 1.5 * (1 - 0.75 + 0.75 * len(document) / mean))
        return total

    return [of(document) for document in documents]


CORPUS = ["tram bus tram", "bus", "tram harbour lamp pencil carpet window", "cello"]


@pytest.mark.parametrize(
    ("query", "ranked"),
    [
        ("tram", [0, 2]),  # said twice and short before said once and long
        ("bus", [1, 0]),  # short before long
        ("harbour tram", [2, 0]),  # a rare word and a common one
        ("bus cello", [3, 1, 0]),  # rare before common
    ],
)
def test_a_small_corpus_is_ranked_by_the_formula(query: str, ranked: list[int]) -> None:
    scores = scored([text.split() for text in CORPUS], query.split())
    assert sorted((n for n in range(4) if scores[n]), key=lambda n: -scores[n]) == ranked
    assert found(holding(*CORPUS), query) == [CORPUS[n] for n in ranked]


WORDS = st.sampled_from(["tram", "bus", "harbour", "cello", "茶"])
DOCUMENTS = st.lists(st.lists(WORDS, max_size=6), max_size=7)


@settings(deadline=None, max_examples=40)
@given(DOCUMENTS, st.lists(WORDS, max_size=4), st.integers(0, 9))
def test_every_ranking_is_that_of_the_formula(documents: list[list[str]], query: list[str], k: int) -> None:
    store = holding(*map(" ".join, documents))
    hits = store.find(" ".join(query), k)
    places = [next(key for key, item in store.items.items() if item is hit) for hit in hits]
    scores = scored(documents, query) if any(documents) else [0.0] * len(documents)
    by_hand = sorted((n for n, score in enumerate(scores) if score > 0), key=lambda n: (-round(scores[n], 9), n))
    assert places == by_hand[:k]


def test_what_shares_no_word_is_no_hit_and_equals_come_oldest_first() -> None:
    store = holding("the tram is late", "my cello", "the tram is late", "a tram is early")
    assert found(store, "tram") == ["the tram is late", "the tram is late", "a tram is early"]
    assert store.find("tram", 1)[0] is store.items[0]
    for nothing in ("zebra", "", "the of and", "…"):
        assert found(store, nothing) == []
    assert found(holding(), "tram") == found(holding("…"), "tram") == []


# ---- terms


@pytest.mark.parametrize(
    ("text", "query", "other"),
    [
        ("我每天早上喝乌龙茶。", "你喜欢喝什么茶？", "周末去海边跑步。"),
        ("東京に住んでいます", "住んでいる場所は", "猫がすき"),
        ("ｶﾀｶﾅで書く", "カタカナ", "ひらがな"),
        ("저는 서울에서 살아요", "서울", "고양이를 길러요"),
        ("मुझे हिन्दी आती है", "हिन्दी", "वह घर गया"),
        ("ฉันอยู่ที่เชียงใหม่", "เชียงใหม่", "แมวสองตัว"),
        ("Мой дом у моря", "МОРЯ", "Кошка спит"),
        ("Wohnt in der Hauptstraße", "HAUPTSTRASSE", "Zwei Katzen"),
        ("She moved houses twice", "moving house", "Two cats"),
        ("أسكن في القاهرة", "القاهرة", "عندي قطة"),
    ],
)
def test_every_script_is_found_by_its_words(text: str, query: str, other: str) -> None:
    assert found(holding(other, text), query)[:1] == [text]


def test_terms() -> None:
    assert terms_of("The Tram's on time, CAFÉ!") == ["tram", "tim", "café"]
    assert terms_of("喝茶") == ["喝", "茶", "喝茶"]
    assert terms_of("cafe\u0301") == terms_of("café") and terms_of("हिन्दी") == ["हिन्दी"]


# ---- units

SESSIONS = [
    Message("user", "I take the tram now", NOW),
    Message("assistant", "Very well", NOW),
    Message("user", "And my cello comes along", NOW),
    Message("user", "My sister bakes bread", LATER),
]


@pytest.mark.parametrize("kind", ["bm25-dialog", "vector-dialog"])
@pytest.mark.parametrize("sizes", [(4,), (2, 2), (1, 1, 1, 1)])
def test_a_session_is_one_document_however_it_is_written(kind: str, sizes: tuple[int, ...]) -> None:
    async def work() -> None:
        memory, rest = new_memory(find_memory(kind), tools_of(Scripted())), list(SESSIONS)
        for size in sizes:
            await write_to(memory, rest[:size], rest[0].time or NOW)
            await read_from(memory, "tram", NOW, 3)  # an index of what is there so far must not stay
            del rest[:size]
        first = Item("user: I take the tram now\nassistant: Very well\nuser: And my cello comes along", NOW)
        assert memory.export() == [first, Item("user: My sister bakes bread", LATER)]
        assert await read_from(memory, "the cello", LATER, 1) == (first,)
        await write_to(memory, [Message("user", "Without a time", None)], LATER)
        assert [item.text for item in held(memory)[1:]] == ["user: My sister bakes bread\nuser: Without a time"]

    asyncio.run(work())


def held(memory: Memory) -> list[Item]:
    items = memory.export()
    assert items is not None
    return [item for item in items if isinstance(item, Item)]


def test_messages_are_documents_of_their_own() -> None:
    memory = new_memory(LexicalMessageMemory, tools_of_nothing())
    memory.write(SESSIONS, NOW)
    assert held(memory) == [Item(f"{m.role}: {m.content}", m.time) for m in SESSIONS]


# ---- one index for a memory, its snapshots and what is restored from them


def test_each_document_enters_the_index_once(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[int] = []
    add = Postings.add

    def counted(self: Postings, terms: Sequence[str]) -> None:
        entered.append(len(self))
        add(self, terms)

    monkeypatch.setattr(Postings, "add", counted)
    memory = new_memory(LexicalMessageMemory, tools_of_nothing())
    memory.write(SESSIONS[:3], NOW)
    assert entered == []  # not before anything is asked
    snapshot = memory.snapshot()
    copies = [new_memory(LexicalMessageMemory, memory.tools) for _ in range(20)]
    for copy in copies:
        copy.restore(snapshot)
        assert len(copy.read("tram cello", NOW, 9)) == 2
    assert len(memory.read("bread tram", NOW, 9)) == 1
    assert entered == [0, 1, 2]
    memory.write(SESSIONS[3:], NOW)
    for _ in range(3):
        assert len(memory.read("bread tram", NOW, 9)) == 2
        assert len(copies[0].read("bread tram", NOW, 9)) == 1
    assert entered == [0, 1, 2, 3]


TERMS = st.lists(st.sampled_from("abcdefg"), max_size=6)


@settings(deadline=None, max_examples=60)
@given(documents=st.lists(TERMS, min_size=1, max_size=8), taken=st.integers(0, 3), query=TERMS)
def test_scores_are_those_of_a_library_that_sees_all_at_once(
    documents: list[list[str]], taken: int, query: list[str]
) -> None:
    import bm25s

    postings = Postings()
    for document in documents:
        for _ in range(taken):  # what is taken away again leaves nothing behind
            postings.add(query)
            postings.take_last(query)
        postings.add(document)
    vocabulary: dict[str, int] = {}
    numbers = [[vocabulary.setdefault(term, len(vocabulary)) for term in document] for document in documents]
    known = [vocabulary[term] for term in query if term in vocabulary]
    if not known:
        assert not postings.scores(query).any()
        return
    scorer = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64", backend="numpy", csc_backend="numpy")
    scorer.index((numbers, vocabulary), create_empty_token=False, show_progress=False)
    assert postings.scores(query).tobytes() == scorer.get_scores_from_ids(known).tobytes()
    assert postings.copy().scores(query).tobytes() == postings.scores(query).tobytes()


def tools_of_nothing() -> Tools:
    async def make() -> Tools:
        return tools_of(Scripted())

    return asyncio.run(make())


SAID = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=6)


@settings(deadline=None, max_examples=20)
@given(SAID, SAID, WORDS, st.integers(1, 4), st.sampled_from(["bm25-message", "bm25-dialog"]))
def test_reading_changes_nothing_and_copies_go_their_own_way(
    before: list[str], after: list[str], query: str, k: int, kind: str
) -> None:
    tools = tools_of_nothing()
    one, other = new_memory(find_memory(kind), tools), new_memory(find_memory(kind), tools)

    def said(texts: list[str]) -> list[Message]:
        return [Message("user", text, NOW + timedelta(days=number // 2)) for number, text in enumerate(texts)]

    one.write(said(before), NOW)
    first, snapshot = one.read(query, NOW, k), one.snapshot()
    assert len(first) <= k and first == one.read(query, NOW, k)
    one.write(said(after), NOW)
    one.read(query, NOW, k)
    other.restore(snapshot)
    assert other.read(query, NOW, k) == first
    other.write(said(after), NOW)
    assert other.export() == one.export() and other.read(query, NOW, k) == one.read(query, NOW, k)
    one.clear()
    assert one.export() == [] == one.read(query, NOW, k)


def test_the_library_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler()
    logging.getLogger().addHandler(handler)  # as logging.basicConfig does
    try:
        assert found(holding("tram", "bus"), "tram") == ["tram"]
    finally:
        logging.getLogger().removeHandler(handler)
    assert capfd.readouterr() == ("", "")
