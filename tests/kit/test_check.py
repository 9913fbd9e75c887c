"""What the kit says: verdicts in words, exit codes, what it cannot use, what never ends, and what needs an endpoint."""

from __future__ import annotations

import json
import os
import re
import urllib.request
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

import amemgym
from amemgym.errors import UnknownName, UsageError
from amemgym.kit import KitReport, Outcome
from amemgym.kit.rules import RULES
from amemgym.memory import Item
from amemgym.messages import Message
from tests.cli.helpers import amemgym as command
from tests.cli.helpers import environment, inside
from tests.kit.cheats import Hangs
from tests.kit.planted import CannotBePickled, CopiesByReference, FallsWhenEmpty, LeavesItsContentBehind, Sound

EXAMPLE = Path(__file__).parents[2] / "examples" / "fact_store.py"
DIARY = """
from amemgym import Item, Memory

class Diary(Memory):
    def __init__(self):
        self.items = []

    def write(self, messages, now):
        self.items += [Item(message.content, message.time) for message in messages]

    def read(self, query, now, k):
        return self.items[-k:]

class Tenfold(Diary):
    def read(self, query, now, k):
        return self.items

class Sleeper(Diary):
    def read(self, query, now, k):
        import threading
        threading.Event().wait()

class Missing(Diary):
    packages = {"no-such-package-at-all": ">=1"}
"""


@pytest.fixture
def diary(tmp_path: Path) -> str:
    (tmp_path / "diary.py").write_text(DIARY, encoding="utf-8")
    return str(tmp_path / "diary.py")


def outcomes(report: KitReport) -> dict[str, Outcome]:
    return {verdict.rule: verdict.outcome for verdict in report.verdicts}


def test_a_file_is_checked_by_the_command(diary: str) -> None:
    done = inside("check-memory", f"{diary}:Diary")
    assert done.code == 0, done.out
    for rule in RULES.values():
        assert rule.id in done.out
    assert f"{diary}:Diary (Diary:" in done.out
    assert "offline model" in done.out and amemgym.__version__ in done.out


def test_a_failure_says_what_was_seen_and_ends_with_1(diary: str) -> None:
    done = inside("check-memory", f"{diary}:Tenfold", "--rule", "k-respected", "--rule", "update-wins")
    assert done.code == 1
    assert "k-respected: read(…, k=1) returned 12 items" in done.out
    assert "1 passed, 1 failed" in done.out
    assert "written-comes-back" not in done.out  # only what was asked for is tried


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-memory"], "unknown memory 'no-such-memory'"),
        (["vector", "--rule", "k-respekted"], "unknown rule 'k-respekted'. Did you mean 'k-respected'?"),
        (["{diary}:Nothing"], "has no class 'Nothing'"),
        (["{diary}:Missing"], "cannot be used here: the package no-such-package-at-all is not installed"),
    ],
)
def test_what_cannot_be_checked_ends_with_2(diary: str, arguments: list[str], said: str) -> None:
    done = inside("check-memory", *(argument.format(diary=diary) for argument in arguments))
    assert done.code == 2 and done.out == ""
    assert said in done.err


def test_what_never_ends_is_left_behind_and_the_command_ends(diary: str) -> None:
    source = Path(__file__).parents[2] / "src"
    where = f"{diary}:Sleeper"
    rules = ("--rule", "empty-memory", "--rule", "any-text")
    done = command("check-memory", where, *rules, "--seconds", "0.5", env=environment(PYTHONPATH=str(source)))
    assert done.code == 1
    assert "empty-memory: it has not come to an end within 0.5 s" in done.out
    assert "1 failed, 1 not applicable" in done.out


def test_after_a_rule_that_never_ends_none_is_tried() -> None:
    report = amemgym.check_memory(Hangs, ["written-comes-back", "k-respected"], seconds=0.5)
    assert report.hung and not report.passed
    hung, other = report.verdicts
    assert hung.outcome is Outcome.FAILED and "within 0.5 s" in hung.sentence
    assert other.outcome is Outcome.NOT_APPLICABLE and "not tried" in other.sentence


def test_a_crash_is_a_verdict_with_its_place() -> None:
    (verdict,) = amemgym.check_memory(FallsWhenEmpty, ["empty-memory"]).failures
    assert "IndexError" in verdict.sentence and "planted.py:" in verdict.sentence
    assert "FallsWhenEmpty.read" in verdict.sentence


