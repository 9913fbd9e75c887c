"""What the kit finds: a verdict for each rule, and the report they make together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

MODEL_NOTE = "checked with the offline model (a stand-in that knows words, not language) and simulated times of 2021"


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one rule. `sentence` says what was seen and where (failed) or why it does not fit; it is empty
    where the rule was kept."""

    rule: str
    meaning: str
    outcome: Outcome
    sentence: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.outcome}{': ' if self.sentence else ''}{self.sentence}"


@dataclass(frozen=True)
class KitReport:
    """The verdicts on one memory, in the order of the rules. `version` tells this memory from another version of it;
    `versions` are those of what it was checked with. `hung` is whether a rule had to be left running."""

    memory: str
    version: str
    versions: str
    verdicts: tuple[Verdict, ...]
    hung: bool = False

    @property
    def passed(self) -> bool:
        """Whether no rule failed."""
        return not self.failures

    @property
    def failures(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is Outcome.FAILED)

    def __str__(self) -> str:
        """The verdicts as text, failures first: what a failing test shows."""
        others = [verdict for verdict in self.verdicts if verdict.outcome is not Outcome.FAILED]
        lines = [f"memory {self.memory} ({self.version}): {self.counts()}"]
        lines += [f"  {verdict}\n    the rule: {verdict.meaning}" for verdict in self.failures]
        lines += [f"  {verdict}" for verdict in others]
        return "\n".join([*lines, f"  {self.versions}; {MODEL_NOTE}"])

    def counts(self) -> str:
        """`15 passed, 1 failed, 2 not applicable`."""
        found = [verdict.outcome for verdict in self.verdicts]
        return ", ".join(f"{found.count(kind)} {kind}" for kind in Outcome if kind in found)


class RuleBroken(Exception):
    """Raised by a rule that was not kept, with one sentence: what was seen, and where."""


class DoesNotFit(Exception):
    """Raised by a rule that says nothing about this memory, with the reason."""
