"""A session and the store as a few numbers, for policies that do not read: no more than the text tells, nor of it all.

Each is in [0, 1]. They are facts of form (how long, how near to what is kept, a question or a statement), computed
without any scenario's words.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from amemgym.gym.keeping import Kept, Session

#: what each number is: share of the store in use; words of the opening (of 100), of the follow-ups (of 100), of the
#: replies (of 400); share of words that are the first person's and of sentences that are questions in the opening;
#: whether it has a digit; cosine of the opening with the nearest item, and with the items in the mean; days since the
#: newest item (of 90)
FEATURES = (
    "store_in_use",
    "opening_words",
    "follow_up_words",
    "reply_words",
    "first_person",
    "questions",
    "has_number",
    "nearest_item",
    "mean_nearness",
    "days_since_newest",
)

_WORD = re.compile(r"[\u3400-\u9fff]|\w+(?:['’]\w+)?")
_FIRST_PERSON = re.compile(r"\b(?:i|i['’]\w+|me|my|mine|myself|we|we['’]\w+|us|our|ours)\b|[我咱]", re.IGNORECASE)
_SENTENCE = re.compile(r"[^.!?。！？]+([.!?。！？]*)")


def features_of(session: Session | None, kept: Kept) -> NDArray[np.float32]:
    """Shape (len(FEATURES),); after the last session, all but the store's use are 0."""
    values = dict.fromkeys(FEATURES, 0.0)
    values["store_in_use"] = len(kept.items) / kept.room
    if session is not None:
        opening = session.opening
        words = _words(opening)
        ends = [match[1] for match in _SENTENCE.finditer(opening) if match[0].strip()]
        nearness = kept.nearness(f"user: {opening}")
        newest = next((item.time for item in reversed(kept.items) if item.time is not None), None)
        values |= {
            "opening_words": words / 100,
            "follow_up_words": sum(map(_words, session.follow_ups)) / 100,
            "reply_words": sum(map(_words, session.replies)) / 400,
            "first_person": len(_FIRST_PERSON.findall(opening)) / max(words, 1),
            "questions": sum("?" in end or "？" in end for end in ends) / max(len(ends), 1),
            "has_number": float(any(c.isdigit() for c in opening)),
            "nearest_item": max(nearness, default=0.0),
            "mean_nearness": sum(nearness) / max(len(nearness), 1),
            "days_since_newest": (session.time - newest).days / 90 if newest else 0.0,
        }
    return np.clip(np.array([values[name] for name in FEATURES], dtype=np.float32), 0.0, 1.0)


def _words(text: str) -> int:
    return len(_WORD.findall(text))
