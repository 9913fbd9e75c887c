"""Data points: both generations of feedback, columns as text, and whatever is wrong said with its record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym.errors import DataError
from amemgym.memorybench import DataPoint, Feedback, ItemKey, load_points
from amemgym.memorybench.dialogs.embedded import DEEPEST, MOST_SIGNS, read_embedded
from amemgym.messages import Message
from tests.support.points import CANARY, chat, jsonl, point, trained

DIALOG = chat("Which pan?", "The iron one.", "Thanks, that’s it.")
NEW = [{"implicit_action": "like", "round": 1, "terminated": False}, {"implicit_action": None, "round": 2}]


def one(tmp_path: Path, record: Any, **how: Any) -> DataPoint:
    found = load_points(jsonl(tmp_path / "one.jsonl", [record]), **how)
    assert not found.problems, found.problems
    return found.points[0]


def fault(tmp_path: Path, record: Any) -> str:
    """What is said of a record that is left out."""
    found = load_points(jsonl(tmp_path / "one.jsonl", [point(1), record]))
    assert [p.test_idx for p in found.points] == [1]
    [problem] = found.problems
    assert problem.place == str(tmp_path / "one.jsonl") and problem.text.startswith("line 2: ")
    return problem.text.removeprefix("line 2: ")


def test_the_older_feedback(tmp_path: Path) -> None:
    found = one(tmp_path, trained(3, "like", "copy"))
    assert found.feedback == (Feedback(1, ("like", "copy"), 4.0, False),)
    assert found.actions == {"like", "copy"}
    assert [[m.content for m in turn] for turn in found.dialog][1] == ["Shorter.", "Then 3 less."]
    assert (found.lang, found.key) == ("en", ItemKey("Kitchen", 3))


def test_the_newer_feedback(tmp_path: Path) -> None:
    last = {"implicit_action": "none", "round": 3, "terminated": True}
    found = one(tmp_path, point(1, dialog=DIALOG, implicit_feedback=[*NEW, last]))
    assert found.feedback == (Feedback(1, ("like",)), Feedback(2, ()), Feedback(3, (), None, True))
    assert [len(turn) for turn in found.dialog] == [2, 1], "a dialog may end with the user"


@pytest.mark.parametrize("written", [json.dumps, repr, lambda value: json.dumps(value, ensure_ascii=False, indent=1)])
def test_columns_as_text(tmp_path: Path, written: Any) -> None:
    messages = [{"role": "system", "content": "Be brief, it's late.\n"}, *chat("用哪口锅？")]
    plain = point(1, None, input_chat_messages=messages, dialog=DIALOG, implicit_feedback=NEW)
    names = ("input_chat_messages", "dialog", "implicit_feedback", "info")
    texts = {**plain, **{name: written(plain[name]) for name in names}}
    assert one(tmp_path, texts) == one(tmp_path, plain)
    assert CANARY not in repr(one(tmp_path, texts))


def test_the_prompt_is_the_text_where_both_columns_are_there(tmp_path: Path) -> None:
    assert one(tmp_path, point(1, "This one.", input_chat_messages=chat("Not this."))).prompt[0].content == "This one."
    system = [{"role": "system", "content": "Be brief."}, *chat("Hm?")]
    asked = one(tmp_path, point(1, None, input_chat_messages=system, lang="zh"))
    assert asked.prompt == (Message("system", "Be brief."), Message("user", "Hm?")) and asked.lang == "zh"


def test_a_corpus_set_has_a_dialog_for_each_memory_system(tmp_path: Path) -> None:
    both = {"dialog_a_mem": DIALOG, "dialog_mem0": repr(chat("Other?", "Yes.")), "implicit_feedback_mem0": NEW}
    record = point(1, dataset_name="Locomo-3", **both)
    assert one(tmp_path, record, method="mem0").dialog[0][0].content == "Other?"
    assert one(tmp_path, record, method="mem0").actions == {"like"}
    found = load_points(jsonl(tmp_path / "l.jsonl", [record, {**record, "test_idx": 2}]))
    assert [p.dialog for p in found.points] == [(), ()]
    [told] = found.problems
    assert "a_mem, mem0" in told.text and "--method" in told.text


def test_the_originals_file_of_dialogs(tmp_path: Path) -> None:
    dialog = [{**DIALOG[0], "content": "Context: … Which pan?", "origin_content": "Which pan?"}, *DIALOG[1:]]
    path = tmp_path / "Kitchen" / "base" / "dialogs.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([{"test_idx": 4, "dialog": dialog, "implicit_feedback": NEW}]))
    for source in (path, tmp_path):
        [found] = load_points(source, split="train").points
        assert found.key == ItemKey("Kitchen", 4)
        assert found.prompt == (Message("user", "Which pan?"),)
        assert found.dialog[0][0].content == "Context: … Which pan?", "what was said stays what was said"


def dialogs(root: Path, **named: bool) -> Path:
    """Files of the original's layout: DATASET/SYSTEM/dialogs.json, whose records name their data set where True."""
    for system, is_named in named.items():
        record = {"test_idx": 1, "dialog": chat(f"{system}?", "Yes.")} | ({"dataset": "Kitchen"} if is_named else {})
        path = root / "Kitchen" / system / "dialogs.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps([record]))
    return root


