"""The summary of a run, as it stands in scores.json: every score with its n, and its interval where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from amemgym.evaluate import EpisodeResult, FailedEpisode, UpperBoundResult, played_users
from amemgym.scenario import Dataset, Scenario
from amemgym.scores.bounds import Bounds, bounds_by_agent, bounds_by_model
from amemgym.scores.by_user import by_user
from amemgym.scores.costs import Costs
from amemgym.scores.intervals import ONE_USER
from amemgym.scores.metrics import (
    Cell,
    Mean,
    accuracy,
    by_period,
    by_position,
    cells_of,
    failure_shares,
    memory_score,
    mistake_shares,
    random_accuracy,
    upper_bound_accuracy,
)
from amemgym.scores.pairs import compare_agents
from amemgym.scores.recall import recall, recall_by, state_cells, update_lag
from amemgym.scores.trials import trial_spread
from amemgym.scores.warnings import agent_warnings, run_warnings


def summarise(
    manifest: Mapping[str, Any],
    episodes: Sequence[EpisodeResult],
    upper_bounds: Sequence[UpperBoundResult],
    dataset: Dataset,
    failed: Sequence[FailedEpisode] = (),
) -> dict[str, Any]:
    """The scores of a run. Depends on the results alone, not on how or in which order they came about."""
    compared = manifest["compared"]
    agents: Sequence[Mapping[str, Any]] = compared["agents"]
    bounds = bounds_by_agent(manifest, upper_bounds)
    by_agent = {agent["name"]: [e for e in episodes if e.agent == agent["name"]] for agent in agents}
    scenarios = {scenario.id: scenario for scenario in dataset}
    of_run = bounds_by_model(upper_bounds).get(manifest["upper_bound"]["run"] or "", {})
    played = _all_cells(by_agent.values(), of_run)
    bound = upper_bound_accuracy(played)
    cells = {name: cells_of(played_by, bounds[name], scenarios) for name, played_by in by_agent.items()}
    assistants = [agent["name"] for agent in agents if not agent.get("reference")]
    compared_agents = assistants if len(assistants) > 1 else list(cells)
    scores = {
        "amemgym": compared["amemgym"],
        "protocol": {"name": compared["protocol"]["name"], "version": compared["protocol"]["version"]},
        "first_score": compared["protocol"]["first_score"],
        "finished": _is_finished(manifest, episodes, upper_bounds),
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
        "why_no_interval": ONE_USER if len({cell.user for cell in played}) == 1 else None,
        "agents": {
            agent["name"]: _agent(agent, by_agent[agent["name"]], cells[agent["name"]], manifest, scenarios)
            for agent in agents
        },
        # of the assistants; of all agents where there are not two assistants
        "pairs": [pair.as_dict() for pair in compare_agents({name: cells[name] for name in compared_agents})],
    }
    for name, agent in scores["agents"].items():
        agent["episodes"]["failed"] = [_failure(one) for one in failed if one.agent == name]
        agent["warnings"] = agent_warnings(agent, scores["random"])
    scores["cost"] = Costs(manifest).of_run(scores["agents"].values(), upper_bounds)
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
    episodes: Sequence[EpisodeResult],
    cells: Sequence[Cell],
    manifest: Mapping[str, Any],
    scenarios: Mapping[str, Scenario],
) -> dict[str, Any]:
    own = (agent.get("model") or {}).get("model")
    users = {cell.user for cell in cells}
    overall = accuracy(cells)
    score = memory_score(cells)
    periods = by_period(cells)
    positions = by_position(cells)
    exams = [exam for episode in episodes for exam in episode.exams]
    bound = upper_bound_accuracy(cells)
    by_trial = [accuracy(cells_of(e for e in episodes if e.trial == trial)) for trial in _trials(manifest)]
    planned = len(played_users(manifest)) * manifest["compared"]["trials"]
    return {
        "overall": overall.value,
        "n": overall.n,
        "users": len(users),
        "interval": _pair(overall.interval),
        "why_no_interval": ONE_USER if len(users) == 1 else None,
        "invalid": sum(exam.is_invalid for exam in exams),
        "guessed": sum(exam.guessed for exam in exams),
        "failed": sum(not exam.counts for exam in exams),
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
        "by_user": by_user(episodes, cells),
        "trial_sd": _trial_sd(episodes, _trials(manifest)),
        **_diagnosis(episodes, cells, scenarios),
        **Costs(manifest).of_agent(agent, episodes),
        "unreadable": _unreadable(episodes),
        "probes": _probes(episodes),
        **_memory_kept(agent, episodes),
        "dropped_messages": sum(episode.dropped for episode in episodes),
        "exams_cut_short": sum(exam.dropped > 0 for exam in exams),
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


def _diagnosis(
    episodes: Sequence[EpisodeResult], cells: Sequence[Cell], scenarios: Mapping[str, Scenario]
) -> dict[str, Any]:
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
    if not any(episode.probes for episode in episodes):
        return found
    failures, states = failure_shares(cells), state_cells(episodes, scenarios)
    lag = update_lag(states)
    return found | {
        "diagnosis": {name: share.value for name, share in failures.items()},
        "diagnosis_n": len(cells),
        "diagnosis_intervals": {name: _pair(share.interval) for name, share in failures.items()},
        # wrong answers whose probes are missing
        "undiagnosed": sum(not cell.exam.correct and cell.failure is None for cell in cells),
        "recall": {
            "at_write": _mean(recall([state for state in states if state.age == 0])),
            "now": _mean(recall(states)),
            "by_age": [_mean(mean) for mean in recall_by(states, lambda state: state.age)],
            "by_changes": [_mean(mean) for mean in recall_by(states, lambda state: state.changes)],
            "by_life": [_mean(mean) for mean in recall_by(states, lambda state: state.life)],
        },
        "update_lag": {
            "known": _mean(lag.known),
            "mean": _mean(lag.mean),
            "by_lag": [_mean(mean) for mean in lag.by_lag],
        },
    }


def _mean(mean: Mean) -> dict[str, Any]:
    return {"value": mean.value, "n": mean.n, "interval": _pair(mean.interval)}


def _is_finished(
    manifest: Mapping[str, Any], episodes: Sequence[EpisodeResult], upper_bounds: Sequence[UpperBoundResult]
) -> bool:
    """Whether every episode and every upper bound that the run wants is there; of a shard, those of its users."""
    compared, wanted, users = manifest["compared"], manifest["upper_bound"], played_users(manifest)
    if "imported" in compared:  # nothing more will come
        return True
    names = {name for name in (wanted["run"], *wanted["agents"].values()) if name}
    bounds = {(result.model, result.user) for result in upper_bounds}
    return len(episodes) == len(users) * compared["trials"] * len(compared["agents"]) and bounds >= {
        (name, user) for name in names for user in users
    }


def _all_cells(groups: Iterable[Sequence[EpisodeResult]], bounds: Bounds) -> list[Cell]:
    """Every cell of the data once, from whichever agents finished it."""
    cells: dict[tuple[int, int, int], Cell] = {}
    for episodes in groups:
        for episode in episodes:
            for exam in episode.exams:
                bound = bounds.get((episode.user, exam.question, exam.variant))
                place = (episode.user, exam.period, exam.question)
                cells.setdefault(place, Cell(episode.user, exam.period, exam, bound))
    return [cells[place] for place in sorted(cells)]


def _trials(manifest: Mapping[str, Any]) -> range:
    return range(manifest["compared"]["trials"])


def _trial_sd(episodes: Sequence[EpisodeResult], trials: Sequence[int]) -> float | None:
    """The spread over trials of the accuracy on the users that all trials have."""
    users = [{episode.user for episode in episodes if episode.trial == trial} for trial in trials]
    common = set.intersection(*users)
    of = [[e for e in episodes if e.trial == trial and e.user in common] for trial in trials]
    return trial_spread([accuracy(cells_of(some)).value for some in of])


def _probes(episodes: Sequence[EpisodeResult]) -> dict[str, int]:
    """How many there were, ended in an error, had no readable reply, and were asked with messages left out."""
    probes = [probe for episode in episodes for probe in episode.probes]
    return {
        "n": len(probes),
        "failed": sum(probe.error is not None for probe in probes),
        "unreadable": sum(probe.error is None and not probe.is_readable for probe in probes),
        "cut_short": sum(probe.dropped > 0 for probe in probes),
    }


def _unreadable(episodes: Sequence[EpisodeResult]) -> dict[str, int]:
    """Replies of each role that could not be read, of all statuses together."""
    counts: dict[str, int] = {}
    for episode in episodes:
        for role, used in episode.ledger.items():
            counts[role] = counts.get(role, 0) + sum(used["unreadable"].values())
    return {role: count for role, count in sorted(counts.items()) if count}


def _pair(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [interval[0], interval[1]]
