"""How things are said: each measure on texts worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from amemgym.llm import tokens
from amemgym.llm.words import stem, words_of
from amemgym.quality.languages import Language, LanguageCounter
from amemgym.quality.reading import Reading, read
from amemgym.quality.wording import Wording, WordingCounter, overlap
from amemgym.scenario import Scenario
from tests.scenario.build import build_user, question, small_user


@pytest.fixture(autouse=True)
def _no_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amemgym.quality.wording.tokenizer", lambda: tokens.ESTIMATE)


def wording_of(*users: dict[str, Any]) -> Wording:
    counter = WordingCounter()
    for number, user in enumerate(users):
        counter.add(number, Scenario.model_validate(user))
    return counter.result()


@pytest.mark.parametrize(
    ("value", "said", "share"),
    [
        ("mixed_ages_with_young_adults", "My younger guests, and other adults!", 2 / 4),  # with is no content
        ("weekly", "We meet each week.", 1.0),
        ("at_30", "I am at the bridge.", 0.0),  # 30 alone is what it says
        ("none", "There are none.", 1.0),
        ("with_them", "Come with them.", 1.0),  # no other words than function words: they count
        ("with_them", "Come with me.", 0.5),
        ("每周", "我每周去。", 1.0),
        ("___", "Anything.", None),
    ],
)
def test_overlap_is_the_share_of_the_names_words_by_stem(value: str, said: str, share: float | None) -> None:
    assert overlap(value, {stem(word) for word in words_of(said)}) == share


def test_overlap_is_a_mean_over_exposures() -> None:
    user = small_user()
    sessions = user["periods"][0]["sessions"]
    sessions[0] |= {"query": "Life in the city as a nurse", "exposed_states": {"home": "city", "job": "nurse"}}
    sessions[1]["exposed_states"] = {}
    words = wording_of(user)
    # of 7 exposures (2, none, 1, 1 in the first period, then 1 and 2), those two are named
    assert (words.exposures, words.named, words.unnamed) == (7, 2, 5)
    assert words.overlap == pytest.approx(2 / 7) and words.named_share == pytest.approx(2 / 7)


def test_lengths_are_tokens_by_kind_of_text() -> None:
    words = wording_of(small_user())
    assert words.tokens == "characters / 4"
    # "Tell me something, please, number 0 of period 0." has 48 characters
    assert words.lengths["utterances"].histogram == ((12, 8),) and words.lengths["user_utterances"].histogram == (
        (96, 1),
    )
    assert words.lengths["questions"].histogram == ((5, 1), (7, 1))
    assert words.lengths["answers"].n == 7
    assert words.lengths["profiles"].histogram == ((5, 1),)  # "name: Ada\nage: 36"


def test_coleman_and_liaus_index() -> None:
    # the example of its article in Wikipedia: 119 words, 639 letters, 5 sentences make grade 14.5
    assert Reading(1, 639, 119, 5).coleman_liau == pytest.approx(14.5, abs=0.05)
    assert Reading().coleman_liau is None and Reading().characters_a_sentence is None


def test_letters_words_and_sentences() -> None:
    assert read("It's 3.5 miles. Is that far?") == Reading(1, 19, 7, 2)
    assert read("no mark") == Reading(1, 6, 2, 1)
    assert read("Wait... (Really?) Yes!") == Reading(1, 13, 3, 3)
    assert read("?!") == Reading() == read("")


def test_text_in_chinese_is_measured_by_characters_a_sentence() -> None:
    found = read("我住在城里。今天很冷！")
    assert found == Reading(cjk_texts=1, cjk_characters=9, cjk_sentences=2)
    assert found.characters_a_sentence == 4.5 and found.coleman_liau is None
    assert read("我用 iPhone 拍照片").cjk_characters == 5 + 6  # mostly Chinese, as a sign says more than a letter
    both = found + read("One word.")
    assert (both.cjk_texts, both.texts, both.words, both.characters_a_sentence) == (1, 1, 2, 4.5)


ENGLISH = "I have been walking along the river every morning since we moved, and it does me a great deal of good. "
GERMAN = "Ich gehe seit unserem Umzug jeden Morgen am Fluss entlang spazieren, und das tut mir wirklich sehr gut. "


def asking(*answers: str) -> Scenario:
    asked = question("What now?", ["x"], ("a",), ("b",))
    for option, answer in zip(asked["answer_choices"], answers, strict=True):
        option["answer"] = answer
    user = build_user("u", {"x": ["a", "b"]}, [{"x": "a"}], [asked])
    user["periods"][0]["sessions"][0]["query"] = ENGLISH * 4
    return Scenario.model_validate(user)


def test_languages_are_told_apart_and_where_each_is_met_first() -> None:
    counter = LanguageCounter()
    counter.add(0, asking(ENGLISH * 3, ENGLISH * 4))
    counter.add(1, asking(GERMAN * 3, GERMAN * 4))
    english, german = counter.result()
    assert (english.code, english.user, english.place) == ("en", 0, "period 0")
    assert german == Language("de", pytest.approx(german.share), 1, "u", "question 0")
    assert german.share == pytest.approx(0.32, abs=0.02) and english.share + german.share == pytest.approx(1)


def test_short_texts_are_judged_together_with_others() -> None:
    counter = LanguageCounter()
    counter.add(0, Scenario.model_validate(small_user()))  # alone, such texts are taken for half a dozen languages
    assert [language.code for language in counter.result()] == ["en"]


def test_text_without_letters_has_no_language() -> None:
    counter, user = LanguageCounter(), asking("1", "2")
    silent = user.model_copy(update={"qas": [], "periods": []})
    counter.add(0, silent)
    assert counter.result() == ()


def test_a_tokenizer_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoding:
        def encode_ordinary(self, text: str) -> list[int]:
            return [0] * len(text.split())

    class Package:
        @staticmethod
        def get_encoding(name: str) -> Encoding:
            assert name == "o200k_base"
            return Encoding()

    monkeypatch.setitem(__import__("sys").modules, "bpe_openai", Package)
    found = tokens.tokenizer.__wrapped__()
    assert (found.name, found.count("one two three"), found.estimates) == ("bpe-openai, o200k_base", 3, False)
    monkeypatch.setitem(__import__("sys").modules, "bpe_openai", None)
    assert tokens.tokenizer.__wrapped__() is tokens.ESTIMATE and tokens.ESTIMATE.count("12345") == 2