@pytest.mark.parametrize("is_named", [False, True])
def test_of_the_originals_folders_one_memory_systems_dialogs_are_taken(is_named: bool, tmp_path: Path) -> None:
    root = dialogs(tmp_path / "all", base=is_named, a_mem=is_named, mem0=is_named)
    for method, taken in ((None, "base?"), ("mem0", "mem0?"), ("zep", "base?")):
        found = load_points(root, method, split="train")
        assert [(p.dataset, p.dialog[0][0].content) for p in found.points] == [("Kitchen", taken)]
        assert not found.problems
    [only] = load_points(dialogs(tmp_path / "one", mem0=is_named)).points
    assert (only.dataset, only.dialog[0][0].content) == ("Kitchen", "mem0?")
    [told] = load_points(tmp_path / "one").problems
    assert "no dialogs of 'base'" in told.text and "'mem0'" in told.text
    for method, said in ((None, "one for each"), ("zep", "none of 'zep'")):
        found = load_points(dialogs(tmp_path / f"two {method}", a_mem=is_named, mem0=is_named), method)
        assert not found.points and said in found.problems[0].text and "a_mem, mem0" in found.problems[0].text


def test_numbers_of_points_are_as_they_stand(tmp_path: Path) -> None:
    ids = [9007199254740993, 9007199254740992, -1, 3.0, "3", " 4 "]
    found = load_points(jsonl(tmp_path / "n.jsonl", [point(at) for at in ids]))  # type: ignore[arg-type]
    assert [p.test_idx for p in found.points] == [*ids[:3], 3, "3", " 4 "] and not found.problems
    assert [type(p.test_idx) for p in found.points] == [int] * 4 + [str] * 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"dialog": "not one"},
            "'dialog' is neither a list of messages nor text that holds one (it is neither JSON nor",
        ),
        ({"dialog": {"role": "user"}}, "'dialog' is neither a list of messages nor text that holds one"),
        ({"dialog": "5"}, "'dialog' is neither a list of messages nor text that holds one"),
        ({"dialog": ["hm"]}, "'dialog', message 1 has no role of system, user, assistant"),
        ({"dialog": [{"role": "user", "content": None}]}, "'dialog', message 1 has no text as its 'content'"),
        ({"dialog": DIALOG[1:]}, "'dialog', message 1 is the assistant's out of turn"),
        ({"dialog": [*DIALOG, DIALOG[0]]}, "'dialog', message 4 is the user's out of turn"),
        ({"dialog": [{"role": "system", "content": "Hm."}]}, "'dialog' has no message of the user"),
        ({"test_idx": True}, "'test_idx' is neither a whole number nor a text"),
        ({"test_idx": " "}, "'test_idx' is neither a whole number nor a text"),
        ({"test_idx": 1.5}, "'test_idx' is neither a whole number nor a text"),
        ({"input_prompt": " "}, "it has no prompt"),
        ({"input_prompt": None, "input_chat_messages": DIALOG[:2]}, "it has no prompt"),
    ],
)
def test_what_is_wrong_is_said_and_the_rest_goes_on(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    assert fault(tmp_path, {**point(2), **change}).startswith(said)


def test_feedback_that_cannot_be_read_leaves_the_point(tmp_path: Path) -> None:
    bad = [{"round": 1}, {"implicit_actions": 3}, NEW[0], "like"]
    found = load_points(jsonl(tmp_path / "f.jsonl", [point(1, dialog=DIALOG, implicit_feedback=bad)]))
    assert found.points[0].feedback == (Feedback(1, ("like",)),)
    assert [problem.text[:37] for problem in found.problems] == [
        f"line 1: 'implicit_feedback', record {n}" for n in (1, 2, 4)
    ]


def test_duplicates_and_broken_lines_are_told(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "Garden" / "train.jsonl", [point(1), [1], {**point(1), "dataset_name": "Other"}])
    with path.open("a") as file:
        file.write('{"test_idx": 2,\n\n' + json.dumps(point(1, "Again?")) + "\n")
        file.write(json.dumps({name: v for name, v in point(7).items() if name != "dataset_name"}))
    found = load_points(path)
    assert [str(p.key) for p in found.points] == ["Kitchen 1", "Other 1", "Garden 7"]
    assert [problem.text for problem in found.problems] == [
        "line 2: it is no JSON object",
        "line 4: it is not JSON",
        "line 6: Kitchen 1 was there before, and the first one is taken",
    ]


def test_a_folder_has_its_splits(tmp_path: Path) -> None:
    jsonl(tmp_path / "data" / "train.jsonl", [trained(1)])
    jsonl(tmp_path / "data" / "test-0.jsonl", [point(2)])
    jsonl(tmp_path / "data" / "notes.jsonl", [point(3)])
    for split, ids in (("train", [1]), ("test", [2]), (None, [2, 1])):
        assert [p.test_idx for p in load_points(tmp_path, split=split).points] == ids


@pytest.mark.parametrize("name", ["nothing.jsonl", "empty", "points.csv", "half.json"])
def test_no_file_of_points(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "points.csv").write_text("test_idx\n1\n")
    (tmp_path / "half.json").write_text('[{"test_idx": 1, ')
    with pytest.raises(DataError, match=name):
        load_points(tmp_path / name)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(TEXT.filter(str.strip), st.lists(TEXT, max_size=5), st.lists(st.sampled_from(["like", "copy"]))),
        max_size=4,
    )
)
def test_every_kind_of_file_has_the_same_points(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[str, list[str], list[str]]]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    folder = tmp_path_factory.mktemp("kinds")
    records = [
        point(at, prompt, dialog=repr(chat(*said)), implicit_feedback=json.dumps([{"implicit_actions": actions}]))
        for at, (prompt, said, actions) in enumerate(drawn)
    ]
    (folder / "a.json").write_text(json.dumps(records), encoding="utf-8")
    jsonl(folder / "a.jsonl", records)
    flat = [{**record, "info": json.dumps(record["info"])} for record in records]
    columns = [*point(1), "dialog", "implicit_feedback"]
    table = pyarrow.table({name: [record[name] for record in flat] for name in columns})
    parquet.write_table(table, folder / "a.parquet", row_group_size=2)
    found = [load_points(folder / f"a.{ending}") for ending in ("json", "jsonl", "parquet")]
    assert not any(one.problems for one in found)
    assert found[0].points == found[1].points == found[2].points
    assert [[m.content for turn in p.dialog for m in turn] for p in found[0].points] == [said for _, said, _ in drawn]
    assert [p.actions for p in found[0].points] == [set(actions) for *_, actions in drawn]


