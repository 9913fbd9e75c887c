"""The tasks of evolution as words: whoever is told nothing asks what was asked before there were policies; a policy
stands in its own place of the prompt, and the prompt goes on around it."""

from __future__ import annotations

import hashlib
from datetime import datetime

import pytest

from amemgym.messages import Message
from amemgym.tasks import ExtractFacts, ReconcileFacts, RevisePolicy, Status, Task, UpdateRecord, prompts_for

NOW = datetime(2022, 5, 1, 12)
TALK = (Message("user", "I moved to the sea. It costs $5 ${x}.", NOW), Message("assistant", "How nice.", NOW))
#: each request as version 0.4.0 made it: the sha256 of its words
BEFORE = {
    "en": [
        "e1f3756a973abb42",
        "02240b4272b8743b",
        "5d578974dabd3d6b",
        "0e27ae5021e65741",
        "1a12cba38b3e12e7",
    ],
    "zh": [
        "441db4ebd503641d",
        "555d238a77bd25c9",
        "ece708a7bea9a5c1",
        "5cd5b0855c591e9e",
        "8fb67729edd73a9b",
    ],
}


@pytest.mark.parametrize("language", BEFORE)
@pytest.mark.parametrize("said", [False, True], ids=["told nothing", "told the template's own"])
def test_the_default_policy_asks_what_was_asked_before(language: str, said: bool) -> None:
    prompts = prompts_for(language)
    facts, record = (prompts.fill(f"policy_{name}") if said else "" for name in ("facts", "record"))
    tasks: list[Task[object]] = [
        ExtractFacts(TALK, NOW, facts),  # type: ignore[list-item]
        ReconcileFacts(((0, "lives inland"),), ("lives at the sea",), NOW, facts),  # type: ignore[list-item]
        ReconcileFacts((), ("lives at the sea",), NOW, facts),  # type: ignore[list-item]
        UpdateRecord("home: inland", TALK, NOW, (), record),  # type: ignore[list-item]
        UpdateRecord("", TALK, NOW, ("home", "work"), record),  # type: ignore[list-item]
    ]
    found = []
    for task in tasks:
        found.append(hashlib.sha256(task.messages(prompts)[0].content.encode()).hexdigest()[:16])
    assert found == BEFORE[language]


@pytest.mark.parametrize("language", BEFORE)
def test_a_policy_stands_in_its_part_alone(language: str) -> None:
    prompts = prompts_for(language)
    for make in (
        lambda policy: ExtractFacts(TALK, NOW, policy),
        lambda policy: UpdateRecord("", TALK, NOW, (), policy),
        lambda policy: UpdateRecord("", TALK, NOW, (), policy, 7),
        lambda policy: ReconcileFacts((), ("news",), NOW, policy, 7),
    ):
        short, listed = (
            make(policy).messages(prompts)[0].content for policy in ("POLICY $now.", "POLICY $now.\n- the home")
        )
        before, after = short.split("POLICY $now.")
        assert listed.startswith(f"{before}POLICY $now.\n- the home")
        # a list's last line is not run on
        assert listed.removeprefix(f"{before}POLICY $now.\n- the home").strip() == after.strip()
        assert listed.endswith("- the home") or listed.split("- the home")[1].startswith("\n")
        assert "2022" in short


def test_room_is_told() -> None:
    prompts = prompts_for("en")
    record = UpdateRecord("", TALK, NOW, ("home",), "", 7).messages(prompts)[0].content
    assert (
        "room for 7 lines" in record
        and "room for 7 lines" in UpdateRecord("", TALK, NOW, (), "", 7).messages(prompts)[0].content
    )
    facts = ReconcileFacts((), ("news",), NOW, "", 7).messages(prompts)[0].content
    assert "room for 7 facts" in facts and prompts.fill("policy_facts") in facts


@pytest.mark.parametrize(
    "reply, policy",
    [
        ('{"policy": " Keep it. "}', "Keep it."),
        ('Here:\n```json\n{"policy": "Keep it."}\n```', "Keep it."),
        ('{"policy": ""}', None),
        ('{"policy": 3}', None),
        ('{"policy": {"a": 1}}', None),
        ("[]", None),
        ("", None),
        (None, None),
    ],
)
def test_a_reply_is_read(reply: str | None, policy: str | None) -> None:
    parsed = RevisePolicy("record", "Old.", (), 100).parse(reply)
    assert parsed.value == policy and (parsed.status in (Status.OK, Status.REPAIRED)) is (policy is not None)
