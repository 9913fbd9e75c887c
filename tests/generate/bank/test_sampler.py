"""Users of the bank: sound, of the shape asked for, the same on every machine, each by itself."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amemgym.errors import UnknownName, UsageError
from amemgym.generate import load_dataset, load_pack, make_shape, open_bank, open_users, users_sha256
from amemgym.generate.bank.pack import LEVELS, Pack
from amemgym.generate.bank.sampler import Composer
from amemgym.scenario import Scenario, dataset_json, find_faults, save_dataset
from tests.generate.bank.packs import write_pack

EVERYTHING = (
    "&explicitness=mixed&distractors=2&others=2&temporary=0.4&corrections=1&contradictions=1&gaps=1&changes=6"
    "&max_changes=5"
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    return load_pack(str(write_pack(tmp_path_factory.mktemp("pack") / "mine")))


def compose(pack: Pack, number: int = 0, **shape: object) -> Scenario:
    return Composer(pack, make_shape({"questions": 3, **shape}), "test").user(number)


@pytest.mark.parametrize(
    "name",
    [
        "bank:mini",
        "bank:base",
        "bank:extra?users=3",
        "bank:noise",
        "bank:mini?pack=zh",
        "bank:base?users=4" + EVERYTHING,
    ],
)
def test_every_set_is_without_fault(name: str) -> None:
    assert find_faults(tuple(open_bank(name))) == []


def test_base_has_the_published_numbers() -> None:
    users = list(open_bank("bank:base"))
    assert (len(users), {len(u.periods) for u in users}, {len(u.qas) for u in users}) == (20, {11}, {10})
    assert {len(u.state_schema) for u in users} == {20}
    assert {len(values) for u in users for values in u.state_schema.values()} == {3}
    assert {len(q.required_info) for u in users for q in u.qas} == {2}
    assert min(len(q.answer_choices) for u in users for q in u.qas) == 4
    assert [p.period_end for p in users[0].periods[:3]] == ["2020-10-01", "2021-01-01", "2021-04-01"]
    assert len({u.id for u in users}) == 20
    changes = [len(p.updates) for u in users for p in u.periods[1:]]
    assert 3.7 < sum(changes) / len(changes) < 4.3


def test_extra_has_three_states_a_question() -> None:
    user = next(iter(open_bank("bank:extra")))
    assert (len(user.periods), {len(q.required_info) for q in user.qas}) == (21, {3})


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "periods": st.integers(1, 6),
            "states": st.integers(1, 3),
            "values": st.integers(2, 3),
            "questions": st.integers(1, 4),
            "options": st.integers(2, 9),
            "months": st.integers(1, 14),
            "distractors": st.integers(0, 3),
            "others": st.integers(0, 3),
            "temporary": st.sampled_from([0.0, 0.5, 1.0]),
            "corrections": st.integers(0, 4),
            "contradictions": st.integers(0, 4),
            "gaps": st.integers(0, 2),
            "explicitness": st.sampled_from(["explicit", "implicit", "subtle", "mixed"]),
            "start": st.dates(date(1000, 1, 1), date(9990, 1, 1)).map(str),
        },
    ),
    st.integers(0, 10**6),
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_shape_the_user_is_sound(small: Pack, shape: dict[str, object], number: int) -> None:
    user = compose(small, number, **shape)
    assert find_faults([user]) == []
    made = user.generation
    assert made is not None
    assert {name: str(made[name]) for name in shape} == {name: str(value) for name, value in shape.items()}


def test_utterances_tell_what_they_expose_and_nothing_else(small: Pack) -> None:
    """In the made pack each line names its value, so what is told can be read off exactly."""
    for number in range(20):
        user = compose(small, number, explicitness="mixed", corrections=1, contradictions=1, others=1, distractors=1)
        for period in user.periods:
            for session in period.sessions:
                told = session.exposed_states | session.retracted_states
                for name, values in user.state_schema.items():
                    about = name.replace("_", " ")
                    lines = {v: [f"{level} {n} {about} {v}." for level in LEVELS for n in range(3)] for v in values}
                    said = [value for value in values if any(line in session.query for line in lines[value])]
                    assert said == ([told[name]] if name in told else [])


def test_facts_about_others_are_not_the_users(small: Pack) -> None:
    for number in range(20):
        user = compose(small, number, others=2)
        for period in user.periods:
            for session in (s for s in period.sessions if s.kind == "other"):
                assert session.query.startswith("My cousin ")
                assert not session.exposed_states
                assert not any(f"is {name.replace('_', ' ')} {v}." in session.query for name, v in period.state.items())


def test_kinds_of_sessions(small: Pack) -> None:
    user = compose(small, distractors=3, others=2, corrections=1, contradictions=1, periods=5)
    for period in user.periods:
        kinds = Counter(session.kind for session in period.sessions)
        assert (kinds["distractor"], kinds["other"]) == (3, 2)
        assert kinds["correction"] == 1
        leads = [s.query for s in period.sessions if s.kind == "correction"]
        assert all(query.startswith("Lead corrected") for query in leads)
        assert not any("Lead corrected" in s.query for s in period.sessions if s.kind != "correction")


def test_what_is_told_wrongly_as_before_is_not_told_as_a_change(small: Pack) -> None:
    """Of two values, the wrong one of a change is the one that was so before."""
    for number in range(20):
        user = compose(small, number, values=2, corrections=9, periods=5)
        for period in user.periods[1:]:
            mistakes = [session for session in period.sessions if session.kind == "mistake"]
            assert not any("Lead changed" in session.query for session in mistakes)


def test_nothing_of_a_profile_is_a_state() -> None:
    """A profile is told to the simulated user and to nobody else; a state in it would be told before its time."""
    for user in open_bank("bank:base"):
        for value in (v for values in user.state_schema.values() for v in values):
            assert value.replace("_", " ") not in user.user_profile.text


def test_domains_at_odds_are_never_one_persons() -> None:
    pack = load_pack("en")
    at_odds = {frozenset((name, other)) for name, domain in pack.domains.items() for other in domain.not_with}
    assert at_odds
    for user in open_bank("bank:base?users=60"):
        domains = {n for n in pack.domains for v in user.state_schema if v.startswith(f"{n}_")}
        assert not any(pair <= domains for pair in at_odds)


def test_any_user_can_be_made_alone() -> None:
    users = list(open_bank("bank:mini?users=5"))
    bank = open_bank("bank:mini?users=5")
    assert Composer(bank.pack, bank.shape, "bank:mini").user(3) == users[3]
    assert [u.id for u in open_bank("bank:mini")] == [u.id for u in users[:3]]


def test_however_a_name_is_written_it_is_the_same_data() -> None:
    names = [
        "bank:mini?users=2&seed=0",
        "bank:mini?seed=0&users=2",
        "bank:mini?users=2",
        "bank:mini?users=2&max-changes=3",
    ]
    assert len({users_sha256(open_users(name)) for name in names}) == 1


def test_another_seed_gives_other_users() -> None:
    one, other = (next(iter(open_bank(f"bank:mini?seed={seed}"))) for seed in (1, 2))
    assert one.id != other.id
    assert one.state_schema != other.state_schema


def test_the_same_bytes_for_ever(small: Pack) -> None:
    """If this changes, a name no longer means the same data: raise the sampler's VERSION, then this."""
    users = [
        compose(small, n, periods=4, explicitness="mixed", corrections=1, others=1, temporary=0.3) for n in range(2)
    ]
    # the pack's hash covers its files, whose YAML a library may write otherwise
    plain = [u.model_copy(update={"generation": None}) for u in users]
    assert users_sha256(plain) == "0a4c493867683331ae1f3330bd9707b38e982ee2592c91288396994deacf94a2"