def test_of_parquet_only_the_columns_that_are_wanted_are_read(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    record = point(1, dataset_name="Locomo-1", dialog_mem0=repr(DIALOG), dialog_a_mem="(damaged", info="{}")
    parquet.write_table(pyarrow.Table.from_pylist([record]), tmp_path / "train.parquet")
    [found] = load_points(tmp_path, "mem0").points
    assert found.dialog[0][0].content == "Which pan?"
    [problem] = load_points(tmp_path).problems
    assert "a_mem, mem0" in problem.text
    (tmp_path / "train.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        load_points(tmp_path)


# text of a column is somebody's: nothing of it runs, and none of it takes long or deep


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('touch here')",
        "[{'role': 'user', 'content': open('here', 'w')}]",
        "[].__class__",
        "f'{1}'",
        "'a' * 9999999999",
        "[0 for _ in [1]]",
        "1+1j",
        "-" * 100_000 + "1",
        "[" * 100_000,
        "(" * 100_000 + ")" * 100_000,
        "{'a': " * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1),
        "[" + "1," * MOST_SIGNS + "]",  # no JSON, by its last comma
        "9" * 100_000,
        "[1][0]",
        "{[]: 1}",
        "'",
        "[1,\n",
        "",
    ],
)
def test_hostile_text_is_no_value(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"^it "):
        read_embedded(text)
    assert not list(tmp_path.iterdir())


def test_what_python_writes_for_missing_numbers_is_none() -> None:
    assert read_embedded("[{'satisfaction_score': nan, 'round': 1, 'of': 'nan'}]") == [
        {"satisfaction_score": None, "round": 1, "of": "nan"}
    ]
    assert read_embedded('{"a": NaN, "b": 1e999, "c": -1e999}') == dict.fromkeys("abc")
    assert read_embedded("{'a': 1e999, 'b': -1e999, 'c': -inf}") == dict.fromkeys("abc")


@settings(max_examples=50, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_python_and_json_print_is_read_back(value: Any) -> None:
    assert read_embedded(repr(value)) == value
    assert read_embedded(json.dumps(value)) == value
