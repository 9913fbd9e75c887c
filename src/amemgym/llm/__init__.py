"""Models: the one door every call goes through, the journal that keeps each reply, and the providers behind it."""

from amemgym.llm.box import box_settings, reach
from amemgym.llm.budget import Budget
from amemgym.llm.door import Answer, Door, Line, Model, Watcher
from amemgym.llm.doors import Doors
from amemgym.llm.embed import Embedder, embedder, embedder_identity
from amemgym.llm.endpoint import Endpoint, FindStandIn, Lender
from amemgym.llm.gateway import Gateway
from amemgym.llm.journal import Journal
from amemgym.llm.ledger import EVOLVE, MEMORY, MEMORY_READ, MEMORY_WRITE, TICKS, RoleCount
from amemgym.llm.lent import Refused
from amemgym.llm.limits import LIMIT_SETTINGS, Limits
from amemgym.llm.models import (
    AGENT_KEY,
    BOXES,
    KEY,
    USER_KEY,
    USER_URL,
    ModelSettings,
    asks_endpoint,
    check_choice,
    check_model_name,
    describe_model,
    door_name,
    know_keys,
    located,
    model_names,
    model_title,
    open_model,
    same_address,
)
from amemgym.llm.place import at, here, probe_name, question_name, round_name
from amemgym.llm.provider import Completion, Provider, Request, Usage, estimate_tokens
from amemgym.llm.stopwatch import Stopwatch
from amemgym.llm.v1config import LLMConfig, read_llm_config

__all__ = [
    "AGENT_KEY",
    "BOXES",
    "EVOLVE",
    "KEY",
    "LIMIT_SETTINGS",
    "MEMORY",
    "MEMORY_READ",
    "MEMORY_WRITE",
    "TICKS",
    "USER_KEY",
    "USER_URL",
    "Answer",
    "Budget",
    "Completion",
    "Door",
    "Doors",
    "Embedder",
    "Endpoint",
    "FindStandIn",
    "Gateway",
    "Journal",
    "LLMConfig",
    "Lender",
    "Limits",
    "Line",
    "Model",
    "ModelSettings",
    "Provider",
    "Refused",
    "Request",
    "RoleCount",
    "Stopwatch",
    "Usage",
    "Watcher",
    "asks_endpoint",
    "at",
    "box_settings",
    "check_choice",
    "check_model_name",
    "describe_model",
    "door_name",
    "embedder",
    "embedder_identity",
    "estimate_tokens",
    "here",
    "know_keys",
    "located",
    "model_names",
    "model_title",
    "open_model",
    "probe_name",
    "question_name",
    "reach",
    "read_llm_config",
    "round_name",
    "same_address",
]
