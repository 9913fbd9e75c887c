"""MemoryBench's data points: a prompt, the dialog a simulated user had over it, and the feedback they gave.

A point has what an agent may see. The golden answer and whatever else serves the evaluation (`info`) is never read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from amemgym.memorybench.dialogs.embedded import read_embedded
from amemgym.memorybench.items import ItemKey, key_of
from amemgym.memorybench.values import count, number
from amemgym.messages import Message, Role, whole
from amemgym.tasks import Turn

ROLES = ("system", "user", "assistant")
#: columns of a corpus set: one dialog a memory system, as each had its own
DIALOG_OF, FEEDBACK_OF = "dialog_", "implicit_feedback_"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Feedback:
    """What the user did after a round, without words: `actions` such as like, dislike or copy (none at all is normal).

    `round` counts as the file does; `satisfaction` is a score of the older records, None where there is none;
    `terminated` says that the user ended the dialog there.
    """

    round: int | None
    actions: tuple[str, ...]
    satisfaction: float | None = None
    terminated: bool = False


@dataclass(frozen=True)
class DataPoint:
    """One data point. `lang` is en or zh ("" where it is not said); a test point has no dialog."""

    dataset: str
    test_idx: int | str
    lang: str
    prompt: tuple[Message, ...]
    dialog: tuple[Turn, ...] = ()
    feedback: tuple[Feedback, ...] = ()

    @property
    def key(self) -> ItemKey:
        return ItemKey(self.dataset, self.test_idx)

    @property
    def actions(self) -> frozenset[str]:
        """Every action in its feedback."""
        return frozenset(action for one in self.feedback for action in one.actions)


def read_point(record: Mapping[str, Any], dataset: str, method: str | None, say: Say) -> DataPoint:
    """The point in a record; `dataset` is its set where the record names none, `method` whose dialog is taken where
    there are several. What is wrong with a part that can be left out is said.

    Raises ValueError, a phrase for people, where it is no point.
    """
    key = _key(record, dataset)
    messages = _messages(record.get("input_chat_messages"), "input_chat_messages")
    dialog, column = _column(record, "dialog", DIALOG_OF, method)
    said = _list(dialog, column, "messages")
    turns = _turns(said, column)
    # both may be columns of a set, and one of them empty
    if isinstance(text := record.get("input_prompt"), str) and text.strip():
        messages = (Message("user", whole(text)),)
    elif not messages and turns:  # a file of dialogs alone
        first = next(message.content for message in turns[0] if message.role == "user")
        messages = (Message("user", _original(said) or first),)
    if not messages or messages[-1].role != "user":
        raise ValueError("it has no prompt: neither 'input_prompt' nor 'input_chat_messages' that end with the user's")
    return DataPoint(
        key.dataset,
        key.test_idx,
        lang.strip().lower() if isinstance(lang := record.get("lang"), str) else "",
        messages,
        turns,
        _feedbacks(*_column(record, "implicit_feedback", FEEDBACK_OF, method), say),
    )


def methods_of(record: Mapping[str, Any]) -> list[str]:
    """The memory systems that have a dialog of their own in a record."""
    return [name.removeprefix(DIALOG_OF) for name, value in record.items() if name.startswith(DIALOG_OF) and value]


def _key(record: Mapping[str, Any], otherwise: str) -> ItemKey:
    """What the point is known by, as an item of an archive is. Raises ValueError."""
    names = (value for name in ("dataset_name", "dataset") if isinstance(value := record.get(name), str))
    dataset = next((name.strip() for name in names if name.strip()), otherwise)
    if not dataset:
        raise ValueError("it has no 'dataset_name'")
    key = key_of({"dataset": whole(dataset), "test_idx": record.get("test_idx")})
    if key is None or (isinstance(key.test_idx, str) and not key.test_idx.strip()):
        raise ValueError("'test_idx' is neither a whole number nor a text")
    return key._replace(test_idx=whole(key.test_idx)) if isinstance(key.test_idx, str) else key


def _column(record: Mapping[str, Any], name: str, prefix: str, method: str | None) -> tuple[Any, str]:
    """A column's value and its name: the method's own where one is wanted and there."""
    own = f"{prefix}{method}"
    return (record[own], own) if method is not None and record.get(own) else (record.get(name), name)


def _list(value: Any, name: str, of: str) -> Sequence[Any]:
    """A column's list, itself or as text. Raises ValueError."""
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        try:
            value = read_embedded(value)
        except ValueError as error:
            raise ValueError(f"'{name}' is neither a list of {of} nor text that holds one ({error})") from None
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise ValueError(f"'{name}' is neither a list of {of} nor text that holds one")
    return value


def _messages(value: Any, name: str) -> tuple[Message, ...]:
    return tuple(_message(one, f"'{name}', message {at}") for at, one in enumerate(_list(value, name, "messages"), 1))


def _message(value: Any, place: str) -> Message:
    role, content = (value.get("role"), value.get("content")) if isinstance(value, Mapping) else (None, None)
    if role not in ROLES:
        raise ValueError(f"{place} has no role of {', '.join(ROLES)}")
    if not isinstance(content, str):
        raise ValueError(f"{place} has no text as its 'content'")
    return Message(cast(Role, role), whole(content))


def _turns(said: Sequence[Any], name: str) -> tuple[Turn, ...]:
    """A dialog by turns, each begun by the user (the first may have a system message before that)."""
    messages = _messages(said, name)
    opening = next((at for at, message in enumerate(messages) if message.role != "system"), len(messages))
    turns: list[Turn] = []
    for at, message in enumerate(messages[opening:]):
        if message.role != ("user", "assistant")[at % 2]:
            raise ValueError(f"'{name}', message {opening + at + 1} is the {message.role}'s out of turn")
        if message.role == "user":
            turns.append((*messages[:opening], message) if at == 0 else (message,))
        else:
            turns[-1] += (message,)
    if messages and not turns:
        raise ValueError(f"'{name}' has no message of the user")
    return tuple(turns)


def _original(said: Sequence[Any]) -> str | None:
    """The prompt as it was before a memory system put what it found around it, where the dialog tells it."""
    for message in said:
        if isinstance(message, Mapping) and isinstance(text := message.get("origin_content"), str) and text.strip():
            return whole(text)
    return None


def _feedbacks(value: Any, name: str, say: Say) -> tuple[Feedback, ...]:
    """The records of either generation; one that cannot be read is left out and said."""
    try:
        records = _list(value, name, "records")
    except ValueError as error:
        say(f"{error}; its feedback is left out")
        return ()
    found = []
    for at, record in enumerate(records, start=1):
        if not isinstance(record, Mapping) or not ("implicit_actions" in record or "implicit_action" in record):
            say(f"'{name}', record {at} has neither 'implicit_actions' nor 'implicit_action', and is left out")
            continue
        given = record["implicit_actions"] if "implicit_actions" in record else record["implicit_action"]
        actions = [given] if isinstance(given, str) else [] if given is None else given
        if not isinstance(actions, list | tuple) or not all(isinstance(one, str) for one in actions):
            say(f"'{name}', record {at} has actions that are no names, and is left out")
            continue
        names = (whole(one.strip().lower()) for one in actions)
        found.append(
            Feedback(
                count(record.get("round")),
                tuple(one for one in names if one not in ("", "none")),
                number(record.get("satisfaction_score")),
                number(record.get("terminated")) == 1,
            )
        )
    return tuple(found)
