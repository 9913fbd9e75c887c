"""Agent configurations of the original benchmark (JSON, SPEC section 5), read into an `AgentSpec`.

What they say that has no counterpart here (a vector store's folder, an embedder of another library) is left out, and
said. A key that stands in the file is used and never written anywhere.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from amemgym.agents.spec import ASSISTANTS, AgentSpec, parse_agent
from amemgym.errors import UsageError
from amemgym.llm import LLMConfig, ModelSettings

LONGEST_NAME = 60
TYPES = {"native": "native", "rag": "rag", "awe": "awe", "awi": "awi", "awi-hack": "awi-schema"}
#: agents that evolve → what they are before they have learned
EVOLVING = {"awi-evolve": "awi", "awe-evolve": "awe"}


class AgentConfig(BaseModel):
    """`agent_config` of a v1 file: update_bsz is freq, local_length n_s, top_k topk."""

    model_config = ConfigDict(extra="allow")
    update_bsz: int = 2
    local_length: int = 4
    top_k: int = 30
    enable_llm_mem_policy: bool | None = None


class V1AgentFile(BaseModel):
    """One v1 agent configuration."""

    model_config = ConfigDict(extra="allow")
    type: str
    name: str | None = None
    llm_config: LLMConfig | None = None
    agent_config: AgentConfig | None = None
    memory_config: dict[str, Any] | None = None
    evolution_config: dict[str, Any] | None = None


def read_agent_file(
    path: Path, run: ModelSettings, context_tokens: int, say: Callable[[str], None], evolving: bool = False
) -> AgentSpec:
    """The agent that a v1 file describes. Raises UsageError, also where its type evolves and it is not to."""
    config = _parse(path)
    if config.type in EVOLVING and not evolving:
        raise UsageError(
            f"{path}: agent type '{config.type}' learns from its exams; let it with:"
            f" amemgym evolve --agent {shlex.quote(str(path))}"
        )
    types = TYPES | EVOLVING
    if config.type not in types:
        raise UsageError(f"{path}: agent type '{config.type}' is not known; known: {', '.join(types)}")
    spec = parse_agent(types[config.type], context_tokens)
    knobs, llm = config.agent_config or AgentConfig(), config.llm_config or LLMConfig()
    if config.type != "native":
        if knobs.update_bsz < 1 or knobs.local_length < 0 or knobs.top_k < 1:
            raise UsageError(f"{path}: update_bsz and top_k must be at least 1 and local_length at least 0")
        spec = replace(
            spec, habits=replace(spec.habits, freq=knobs.update_bsz, n_s=knobs.local_length, topk=knobs.top_k)
        )
    if config.type == "awe" and knobs.enable_llm_mem_policy is False:
        # the original runs both by one class and this switch
        spec = replace(spec, memory=ASSISTANTS["rag"][0])
    if config.memory_config:
        say(f"{path}: memory_config is not used; memories embed with this run's embedder")
    if config.evolution_config:
        way = "how it evolves is said to amemgym evolve" if evolving else "the agent does not evolve in a run"
        say(f"{path}: evolution_config is not used; {way}")
    unknown = {name for part in (config, knobs, llm) for name in part.model_extra or {}} - {"source"}
    if unknown:
        say(f"{path}: not used: {', '.join(sorted(unknown))}")
    if not llm.llm_model and llm.model_fields_set - {"llm_model"}:
        say(f"{path}: llm_config names no llm_model, so the run's model is used")
    name = config.name or path.stem
    if not name.isprintable() or len(name) > LONGEST_NAME or name in ("upper bound", "random"):
        raise UsageError(f"{path}: 'name' should be at most {LONGEST_NAME} printable characters")
    return replace(spec, name=name, model=llm.settings(run))


def _parse(path: Path) -> V1AgentFile:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read agent configuration {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"agent configuration {path} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise UsageError(f"agent configuration {path} should hold one JSON object with 'type' and 'name'")
    try:
        return V1AgentFile.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"agent configuration {path}: '{place}': {first['msg']}") from None
