"""The whole of it with the embedded model and composed users, without a key: what is learned from some users helps
others, where room is scarce."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import amemgym
from amemgym.evolving import resume_evolution
from amemgym.llm.offline.policy import topics_of

NONE, LEARNED, LAST = "awi-2-0", "awi-2-0+complete", "awi-2-0+complete:last"


def test_complete_feedback_helps_held_out_users(tmp_path: Path) -> None:
    report = amemgym.evolve(
        NONE,
        "bank:base",
        "complete",
        out=tmp_path / "out",
        room=8,
        users=4,
        periods=3,
        rounds_later=1,
        probe=False,
        upper_bound=False,
    )
    found = {name: report.held_out[name] for name in (NONE, LEARNED, LAST)}
    assert {name: agent["n"] for name, agent in found.items()} == dict.fromkeys(found, 60)
    assert found[NONE]["overall"] < found[LEARNED]["overall"] < found[LAST]["overall"]
    # a period later than it was learned, so that all begin alike
    assert found[NONE]["by_period"][0] == found[LEARNED]["by_period"][0] < found[LAST]["by_period"][0]
    arm = report.summary["arms"][LEARNED]
    topics = [len(topics_of(step["policy"])) for step in arm["revisions"]]
    assert sorted(topics) == topics and topics[0] > 0
    # as scored: an arm minus the agent that learned nothing, over the held-out users alone
    for gain, name in zip(report.summary["gains"], (LEARNED, LAST), strict=True):
        assert (gain["agent"], gain["against"], gain["n"], gain["users"]) == (name, NONE, 60, 2)
        assert gain["difference"] == pytest.approx(found[name]["overall"] - found[NONE]["overall"])
    # with two users no p is small, and adjusting makes none smaller
    assert all(0.5 <= gain["p"] <= gain["p_adjusted"] <= 1 for gain in report.summary["gains"])


def test_what_was_learned_has_its_bill_which_goes_on_without_the_file_of_prices(tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text("date: 2025-07-01\nmodels: {offline: {input: 2, output: 8}}")
    small = {"users": 2, "periods": 2, "rounds_later": 1, "probe": False, "upper_bound": False}
    out, prices = tmp_path / "out", tmp_path / "prices.yaml"
    first = amemgym.evolve(NONE, "bank:base", "complete", out=out, room=8, prices=prices, **small)
    used = first.summary["arms"][LEARNED]["used"]["evolve"]
    assert used["usd"] == pytest.approx((2 * used["input"] + 8 * used["output"]) / 1e6) and used["calls"] > 0
    assert all(cost > 0 for cost in first.held_out.costs.values())

    prices.unlink()
    shutil.rmtree(first.held_out.directory)
    again = resume_evolution(out)
    assert again.summary == first.summary and again.held_out.scores == first.held_out.scores
