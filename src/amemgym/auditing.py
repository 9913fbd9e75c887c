"""The Python face of the audit: `audit`, and `sample_labels` for people who check the judge."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import AMemGymError, DataError, RunDirectoryError, RunFailed, UnknownName, UsageError
from amemgym.evaluate import RunDirectory, RunSpec, RunWatcher, check_addresses, describe_data, make_spec
from amemgym.generate import load_dataset
from amemgym.llm import check_model_name, embedder_identity, know_keys
from amemgym.quality.audit import Audit, Outcome, Subject, make_manifest, talks_of
from amemgym.quality.auditdir import AuditDirectory
from amemgym.quality.findings import Finding
from amemgym.quality.labels import read_labels, write_template
from amemgym.quality.qualities import qualities
from amemgym.quality.raters import agreements, placed
from amemgym.scenario import Dataset
from amemgym.tasks import prompts_for
from amemgym.together import wait_for

#: fields of `RunSpec` that an audit has too
AUDIT_SETTINGS = (
    "model",
    "base_url",
    "users",
    "temperature",
    "max_tokens",
    "embedder",
    "language",
    "concurrency",
    "timeout",
    "attempts",
)
KEPT = "what is judged is kept; run the same command again to go on"


@dataclass(frozen=True, repr=False)
class AuditReport:
    """An audit's summary (as in audit.json), its findings, its directory, and what did not finish.

    `agreement` is that with people's labels (as in agreement.json), where they were given.
    """

    summary: dict[str, Any]
    findings: tuple[Finding, ...]
    directory: Path
    failures: tuple[str, ...] = ()
    agreement: dict[str, Any] | None = None
    written: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"AuditReport({len(self.findings)} findings; {self.directory})"


def audit(
    data: str | Path | Dataset,
    model: str = "offline",
    *,
    out: str | Path | None = None,
    labels: str | Path | None = None,
    watcher: RunWatcher | None = None,
    **settings: Any,
) -> AuditReport:
    """Judge a data set's utterances and answers, and of a finished run also the user's later turns.

    Args:
        data: a data set's name or path, a data set, or a run's directory.
        model: the judge: `offline` (a weak stand-in), or `openai:<name>`.
        out: the audit's directory; where it holds the same audit, that is continued.
        labels: a CSV of people's labels, to tell how far the judge agrees with them.
        watcher: is told what happens.
        settings: any of base_url, users, temperature, max_tokens, embedder, language, concurrency, timeout, attempts.

    Raises:
        AMemGymError: one of `amemgym.errors`; RunFailed where users did not finish (the others are kept).
    """
    report = audit_spec(audit_settings({"model": model, **settings}), data, out=out, labels=labels, watcher=watcher)
    raise_for_unfinished(report)
    return report


def audit_settings(given: dict[str, Any]) -> RunSpec:
    """The settings as a RunSpec. Raises UnknownName or UsageError."""
    for name in given:
        if name not in AUDIT_SETTINGS:
            raise UnknownName("setting of an audit", name, AUDIT_SETTINGS)
    return make_spec(given)


def audit_spec(
    spec: RunSpec,
    data: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    labels: str | Path | None = None,
    watcher: RunWatcher | None = None,
) -> AuditReport:
    """The same from a RunSpec; users that did not finish are in the report."""
    watcher = watcher or RunWatcher()
    know_keys()
    judge, prompts = spec.model_settings(), prompts_for(spec.language)
    check_model_name(judge.model)
    embedder_identity(spec.embedder)
    check_addresses(spec, [judge])
    given = read_labels(Path(labels)) if labels is not None else None
    subject = find_subject(data, spec.users)
    if given is not None and labels is not None:  # before anything is paid for
        placed(given, (item for user in range(len(subject.dataset)) for item in subject.items(user)), Path(labels))
    for remark in subject.remarks:
        watcher.said(remark)
    manifest = make_manifest(subject, judge, prompts)
    directory = AuditDirectory(out or default_directory(manifest))
    with directory.held():
        directory.claim(manifest)
        work = Audit(
            subject,
            judge,
            prompts,
            directory,
            watcher,
            concurrency=spec.concurrency,
            attempts=spec.attempts,
        )
        outcome = wait_for(work.play)
        if isinstance(outcome.stopped, AMemGymError) and not isinstance(outcome.stopped, UsageError):
            outcome.stopped.args = (_going_on(str(outcome.stopped)),)
        if outcome.stopped is not None:
            raise outcome.stopped
        summary = _summary(manifest, subject, outcome)
        findings = tuple(finding for one in outcome.judged for finding in one.findings)
        written = [directory.write_findings(findings), directory.write_summary(summary)]
        agreement = None
        if given is not None and labels is not None:
            try:
                agreement = agreements(given, outcome.judged, Path(labels))
                written.append(directory.write_agreement(agreement))
            except DataError:
                if not outcome.failures:  # else that is told, as these labels may be of users who were not judged
                    raise
    return AuditReport(summary, findings, directory.path, tuple(outcome.failures), agreement, tuple(written))


def sample_labels(
    data: str | Path | Dataset, template: str | Path, sample: int = 50, *, seed: int = 0, users: int | None = None
) -> int:
    """Write a CSV of a seeded sample of turns for people to label; how many turns are in it. Nothing is judged."""
    if sample < 1:
        raise UsageError(f"--sample {sample}: a sample has at least 1 turn")
    know_keys()
    subject = find_subject(data, users)
    items = [item for user in range(len(subject.dataset)) for item in subject.items(user)]
    return write_template(items, Path(template), sample, seed)


def find_subject(data: str | Path | Dataset, users: int | None = None) -> Subject:
    """What is to be audited. Raises DataError, UsageError, or RunDirectoryError for a run without a conversation."""
    if isinstance(data, Dataset):
        return _subject(data.name, data.limited(users))
    place = files.at_home(data)
    if not (place / "manifest.json").is_file():
        dataset = load_dataset(data)
        return _subject(dataset.name, dataset.limited(users))
    directory = RunDirectory(place)
    manifest = directory.manifest()
    dataset = directory.dataset().limited(users)
    talks = talks_of(directory, [scenario.id for scenario in dataset])
    if not any(talks.values()):
        way = "import results that have their interactions" if "imported" in manifest["compared"] else "resume it first"
        raise RunDirectoryError(
            f"{place} holds no conversation of a finished episode; {way}, or audit its data alone: amemgym audit"
            f" {place / 'data.json'}"
        )
    return _subject(place.resolve().name, dataset, talks, manifest["fingerprint"])


def _subject(name: str, dataset: Dataset, talks: Any = None, fingerprint: str | None = None) -> Subject:
    return Subject(name, dataset, describe_data(dataset)["played"], talks or {}, fingerprint)


def default_directory(manifest: dict[str, Any]) -> Path:
    """audits/<name>-<judge>-<fingerprint>: two audits never share one."""
    judge = manifest["compared"]["judge"]["model"]
    readable = files.slug(f"{manifest['name']} {judge}").rpartition("-")[0]
    return Path("audits") / f"{readable}-{manifest['fingerprint'][:8]}"


def raise_for_unfinished(report: AuditReport) -> None:
    """Raise RunFailed where users did not finish."""
    if report.failures:
        count = len(report.failures)
        users, more = ("1 user", "") if count == 1 else (f"{count} users", f" (and {count - 1} more)")
        raise RunFailed(_going_on(f"{users} could not be judged whole: {report.failures[0]}{more}"), report)


def _going_on(sentence: str) -> str:
    end = "" if sentence.endswith((".", "!", "?")) else "."
    return f"{sentence}{end} {KEPT[0].upper()}{KEPT[1:]}"


def _summary(manifest: dict[str, Any], subject: Subject, outcome: Outcome) -> dict[str, Any]:
    compared = manifest["compared"]
    return {
        "format": manifest["format"],
        "fingerprint": manifest["fingerprint"],
        "data": {"name": subject.dataset.name, "sha256": subject.dataset.sha256},
        "run": subject.name if subject.fingerprint else None,
        "judge": compared["judge"]["model"],
        "users": {"finished": outcome.finished, "planned": len(subject.dataset)},
        **qualities(outcome.judged),
        "not_judged": subject.remarks,
    }
