"""One agent of one of our runs as a group of an archive: its items, what the summary says, what it was run with.

The exams are the items, one after another through trials, users, periods and questions. An item's number is its place
in the data, not among what happens to be finished, so all agents of one data set share it, and so do runs of other
seeds. Episodes are read one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from amemgym.errors import RunDirectoryError, UsageError
from amemgym.evaluate import EpisodeResult, RunDirectory, UpperBoundResult
from amemgym.evaluate.playeddata import are_played
from amemgym.memorybench.entry import Cell
from amemgym.memorybench.exporting.named import cell_of, manifest_name, run_id_of
from amemgym.scenario import Scenario
from amemgym.scores import Gathering, Results, summary_of
from amemgym.scores.bounds import Bounds, bounds_by_agent

LEARNED = (
    "the agent learned from the feedback on these users' exams (the training part of an evolution); what that is worth,"
    " held-out users say"
)


class PlayedRun:
    """A run directory, looked through and ready to be written to an archive.

    Args:
        path: the directory.
        set_name: what its data is called in the archive, if not by its own name.
        partial: whether what is finished will do, where not all is.

    Raises RunDirectoryError where it holds no run, where nothing of it is finished, or where not all of it is and no
    part is wanted; UsageError where its data has no name.
    """

    def __init__(self, path: str | Path, set_name: str | None = None, partial: bool = False) -> None:
        self.directory = RunDirectory(path)
        self.manifest = self.directory.manifest()
        self.compared: Mapping[str, Any] = self.manifest["compared"]
        self.set_name = manifest_name(self.manifest["data"]["name"] if set_name is None else set_name)
        self.run_id = run_id_of(self.manifest["fingerprint"])
        if not self.set_name.strip():
            raise UsageError(f"the data of {path} has no name; give the set one with --set-name")
        self._check(partial)

    @property
    def played(self) -> str:
        """The hash of the users and periods that are played."""
        return str(self.manifest["data"]["played"])

    def plays(self, played: str) -> bool:
        """Whether that is the hash of the same users and periods."""
        return played == self.played or are_played(played, self.directory.scenarios())

    def agents(self) -> list[Mapping[str, Any]]:
        """Those with a finished episode, as the manifest describes them."""
        return [agent for agent in self.compared["agents"] if any(self._finished(agent["name"]))]

    def cell(self, agent: Mapping[str, Any]) -> Cell:
        exp = "imported" if self.is_imported else "off-policy" if self.compared.get("off_policy") else "on-policy"
        return cell_of(exp, "single", self.set_name, agent, self.compared)

    @property
    def is_imported(self) -> bool:
        """Whether somebody else's program ran it: how that asked, and by which policy it talked, is not recorded."""
        return "imported" in self.compared

    def notes(self, agent: Mapping[str, Any]) -> list[str]:
        """What an agent's results have to be read with, beside the warnings of its scores."""
        return [LEARNED] if self.directory.was_coached(agent["name"]) else []

    def episodes(self, agent: str) -> Iterator[tuple[EpisodeResult, Scenario, int]]:
        """Every finished episode, whole, in the order of trials and users, with its user and its first item's
        number."""
        place = 0
        for trial in range(self.compared["trials"]):
            for scenario in self.directory.dataset():
                if episode := self.directory.episode(agent, scenario.id, trial):
                    yield episode, scenario, place
                place += len(scenario.periods) * len(scenario.qas)

    @cached_property
    def bounds(self) -> Mapping[str, Bounds]:
        """Each agent's upper bounds."""
        return bounds_by_agent(self.manifest, self._upper_bounds)

    @cached_property
    def _upper_bounds(self) -> list[UpperBoundResult]:
        return self.directory.upper_bounds()

    def gathering(self, agent: Mapping[str, Any]) -> Gathering:
        """What this agent's scores are gathered in, upper bounds included."""
        found = Gathering(self._alone(agent))
        for upper_bound in self._upper_bounds:
            found.upper_bound(upper_bound)
        return found

    def scores(self, agent: Mapping[str, Any], results: Results) -> dict[str, Any]:
        """scores.json as it would be of this agent alone, whose results these are."""
        return summary_of(self._alone(agent), results)

    def _alone(self, agent: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest as it would be of a run of this agent alone."""
        wanted = self.manifest["upper_bound"]
        bound = wanted["agents"].get(agent["name"]) or wanted["run"]
        return {
            **self.manifest,
            "compared": {**self.compared, "agents": [agent]},
            "upper_bound": {"run": bound, "agents": {agent["name"]: bound}},
        }

    def _check(self, partial: bool) -> None:
        missing = [] if self.is_imported else list(self._unfinished())
        if not self.agents():
            raise RunDirectoryError(f"{self.directory.path} holds no finished episode yet; {self._way_on()}")
        if missing and not partial:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise RunDirectoryError(
                f"{self.directory.path} is not finished, it lacks {missing[0]}{more}; {self._way_on()}, or export what"
                " is there with --partial"
            )

    def _way_on(self) -> str:
        return "import it again" if self.is_imported else f"continue it with: amemgym resume {self.directory.path}"

    def _finished(self, agent: str) -> Iterator[str]:
        for scenario in self.directory.dataset():
            for trial in range(self.compared["trials"]):
                if self.directory.has_episode(agent, scenario.id, trial):
                    yield scenario.id

    def _unfinished(self) -> Iterator[str]:
        """What the run wants and has no file of."""
        wanted = self.manifest["upper_bound"]
        for scenario in self.directory.dataset():
            for agent in self.compared["agents"]:
                for trial in range(self.compared["trials"]):
                    if not self.directory.has_episode(agent["name"], scenario.id, trial):
                        yield f"the episode of agent '{agent['name']}', user '{scenario.id}', trial {trial}"
            for model in dict.fromkeys([wanted["run"], *wanted["agents"].values()]):
                if model and not self.directory.has_upper_bound(model, scenario.id):
                    yield f"the upper bound of {model}, user '{scenario.id}'"
