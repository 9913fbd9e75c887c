"""The run directory, and the one writer of its files.

    DIR/
      manifest.json                    what is run: data hash, settings, models, prompt hashes, versions, fingerprint
      data.json                        the users that are played, in the v1 format
      policy.txt                       what agents were told to remember, where a file said so
      journal/AGENT/USER-tTRIAL.jsonl  every model reply of an episode, appended before it is used; .jsonl.gz once the
                                       episode is finished, and so are those of:
      journal/upper-bound/MODEL/USER.jsonl
      journal/coaching/AGENT.jsonl     what was asked to revise what the agent is told to remember
      episodes/AGENT/USER-tTRIAL.json  a finished episode: exams, conversation, what memory held, counts
      failed/AGENT/USER-tTRIAL.json    an episode that failed: at which boundary, and why (until it is finished)
      upper-bound/MODEL/USER.json      a finished user's upper bound
      scores.json                      the scores of what is finished, from the files above
      columns/                         of many users: what scores are made of as parquet, made anew where it is not of
                                       the files above (`scores.kept`)
      report.html, results.csv, …      what `report` and `compare` write: made from the files above, read by nothing
      .lock                            held while a process runs here

AGENT, USER and MODEL are names made safe, with a short hash. All but the journals are written whole or not at all, so
a file that is there is finished. Known API keys are struck out of everything that is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from amemgym import files
from amemgym.clean import clean_text, differences
from amemgym.errors import DataError, RunDirectoryError
from amemgym.evaluate.claimed import parts_of
from amemgym.evaluate.journals import Journals
from amemgym.evaluate.manifestform import MANIFEST
from amemgym.evaluate.playeddata import digest_of_file, read_users, write_users
from amemgym.evaluate.results import EpisodeResult, UpperBoundResult, check_against, validated
from amemgym.messages import whole
from amemgym.scenario import Dataset, Scenario, read_dataset
from amemgym.secrets import redact
from amemgym.version import __version__

FORMAT = 2
DATA = "data.json"
POLICY = "policy.txt"
R = TypeVar("R", EpisodeResult, UpperBoundResult)


class RunDirectory(Journals):
    """One run's files. Raises StorageError where the disk refuses, RunDirectoryError where it holds something else."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(files.at_home(path))
        self._dataset: Dataset | None = None
        #: trials, and by id the users that are played with their numbers; read when they are first needed
        self._trials: int | None = None
        self._users: dict[str, tuple[int, Scenario]] | None = None

    # the manifest

    def claim(self, manifest: Mapping[str, Any], resuming: bool = False) -> dict[str, Any]:
        """Make the directory this run's, or find that it already is; the manifest that counts, as it was first written.

        Raises RunDirectoryError with the difference where it holds another run.
        """
        there = self.manifest_or_none()
        if there is None:
            self._write("manifest.json", manifest)
            return dict(manifest)
        if there["fingerprint"] != manifest["fingerprint"]:
            changed = "; ".join(differences(there["compared"], manifest["compared"])) or "the fingerprint"
            if resuming:
                raise RunDirectoryError(
                    f"{self.path} cannot be continued as things are: {changed}. Restore that, or start a new run"
                )
            way = "" if "imported" in there["compared"] else f", or continue that run with: amemgym resume {self.path}"
            raise RunDirectoryError(
                f"{self.path} holds a run with other settings: {changed}. Choose another folder with --out{way}"
            )
        return there

    def write_prices(self, prices: Mapping[str, Any]) -> dict[str, Any]:
        """Count by other rates from now on; the manifest that then counts. They decide no result, so a run may have its
        prices told after it was played."""
        manifest = {**self.manifest(), "prices": prices}
        self._write("manifest.json", manifest)
        return manifest

    @property
    def is_claimed(self) -> bool:
        """Whether a run was begun here."""
        return files.is_begun(self.path)

    def manifest(self) -> dict[str, Any]:
        """Raises RunDirectoryError where there is none."""
        there = self.manifest_or_none()
        if there is None:
            what = "does not exist" if not self.path.exists() else "holds no run (it has no manifest.json)"
            raise RunDirectoryError(f"{self.path} {what}; give the folder a run was written to with --out")
        return there

    def manifest_or_none(self) -> dict[str, Any] | None:
        path = self.path / "manifest.json"
        try:
            if not path.exists():
                return None
            manifest = self._read(path)
            if isinstance(what := manifest.get("what"), str):
                raise self._kind_error(what)
            if manifest.get("format") == FORMAT:
                validated(MANIFEST, manifest)
                return manifest
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise RunDirectoryError(
                f"{path} is damaged ({error}); restore it, or start a new run in another folder with --out"
            ) from error
        raise self._format_error(manifest)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the directory. Raises RunDirectoryError where another process does, or where it is no run's."""
        files.check_begun(self.path, "run")
        with files.held(self.path):
            yield

    def _kind_error(self, what: str) -> RunDirectoryError:
        runs = [str(self.path / name) for name in parts_of(self.path)]
        way = f"name one of the runs in it: {', '.join(runs)}" if runs else "give a run's folder"
        return RunDirectoryError(f"{self.path} holds {'an' if what[:1] in 'aeiou' else 'a'} {what}, not a run; {way}")

    def _format_error(self, manifest: Mapping[str, Any]) -> RunDirectoryError:
        compared = manifest.get("compared")
        by = compared.get("amemgym") if isinstance(compared, dict) else None
        written = f" and was written by amemgym {by}" if by else ""
        return RunDirectoryError(
            f"{self.path / 'manifest.json'} has format {manifest.get('format')!r}{written}; this is amemgym"
            f" {__version__}, which reads format {FORMAT}. Use that version for it, or run again in"
            " another folder with --out"
        )

    # the data that is played

    def write_data(self, dataset: Dataset) -> None:
        """Keep the users that are played, once. Raises StorageError."""
        if not (self.path / DATA).exists():
            write_users(self.path / DATA, dataset)
        if self._is_played():  # else what reads it says what is wrong
            self._users = {scenario.id: (user, scenario) for user, scenario in enumerate(dataset)}

    def dataset(self) -> Dataset:
        """The users that are played, under the name and hash of the data set they are from; read once.

        Raises RunDirectoryError.
        """
        if self._dataset is None:
            self._dataset = self._read_dataset()
        return self._dataset

    def _read_dataset(self) -> Dataset:
        data = self.manifest()["data"]
        try:
            found, _ = read_dataset(self.path / DATA, data["name"])
        except DataError as error:
            raise RunDirectoryError(
                f"{error}; the run cannot be read without the users it plays: put the file back, or run again"
            ) from error
        if found.sha256 != data.get("played"):
            raise RunDirectoryError(
                f"{self.path / DATA} is not what was played (sha256 {found.sha256}, played {data.get('played')}); put"
                " the file back, or run again in another folder with --out"
            )
        return replace(found, sha256=data["sha256"])

    def scenarios(self) -> Iterator[Scenario]:
        """The users that are played, one at a time. Raises RunDirectoryError."""
        if self._dataset is None and self._is_played():
            yield from read_users(self.path / DATA)
        else:
            yield from self.dataset()  # which says what is wrong, if anything is

    def _is_played(self) -> bool:
        """Whether the users that are kept are those that are played."""
        try:
            return digest_of_file(self.path / DATA) == str(self.manifest()["data"].get("played"))
        except OSError:
            return False

    def write_policy(self, text: str) -> None:
        """Keep what agents are told, so that a resume needs no other file."""
        files.write_atomically(self.path / POLICY, f"{whole(redact(text))}\n")

    @property
    def policy(self) -> Path | None:
        """Where that is kept, if it is."""
        path = self.path / POLICY
        return path if path.is_file() else None

    # episodes and the upper bound

    def write_episode(self, result: EpisodeResult) -> None:
        self._write(_episode_name(result.agent, result.user_id, result.trial), result.as_dict(), compact=True)

    def episode(self, agent: str, user_id: str, trial: int) -> EpisodeResult | None:
        """A finished episode, or None."""
        return self._load(_episode_name(agent, user_id, trial), EpisodeResult.from_dict)

    def has_episode(self, agent: str, user_id: str, trial: int) -> bool:
        """Whether an episode is finished, by its file alone."""
        return (self.path / _episode_name(agent, user_id, trial)).is_file()

    def has_upper_bound(self, model: str, user_id: str) -> bool:
        """Whether a user's upper bound is finished, by its file alone."""
        return (self.path / _bound_name(model, user_id)).is_file()

    def finished(self) -> Iterator[tuple[EpisodeResult | UpperBoundResult, Scenario]]:
        """Every finished episode and upper bound, whole, with its user, users in the order of the data; one at a time,
        and so are the users."""
        return self._results(self.files_of_results())

    def _results(self, names: Iterable[str]) -> Iterator[tuple[EpisodeResult | UpperBoundResult, Scenario]]:
        of_users: dict[str, list[str]] = {}
        for name in names:
            of_users.setdefault(Path(name).stem.removesuffix(_trial_of(name)), []).append(name)
        if not of_users:
            return
        for number, scenario in enumerate(self.scenarios()):
            for name in of_users.pop(files.slug(scenario.id), []):
                if result := self._result(name, (number, scenario)):
                    yield result, scenario
        for rest in of_users.values():  # of nobody who is played, which is told of the first
            for name in rest:
                self._result(name)

    def episodes_of_user(
        self, user: int, scenario: Scenario, agents: Iterable[str] | None = None
    ) -> Iterator[EpisodeResult]:
        """A user's finished episodes, whole, one at a time, in the order of agents (all of the run, if none are
        named) and trials; `user` is the scenario's number in the data."""
        compared = self.manifest()["compared"]
        for agent in [agent["name"] for agent in compared["agents"]] if agents is None else agents:
            for trial in range(compared["trials"]):
                name = _episode_name(agent, scenario.id, trial)
                if result := self._load(name, EpisodeResult.from_dict, (user, scenario)):
                    yield result

    def files_of_results(self) -> list[str]:
        """The files of what is finished, as paths in this directory: of the manifest's agents in their order, then
        of upper bounds."""
        folders = [files.slug(agent["name"]) for agent in self.manifest()["compared"]["agents"]]
        episodes = (p for folder in folders for p in sorted((self.path / "episodes" / folder).glob("*.json")))
        found = [*episodes, *sorted((self.path / "upper-bound").glob("*/*.json"))]
        return [path.relative_to(self.path).as_posix() for path in found]

    def episodes_of(self, agent: str) -> Iterator[EpisodeResult]:
        """Every finished episode of an agent, whole, one at a time."""
        for path in sorted((self.path / "episodes" / files.slug(agent)).glob("*.json")):
            if result := self._load(path.relative_to(self.path).as_posix(), EpisodeResult.from_dict):
                yield result

    def upper_bounds(self) -> list[UpperBoundResult]:
        """Every finished upper bound, in the order of models and users."""
        names = [name for name in self.files_of_results() if not name.startswith("episodes/")]
        found = [result for result, _ in self._results(names) if isinstance(result, UpperBoundResult)]
        return sorted(found, key=lambda result: (result.model, result.user))

    def write_upper_bound(self, result: UpperBoundResult) -> None:
        self._write(_bound_name(result.model, result.user_id), result.as_dict())

    def upper_bound(self, model: str, user_id: str) -> UpperBoundResult | None:
        """A user's finished upper bound, or None."""
        return self._load(_bound_name(model, user_id), UpperBoundResult.from_dict)

    def write_scores(self, scores: Mapping[str, Any]) -> None:
        self._write("scores.json", scores)

    def _result(self, name: str, whose: tuple[int, Scenario] | None = None) -> EpisodeResult | UpperBoundResult | None:
        if name.startswith("episodes/"):
            return self._load(name, EpisodeResult.from_dict, whose)
        return self._load(name, UpperBoundResult.from_dict, whose)

    def _load(
        self, name: str, parse: Callable[[Mapping[str, Any]], R], whose: tuple[int, Scenario] | None = None
    ) -> R | None:
        path = self.path / name
        try:
            if not path.exists():
                return None
            result = parse(self._read(path))
            self._check(result, name, whose)
            return result
        except OSError as error:
            raise RunDirectoryError(f"cannot read {path}: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            imported = "imported" in self.manifest()["compared"]
            way = "import it again" if imported else "delete it and resume, its journal is kept"
            raise RunDirectoryError(f"{path} is damaged ({error}); {way}") from error

    def _check(self, result: EpisodeResult | UpperBoundResult, name: str, whose: tuple[int, Scenario] | None) -> None:
        """Raises ValueError where a result is not of the file's place, or not of what this run plays; `whose` is the
        user with that place, looked for where it is not given."""
        if self._trials is None:
            self._trials = self.manifest()["compared"]["trials"]
        trials = self._trials
        if isinstance(result, EpisodeResult):
            own = _episode_name(result.agent, result.user_id, result.trial)
            of = f"agent '{result.agent}', user '{result.user_id}', trial {result.trial}"
            if not 0 <= result.trial < trials:
                raise ValueError(f"it is of trial {result.trial}, and the run has {trials}")
        else:
            own, of = _bound_name(result.model, result.user_id), f"model '{result.model}', user '{result.user_id}'"
        if own != name:
            raise ValueError(f"it is of {of}, so its place would be {own}")
        if whose is None and self._users is None:
            self._users = {scenario.id: (user, scenario) for user, scenario in enumerate(self.dataset())}
        number, scenario = whose or (self._users or {}).get(result.user_id) or (None, None)
        if scenario is None or scenario.id != result.user_id or number != result.user:
            raise ValueError(f"user '{result.user_id}' is not user {result.user} of {DATA}")
        check_against(result, scenario)

    def _read(self, path: Path) -> dict[str, Any]:
        """Raises OSError or ValueError."""
        value = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(value, dict):
            raise ValueError("it holds no JSON object")
        return value

    def _write(self, name: str, value: Any, compact: bool = False) -> None:
        text = clean_text(value, files.compact_json if compact else files.pretty_json)
        files.write_atomically(self.path / name, text)


def _trial_of(name: str) -> str:
    """What tells the trials of a user apart in the name of an episode's file: `-t0`."""
    return "".join(Path(name).stem.rpartition("-t")[1:]) if name.startswith("episodes/") else ""


def _episode_name(agent: str, user_id: str, trial: int) -> str:
    return f"episodes/{files.slug(agent)}/{files.slug(user_id)}-t{trial}.json"


def _bound_name(model: str, user_id: str) -> str:
    return f"upper-bound/{files.slug(model)}/{files.slug(user_id)}.json"
