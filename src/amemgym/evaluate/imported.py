"""A run that was not played here: the original benchmark's results as a run directory of ours.

Files are read twice, user by user, so that no more than one user's is ever held: first to learn what is there, which
the manifest needs, then to write it. What is imported is known by the content of its files, so the same results go to
the same directory, and others to another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.env import IMPORTED
from amemgym.errors import DataError, UsageError
from amemgym.evaluate.manifest import describe_data
from amemgym.evaluate.results import UpperBoundResult
from amemgym.evaluate.rundir import FORMAT, RunDirectory
from amemgym.evaluate.v1results import EXAMS, Folder, Remarks, find_folders
from amemgym.evaluate.v1users import ANOTHER_SET, UpperBounds, read_user
from amemgym.scenario import Dataset
from amemgym.secrets import redact
from amemgym.version import __version__

#: what models are called that nobody named
UNNAMED = "imported"


class Import:
    """The results under a folder, looked through and ready to be written.

    Args:
        root: the folder given.
        dataset: the scenarios the results were made on.
        upper_bound: the original's upper-bound file.
        model: what the assistants' model is to be called.

    Raises DataError where nothing can be used, UsageError where a name cannot be.
    """

    def __init__(self, root: Path, dataset: Dataset, upper_bound: Path | None, model: str) -> None:
        if not model.strip() or model == "offline":
            raise UsageError(f"--model '{model}' names no model that gave these replies; give its own, or leave it out")
        self._root, self._model = files.at_home(root), files.printable(model)
        self._bounds = UpperBounds(upper_bound) if upper_bound is not None else None
        self._digests: dict[tuple[str, str], Mapping[str, str]] = {}
        self._counted = self._probed = False
        self.remarks: list[str] = []
        self._folders = self._usable(dataset)
        #: the users with results, in the data's order
        self.dataset = self._played(dataset)
        self._users = {scenario.id: (user, scenario) for user, scenario in enumerate(self.dataset)}
        self.remarks += self._bound_remarks(dataset)
        if self._counted:
            self.remarks.append("tokens and seconds are those of exams; what conversations cost is not recorded")
        self.remarks = [files.printable(remark) for remark in self.remarks]
        self.manifest = self._make_manifest(dataset)

    def write(self, directory: RunDirectory) -> None:
        """Write everything into a claimed directory. Raises DataError where a file is not what it was."""
        directory.write_data(self.dataset)
        for folder in self._folders:
            user, scenario = self._users[folder.user_id]
            results = read_user(folder, scenario, user)
            if results.episode is None or results.digests != self._digests[folder.agent, folder.user_id]:
                raise DataError(f"{folder.path} changed while it was imported; import again, into another folder")
            directory.write_episode(results.episode)
        for bound in self._upper_bounds(Remarks()):
            directory.write_upper_bound(bound)

    def _usable(self, dataset: Dataset) -> list[Folder]:
        """The folders that there is something to score in."""
        remarks = Remarks()
        folders, scenarios = find_folders(self._root, remarks), {scenario.id: scenario for scenario in dataset}
        if not folders:
            raise DataError(
                f"{self._root} holds no results of the original benchmark (folders named by users, with {EXAMS});"
                f" {'; '.join(remarks.sentences()[:1]) or 'give the folder its agents wrote to'}"
            )
        usable, another = [], 0
        for folder in folders:
            if folder.user_id not in scenarios:
                remarks.add(folder.shown or folder.path.name, f"no user of data '{dataset.name}'; skipped")
                another += 1
                continue
            results = read_user(folder, scenarios[folder.user_id], 0)
            self.remarks += results.remarks
            another += results.contradicts
            if results.episode is None:
                continue
            if redact(folder.agent) != folder.agent:
                raise UsageError(f"{folder.path}: a folder's name holds an API key, and would be written; rename it")
            usable.append(folder)
            self._digests[folder.agent, folder.user_id] = results.digests
            self._counted |= bool(results.episode.ledger)
            self._probed |= bool(results.episode.probes)
        self.remarks = remarks.sentences() + self.remarks
        if not usable:
            first, count = self.remarks[0], len(self.remarks)
            why = ANOTHER_SET if another == len(folders) and ANOTHER_SET not in first else ""
            raise DataError(
                f"nothing of {self._root} can be imported: {first}{f' (and {count - 1} more)' if count > 1 else ''}"
                + (f"; {why}" if why else "")
            )
        return usable

    def _played(self, dataset: Dataset) -> Dataset:
        users = {folder.user_id for folder in self._folders}
        without = [scenario.id for scenario in dataset if scenario.id not in users]
        if without:
            shown = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
            count = f"{len(without)} of its {len(dataset)} users"
            self.remarks.append(f"data '{dataset.name}': nothing to score of {count} ({shown}); left out")
        for agent in dict.fromkeys(folder.agent for folder in self._folders):
            missing = users - {folder.user_id for folder in self._folders if folder.agent == agent}
            self.remarks += [f"agent '{agent}': nothing to score of user {user}" for user in sorted(missing)]
        return replace(dataset, scenarios=tuple(scenario for scenario in dataset if scenario.id in users))

    def _upper_bounds(self, remarks: Remarks) -> Iterator[UpperBoundResult]:
        for user, scenario in enumerate(self.dataset if self._bounds is not None else ()):
            if self._bounds and (result := self._bounds.of(scenario, user, self._model, remarks)):
                yield result

    def _bound_remarks(self, dataset: Dataset) -> list[str]:
        """What is odd about the upper bound. Raises DataError where nothing of it can be used, since it was asked
        for by name."""
        if self._bounds is None:
            return []
        remarks = Remarks()
        for user in self._bounds.strangers(dataset):
            remarks.add(f"{self._bounds.path.name}, user {user}", f"no user of data '{dataset.name}'; left out")
        if not any([result.answers for result in self._upper_bounds(remarks)]):
            first = next(iter(remarks.sentences()), "it is empty")
            raise DataError(f"nothing of the upper bound {self._bounds.path} can be used: {first}")
        return remarks.sentences()

    def _make_manifest(self, dataset: Dataset) -> dict[str, Any]:
        """As `make_manifest` does for a run; what nobody recorded is null there."""
        agents = list(dict.fromkeys(folder.agent for folder in self._folders))
        digests = [[agent, user, dict(names)] for (agent, user), names in sorted(self._digests.items())]
        compared: dict[str, Any] = {
            "amemgym": __version__,
            "protocol": asdict(IMPORTED),
            "data": {
                "sha256": self.dataset.sha256,
                "users": len(self.dataset),
                "periods": max(len(scenario.periods) for scenario in self.dataset),
            },
            "agents": [{"name": agent, "imported": True} for agent in agents],
            "model": {"model": self._model},
            "user_model": {"model": UNNAMED},
            "embedder": None,
            "seed": 0,
            "trials": 1,
            "upper_bound": self._bounds is not None,
            "probe": self._probed,
            "off_policy": None,
            "language": None,
            "prompts": {},
            "imported": {
                "files": sum(len(names) for names in self._digests.values()),
                "sha256": files.sha256(files.canonical_json(digests).encode("utf-8", "surrogatepass")),
                "upper_bound": self._bounds.sha256 if self._bounds else None,
            },
        }
        bound = self._model if self._bounds else None
        return {
            "format": FORMAT,
            "fingerprint": files.sha256(files.canonical_json(compared).encode("utf-8", "surrogatepass")),
            "data": {"name": dataset.name, **describe_data(self.dataset)},
            "compared": compared,
            "upper_bound": {"run": bound, "agents": {agent: bound for agent in agents}},
            "settings": {
                "import": str(self._root.absolute()),
                "data": dataset.name if dataset.path is None else str(dataset.path),
                "upper_bound_file": str(self._bounds.path.absolute()) if self._bounds else None,
                "model": self._model,
            },
            "remarks": self.remarks,
        }


def import_directory(manifest: Mapping[str, Any]) -> Path:
    """runs/<data>-imported-<fingerprint>."""
    readable = files.slug(f"{manifest['data']['name']} imported").rpartition("-")[0]
    return Path("runs") / f"{readable}-{manifest['fingerprint'][:8]}"
