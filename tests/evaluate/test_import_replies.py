"""Whatever stands in imported files, they are read without an exception into results that can be written; and tokens
are taken for what the file's own numbers show them to be."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amemgym import files
from amemgym.errors import DataError
from amemgym.evaluate import EpisodeResult, Import, RunDirectory
from amemgym.evaluate.v1replies import Read, counts
from amemgym.evaluate.v1results import Folder, Remarks
from amemgym.evaluate.v1users import UpperBounds, read_user
from amemgym.scenario import Scenario, parse_dataset
from tests.scenario.build import JSON_VALUES, as_bytes, places, small_user
from tests.support.v1_results import edit, exams, probes, put, talk, upper_bound, write_results

USER = small_user()
SCENARIO = Scenario.model_validate(USER)
PERIODS = range(len(USER["periods"]))
WHOLE: dict[str, Any] = {
    "overall_results.json": [exams(USER, period) for period in PERIODS],
    "diagnosis_results.json": [probes(USER, period) for period in PERIODS],
    **{f"interactions/period_{period:02d}.json": talk(USER, period) for period in PERIODS},
}


@pytest.fixture(scope="module")
def folder() -> Any:
    with tempfile.TemporaryDirectory() as place:
        yield Folder(Path(place), "native/ada", "native", "ada")


def write(folder: Folder, contents: dict[str, Any]) -> None:
    (folder.path / "interactions").mkdir(exist_ok=True)
    for name, value in contents.items():
        put(folder.path / name, value)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_json_in_any_place(folder: Folder, data: st.DataObject) -> None:
    contents = copy.deepcopy(WHOLE)
    name = data.draw(st.sampled_from(sorted(contents)))
    spots = list(places(contents[name]))
    for container, key in data.draw(st.lists(st.sampled_from(spots), min_size=1, max_size=3)):
        container[key] = data.draw(JSON_VALUES)
    write(folder, contents)
    found = read_user(folder, SCENARIO, 0)
    for remark in found.remarks:
        assert remark.startswith("native/ada/") and "\n" not in remark
    if found.episode is None:
        assert found.remarks
        return
    written = files.compact_json(found.episode.as_dict())  # strict JSON
    assert EpisodeResult.from_dict(json.loads(written)) == EpisodeResult.from_dict(found.episode.as_dict())
    # what is counted was replied to, and what was left out is named
    whole = len(PERIODS) * len(SCENARIO.qas)
    assert all(exam.counts for exam in found.episode.exams)
    assert len(found.episode.exams) == whole or any("overall_results.json" in remark for remark in found.remarks)


def test_whole_files_give_everything_and_no_remark(folder: Folder) -> None:
    write(folder, WHOLE)
    found = read_user(folder, SCENARIO, 5)
    assert found.remarks == [] and found.episode is not None
    assert sorted(found.digests) == sorted(WHOLE)
    episode = found.episode
    assert (episode.agent, episode.user, episode.user_id, episode.trial) == ("native", 5, "ada", 0)
    assert (len(episode.exams), len(episode.probes), len(episode.conversation)) == (8, 8, 4)
    assert episode.held == (None,) * 4 and episode.holdings == [None] * 4
    assert episode.texts == () and episode.dropped == 0
    first = episode.exams[0]
    assert (first.order, first.gold, first.variant, first.option) == ((0, 1, 2, 3), 1, ("city", "nurse"), 1)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_json_in_an_upper_bound(folder: Folder, data: st.DataObject) -> None:
    value = copy.deepcopy(upper_bound([USER]))
    container, key = data.draw(st.sampled_from(list(places(value))))
    container[key] = data.draw(JSON_VALUES)
    try:
        bounds = UpperBounds(put(folder.path / "bound.json", value))
    except DataError as error:
        assert "bound.json" in str(error)
        return
    result = bounds.of(SCENARIO, 0, "big", Remarks())
    assert result is None or files.compact_json(result.as_dict())


def test_files_that_change_meanwhile_are_refused(tmp_path: Path) -> None:
    place = write_results(tmp_path / "native", USER)
    dataset, _ = parse_dataset(as_bytes(USER), name="small")
    found, run = Import(tmp_path / "native", dataset, None, "big"), RunDirectory(tmp_path / "run")
    with run.lock():
        run.claim(found.manifest)
        edit(place / "overall_results.json", lambda periods: periods[0][0].update(raw_response="2"))
        with pytest.raises(DataError, match=r"native/ada changed while it was imported"):
            found.write(run)
    assert run.episode("native", "ada", 0) is None


# --- tokens ---


def reply(text: str, **used: Any) -> Read:
    return Read({"llm_usage_statistics": used}, text, "ok")


ANSWER = '{"answer": 1}'


@pytest.mark.parametrize(
    ("pairs", "output", "remarks"),
    [
        # 14 more than the input each time, as much as such a reply has: the whole call's
        ([(5456, 5470), (875, 889)], 28, 0),
        # one is below the input, so none includes it
        ([(5456, 5470), (875, 14)], 5484, 0),
        ([(5456, 14), (875, 14)], 28, 0),
        # never below the input, yet more beyond it than the reply has: reasoning that was not kept, counted either way
        ([(350, 2000), (300, 1500)], 0, 1),
        ([(0, 14)], 14, 0),
    ],
)
def test_output_tokens(pairs: list[tuple[int, int]], output: int, remarks: int) -> None:
    replies = [reply(ANSWER, input_tokens=i, output_tokens=o, time_elapsed=0.5) for i, o in pairs]
    ledger, said = counts(replies, "exam")
    used = ledger["exam"]
    assert used["input"] == sum(i for i, _ in pairs)
    assert (used["output"], len(said), used["estimated"]) == (output, remarks, 0)
    assert (used["calls"], used["seconds"]) == (len(pairs), 0.5 * len(pairs))


@pytest.mark.parametrize(
    "used",
    [
        {},
        {"input_tokens": 5},
        {"input_tokens": True, "output_tokens": 1},
        {"input_tokens": 5.0, "output_tokens": 7},
        {"input_tokens": -1, "output_tokens": 7},
        {"input_tokens": 10**30, "output_tokens": 10**30},
    ],
)
def test_what_is_no_count_is_not_counted(used: dict[str, Any]) -> None:
    assert counts([reply(ANSWER, **used)], "exam") == ({}, [])
    counted = reply(ANSWER, input_tokens=10, output_tokens=12)
    ledger, said = counts([reply(ANSWER, **used), counted], "exam")
    assert (ledger["exam"]["calls"], ledger["exam"]["input"], ledger["exam"]["output"]) == (2, 10, 2)
    assert said == ["only 1 of 2 replies have their tokens counted"]


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e300, -1, "1", None, True])
def test_seconds_that_are_none(seconds: Any) -> None:
    replies = [reply(ANSWER, input_tokens=10, output_tokens=12, time_elapsed=seconds)]
    assert counts(replies, "exam")[0]["exam"]["seconds"] == 0.0


def test_unreadable_replies_are_in_the_ledger() -> None:
    used = {"llm_usage_statistics": {"input_tokens": 10, "output_tokens": 12}}
    replies = [Read(used, "?", "invalid"), Read(used, "", "empty"), Read(used, ANSWER, "ok")]
    assert counts(replies, "exam")[0]["exam"]["unreadable"] == {"empty": 1, "invalid": 1}
