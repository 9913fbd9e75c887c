"""What an agent may be told to remember, or to search by: one part of a prompt, in words of somebody's own.

The rest of the prompt (what goes in, and the form of the reply) stays as its template has it, so a policy may hold no
placeholder and no form of a reply. That of a search is a form of the query, which it holds as `$query`, once.
"""

from __future__ import annotations

import re
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from amemgym.agents.spec import ROOMS, AgentSpec, Purpose
from amemgym.errors import UsageError
from amemgym.memory import QUERY
from amemgym.messages import whole
from amemgym.tasks import MARKS

#: characters of a policy
LONGEST_POLICY = 4000
_PLACEHOLDER = re.compile(r"\$(?:\{\s*)?([A-Za-z_][A-Za-z0-9_]*)")
#: control characters and half characters; spaces of every kind are none
_UNSHOWN = ("Cc", "Cs")
#: a JSON object, or a fence of code: the form of a reply, which is no matter of what to remember
_FORM = re.compile(r"\{\s*\"|\"\s*:\s*[\[{\"]|```")


def fault_of(policy: str, purpose: Purpose, longest: int = LONGEST_POLICY) -> str | None:
    """Why a text cannot be a policy, as a phrase; None where it can."""
    if not policy.strip():
        return "it is empty"
    if len(policy) > longest:
        return f"it has {len(policy):,} characters, and at most {longest:,} are allowed"
    if any(unicodedata.category(character) in _UNSHOWN and character not in "\n\t" for character in policy):
        return "it holds characters that cannot be shown"
    if mark := next((mark for mark in MARKS if mark in policy), None):
        return f"it holds {mark}, which marks where it begins and ends"
    names = [" ".join(match[0].split())[:60] for match in _PLACEHOLDER.finditer(policy)]
    if purpose == "query":
        if names.count(QUERY) != 1:
            return f"it should hold {QUERY} once, for the question that is searched for"
        names.remove(QUERY)
    if names:
        return f"it holds the placeholder {names[0]}, and what is filled in is not its part of the prompt"
    if _FORM.search(policy):
        return "it holds a form of the reply (JSON or code), and that is not its part of the prompt"
    return None


def told(agents: Sequence[AgentSpec], policy: str | Path | None, room: int | None) -> list[AgentSpec]:
    """The agents, told what the file says and given room. Raises UsageError where it cannot be read, or is for none."""
    agents = list(agents)
    if room is not None:
        if not any(agent.memory in ROOMS for agent in agents):
            raise UsageError(f"--room {room}: none of the agents keeps a record or a store of facts (awi, awe)")
        agents = [replace(agent, room=room) if agent.memory in ROOMS else agent for agent in agents]
    if policy is None:
        return agents
    text = read_policy(policy)
    if not any(agent.purpose for agent in agents):
        raise UsageError(f"--policy {policy}: none of the agents can be told what to remember (awi, awe, rag)")
    for agent in agents:
        if agent.purpose and (fault := fault_of(text, agent.purpose)):
            raise UsageError(f"--policy {policy}, agent '{agent.name}': {fault}")
    return [replace(agent, policies=(text,)) if agent.purpose else agent for agent in agents]


def read_policy(path: str | Path) -> str:
    """The text of a policy file. Raises UsageError."""
    try:
        with open(path, "rb") as file:  # no more of an endless one than shows that it is too long
            read = file.read(8 * LONGEST_POLICY)
        text = getincrementaldecoder("utf-8-sig")().decode(read, final=len(read) < 8 * LONGEST_POLICY)
    except OSError as error:
        raise UsageError(f"cannot read the policy {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"the policy {path} is not UTF-8 text (byte {error.start})") from None
    return whole(text.strip())
