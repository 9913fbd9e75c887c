"""What goes between who schedules and who plays in other processes: orders, keys and replies, all plain data.

Keys travel apart from everything else and are shown by nothing, so that they are in memory alone. An error travels as
its class's name and its sentence, with keys struck out.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import SecretStr

from amemgym import errors, secrets
from amemgym.agents import AgentSpec
from amemgym.errors import AMemGymError, UsageError
from amemgym.evaluate.jobs import Ended
from amemgym.evaluate.manifest import resumable_agent
from amemgym.evaluate.watch import RunWatcher
from amemgym.evaluate.worker import Setup
from amemgym.llm import ModelSettings, know_keys, located
from amemgym.memory import fingerprint, import_memory

#: variables of the environment that models and memories read begin so
OWN_VARIABLES = ("OPENAI_", "AMEMGYM_")
#: and so end the keys of memory systems from elsewhere
KEY_VARIABLES = ("_API_KEY", "_API_TOKEN")
#: the simulated user's model and the run's, where agents have names; none is like these
USER, RUN = " user", " run"
#: a note of what was spent of the budget
SPENT = "spent"

#: what a watcher was told: the method's name and what it was called with
Note = tuple[str, tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Keys:
    """What must be written nowhere: variables of the environment, and keys from configuration files by agent."""

    variables: Mapping[str, str] = field(repr=False)
    of_models: Mapping[str, SecretStr] = field(repr=False)


@dataclass(frozen=True)
class Order:
    """How to play, without keys, and where: the run directory's place and the hash of its manifest.

    `imported` are the memory classes that are imported where they are used: agent → (reference, fingerprint).
    """

    setup: Setup
    directory: str
    manifest: str
    version: str
    run_name: str
    imported: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """How a job ended, or what ends the run."""

    notes: Sequence[Note]
    ended: Ended | None = None
    stopped: tuple[str, str] | None = None


def split_keys(setup: Setup) -> tuple[Setup, Keys]:
    """The setup without keys, with files by whole paths, and the keys."""
    keys = {a.name: a.model.api_key for a in setup.agents if a.model is not None and a.model.api_key is not None}
    for name, model in ((USER, setup.user_model), (RUN, setup.model)):
        if model.api_key is not None:
            keys[name] = model.api_key
    declared = {name for a in setup.agents if a.memory for name in a.memory_type().environment}
    variables = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(OWN_VARIABLES) or name.endswith(KEY_VARIABLES) or name in declared
    }
    bare = replace(
        setup,
        spec=setup.spec.model_copy(update={"prices": None}),  # they are read already
        agents=[replace(agent, model=agent.model and _bare(agent.model)) for agent in setup.agents],
        model=_bare(setup.model),
        user_model=_bare(setup.user_model),
    )
    return bare, Keys(variables, keys)


def _bare(model: ModelSettings) -> ModelSettings:
    return replace(model, model=located(model.model), api_key=None)


def with_keys(setup: Setup, keys: Keys) -> Setup:
    """The setup with its keys, which this process knows from now on, as it does those in the environment."""
    os.environ.update(keys.variables)
    know_keys()
    for key in keys.of_models.values():
        secrets.remember(key.get_secret_value())

    def held(model: ModelSettings, name: str) -> ModelSettings:
        return replace(model, api_key=keys.of_models[name]) if name in keys.of_models else model

    agents = [replace(agent, model=agent.model and held(agent.model, agent.name)) for agent in setup.agents]
    return replace(setup, agents=agents, model=held(setup.model, RUN), user_model=held(setup.user_model, USER))


def by_reference(agents: Sequence[AgentSpec]) -> tuple[list[AgentSpec], dict[str, tuple[str, str]]]:
    """The agents, those whose memory was named as `file.py:Class` without the class, and where to import it."""
    imported = {
        agent.name: (resumable_agent(agent.memory), fingerprint(agent.memory_class))
        for agent in agents
        if agent.memory_class is not None and ":" in agent.memory
    }
    return [replace(a, memory_class=None) if a.name in imported else a for a in agents], imported


def with_classes(agents: Sequence[AgentSpec], imported: Mapping[str, tuple[str, str]]) -> list[AgentSpec]:
    """The agents with the classes that are imported here. Raises UsageError where that cannot be, or is other code."""
    found = []
    for agent in agents:
        if agent.name in imported:
            reference, known = imported[agent.name]
            cls = import_memory(reference)
            if fingerprint(cls) != known:
                raise UsageError(f"memory '{reference}' is other code here than where the run was started")
            agent = replace(agent, memory_class=cls)
        found.append(agent)
    return found


def told(error: Exception) -> tuple[str, str]:
    """An error to be sent on."""
    return type(error).__name__, secrets.redact(str(error))


def as_error(said: tuple[str, str]) -> AMemGymError:
    """The error that was sent, of the same class, if it is one of ours."""
    kind = getattr(errors, said[0], AMemGymError)
    kind = kind if isinstance(kind, type) and issubclass(kind, AMemGymError) else AMemGymError
    error: AMemGymError = kind.__new__(kind, said[1])  # some make their sentence from other things
    return error


class Notes(RunWatcher):
    """Keeps what a watcher is told until it is taken; `there` is set while there is something."""

    def __init__(self) -> None:
        self._kept: list[Note] = []
        self.there = asyncio.Event()

    def take(self) -> list[Note]:
        kept, self._kept = self._kept, []
        self.there.clear()
        return kept

    def keep(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._kept.append((name, arguments, named))
        self.there.set()


def _keeping(name: str) -> Any:
    def method(self: Notes, *arguments: Any, **named: Any) -> None:
        self.keep(name, arguments, named)

    return method


for _name in [name for name in dir(RunWatcher) if not name.startswith("_")]:
    setattr(Notes, _name, _keeping(_name))
