"""What would make a number nonsense to publish, said in sentences: found in the scores themselves.

Each warning names what was seen, with its figures, and what to look at. Reference agents are what they are and are not
warned of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

#: what the offline model is, and what follows for scores
STAND_IN = "model: offline, an embedded stand-in that knows words, not language"
OFFLINE = (
    f"{STAND_IN}: these scores compare memories with each other and say nothing of how a language model would do (see"
    " --model)"
)
#: from these shares on, something is amiss
MANY_INVALID, MANY_FAILED, CONSTANT = 0.05, 0.05, 0.9
#: accuracies of periods that differ by no more are the same; so many periods must be
SAME, PERIODS = 0.02, 4
#: an upper bound so near random makes a memory score unstable
NEAR_RANDOM = 0.1
#: fewer answers show no habit
FEW = 20


def run_warnings(scores: Mapping[str, Any]) -> list[str]:
    """What concerns the whole run, from its scores.json."""
    found = []
    if "offline" in models_played(scores):
        found.append(OFFLINE)
    if unfinished := what_is_missing(scores):
        found.append(f"the run is not finished: {unfinished}")
    bound, chance = scores["upper_bound"], scores["random"]
    if bound is not None and chance is not None and bound - chance < NEAR_RANDOM:
        found.append(
            f"the upper bound ({bound:.3f}, n {scores['upper_bound_n']}) is near random ({chance:.3f}): even when told"
            " the facts the model can hardly choose, so memory scores mean little"
        )
    return found


def models_played(scores: Mapping[str, Any]) -> set[str]:
    """The models whose replies the scores are of: the assistants', else the run's."""
    return {agent["model"] for agent in scores["agents"].values() if agent["model"]} or {scores["model"]}


def what_is_missing(scores: Mapping[str, Any]) -> str | None:
    """What an unfinished run has and has not; None where it is finished."""
    if scores["finished"]:
        return None
    counts = [agent["episodes"] for agent in scores["agents"].values()]
    done, planned = (sum(count[what] for count in counts) for what in ("finished", "planned"))
    if done < planned:
        return f"{done} of {planned} episodes are there, and the scores are of these alone"
    return "all episodes are there, but not the upper bound of every user"


def agent_warnings(agent: Mapping[str, Any], chance: float | None) -> list[str]:
    """What concerns one agent, from its entry in scores.json; `chance` is the run's random accuracy."""
    if agent["reference"]:
        return []
    if not agent["n"]:
        return [sentence for sentence in [_failed(agent)] if sentence]
    found = [
        _failed(agent),
        _chance(agent, chance),
        _flat(agent),
        _empty(agent),
        _share(agent["invalid"], agent["n"], MANY_INVALID, "replies name no option; look at them before the score"),
        _share(agent["failed"], agent["n"] + agent["failed"], MANY_FAILED, "exams ended in an error"),
        _constant(agent),
        _share(
            agent["probes"]["unreadable"],
            agent["probes"]["n"],
            MANY_INVALID,
            "probes got no readable reply; their"
            " states count as not known in the diagnosis, and are left out of recall",
        ),
        _share(agent["probes"]["failed"], agent["probes"]["n"], MANY_FAILED, "probes ended in an error"),
        _undiagnosed(agent),
    ]
    return [sentence for sentence in found if sentence]


def _failed(agent: Mapping[str, Any]) -> str | None:
    """The episodes that failed, at which boundary, and why the first did."""
    failed = agent["episodes"]["failed"]
    if not failed:
        return None
    counts = Counter(one["boundary"] for one in failed)
    where = ", ".join(f"{count} at the boundary {boundary}" for boundary, count in sorted(counts.items()))
    return (
        f"{len(failed)} of {agent['episodes']['planned']} episodes failed ({where}) and are in no score;"
        f" the first, user {failed[0]['user']}: {failed[0]['error']}"
    )


def _chance(agent: Mapping[str, Any], chance: float | None) -> str | None:
    overall, interval = agent["overall"], agent["interval"]
    if chance is None:
        return None
    if overall <= chance:
        return f"at or below chance: overall {overall:.3f} (n {agent['n']}), random {chance:.3f}"
    if interval is not None and interval[0] <= chance:
        low, high = interval
        return (
            f"not told apart from chance: random ({chance:.3f}) lies in the interval of its overall"
            f" [{low:.3f}, {high:.3f}] (n {agent['n']})"
        )
    return None


def _flat(agent: Mapping[str, Any]) -> str | None:
    periods = [
        value
        for value, n in zip(agent["by_period"], agent["by_period_n"], strict=True)
        if value is not None and n >= FEW
    ]
    if len(periods) < PERIODS or max(periods) - min(periods) > SAME or min(periods) > 1 - SAME:
        return None
    return (
        f"flat: accuracy is {min(periods):.3f} to {max(periods):.3f} in all {len(periods)} periods, though lives"
        " change; is what it remembers read at all?"
    )


def _empty(agent: Mapping[str, Any]) -> str | None:
    empty, due = agent["memory_empty"], agent["memory_written"]
    if not empty:
        return None
    return f"its memory was empty after {empty} of the {due} periods by whose end messages had been written to it"


def _undiagnosed(agent: Mapping[str, Any]) -> str | None:
    count = agent.get("undiagnosed") or 0
    wrong = round(agent["n"] * (1 - agent["overall"]))
    return (
        f"{count} of {wrong} wrong answers have no probe that tells why; they are in no failure's share"
        if count
        else None
    )


def _share(count: int, n: int, most: float, what: str) -> str | None:
    return f"{count} of {n} ({count / n:.0%}) {what}" if n and count / n > most else None


def _constant(agent: Mapping[str, Any]) -> str | None:
    chosen = agent["chosen_by_position"]
    total = sum(chosen)
    if total < FEW or len(chosen) < 2 or max(chosen) / total < CONSTANT:
        return None
    place = chosen.index(max(chosen)) + 1
    return f"it chose the option at place {place} in {max(chosen)} of {total} answers, whatever stood there"
