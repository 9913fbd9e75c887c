"""The journals of a run: where they are, which are at rest, and how another run gets what they hold."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from amemgym import files
from amemgym.errors import StorageError
from amemgym.llm import Journal, atrest


class Journals:
    """The journals below a run's directory. Raises StorageError where the disk refuses."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def journal(self, agent: str, user_id: str, trial: int) -> Journal:
        return Journal(self._episode_journal(agent, user_id, trial))

    def upper_bound_journal(self, model: str, user_id: str) -> Journal:
        return Journal(self._bound_journal(model, user_id))

    def coaching_journal(self, agent: str) -> Journal:
        return Journal(self._coaching(agent))

    def rest_journal(self, agent: str, user_id: str, trial: int) -> None:
        """Compress the journal of a finished episode, where that is not done. One that the disk has no room for stays
        as it is, and is as good."""
        self._rest(self._episode_journal(agent, user_id, trial))

    def rest_upper_bound_journal(self, model: str, user_id: str) -> None:
        """The same of a finished upper bound."""
        self._rest(self._bound_journal(model, user_id))

    def rest_coaching_journal(self, agent: str) -> None:
        """The same of a coaching whose episodes are finished."""
        self._rest(self._coaching(agent))

    def _rest(self, journal: Path) -> None:
        with suppress(StorageError):
            atrest.put_to_rest(journal)

    def _episode_journal(self, agent: str, user_id: str, trial: int) -> Path:
        return self.path / "journal" / files.slug(agent) / f"{files.slug(user_id)}-t{trial}.jsonl"

    def _bound_journal(self, model: str, user_id: str) -> Path:
        return self.path / "journal" / "upper-bound" / files.slug(model) / f"{files.slug(user_id)}.jsonl"

    def was_coached(self, agent: str) -> bool:
        """Whether what the agent is told to remember was revised between the periods of this run."""
        return atrest.is_kept(self._coaching(agent))

    def _coaching(self, agent: str) -> Path:
        return self.path / "journal" / "coaching" / f"{files.slug(agent)}.jsonl"

    def take_journals(self, other: Path, agents: Iterable[str]) -> None:
        """Copy another run's journals of these agents and of upper bounds, each whole, but for those begun here.

        A call is taken from a journal by its place and request, so what is copied answers the same calls alone. Raises
        StorageError.
        """
        for folder in ("upper-bound", *map(files.slug, agents)):
            for source in atrest.journals_in(other / "journal" / folder):
                own = self.path / source.relative_to(other)
                if not atrest.is_kept(own):
                    atrest.copy(source, own)
