"""The starter set: three people, several periods and questions each, and no way to the right answer but memory.

The right option is not to be had from its place or its length, and no utterance names a value outright: the state has
to be understood from what is said.
"""

from __future__ import annotations

import re
from statistics import mean

import pytest

from amemgym.scenario import Dataset, find_faults, load_dataset
from tests.scenario.guesses import accuracies


@pytest.fixture(scope="module")
def starter() -> Dataset:
    return load_dataset("starter")


def test_the_size(starter: Dataset) -> None:
    assert starter.name == "starter"
    assert len({user.id for user in starter}) == len(starter) == 3
    for user in starter:
        assert len(user.periods) >= 6
        assert len(user.qas) >= 8


def test_it_has_no_faults(starter: Dataset) -> None:
    assert find_faults(starter.scenarios) == []


def test_every_life_changes_in_every_period(starter: Dataset) -> None:
    for user in starter:
        assert all(period.updates and period.sessions for period in user.periods)


@pytest.mark.parametrize("guess", ["longest", "shortest", "last", *(f"always-{k}" for k in range(1, 9))])
def test_place_and_length_do_not_give_the_answer_away(starter: Dataset, guess: str) -> None:
    """Each user has about 30 different right options, so a fair guess is within .1 of chance over all of them."""
    accuracy = accuracies(starter)
    assert abs(accuracy[guess] - accuracy["random"]) < 0.1


@pytest.mark.parametrize("guess", ["longest", "shortest"])
def test_length_does_not_give_the_answer_away_for_any_one_user(starter: Dataset, guess: str) -> None:
    for user in starter:
        accuracy = accuracies([user])
        assert accuracy[guess] < accuracy["random"] + 0.2, user.id


def test_right_options_are_as_long_as_the_others(starter: Dataset) -> None:
    ratios = []
    for user in starter:
        for number, question in enumerate(user.qas):
            lengths = [len(option.answer) for option in question.answer_choices]
            assert max(lengths) < 2 * min(lengths), question.query
            ratios += [lengths[user.gold(period, number)] / mean(lengths) for period in range(len(user.periods))]
    assert 0.97 < mean(ratios) < 1.03


def words(text: str) -> str:
    """The words of a text, or of a value such as `spare_room`, each with a space around it."""
    return " " + " ".join(re.findall(r"[^\W_]+", text.lower())) + " "


def test_words_are_compared_as_words() -> None:
    assert words("spare_room") in words("It's in the spare, room!")
    assert words("spare_room") not in words("a spare bedroom")
    assert words("art") not in words("a party")


def test_no_utterance_names_a_value_word_for_word(starter: Dataset) -> None:
    for user in starter:
        values = {value for values in user.state_schema.values() for value in values}
        for period in user.periods:
            for session in period.sessions:
                assert [value for value in values if words(value) in words(session.query)] == [], session.query
