"""What is wrong with a proposal is found, and a merged schema keeps each question's states apart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from amemgym.generate.checks import LENGTH_RATIO, answer_faults, event_faults, merged_schema, text_faults, told_faults
from amemgym.tasks import DraftQuestion, LifeEvent, Merged, Merging

VALUES = ("low", "middle", "high")
NAMES = st.sampled_from(["a", "b", "c", "d"])


def draft(*names: str) -> DraftQuestion:
    return DraftQuestion(f"How about {', '.join(names)}?", {name: VALUES for name in names})


def test_what_is_neither_merged_nor_renamed_stays() -> None:
    schema, required, faults = merged_schema([draft("a", "b"), draft("c", "d")], Merging((), {}), 3)
    assert (list(schema), required, faults) == (["a", "b", "c", "d"], [["a", "b"], ["c", "d"]], [])


def test_merged_variables_have_one_name_and_the_merged_values() -> None:
    merging = Merging((Merged("x", ("p", "q", "r"), ("1/b", "2/c")),), {"2/d": "e"})
    schema, required, faults = merged_schema([draft("a", "b"), draft("c", "d")], merging, 3)
    assert (required, faults) == ([["a", "x"], ["x", "e"]], [])
    assert schema == {"a": VALUES, "x": ("p", "q", "r"), "e": VALUES}


drafts = st.lists(
    st.lists(NAMES, min_size=2, max_size=2, unique=True).map(lambda names: draft(*names)), min_size=1, max_size=4
)
places = st.builds(lambda n, name: f"{n}/{name}", st.integers(1, 4), NAMES)
mergings = st.builds(
    Merging,
    st.lists(
        st.builds(Merged, NAMES, st.just(VALUES), st.lists(places, min_size=1, max_size=3).map(tuple)), max_size=2
    ).map(tuple),
    st.dictionaries(places, NAMES, max_size=2),
)


@given(drafts, mergings)
def test_a_merging_without_faults_keeps_every_questions_number_of_states(
    questions: list[DraftQuestion], merging: Merging
) -> None:
    schema, required, faults = merged_schema(questions, merging, 3)
    if not faults:
        assert [len(set(names)) for names in required] == [len(question.variables) for question in questions]
        assert {name for names in required for name in names} == set(schema)
        members = {member for merged in merging.merged for member in merged.members}
        for number, (question, names) in enumerate(zip(questions, required, strict=True), start=1):
            for before, after in zip(question.variables, names, strict=True):
                if f"{number}/{before}" not in {*members, *merging.renamed}:
                    assert after == before


@given(drafts)
def test_one_name_in_two_questions_is_a_fault_until_it_is_made_one(questions: list[DraftQuestion]) -> None:
    _, _, faults = merged_schema(questions, Merging((), {}), 3)
    names = [name for question in questions for name in question.variables]
    twice = {name for name in names if names.count(name) > 1}
    assert {name for name in twice if any(f"the name '{name}'" in fault for fault in faults)} == twice
    assert bool(faults) == bool(twice)
    merged = tuple(
        Merged(name, VALUES, tuple(f"{n}/{name}" for n, q in enumerate(questions, start=1) if name in q.variables))
        for name in sorted(twice)
    )
    assert merged_schema(questions, Merging(merged, {}), 3)[2] == []


def test_every_change_is_in_one_event_and_no_event_is_too_large() -> None:
    events = [LifeEvent("Rain.", ("a", "b", "c", "d")), LifeEvent("Snow.", ("a", "z"))]
    faults = list(event_faults(events, ["a", "b", "c", "d", "e"], 3))
    assert len(faults) == 4
    assert list(event_faults([LifeEvent("Rain.", ("a", "b")), LifeEvent("Snow.", ("c",))], ["a", "b", "c"], 3)) == []


def test_answers_may_differ_in_length_up_to_a_ratio() -> None:
    short, long = "x" * 100, "y" * int(100 * LENGTH_RATIO)
    assert list(answer_faults([short, long], 2, {})) == []
    assert len(list(answer_faults([short, long + "y"], 2, {}))) == 1


def test_answers_that_differ_in_case_and_space_alone_are_the_same() -> None:
    assert len(list(answer_faults(["Do  this.", "do this."], 2, {}))) == 1


def test_a_name_of_the_data_is_found_in_a_text_and_a_plain_word_is_not() -> None:
    schema = {"work_mode": ("home", "open_office")}
    assert list(text_faults("it", "I work at home.", schema)) == []
    assert len(list(text_faults("it", "My Work_Mode is open_office.", schema))) == 2
    assert len(list(text_faults("it", "x" * 2001, schema))) == 1


def test_what_a_message_tells_is_compared_both_ways() -> None:
    assert list(told_faults({"a": "x"}, {"a": "x"})) == []
    assert len(list(told_faults({"a": "y", "c": "z"}, {"a": "x", "b": "x"}))) == 3
    assert len(list(told_faults(None, {}))) == 1