@pytest.mark.parametrize("hashing", ["0", "4321"])
def test_the_same_bytes_in_another_process(hashing: str) -> None:
    """Nothing is drawn from the order of a set, whose order PYTHONHASHSEED changes."""
    code = (
        "from amemgym.generate import open_users, users_sha256; print(users_sha256(open_users('bank:noise?users=4')))"
    )
    env = {**os.environ, "PYTHONHASHSEED": hashing}
    told = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, encoding="utf-8", check=True
    ).stdout
    assert told.strip() == users_sha256(open_users("bank:noise?users=4"))


def test_a_saved_set_is_the_set(tmp_path: Path) -> None:
    path = tmp_path / "data.json"
    digest = save_dataset(open_users("bank:mini"), path)
    assert digest == hashlib.sha256(path.read_bytes()).hexdigest() == load_dataset("bank:mini").sha256
    assert load_dataset(path).scenarios == load_dataset("bank:mini").scenarios


def test_users_stream() -> None:
    """Eight times the users take no more memory at a time."""
    peaks: list[int] = []
    next(iter(open_users("bank:mini")))  # what is loaded once
    for users in (3, 24):
        tracemalloc.start()
        written = sum(len(piece) for piece in dataset_json(open_users(f"bank:mini?users={users}")))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert written > 700_000
    assert peaks[1] < 1.3 * peaks[0]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("bank:bas", UnknownName, "unknown bank set 'bas'. Did you mean 'base'?"),
        ("bank:", UnknownName, "unknown bank set ''"),
        ("bank:base?user=3", UsageError, "bank:base?user=3: unknown key 'user'"),
        ("bank:base?users=-1", UsageError, "'users' input should be greater than or equal to 1"),
        ("bank:base?pack=xx", UnknownName, "unknown language pack 'xx'"),
        ("bank:base?questions=99", UsageError, "99 questions of 2 states each; the pack 'en' has 45 domains"),
        ("bank:base?states=4", UsageError, "questions of 4 states each; the pack 'en' has 0 domains"),
        ("bank:base?values=4", UsageError, "4 values a variable; the pack 'en' has 3 for some"),
    ],
)
def test_a_set_there_is_not(name: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind) as error:
        open_users(name)
    assert said in str(error.value)
