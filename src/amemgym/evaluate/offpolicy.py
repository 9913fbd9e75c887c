"""Off-policy: the conversations that an agent of another run had, to be given to this run's agents.

The data is that run's too: it is read from its directory, so that nothing has to be found again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.errors import UsageError
from amemgym.evaluate.results import Conversation
from amemgym.evaluate.rundir import RunDirectory
from amemgym.scenario import Dataset


@dataclass(frozen=True)
class Recorded:
    """One agent's conversations in a finished run: (user id, trial) → conversation. `agent` had them; `taken_from` is
    the run's agent in whose episodes they are, another one where that run was off-policy itself."""

    agent: str
    fingerprint: str
    conversations: dict[tuple[str, int], Conversation]
    taken_from: str

    def of(self, user_id: str, trial: int) -> Conversation:
        """The conversation for that trial; the recorded ones come in turn where there are fewer of them."""
        trials = sorted(t for user, t in self.conversations if user == user_id)
        return self.conversations[user_id, trials[trial % len(trials)]]

    def described(self) -> dict[str, Any]:
        """What tells these conversations from others, for the manifest."""
        said = [[user, trial, talk] for (user, trial), talk in sorted(self.conversations.items())]
        digest = files.sha256(files.canonical_json(said).encode("utf-8", "surrogatepass"))
        return {"agent": self.agent, "run": self.fingerprint, "conversations": digest}


def recorded_data(place: Path, wanted: Dataset | None) -> Dataset:
    """The data of a recorded run. Raises RunDirectoryError, or UsageError where other data is wanted."""
    found = RunDirectory(place).dataset()
    if wanted is not None and wanted.sha256 != found.sha256:
        raise UsageError(
            f"--data {wanted.name} (sha256 {wanted.sha256}) is not what {place} was recorded on:"
            f" {found.name} (sha256 {found.sha256}); leave --data out, or give another --off-policy"
        )
    return found


def read_recorded(place: Path, agent: str | None, dataset: Dataset) -> Recorded:
    """The conversations over the users and periods of `dataset`. Raises RunDirectoryError or UsageError, which names
    the first user whose conversation is missing."""
    directory = RunDirectory(place)
    manifest = directory.manifest()
    names = [a["name"] for a in manifest["compared"]["agents"] if not a.get("reference")]
    if agent is not None and agent not in names:
        raise UsageError(f"--off-policy-agent {agent}: {place} has conversations of {', '.join(names) or 'no agent'}")
    for name in [agent] if agent else names:
        periods = {scenario.id: len(scenario.periods) for scenario in dataset}
        talks = {
            (episode.user_id, episode.trial): episode.conversation[: periods[episode.user_id]]
            for episode in directory.episodes_of(name)
            if episode.user_id in periods and len(episode.conversation) >= periods[episode.user_id]
        }
        if talks or agent:
            missing = [user for user in periods if not any(user == known for known, _ in talks)]
            if missing:
                more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
                way = f"finish it with: amemgym resume {place}, or take fewer --users"
                if manifest["compared"].get("shard"):
                    way = "it is a shard; bring all together with amemgym merge first, or name its users with --only"
                if manifest["compared"].get("imported"):
                    way = "import results that have its interactions, or take fewer --users or --periods"
                raise UsageError(
                    f"--off-policy {place}: '{name}' has no whole conversation with user {missing[0]}{more}; {way}"
                )
            speaker = (manifest["compared"].get("off_policy") or {"agent": name})["agent"]
            return Recorded(speaker, manifest["fingerprint"], talks, taken_from=name)
    raise UsageError(f"--off-policy {place}: it holds no finished conversation of an agent")
