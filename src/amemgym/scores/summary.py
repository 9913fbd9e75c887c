"""The summary of a run, as it stands in scores.json: every score with its n, and its interval where there is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from amemgym.evaluate import EpisodeResult, FailedEpisode, UpperBoundResult, played_users
from amemgym.scenario import Dataset
from amemgym.scores.answers import Answers
from amemgym.scores.by_user import by_user
from amemgym.scores.costs import Costs
from amemgym.scores.groups import Column
from amemgym.scores.intervals import ONE_USER
from amemgym.scores.metrics import (
    Mean,
    accuracy,
    by_period,
    by_position,
    failure_shares,
    memory_score,
    mistake_shares,
    random_accuracy,
    upper_bound_accuracy,
)
from amemgym.scores.pairs import compare_agents
from amemgym.scores.recall import recall, recall_by, update_lag
from amemgym.scores.results import Probes, Results, gathered
from amemgym.scores.trials import trial_spread
from amemgym.scores.warnings import agent_warnings, run_warnings


def summarise(
    manifest: Mapping[str, Any],
    episodes: Sequence[EpisodeResult],
    upper_bounds: Sequence[UpperBoundResult],
    dataset: Dataset,
    failed: Sequence[FailedEpisode] = (),
) -> dict[str, Any]:
    """The scores of what is at hand; see `summary_of`."""
    return summary_of(manifest, gathered(manifest, episodes, upper_bounds, dataset), failed)


def summary_of(manifest: Mapping[str, Any], results: Results, failed: Sequence[FailedEpisode] = ()) -> dict[str, Any]:
    """The scores of a run. Depends on the results alone, not on how or in which order they came about."""
    compared = manifest["compared"]
    agents: Sequence[Mapping[str, Any]] = compared["agents"]
    played = results.every_cell()
    bound = upper_bound_accuracy(played)
    own = {agent["name"]: results.of(agent["name"]) for agent in agents}
    cells = {name: found.answers() for name, found in own.items()}
    assistants = [agent["name"] for agent in agents if not agent.get("reference")]
    compared_agents = assistants if len(assistants) > 1 else list(cells)
    scores = {
        "amemgym": compared["amemgym"],
        "protocol": {"name": compared["protocol"]["name"], "version": compared["protocol"]["version"]},
        "first_score": compared["protocol"]["first_score"],
        "finished": _is_finished(manifest, results),
        "fingerprint": manifest["fingerprint"],
        "data": {name: manifest["data"][name] for name in ("name", "sha256", "users", "questions", "exams")},
        "model": compared["model"]["model"],
        "user_model": compared["user_model"]["model"],
        "seed": compared["seed"],
        "trials": compared["trials"],
        **({"shard": compared["shard"]} if compared.get("shard") else {}),
        "random": random_accuracy(played),
        "random_n": len(played),
        "upper_bound": bound.value,
        "upper_bound_n": bound.n,
        "upper_bound_interval": _pair(bound.interval),
        "why_no_interval": ONE_USER if len(np.unique(played.user)) == 1 else None,
        "agents": {
            agent["name"]: _agent(agent, own[agent["name"]], cells[agent["name"]], manifest) for agent in agents
        },
        # of the assistants; of all agents where there are not two assistants
        "pairs": [pair.as_dict() for pair in compare_agents({name: cells[name] for name in compared_agents})],
    }
    for name, agent in scores["agents"].items():
        agent["episodes"]["failed"] = [_failure(one) for one in failed if one.agent == name]
        agent["warnings"] = agent_warnings(agent, scores["random"])
    scores["cost"] = Costs(manifest).of_run(scores["agents"].values(), results.upper_bounds)
    return scores | {"warnings": run_warnings(scores)}


def _failure(failed: FailedEpisode) -> dict[str, Any]:
    return {
        "user": failed.user,
        "user_id": failed.user_id,
        "trial": failed.trial,
        "boundary": failed.boundary,
        "error": failed.error,
    }


def _agent(
    agent: Mapping[str, Any],
    results: Results,
    cells: Answers,
    manifest: Mapping[str, Any],
) -> dict[str, Any]:
    own = (agent.get("model") or {}).get("model")
    episodes, exams = results.episodes, results.exams
    users = len(np.unique(cells.user))
    overall = accuracy(cells)
    score = memory_score(cells)
    periods = by_period(cells)
    positions = by_position(cells)
    bound = upper_bound_accuracy(cells)
    by_trial = [accuracy(of) for of in _by_trial(results, _trials(manifest))]
    planned = len(played_users(manifest)) * manifest["compared"]["trials"]
    return {
        "overall": overall.value,
        "n": overall.n,
        "users": users,
        "interval": _pair(overall.interval),
        "why_no_interval": ONE_USER if users == 1 else None,
        "invalid": _count_of(exams.is_invalid),
        "guessed": _count_of(exams.is_guessed),
        "failed": _count_of(~exams.is_counted),
        "memory_score": {
            "ratio_of_means": score.ratio_of_means,
            "mean_of_ratios": score.mean_of_ratios,
            "why_undefined": score.why_undefined,
            "n": score.n,
            # of the ratio of means
            "interval": _pair(score.interval),
            "intervals": {"ratio_of_means": _pair(score.interval), "mean_of_ratios": _pair(score.mean_interval)},
        },
        "upper_bound": bound.value,
        "by_period": [mean.value for mean in periods],
        "by_period_n": [mean.n for mean in periods],
        "by_period_intervals": [_pair(mean.interval) for mean in periods],
        "by_position": [mean.value for mean, _ in positions],
        "by_position_n": [mean.n for mean, _ in positions],
        "by_position_intervals": [_pair(mean.interval) for mean, _ in positions],
        "chosen_by_position": [chosen for _, chosen in positions],
        "by_trial": [mean.value for mean in by_trial],
        "by_trial_n": [mean.n for mean in by_trial],
        "by_trial_intervals": [_pair(mean.interval) for mean in by_trial],
        "by_user": by_user(cells, {episode.user: episode.user_id for episode in episodes}, _probed(results)),
        "trial_sd": _trial_sd(results, _trials(manifest)),
        **_diagnosis(results, cells),
        **Costs(manifest).of_agent(agent, episodes),
        "unreadable": _unreadable(episodes),
        "probes": _probes(results.probes),
        **_memory_kept(agent, episodes),
        "dropped_messages": sum(episode.dropped for episode in episodes),
        "exams_cut_short": _count_of(exams.is_cut_short),
        "episodes": {"finished": len(episodes), "planned": planned},
        "model": own or (None if agent.get("reference") else manifest["compared"]["model"]["model"]),
        "reference": bool(agent.get("reference")),
        # what it was told to remember, by hash, and the most its memory could keep
        "policies": agent.get("policies"),
        "room": agent.get("room"),
    }


def _memory_kept(agent: Mapping[str, Any], episodes: Sequence[EpisodeResult]) -> dict[str, int]:
    """After how many periods something had been written to a memory that can tell what it holds, and how often it
    held nothing then."""
    freq = agent.get("freq")
    if freq is None or agent.get("memory") == "none":  # it writes nothing, or is the one that is meant to keep nothing
        return {"memory_written": 0, "memory_empty": 0}
    due = freq + agent["n_s"]
    held = [
        count
        for episode in episodes
        for count, spoken in zip(episode.held, episode.spoken, strict=True)
        if count is not None and spoken >= due
    ]
    return {"memory_written": len(held), "memory_empty": held.count(0)}


def _diagnosis(results: Results, cells: Answers) -> dict[str, Any]:
    """Why answers are wrong, and how well single states are remembered; None throughout where nothing was probed."""
    mistakes = mistake_shares(cells)
    found: dict[str, Any] = {
        "diagnosis": None,
        "errors": {name: share.value for name, share in mistakes.items()},
        "errors_n": len(cells),
        "errors_intervals": {name: _pair(share.interval) for name, share in mistakes.items()},
        "recall": None,
        "update_lag": None,
    }
    if not results.probes.n.any():
        return found
    failures, states = failure_shares(cells), results.states
    lag = update_lag(states)
    return found | {
        "diagnosis": {name: share.value for name, share in failures.items()},
        "diagnosis_n": len(cells),
        "diagnosis_intervals": {name: _pair(share.interval) for name, share in failures.items()},
        # wrong answers whose probes are missing
        "undiagnosed": _count_of(cells.is_undiagnosed),
        "recall": {
            "at_write": _mean(recall(states.only(states.age == 0))),
            "now": _mean(recall(states)),
            "by_age": [_mean(mean) for mean in recall_by(states, "age")],
            "by_changes": [_mean(mean) for mean in recall_by(states, "changes")],
            "by_life": [_mean(mean) for mean in recall_by(states, "life")],
        },
        "update_lag": {
            "known": _mean(lag.known),
            "mean": _mean(lag.mean),
            "by_lag": [_mean(mean) for mean in lag.by_lag],
        },
    }


def _mean(mean: Mean) -> dict[str, Any]:
    return {"value": mean.value, "n": mean.n, "interval": _pair(mean.interval)}


def _is_finished(manifest: Mapping[str, Any], results: Results) -> bool:
    """Whether every episode and every upper bound that the run wants is there; of a shard, those of its users."""
    compared, wanted, users = manifest["compared"], manifest["upper_bound"], played_users(manifest)
    if "imported" in compared:  # nothing more will come
        return True
    names = {name for name in (wanted["run"], *wanted["agents"].values()) if name}
    bounds = {(result.model, result.user) for result in results.upper_bounds}
    return len(results.episodes) == len(users) * compared["trials"] * len(compared["agents"]) and bounds >= {
        (name, user) for name in names for user in users
    }


def _trials(manifest: Mapping[str, Any]) -> range:
    return range(manifest["compared"]["trials"])


def _by_trial(results: Results, trials: Sequence[int]) -> list[Answers]:
    """The counted answers of each trial."""
    of = np.array([episode.trial for episode in results.episodes], dtype=int)
    return [results.only(of == trial).answers() for trial in trials]


def _trial_sd(results: Results, trials: Sequence[int]) -> float | None:
    """The spread over trials of the accuracy on the users that all trials have."""
    users = [{episode.user for episode in results.episodes if episode.trial == trial} for trial in trials]
    common = set.intersection(*users)
    is_common = np.array([episode.user in common for episode in results.episodes], dtype=bool)
    return trial_spread([accuracy(of).value for of in _by_trial(results.only(is_common), trials)])


def _probed(results: Results) -> set[int]:
    """The users with a probe."""
    return {episode.user for episode, n in zip(results.episodes, results.probes.n, strict=True) if n}


def _probes(probes: Probes) -> dict[str, int]:
    """How many there were, ended in an error, had no readable reply, and were asked with messages left out."""
    return {name: int(column.sum()) for name, column in vars(probes).items()}


def _count_of(column: Column) -> int:
    return int(np.count_nonzero(column))


def _unreadable(episodes: Sequence[EpisodeResult]) -> dict[str, int]:
    """Replies of each role that could not be read, of all statuses together."""
    counts: dict[str, int] = {}
    for episode in episodes:
        for role, used in episode.ledger.items():
            counts[role] = counts.get(role, 0) + sum(used["unreadable"].values())
    return {role: count for role, count in sorted(counts.items()) if count}


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [interval[0], interval[1]]
