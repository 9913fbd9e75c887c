"""Whether agents can play together, before anything is played: names, memories, and whose key goes where."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import urlsplit

from amemgym.agents.spec import AgentSpec
from amemgym.errors import AMemGymError, UsageError, raised
from amemgym.llm import AGENT_KEY
from amemgym.secrets import redact


def checked(agents: list[AgentSpec]) -> list[AgentSpec]:
    """Raises UsageError where an agent cannot play here, or two have one name."""
    names = [agent.name for agent in agents]
    if any(redact(name) != name for name in names):
        # names are keys of what is written, and part of file names
        raise UsageError("an agent's name holds an API key, and would be written to the run's files; rename the agent")
    for agent in agents:
        if not (agent.is_reference or agent.is_box):
            _check_memory(agent)
    _check_key(agents)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two agents are called {', '.join(twice)}; give one of them another name")
    return agents


def _check_key(agents: Sequence[AgentSpec]) -> None:
    """Raises UsageError where one key would be sent to two servers, as it is meant for one of them."""
    places = sorted({"//".join(urlsplit(a.model.base_url or "")[:2]) for a in agents if a.is_box and a.model})
    if len(places) > 1 and os.environ.get(AGENT_KEY, "").strip():
        raise UsageError(
            f"{AGENT_KEY} would be sent to {' and '.join(place.replace('//', '://') for place in places)}; examine them"
            " in runs of their own, each with its key, or unset it"
        )


def _check_memory(agent: AgentSpec) -> None:
    """Raises UsageError where an agent's memory cannot even be made, before anything is played."""
    try:
        kind = agent.memory_type()
        kind.check()
        kind()
    except AMemGymError:
        raise
    except Exception as error:
        raise UsageError(
            f"agent '{agent.name}': its memory cannot be made without arguments: {redact(raised(error))}"
        ) from error
