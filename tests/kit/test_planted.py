"""The kit fails each planted fault by the rule it breaks, and by no other that need not follow; the sound memory, from
which the faulty ones differ by their fault alone, breaks none."""

from __future__ import annotations

import pytest

from amemgym.kit import Outcome, check_memory
from amemgym.kit.rules import RULES
from amemgym.memory import Memory
from tests.kit.planted import PLANTED
from tests.kit.sound import Sound

#: these start a process each, so they are tried on what is planted for them alone
IN_PROCESSES = {"snapshot-new-process", "deterministic-new-process"}


def test_a_sound_memory_breaks_no_rule() -> None:
    report = check_memory(Sound, [id for id in RULES if id not in IN_PROCESSES])
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
