"""The audit: every user's texts put to a judge through the door, users side by side.

What is finished in the directory is taken from there; a user that was interrupted is judged again from the journal. A
call that the model refuses for its content or length is that text's error; a user whose calls fail otherwise is left
out and named, the others go on; what no call can mend (a wrong key, a full disk) stops the audit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from amemgym import files
from amemgym.errors import (
    AMemGymError,
    ContentFiltered,
    ContextOverflow,
    FatalModelError,
    RequestRefused,
    RunDirectoryError,
    StorageError,
    UsageError,
)
from amemgym.evaluate.rundir import RunDirectory
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Doors, Limits, Line, Model, ModelSettings, at, describe_model
from amemgym.quality.auditdir import FORMAT, WHAT, AuditDirectory
from amemgym.quality.findings import Judged, Verdict, judged
from amemgym.quality.turns import Item, Talk, items_of, records_exposure
from amemgym.scenario import Dataset
from amemgym.tasks import Prompts, RecoverVariant, RevealedStates, Status
from amemgym.together import first_failure, side_by_side
from amemgym.version import __version__

ROLE = "judge"


@dataclass(frozen=True)
class Subject:
    """What is audited: users, and what was said with them in a finished run (`fingerprint`), if there is one."""

    name: str
    dataset: Dataset
    played: str
    talks: dict[str, tuple[Talk, ...]] = field(default_factory=dict)
    fingerprint: str | None = None

    def items(self, user: int) -> list[Item]:
        """What is judged of a user."""
        scenario = self.dataset.scenarios[user]
        return list(items_of(user, scenario, self.talks.get(scenario.id, ())))

    @property
    def remarks(self) -> list[str]:
        """What is not judged, and why."""
        silent = sum(not records_exposure(scenario) for scenario in self.dataset)
        if not silent:
            return []
        return [
            f"of {silent} of {len(self.dataset)} users the data does not say what their sessions expose: no utterance"
            " of theirs is judged, and of later turns only what is not so"
        ]


def talks_of(directory: RunDirectory, users: Sequence[str]) -> dict[str, tuple[Talk, ...]]:
    """The conversations of a run's finished episodes, by user.

    Off-policy, all agents were given the same conversation: it is taken once, under the name of the agent that had it.
    """
    compared = directory.manifest()["compared"]
    speaker = (compared.get("off_policy") or {}).get("agent")
    found: dict[str, dict[tuple[str, int], Talk]] = {user: {} for user in users}
    for described in compared["agents"]:
        if described.get("reference"):
            continue
        for episode in directory.episodes_of(described["name"]):
            if episode.user_id in found and episode.conversation:
                name = speaker or episode.agent
                talk = Talk(name, episode.trial, episode.conversation)
                found[episode.user_id].setdefault((name, episode.trial), talk)
    return {user: tuple(talks.values()) for user, talks in found.items()}


def make_manifest(subject: Subject, judge: ModelSettings, prompts: Prompts) -> dict[str, Any]:
    """What is judged and by whom, without any key; the fingerprint is that of `compared`."""
    hashes = prompts.hashes()
    said = {
        user: [[talk.agent, talk.trial, talk.conversation] for talk in talks]
        for user, talks in sorted(subject.talks.items())
    }
    compared: dict[str, Any] = {
        "amemgym": __version__,
        "data": {"sha256": subject.dataset.sha256, "judged": subject.played, "users": len(subject.dataset)},
        "run": subject.fingerprint,
        "conversations": _digest(said) if subject.talks else None,
        "judge": describe_model(judge),
        "language": prompts.language,
        "prompts": {task.name: hashes[task.name] for task in (RevealedStates, RecoverVariant)},
    }
    return {
        "what": WHAT,
        "format": FORMAT,
        "fingerprint": _digest(compared),
        "name": subject.name,
        "data": subject.dataset.name,
        "compared": compared,
    }


def _digest(value: Any) -> str:
    return files.sha256(files.canonical_json(value).encode("utf-8", "surrogatepass"))


@dataclass
class Outcome:
    """What is judged, a sentence for each user who is not, and what stopped the audit early."""

    judged: list[Judged] = field(default_factory=list)
    finished: int = 0
    failures: list[str] = field(default_factory=list)
    stopped: Exception | None = None


class Audit:
    """One audit over a claimed directory.

    Args:
        subject: what is judged.
        judge: how the judge is reached.
        prompts: the language it is asked in.
        directory: where everything is written.
        watcher: is told what happens.
        concurrency, attempts: as in a run.
    """

    def __init__(
        self,
        subject: Subject,
        judge: ModelSettings,
        prompts: Prompts,
        directory: AuditDirectory,
        watcher: RunWatcher,
        *,
        concurrency: int,
        attempts: int,
    ) -> None:
        self._subject = subject
        self._judge = judge
        self._prompts = prompts
        self._directory = directory
        self._watcher = watcher
        self._concurrency = concurrency
        self._doors = Doors(Limits(concurrency, attempts), watcher)

    async def play(self) -> Outcome:
        """Judge everything that is not finished."""
        count = len(self._subject.dataset)
        items = [self._subject.items(user) for user in range(count)]
        answers = sum(item.quality == "answers" for some in items for item in some)
        self._watcher.planned(count, count, sum(map(len, items)) - answers, answers)
        users, outcome = asyncio.Semaphore(self._concurrency), Outcome()
        found: list[list[Judged]] = [[] for _ in items]

        async def one(user: int) -> None:
            async with users:
                await self._guarded(user, items[user], found, outcome)

        try:
            async with asyncio.TaskGroup() as group:
                for user in range(count):
                    group.create_task(one(user))
        except BaseExceptionGroup as group_error:
            failure = first_failure(group_error)
            if not isinstance(failure, Exception):
                raise failure from group_error
            outcome.stopped = failure
        finally:
            await self._doors.aclose()
        outcome.judged = [one for some in found for one in some]
        outcome.failures.sort()
        return outcome

    async def _guarded(self, user: int, items: Sequence[Item], found: list[list[Judged]], outcome: Outcome) -> None:
        """Judge a user; what ends one alone is noted, what would end every other one too is raised."""
        user_id = self._subject.dataset.scenarios[user].id
        try:
            verdicts = self._directory.verdicts(user_id, [item.at for item in items])
            if verdicts is None:
                verdicts = await self._ask_all(user_id, items)
                self._directory.write_verdicts(user_id, verdicts)
            else:
                self._doors.had_replies()
                self._watcher.turned(sum(item.quality != "answers" for item in items))
                self._watcher.examined(sum(item.quality == "answers" for item in items))
        except (FatalModelError, StorageError, UsageError, RunDirectoryError):
            raise
        except AMemGymError as error:
            outcome.failures.append(f"user {user} ({user_id}): {error}")
            return
        found[user] = [judged(item, verdict) for item, verdict in zip(items, verdicts, strict=True)]
        outcome.finished += 1
        self._watcher.finished(ROLE, user_id)

    async def _ask_all(self, user_id: str, items: Sequence[Item]) -> list[Verdict]:
        """Raises ModelError where a text gets no reply; one that is refused ends none of the others."""
        line, refused = Line(self._directory.journal(user_id), self._prompts), list[RequestRefused]()
        model = line.model(self._doors.to(self._judge), ROLE)
        try:
            verdicts = await side_by_side(self._ask(model, item, refused) for item in items)
        finally:
            line.journal.close()
        if refused:
            raise refused[0]
        return verdicts

    async def _ask(self, model: Model, item: Item, refused: list[RequestRefused]) -> Verdict:
        """`examines` keeps a filter's refusal in the journal."""
        try:
            with at(item.at, ROLE):
                verdict = await _verdict(model, item)
        except (ContentFiltered, ContextOverflow, RequestRefused) as error:
            verdict = Verdict(item.at, "error", None, str(error))
            if isinstance(error, RequestRefused):
                refused.append(error)
        if item.quality == "answers":
            self._watcher.examined()
        else:
            self._watcher.turned()
        return verdict


async def _verdict(model: Model, item: Item) -> Verdict:
    task = item.task()
    if isinstance(task, RecoverVariant):
        variant = await model.ask(task)
        return Verdict(item.at, str(variant.status), variant.value if _is_read(variant.status) else None)
    told = await model.ask(task)
    return Verdict(item.at, str(told.status), dict(told.value) if told.value is not None else None)


def _is_read(status: Status) -> bool:
    return status in (Status.OK, Status.REPAIRED)
