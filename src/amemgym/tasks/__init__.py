"""Tasks: every request to a language model, and the one parser of what comes back."""

from amemgym.tasks.base import Context, Task, digest
from amemgym.tasks.choice import Choice, parse_choice
from amemgym.tasks.conversation import FollowUp, Reply
from amemgym.tasks.exam import ChooseKnowing, ChooseOption, Labels, ProbeStates
from amemgym.tasks.judging import RecoverVariant, RevealedStates
from amemgym.tasks.memorising import ExtractFacts, Operation, ReconcileFacts, UpdateRecord
from amemgym.tasks.parse import Parsed, Status, parse_values
from amemgym.tasks.prompts import Prompts, languages, prompts_for

__all__ = [
    "Choice",
    "ChooseKnowing",
    "ChooseOption",
    "Context",
    "ExtractFacts",
    "FollowUp",
    "Labels",
    "Operation",
    "Parsed",
    "ProbeStates",
    "Prompts",
    "ReconcileFacts",
    "RecoverVariant",
    "Reply",
    "RevealedStates",
    "Status",
    "Task",
    "UpdateRecord",
    "digest",
    "languages",
    "parse_choice",
    "parse_values",
    "prompts_for",
]
