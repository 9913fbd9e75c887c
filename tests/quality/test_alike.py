"""Options that are nearly the same are found, and those that share half of their text are not."""

from __future__ import annotations

from typing import Any

from amemgym.llm import embedder
from amemgym.quality.alike import LISTED, Alike, AlikeCounter
from amemgym.scenario import Scenario, load_dataset
from tests.scenario.build import question, small_user
from tests.support.shared import shared

LONG = "Meet at the ford at seven, take the path along the mill race, and be back before the rain that is due at noon."
OTHER = "Bring a flask of tea and a spare pair of socks, and keep the map dry in the outer pocket of your bag."


def alike_of(*users: dict[str, Any] | Scenario) -> Alike:
    counter, words = AlikeCounter("test"), embedder()
    for number, user in enumerate(users):
        scenario = user if isinstance(user, Scenario) else Scenario.model_validate(user)
        vectors = [words.embed([option.answer for option in q.answer_choices]) for q in scenario.qas]
        counter.add(number, scenario, vectors)
    return counter.result()


def saying(id: str, *answers: str) -> dict[str, Any]:
    user = small_user(id)
    user["qas"] = [question("Where?", ["home"], ("city",), ("coast",), ("farm",))]
    for option, answer in zip(user["qas"][0]["answer_choices"], answers, strict=True):
        option["answer"] = answer
    return user


def test_one_changed_letter_is_found_and_placed() -> None:
    found = alike_of(
        saying("a", "Quite another thing.", "And one more of them.", LONG), saying("b", LONG, OTHER, LONG[:-5] + "ten.")
    )
    assert (found.pairs, found.near) == (6, 1)
    (pair,) = found.listed
    assert (pair.user, pair.user_id, pair.question, pair.options) == (1, "b", 0, (0, 2))
    assert pair.trigrams > 0.9 and pair.texts[0] == LONG


def test_the_same_words_in_another_order_are_found_by_their_vectors() -> None:
    turned = " ".join(reversed(LONG.split()))
    (pair,) = alike_of(saying("a", LONG, OTHER, turned)).listed
    assert pair.cosine >= 0.97 and pair.trigrams < 0.9


def test_half_of_a_text_in_common_is_no_near_duplicate() -> None:
    assert alike_of(saying("a", f"{LONG} {OTHER}", f"{LONG} Eat well.", OTHER)).near == 0


def test_all_are_counted_and_the_first_listed() -> None:
    users = [saying(str(number), LONG, LONG + " ", LONG.upper()) for number in range(10)]
    found = alike_of(*users)
    assert found.near == found.pairs == 30 and len(found.listed) == LISTED
    assert [pair.user for pair in found.listed[:4]] == [0, 0, 0, 1]


def test_utterances_that_are_said_again() -> None:
    user = small_user("a")
    first, second = user["periods"][0]["sessions"][:2]
    first["query"], second["query"] = "Hello  There", "hello there"
    found = alike_of(user, small_user("b"))
    assert (found.utterances, found.repeated) == (16, 1)
    assert [(said.user, said.text, said.times) for said in found.listed_repeated] == [(0, "hello there", 2)]
    assert found.distinct == 8 + 1  # what a says but for two, b says too


def test_the_published_set_has_none() -> None:
    found = alike_of(*load_dataset(shared("data/amemgym-v1.base/data.json")))
    assert (found.near, found.repeated, found.distinct) == (0, 0, 943)
