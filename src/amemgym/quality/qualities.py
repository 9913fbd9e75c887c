"""The qualities of a data set and its conversations, from what was judged: shares with n and interval.

- exposure quality: the share of intended states that are recovered from their utterance, and the share of utterances
  free of faults;
- integrity: the share of the user's later turns free of faults;
- answer quality: the share of answers whose own variant is recovered.
Only what the judge's reply decides counts; replies that decide nothing, unreadable ones and errors are counted beside
it. Intervals are clustered by user.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from amemgym.quality.findings import KINDS, Judged
from amemgym.quality.turns import QUALITIES
from amemgym.scores.intervals import ONE_USER, share_interval

#: why there is none of a quality
NOTHING = {
    "exposure": "the data does not record what its sessions expose",
    "integrity": "there are no later turns of a user: a data set alone has no conversations, nor have reference agents",
    "answers": "there are no written answers",
}
#: and why there is none although something was to be judged
UNREAD = "no reply of the judge could be read and decided"


def qualities(all_judged: Sequence[Judged]) -> dict[str, Any]:
    """The qualities, each with its shares, what was undecided, unreadable and an error; counts of findings."""
    by_quality = {quality: [j for j in all_judged if j.item.quality == quality] for quality in QUALITIES}
    exposure, integrity, answers = by_quality["exposure"], by_quality["integrity"], by_quality["answers"]
    agents = dict.fromkeys(j.item.agent for j in integrity if j.item.agent is not None)
    leaks = [finding for j in all_judged for finding in j.findings if finding.kind == "leak"]
    return {
        "exposure": {
            "states": _share(exposure, _recovered, len_of_intended, NOTHING["exposure"]),
            "utterances": _free(exposure, NOTHING["exposure"]),
            **_uncounted(exposure),
        },
        "integrity": {
            "turns": _free(integrity, NOTHING["integrity"]),
            "by_agent": {a: _free([j for j in integrity if j.item.agent == a], UNREAD) for a in agents},
            **_uncounted(integrity),
        },
        "answers": {"answers": _free(answers, NOTHING["answers"]), **_uncounted(answers)},
        "findings": {kind: sum(f.kind == kind for j in all_judged for f in j.findings) for kind in KINDS},
        "leaks_told_before": sum(finding.told_before for finding in leaks),
    }


def len_of_intended(one: Judged) -> int:
    """How many states it should tell."""
    return len(one.item.intended)


def _recovered(one: Judged) -> int:
    found = one.verdict.found or {}
    return sum(found.get(name) == value for name, value in one.item.intended.items())


def _free(some: Sequence[Judged], nothing: str) -> dict[str, Any]:
    return _share(some, lambda one: int(one.outcome == "ok"), lambda one: 1, nothing)


def _share(
    some: Sequence[Judged], right: Callable[[Judged], int], of: Callable[[Judged], int], nothing: str
) -> dict[str, Any]:
    """Σ right / Σ of over what could be judged, with the interval; None with the reason where that is nothing."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for one in some:
        if one.outcome in ("ok", "faulty"):
            sums[one.item.user][0] += right(one)
            sums[one.item.user][1] += of(one)
    numerators, denominators = [s[0] for s in sums.values()], [s[1] for s in sums.values()]
    n = sum(denominators)
    interval = share_interval(numerators, denominators)
    return {
        "value": sum(numerators) / n if n else None,
        "n": n,
        "users": len(sums),
        "interval": list(interval) if interval else None,
        "why_undefined": None if n else UNREAD if some else nothing,
        "why_no_interval": ONE_USER if n and not interval else None,
    }


def _uncounted(some: Sequence[Judged]) -> dict[str, int]:
    outcomes = [one.outcome for one in some]
    return {
        "undecided": outcomes.count("undecided"),
        "unreadable": outcomes.count("unreadable"),
        "errors": outcomes.count("error"),
    }
