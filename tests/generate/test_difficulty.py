"""What the bank's data measures: the offline model knows the answer when told, a memory of everything beats one of the
last messages, and each difficulty costs what one expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.generate import open_users
from amemgym.scenario import Scenario

#: fewer questions than base has: the offline model's time goes by exams
USERS = 5
SMALL = f"bank:base?users={USERS}&questions=5"


def played(data: str, out: Path, *agents: str) -> Any:
    return amemgym.run(data, agents=list(agents), probe=False, out=str(out)).scores


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return played(SMALL, tmp_path_factory.mktemp("plain"), "native", "recent-1-4")


def test_everything_in_memory_beats_the_last_four(plain: Any) -> None:
    native = plain["agents"]["native"]
    assert plain["upper_bound"] >= 0.9
    assert native["n"] == USERS * 11 * 5
    pair = next(p for p in plain["pairs"] if {p["a"], p["b"]} == {"native", "recent-1-4"})
    low, high = (bound * (1 if pair["a"] == "native" else -1) for bound in pair["interval"])
    assert min(low, high) > 0.2


@pytest.mark.parametrize("difficulty", ["explicitness=mixed", "others=4"])
def test_difficulty_lowers_the_score(plain: Any, difficulty: str, tmp_path: Path) -> None:
    harder = played(f"{SMALL}&{difficulty}", tmp_path / "run", "native")["agents"]["native"]
    assert harder["memory_score"]["ratio_of_means"] < plain["agents"]["native"]["memory_score"]["ratio_of_means"] - 0.1


def overlap(user: Scenario) -> float:
    """The share of the words of the exposed values' names that are in the utterance."""
    found = total = 0
    for session in (s for p in user.periods for s in p.sessions):
        for value in session.exposed_states.values():
            words = [w for w in value.split("_") if len(w) > 3]
            total += len(words)
            found += sum(word in session.query.lower() for word in words)
    return found / total


def test_explicitness_is_how_much_of_a_value_is_said() -> None:
    shares = {}
    for level in ("explicit", "mixed", "implicit", "subtle"):
        users = list(open_users(f"bank:base?users=6&explicitness={level}"))
        shares[level] = sum(map(overlap, users)) / len(users)
    assert shares["explicit"] > 0.75
    assert shares["explicit"] > shares["mixed"] + 0.2 > shares["implicit"] + 0.2
    assert shares["implicit"] >= shares["subtle"]
    assert shares["subtle"] < 0.1


@pytest.mark.parametrize("pack", ["en", "zh"])
def test_lines_are_told_apart(pack: str) -> None:
    """Only so many utterances of one set are the same, though fragments are few."""
    users = list(open_users(f"bank:mini?pack={pack}&users=10"))
    said = [s.query for u in users for p in u.periods for s in p.sessions if s.exposed_states]
    assert len(set(said)) > 0.97 * len(said)
