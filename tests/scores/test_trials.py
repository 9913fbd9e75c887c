"""The spread over trials."""

from __future__ import annotations

import math

import pytest

from amemgym.scores.trials import trial_spread


def test_by_hand() -> None:
    # mean .6, squares .01 + 0 + .01, over 3 − 1
    assert trial_spread([0.5, 0.6, 0.7]) == pytest.approx(0.1)
    assert trial_spread([0.5, 0.7]) == pytest.approx(math.sqrt(0.02))
    assert trial_spread([0.4, 0.4, 0.4]) == 0


def test_trials_without_a_value_are_left_out() -> None:
    assert trial_spread([0.5, None, 0.7]) == trial_spread([0.5, 0.7])


def test_fewer_than_two_have_no_spread() -> None:
    assert trial_spread([]) is None
    assert trial_spread([0.5]) is None
    assert trial_spread([None, 0.5, None]) is None
