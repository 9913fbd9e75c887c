"""Numbers that are known of the published data set (SPEC section 4), out of a real run."""

from __future__ import annotations

from pathlib import Path

import pytest

import amemgym
from amemgym.api import RunReport
from tests.support.shared import shared

SHUFFLED = "frozen,lag-1,lag-2,lag-3,oracle,longest,shortest,always-1,always-2,always-3,always-4,uniform"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    data = shared("data/amemgym-v1.base/data.json")
    return amemgym.run(data, SHUFFLED, out=tmp_path_factory.mktemp("run") / "r", upper_bound=False)


@pytest.mark.parametrize(
    ("agent", "overall"),
    [
        ("frozen", 0.25227),
        ("lag-1", 0.65682),
        ("lag-2", 0.45318),
        ("lag-3", 0.33773),
        ("oracle", 1.0),
        ("longest", 0.24818),
        ("shortest", 0.21591),
    ],
)
def test_reference_agents_that_see_no_order(published: RunReport, agent: str, overall: float) -> None:
    assert published[agent]["overall"] == pytest.approx(overall, abs=5e-6)
    assert published[agent]["n"] == 2200
    low, high = published[agent]["interval"]
    assert low <= overall <= high


def test_random_and_size(published: RunReport) -> None:
    assert published.scores["random"] == pytest.approx(0.23076, abs=5e-6)
    data = published.scores["data"]
    assert (data["users"], data["questions"], data["exams"]) == (20, 200, 2200)
    assert data["sha256"] == "a63f731508a60104bc27676926134ac4d889fb143141fb4634176f0905fb659a"
    assert data["name"] == "amemgym-v1.base"


@pytest.mark.parametrize("agent", ["always-1", "always-2", "always-3", "always-4", "uniform"])
def test_no_position_pays_when_options_are_shuffled(published: RunReport, agent: str) -> None:
    assert published[agent]["overall"] == pytest.approx(published.scores["random"], abs=0.03)


def test_accuracy_by_position_adds_up(published: RunReport) -> None:
    for agent in ("lag-1", "always-2"):
        scores = published[agent]
        pairs = zip(scores["by_position"], scores["by_position_n"], strict=True)
        right = sum(accuracy * n for accuracy, n in pairs if accuracy is not None)
        assert right / scores["n"] == pytest.approx(scores["overall"])
        assert sum(scores["chosen_by_position"]) == scores["n"]
    assert published["always-2"]["by_position"][1] == 1.0


def test_accuracy_by_period_adds_up(published: RunReport) -> None:
    frozen = published["frozen"]
    assert frozen["by_period"][0] == 1.0
    assert frozen["by_period_n"] == [200] * 11
    assert sum(frozen["by_period"]) / 11 == pytest.approx(frozen["overall"])


def test_the_published_order_is_biased_and_v1_keeps_it(tmp_path: Path) -> None:
    data = shared("data/amemgym-v1.base/data.json")
    agents = "always-1,always-2,always-3,always-4,frozen"
    report = amemgym.run(data, agents, protocol="v1", out=tmp_path / "r", upper_bound=False)
    overall = [report[f"always-{k}"]["overall"] for k in (1, 2, 3, 4)]
    assert overall == pytest.approx([0.25682, 0.26273, 0.22409, 0.17955], abs=5e-6)
    assert report["frozen"]["overall"] == pytest.approx(0.25227, abs=5e-6)
    assert report.scores["protocol"] == {"name": "v1", "version": 1}


def test_users_of_unequal_length(tmp_path: Path) -> None:
    data = shared("data/recorded/scenarios.json")
    report = amemgym.run(data, "native,rag,awe,awi,frozen,oracle", out=tmp_path / "r")
    assert report.scores["data"]["exams"] == (11 + 21) * 10
    assert report["oracle"]["overall"] == 1.0
    assert report["native"]["by_period_n"] == [20] * 11 + [10] * 10
    assert report.scores["random"] == pytest.approx((0.2343 * 110 + 0.2085 * 210) / 320, abs=1e-4)
    for agent in ("native", "rag", "awe", "awi"):
        assert report[agent]["n"] == report[agent]["memory_score"]["n"] == 320
        assert report[agent]["overall"] > report.scores["random"]


def test_every_answer_is_explained_and_agents_are_paired(tmp_path: Path) -> None:
    """On the published data, with the offline model: the sum rule for every agent, native against rag by user."""
    data = shared("data/amemgym-v1.base/data.json")
    report = amemgym.run(data, "native,rag,frozen,lag-1,oracle", users=3, periods=4, out=tmp_path / "r")
    for agent in report:
        scores = report[agent]
        assert sum(scores["diagnosis"].values()) + scores["overall"] == pytest.approx(1, abs=1e-9)
        assert sum(scores["errors"].values()) + scores["diagnosis"]["unparsed"] + scores["overall"] == pytest.approx(1)
        assert (scores["undiagnosed"], scores["n"], scores["diagnosis_n"]) == (0, 120, 120)
    (pair,) = report.scores["pairs"]
    assert (pair["a"], pair["b"], pair["n"], pair["users"]) == ("native", "rag", 120, 3)
    low, high = pair["interval"]
    assert low < pair["difference"] < high
    assert pair["difference"] == pytest.approx(report["native"]["overall"] - report["rag"]["overall"])
    assert pair["memory_score_interval"][0] < pair["memory_score_difference"] < pair["memory_score_interval"][1]
