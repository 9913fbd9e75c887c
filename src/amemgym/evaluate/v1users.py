"""One user's results with the original benchmark, as results of ours: exams, probes, conversation, counts, upper bound.

A user whose exams are about nothing that is in the scenario is refused as a whole, in one sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import DataError
from amemgym.evaluate import v1replies
from amemgym.evaluate.results import EpisodeResult, ExamResult, ProbeResult, UpperBoundAnswer, UpperBoundResult
from amemgym.evaluate.v1results import (
    EXAMS,
    PROBES,
    Entry,
    Folder,
    Reader,
    Remarks,
    conversation,
    entries,
    kind,
    read_json,
)
from amemgym.scenario import Dataset, Scenario

#: the way out where results contradict the data
ANOTHER_SET = "these seem to be results on another data set; give --data the scenarios they were made on"


@dataclass(frozen=True)
class UserResults:
    """One user's results with one agent; `episode` is None where there is nothing to score."""

    episode: EpisodeResult | None
    remarks: list[str]
    digests: Mapping[str, str]
    contradicts: bool = False


def read_user(folder: Folder, scenario: Scenario, user: int) -> UserResults:
    """Everything that can be used of a user's files."""
    remarks = Remarks()
    reader = Reader(folder, remarks)
    read = _exams(reader, scenario)
    if not read.exams:
        if read.refusal:  # one sentence in place of one for each question
            remarks = Remarks()
            remarks.add(folder.name(EXAMS), f"{read.refusal}; the user is skipped")
        return UserResults(None, remarks.sentences(), reader.digests, read.refusal is not None)
    ledger, uncounted = v1replies.counts(read.replies, "exam")
    for sentence in uncounted:
        remarks.add(folder.name(EXAMS), sentence)
    probes = _probes(reader, scenario)
    talk = conversation(reader, scenario)
    unknown = [None] * (1 + max(exam.period for exam in read.exams))  # what memory held is not recorded
    episode = EpisodeResult(
        agent=folder.agent,
        user=user,
        user_id=scenario.id,
        trial=0,
        exams=tuple(read.exams),
        probes=tuple(probes),
        conversation=talk,
        holdings=list(unknown),
        held=tuple(unknown),
        ledger=ledger,
    )
    return UserResults(episode, remarks.sentences(), reader.digests)


@dataclass
class _Exams:
    """The exams of a user with their entries; `refusal` says why none of them is about this scenario."""

    exams: list[ExamResult] = field(default_factory=list)
    replies: list[v1replies.Read] = field(default_factory=list)
    refusal: str | None = None


def _exams(reader: Reader, scenario: Scenario) -> _Exams:
    file, remarks, found = reader.folder.name(EXAMS), reader.remarks, _Exams()
    value = reader.list_in(EXAMS, "periods", "nothing to score, so the user is skipped")
    if value is None:
        return found
    against: list[tuple[Entry, str]] = []
    differing: list[ExamResult] = []
    for entry in entries(value, file, scenario, remarks):
        try:
            result = v1replies.exam(entry, scenario)
        except v1replies.LeftOut as why:
            remarks.add(file, str(why), entry.period, entry.question)
            if why.contradicts:
                against.append((entry, why.reason))
            continue
        found.exams.append(result)
        found.replies.append(v1replies.Read(entry.fields, result.reply, result.status))
        if "response" in entry.fields and entry.fields["response"] != result.option:
            differing.append(result)
    _tell_differing(file, differing, len(found.exams), remarks)
    if against and not found.exams:
        entry, reason = against[0]
        first = f"period {entry.period}, question {entry.question}: {reason}"
        found.refusal = f"none of its {len(against)} exams is of this user in the data ({first}); {ANOTHER_SET}"
    elif not found.exams:
        remarks.add(file, "holds no exam that can be scored; the user is skipped")
    return found


def _probes(reader: Reader, scenario: Scenario) -> list[ProbeResult]:
    file, remarks = reader.folder.name(PROBES), reader.remarks
    value = reader.list_in(PROBES, "periods", "wrong answers cannot be diagnosed")
    found: list[ProbeResult] = []
    differing: list[ProbeResult] = []
    for entry in entries(value, file, scenario, remarks) if value is not None else ():
        try:
            result = v1replies.probe(entry, scenario)
        except v1replies.LeftOut as why:
            remarks.add(file, str(why), entry.period, entry.question)
            continue
        found.append(result)
        if any(result.values.get(name) != said for name, said in v1replies.read_before(entry).items()):
            differing.append(result)
    _tell_differing(file, differing, len(found), remarks)
    return found


def _tell_differing(file: str, differing: list[Any], of: int, remarks: Remarks) -> None:
    """Where our reading is not the one that was recorded, numbers may differ from those once printed."""
    if differing:
        first = f"first: period {differing[0].period}, question {differing[0].question}"
        remarks.add(file, f"{len(differing)} of {of} replies are read otherwise here than was recorded ({first})")


class UpperBounds:
    """The original's upper-bound file: users × questions × variants. Raises DataError where it is none."""

    def __init__(self, path: Path) -> None:
        try:
            self.path = path = path.expanduser()
            if path.exists() and not path.is_file():
                raise ValueError("is no file")
            raw = path.read_bytes()
            value = read_json(raw)
        except OSError as error:
            raise DataError(f"cannot read the upper bound {path}: {error.strerror}") from error
        except RuntimeError as error:  # no such home
            raise DataError(f"cannot read the upper bound {path}: {error}") from None
        except ValueError as error:
            raise DataError(f"the upper bound {path} {error}") from None
        order, results = (value.get(name) if isinstance(value, dict) else None for name in ("order", "results"))
        if not isinstance(order, list) or not isinstance(results, list) or len(order) != len(results):
            raise DataError(
                f'the upper bound {path} is not in the original\'s form: {{"order": [user ids], "results": [one list'
                " of questions for each of them]}"
            )
        self.sha256 = files.sha256(raw)
        self._users = {user: rows for user, rows in zip(order, results, strict=True) if isinstance(user, str)}

    def strangers(self, dataset: Dataset) -> list[str]:
        known = {scenario.id for scenario in dataset}
        return [user for user in self._users if user not in known]

    def of(self, scenario: Scenario, user: int, model: str, remarks: Remarks) -> UpperBoundResult | None:
        """A user's answers, parsed again; None where there are none."""
        file, rows = f"{self.path.name}, user {scenario.id}", self._users.get(scenario.id)
        if not isinstance(rows, list):
            why = f"is {kind(rows)}, not a list of questions" if scenario.id in self._users else "missing"
            remarks.add(file, f"{why}; no upper bound for this user")
            return None
        if len(rows) != len(scenario.qas):
            remarks.add(file, f"{len(rows)} questions where the data has {len(scenario.qas)}")
        found: dict[tuple[int, tuple[str, ...]], UpperBoundAnswer] = {}
        for question, row in enumerate(rows[: len(scenario.qas)]):
            for variant, fields in enumerate(row if isinstance(row, list) else [row]):
                why = f"variant {variant}: "
                try:
                    if not isinstance(fields, dict):
                        raise v1replies.LeftOut(f"is {kind(fields)}, not an object")
                    answer = v1replies.bound(fields, question, scenario)
                    if (question, answer.variant) in found:
                        raise v1replies.LeftOut("the same variant again")
                    found[question, answer.variant] = answer
                except v1replies.LeftOut as error:
                    remarks.add(f"{file}, question {question}", why + str(error))
        if not found:
            remarks.add(file, "none of its answers can be used; no upper bound for this user")
            return None
        return UpperBoundResult(model, user, scenario.id, tuple(found.values()))
