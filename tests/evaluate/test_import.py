"""Recorded runs of the original benchmark, imported, give the numbers that are known of them (SPEC section 4), and
nothing is read in their replies that their own parser read otherwise."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.api import RunReport, score
from amemgym.errors import DataError
from amemgym.evaluate import RunDirectory, RunWatcher
from tests.support.shared import shared

SHORT, LONG = "1aed28fb83da4c7486ad72937c41165d", "6201713088b24859bba0ceb04f225e16"
#: overall and write, read, utilization failures
KNOWN = {
    ("native", SHORT): (0.4273, 0.3273, 0.1182, 0.1273),
    ("native", LONG): (0.3095, 0.2524, 0.2905, 0.1476),
    ("awi", SHORT): (0.3818, 0.2455, 0.2727, 0.1000),
    ("awi", LONG): (0.2571, 0.3952, 0.2762, 0.0714),
}
BOUNDS = {SHORT: (0.8818, 0.2343, 110), LONG: (0.8524, 0.2085, 210)}


class Listener(RunWatcher):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)


def imported(root: Path, out: Path, watcher: RunWatcher | None = None) -> RunReport:
    return amemgym.import_run(
        root,
        shared("data/recorded/scenarios.json"),
        upper_bound=shared("data/recorded/upperbound_results.json"),
        model="a 14B model",
        out=out,
        watcher=watcher,
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    return imported(shared("data/recorded"), tmp_path_factory.mktemp("import") / "both")


@pytest.fixture(scope="module", params=[SHORT, LONG])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, RunReport]:
    """The results of one user alone."""
    recorded, place = shared("data/recorded"), tmp_path_factory.mktemp("one")
    for agent in ("native", "awi"):
        shutil.copytree(recorded / agent / request.param, place / "results" / agent / request.param)
    return request.param, imported(place / "results", place / "run")


def test_each_user_has_the_known_numbers(one: tuple[str, RunReport]) -> None:
    user, report = one
    upper, random, n = BOUNDS[user]
    assert report.scores["upper_bound"] == pytest.approx(upper, abs=5e-5)
    assert report.scores["random"] == pytest.approx(random, abs=5e-5)
    for agent in ("native", "awi"):
        scores, (overall, write, read, utilization) = report[agent], KNOWN[agent, user]
        assert scores["overall"] == pytest.approx(overall, abs=5e-5)
        found = scores["diagnosis"]
        assert found["write"] == pytest.approx(write, abs=5e-5)
        assert found["read"] == pytest.approx(read, abs=5e-5)
        assert found["utilization"] == pytest.approx(utilization, abs=5e-5)
        assert (scores["n"], scores["undiagnosed"], scores["invalid"], scores["guessed"]) == (n, 0, 0, 0)
        known_score = (overall - random) / (upper - random)
        assert scores["memory_score"]["ratio_of_means"] == pytest.approx(known_score, abs=5e-4)
    # the data keep their name and hash, but only the users there are results of are played
    assert report.scores["data"]["users"] == 1
    assert report.scores["data"]["exams"] == n


def test_users_of_unequal_length_are_pooled(both: RunReport) -> None:
    assert list(both.scores["agents"]) == ["awi", "native"]
    for agent in ("awi", "native"):
        scores = both[agent]
        pooled = (KNOWN[agent, SHORT][0] * 110 + KNOWN[agent, LONG][0] * 210) / 320
        assert scores["overall"] == pytest.approx(pooled, abs=5e-5)
        assert scores["by_period_n"] == [20] * 11 + [10] * 10
        assert scores["overall"] + sum(scores["diagnosis"].values()) == pytest.approx(1, abs=1e-12)
        assert scores["overall"] + sum(scores["errors"].values()) == pytest.approx(1, abs=1e-12)
        assert scores["episodes"] == {"finished": 2, "planned": 2, "failed": []}
    assert both.scores["finished"] is True
    assert both.scores["protocol"] == {"name": "v1-imported", "version": 1}
    assert both.scores["first_score"] == "ratio_of_means"
    assert both.scores["model"] == "a 14B model"


def test_what_was_recorded_is_read_the_same(both: RunReport) -> None:
    """Every choice, and every state that the original's own parser could read."""
    directory, recorded = RunDirectory(both.directory), shared("data/recorded")
    read = 0
    for agent in ("awi", "native"):
        for episode in directory.episodes_of(agent):
            folder = recorded / agent / episode.user_id
            exams = json.loads((folder / "overall_results.json").read_text())
            for exam in episode.exams:
                entry = exams[exam.period][exam.question]
                assert (exam.option, exam.gold - 1) == (entry["response"], entry["answer"])
                assert float(exam.correct) == entry["scores"]["accuracy"]
                assert exam.reply == entry["raw_response"]
            probes = json.loads((folder / "diagnosis_results.json").read_text())
            assert len(episode.probes) == len(episode.exams)
            for probe in episode.probes:
                for result in probes[probe.period][probe.question]["results"]:
                    assert probe.values[result["info_type"]] == result["response_state"]
                    read += result["response_state"] is not None
    assert read == 1270


def test_conversations_keep_their_times(both: RunReport) -> None:
    scenarios = {s["id"]: s for s in json.loads(shared("data/recorded/scenarios.json").read_text())}
    messages = 0
    for episode in RunDirectory(both.directory).episodes_of("native"):
        periods = scenarios[episode.user_id]["periods"]
        assert len(episode.conversation) == len(periods)
        assert set(episode.held) == {None} and len(episode.held) == len(periods)
        for said, period in zip(episode.conversation, periods, strict=True):
            times = [session["session_time"] for session in period["sessions"]]
            assert [{m["time"] for m in session} for session in said] == [{time} for time in times]
            messages += sum(len(session) for session in said)
    recorded = [json.loads(p.read_text()) for p in shared("data/recorded/native").glob("*/interactions/*.json")]
    assert messages == sum(len(session) for period in recorded for session in period) > 300


def test_tokens_are_the_reply_s_own(both: RunReport) -> None:
    """In these files output_tokens is input and output: 14 more than the input, each time."""
    entries: list[dict[str, Any]] = []
    for path in shared("data/recorded/native").glob("*/overall_results.json"):
        entries += [entry["llm_usage_statistics"] for row in json.loads(path.read_text()) for entry in row]
    scores = both["native"]
    assert scores["tokens"]["input"] == sum(entry["input_tokens"] for entry in entries)
    assert scores["tokens"]["output"] == 14 * 320
    assert scores["calls"] == 320
    assert both.seconds["native"] == pytest.approx(sum(entry["time_elapsed"] for entry in entries), abs=0.01)


def test_nothing_is_odd_and_scoring_again_gives_the_same_bytes(both: RunReport, tmp_path: Path) -> None:
    listener = Listener()
    again = imported(shared("data/recorded"), tmp_path / "again", listener)
    assert listener.sentences == ["tokens and seconds are those of exams; what conversations cost is not recorded"]
    written = (both.directory / "scores.json").read_bytes()
    assert (again.directory / "scores.json").read_bytes() == written
    score(again.directory)
    assert (again.directory / "scores.json").read_bytes() == written


def test_the_wrong_data_are_refused(tmp_path: Path) -> None:
    published = shared("data/amemgym-v1.base/data.json")
    with pytest.raises(DataError, match="another data set"):
        amemgym.import_run(shared("data/recorded"), published, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
