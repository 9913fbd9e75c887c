"""Tasks: every request to a language model, and the one parser of what comes back."""

from amemgym.tasks.base import Context, Task, digest
from amemgym.tasks.box import Act, Ask, Listen, Turn
from amemgym.tasks.chat import Chat, StandIn, ToolCall
from amemgym.tasks.choice import Choice, parse_choice
from amemgym.tasks.conversation import FollowUp, Reply
from amemgym.tasks.evolving import (
    MARKS,
    AnsweredQuestion,
    AskedQuestion,
    CompleteFeedback,
    Feedback,
    FeedbackKind,
    QuestionFeedback,
    RevisePolicy,
)
from amemgym.tasks.exam import ChooseKnowing, ChooseOption, Labels, ProbeStates
from amemgym.tasks.judging import RecoverVariant, RevealedStates
from amemgym.tasks.making import (
    ChooseState,
    ChooseUpdates,
    DraftQuestion,
    ExplainUpdates,
    LifeEvent,
    MakeQuestions,
    Merged,
    MergeSchema,
    Merging,
    Updates,
)
from amemgym.tasks.memorising import ExtractFacts, Operation, ReconcileFacts, UpdateRecord
from amemgym.tasks.notes import DescribeNote, Description, Evolution, EvolveNotes, Note, NoteUpdate
from amemgym.tasks.parse import Parsed, Status, alike, parse_text, parse_values
from amemgym.tasks.prompts import Prompts, languages, prompts_for
from amemgym.tasks.stage import StageTask
from amemgym.tasks.wording import (
    How,
    Level,
    ListTopics,
    Telling,
    WriteAboutOther,
    WriteAnswers,
    WriteDistractor,
    WriteUtterance,
)

__all__ = [
    "MARKS",
    "Act",
    "AnsweredQuestion",
    "Ask",
    "AskedQuestion",
    "Chat",
    "Choice",
    "ChooseKnowing",
    "ChooseOption",
    "ChooseState",
    "ChooseUpdates",
    "CompleteFeedback",
    "Context",
    "DescribeNote",
    "Description",
    "DraftQuestion",
    "Evolution",
    "EvolveNotes",
    "ExplainUpdates",
    "ExtractFacts",
    "Feedback",
    "FeedbackKind",
    "FollowUp",
    "How",
    "Labels",
    "Level",
    "LifeEvent",
    "ListTopics",
    "Listen",
    "MakeQuestions",
    "MergeSchema",
    "Merged",
    "Merging",
    "Note",
    "NoteUpdate",
    "Operation",
    "Parsed",
    "ProbeStates",
    "Prompts",
    "QuestionFeedback",
    "ReconcileFacts",
    "RecoverVariant",
    "Reply",
    "RevealedStates",
    "RevisePolicy",
    "StageTask",
    "StandIn",
    "Status",
    "Task",
    "Telling",
    "ToolCall",
    "Turn",
    "UpdateRecord",
    "Updates",
    "WriteAboutOther",
    "WriteAnswers",
    "WriteDistractor",
    "WriteUtterance",
    "alike",
    "digest",
    "languages",
    "parse_choice",
    "parse_text",
    "parse_values",
    "prompts_for",
]