def test_a_class_that_cannot_be_made_is_a_verdict_too() -> None:
    class Unmakeable(Sound):
        def __init__(self) -> None:
            raise OSError("no disk")

    (verdict,) = amemgym.check_memory(Unmakeable, ["k-respected"]).failures
    assert "OSError: no disk (at test_check.py:" in verdict.sentence


def test_a_class_of_this_function_alone_is_tried_in_no_other_process() -> None:
    class Local(Sound):
        pass

    report = amemgym.check_memory(Local, ["snapshot-new-process", "k-respected"])
    assert outcomes(report) == {"k-respected": Outcome.PASSED, "snapshot-new-process": Outcome.NOT_APPLICABLE}


@pytest.mark.parametrize("cls", [CopiesByReference, CannotBePickled, LeavesItsContentBehind])
def test_a_view_is_not_held_to_be_a_copy(cls: type[Sound]) -> None:
    view = type(f"View{cls.__name__}", (cls,), {"snapshot_is_view": True})
    report = amemgym.check_memory(view, ["snapshot-detached", "snapshot-new-process", "snapshot-round-trip"])
    assert outcomes(report) == {
        "snapshot-round-trip": Outcome.PASSED,
        "snapshot-detached": Outcome.NOT_APPLICABLE,
        "snapshot-new-process": Outcome.NOT_APPLICABLE,
    }
    assert "snapshot_is_view" in report.verdicts[-1].sentence


def test_what_is_no_memory_or_no_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="no subclass"):
        amemgym.check_memory(int)  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        amemgym.check_memory(Sound, ["no-such-rule"])


class AsksItself(Sound):
    """Calls a model at its endpoint for every message."""

    needs_endpoint = True
    today: ClassVar[bool] = False
    hides_errors: ClassVar[bool] = False

    def keep(self, message: Message, now: datetime) -> None:
        try:
            for line in self._ask(message, now).splitlines():
                self.items.append(Item(line, message.time or now))
        except OSError:
            if not self.hides_errors:
                raise

    def _ask(self, message: Message, now: datetime) -> str:
        endpoint = self.tools.endpoint
        assert endpoint is not None
        when = date.today() if self.today else now.date()
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [
                {"role": "system", "content": f"Note what the user says. Today is {when}."},
                {"role": "user", "content": message.content},
            ],
        }
        headers = {"Authorization": f"Bearer {endpoint.api_key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{endpoint.base_url}/chat/completions", json.dumps(body).encode(), headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"] or "")


class TellsItsEndpointTheDate(AsksItself):
    today = True


class HidesErrors(AsksItself):
    hides_errors = True


ENDPOINT_RULES: Sequence[str] = [
    "written-comes-back",
    "users-apart",
    "parallel-apart",
    "exam-changes-nothing",
    "simulated-time",
    "no-ground-truth",
    "errors-are-errors",
    "unreadable-replies",
    "deterministic",
]


def test_a_memory_with_an_endpoint_is_lent_one() -> None:
    report = amemgym.check_memory(AsksItself, ENDPOINT_RULES)
    assert set(outcomes(report).values()) == {Outcome.PASSED}, str(report)


def test_the_example_of_an_adapter_does_what_it_says() -> None:
    report = amemgym.check_memory(f"{EXAMPLE}:FactStore", ["update-wins", "empty-memory"])
    assert set(outcomes(report).values()) == {Outcome.PASSED}, str(report)


def test_what_is_asked_at_an_endpoint_is_heard() -> None:
    (verdict,) = amemgym.check_memory(TellsItsEndpointTheDate, ["simulated-time"]).failures
    assert "a request to its model" in verdict.sentence


def test_an_error_hidden_at_an_endpoint_is_raised_all_the_same() -> None:
    assert amemgym.check_memory(HidesErrors, ["errors-are-errors"]).passed


def test_no_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    assert amemgym.check_memory("extract", ["update-wins"]).passed


def test_the_document_has_every_rule() -> None:
    text = (Path(__file__).parents[2] / "docs" / "check-memory.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([\w-]+)` \|", text, re.M) == list(RULES)
