"""The kit fails each planted fault by the rule it breaks, and by no other that need not follow; the sound memory, from
which the faulty ones differ by their fault alone, breaks none."""

from __future__ import annotations

import pytest

from amemgym.kit import Outcome, check_memory
from amemgym.kit.rules import RULES
from amemgym.memory import Memory
from tests.kit import cheats, planted

#: these start a process each, so they are tried on what is planted for them alone
IN_PROCESSES = {"snapshot-new-process", "deterministic-new-process"}
#: what follows from a state that all memories share, or that every read changes
_SHARED = (
    "empty-memory",
    "clear-empties",
    "users-apart",
    "parallel-apart",
    "snapshot-round-trip",
    "simulated-time",
    "deterministic",
)
_CHANGING = (
    "empty-memory",
    "clear-empties",
    "write-is-finished",
    "users-apart",
    "parallel-apart",
    "snapshot-round-trip",
    "snapshot-detached",
    "reading-changes-nothing",
    "exam-changes-nothing",
    "deterministic",
)
_LATE = (
    "written-comes-back",
    "update-wins",
    "empty-memory",
    "clear-empties",
    "users-apart",
    "parallel-apart",
    "snapshot-round-trip",
)
#: memory → the rule it breaks, and those that break with it
PLANTED: dict[type[Memory], tuple[str, ...]] = {
    planted.Forgets: ("written-comes-back",),
    planted.KeepsNothing: ("written-comes-back", "update-wins", "empty-memory"),
    planted.HidesFromExport: ("written-comes-back",),
    planted.KeepsTheFirstHome: ("update-wins",),
    planted.NewestFirstWithoutTimes: ("update-wins",),
    planted.DatesTheOldAsNew: ("update-wins",),
    # whatever reads from a memory that is still empty falls with it
    planted.FallsWhenEmpty: ("empty-memory", "clear-empties", "users-apart", "exam-changes-nothing", "no-ground-truth"),
    planted.NeedsTimes: ("empty-memory",),
    planted.InventsTimes: ("empty-memory",),
    planted.NeverClears: ("clear-empties",),
    planted.KeepsABackUp: ("clear-empties",),
    planted.GivesTenTimesAsMany: ("k-respected",),
    planted.FormatsTexts: ("any-text",),
    planted.EvaluatesTexts: ("any-text",),
    planted.KnowsOneAlphabet: ("any-text",),
    planted.WritesBehind: ("write-is-finished", *_LATE, "snapshot-detached", "exam-changes-nothing", "deterministic"),
    planted.LeavesTasks: ("write-is-finished", *_LATE, "snapshot-detached", "exam-changes-nothing", "deterministic"),
    planted.SharesAStore: ("users-apart", *_SHARED),
    planted.HasAMutableDefault: ("users-apart", *_SHARED),
    planted.CrossesWires: ("parallel-apart",),
    planted.IsBoundToItsThread: ("parallel-apart",),
    planted.CopiesAHalf: ("snapshot-round-trip", "exam-changes-nothing"),
    planted.AddsWhatItRestores: ("snapshot-round-trip",),
    planted.CopiesByReference: ("snapshot-detached",),
    planted.CannotBePickled: ("snapshot-new-process",),
    planted.LeavesItsContentBehind: ("snapshot-new-process",),
    planted.CountsReads: ("reading-changes-nothing",),
    planted.KeepsQueries: ("reading-changes-nothing", *_CHANGING),
    planted.KnowsTheExam: ("exam-changes-nothing",),
    cheats.LooksAtTheClock: ("simulated-time", "empty-memory", "parallel-apart", "deterministic"),
    cheats.WritesTheDate: ("simulated-time",),
    cheats.StampsItsState: ("simulated-time",),
    cheats.LooksAhead: ("simulated-time", "empty-memory"),
    cheats.TellsItsModelTheDate: ("simulated-time",),
    cheats.ReadsLabels: ("no-ground-truth",),
    cheats.WalksFrames: ("no-ground-truth", "exam-changes-nothing"),
    cheats.SearchesTheHeap: ("no-ground-truth", "exam-changes-nothing"),
    cheats.HoldsTheScenario: ("no-ground-truth",),
    cheats.SwallowsModelErrors: ("errors-are-errors",),
    cheats.SwallowsEmbedderErrors: ("errors-are-errors",),
    cheats.TrustsReplies: ("unreadable-replies",),
    cheats.ThrowsDice: ("deterministic", "written-comes-back", "update-wins", *_CHANGING),
    cheats.GoesByHashes: ("deterministic-new-process", "snapshot-new-process", "update-wins"),
}


def test_a_sound_memory_breaks_no_rule() -> None:
    report = check_memory(planted.Sound, [id for id in RULES if id not in IN_PROCESSES])
    assert report.passed, str(report)
    assert {v.rule for v in report.verdicts if v.outcome is Outcome.NOT_APPLICABLE} == {
        "errors-are-errors",
        "unreadable-replies",
    }


@pytest.mark.parametrize("cls", PLANTED, ids=lambda cls: cls.__name__)
def test_a_planted_fault_fails_by_its_rule(cls: type[Memory]) -> None:
    rule, *may_follow = PLANTED[cls]
    rules = [id for id in RULES if id not in IN_PROCESSES or id in PLANTED[cls]]
    report = check_memory(cls, rules)
    failed = {verdict.rule for verdict in report.failures}
    assert rule in failed, str(report)
    assert failed <= {rule, *may_follow}, str(report)
    assert all(verdict.sentence for verdict in report.failures)


def test_every_rule_has_a_planted_fault() -> None:
    assert {rules[0] for rules in PLANTED.values()} == set(RULES)
