"""What a policy may not hold: one user's own. It goes into the prompts of all users, held-out ones included.

A model that writes a policy has seen what memories gave back and, with complete feedback, options and states. Whatever
it copies from there is refused; what it says in words of its own cannot be told from a topic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from amemgym.tasks import CompleteFeedback, Feedback

#: characters from which an option, a sentence of a memory, or a state's value is no chance
OPTION, SENTENCE, VALUE = 20, 40, 12
_HEAD = re.compile(r"^(?:\s*\[[^\]\n]*\])*\s*(?:(?:user|assistant)\s*:)?(?:\s*\[[^\]\n]*\])*\s*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def copied(policy: str, told: Sequence[Feedback]) -> str | None:
    """Why a policy is refused, as a phrase; None where it copies nothing."""
    plain = _plain(policy)

    def holds(texts: Iterable[str], least: int) -> bool:
        return any(len(text) >= least and text in plain for text in map(_plain, texts))

    complete = [exam for exam in told if isinstance(exam, CompleteFeedback)]
    if holds((option for exam in complete for asked in exam.asked for option in asked.options), OPTION):
        return "it repeats an answer of the exam, which is right for one user alone"
    if holds((value for exam in complete for _, value in exam.exposed), VALUE):
        return "it names a state of one user; say what to look for, not what was found"
    lines = {line for exam in told for asked in exam.asked for line in asked.memories}
    if holds((part for line in lines for part in _SENTENCE.split(_HEAD.sub("", line, count=1))), SENTENCE):
        return "it repeats what one user's memory holds"
    return None


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split())
