"""The four files of a group, made of one agent of one of our runs.

predict.json and evaluate_details.json are written item by item, beside each other, while episodes are read one at a
time. An item's metrics are such that each of the summary's is their mean over the items that have it, and the memory
score is Σ(accuracy − random) / Σ(upper_bound − random) over the items that have an upper bound. An exam that ended in
an error has null for all of them.

What readers of the published layout do not know stands beside what they do: at an item its user, place and status, and
in the summary, under `amemgym`, every score's n and interval and what they have to be read with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amemgym import files
from amemgym.clean import clean
from amemgym.evaluate import EpisodeResult, ExamResult
from amemgym.memorybench.entry import DETAILS, PREDICT, RUN_CONFIG, SUMMARY
from amemgym.memorybench.exporting.named import run_config
from amemgym.memorybench.exporting.played import PlayedRun
from amemgym.memorybench.exporting.writing import json_array
from amemgym.memorybench.reading.redacted import redacted
from amemgym.memorybench.summary import (
    ACCURACY,
    FAILURE,
    MEAN_OF_RATIOS,
    MEMORY_SCORE,
    OWN_KEY,
    RANDOM,
    UNDIAGNOSED,
    UNPARSED,
    UPPER_BOUND,
)
from amemgym.messages import Message
from amemgym.scenario import Scenario
from amemgym.scores import Failure, Results, cells_of, random_accuracy, upper_bound_accuracy
from amemgym.scores.answers import Cell as ExamCell
from amemgym.tasks import ChooseOption, Context, Prompts, prompts_for

FORMAT = 1
#: where memory failed, each the share of all items; of runs with probes
FAILURES = {kind: f"{kind}{FAILURE}" if kind != Failure.UNPARSED else UNPARSED for kind in Failure}
INTERVALS = "95%, clustered by user"


@dataclass(frozen=True)
class Written:
    """How many items a group has, how many of them ended in an error, and what they have to be read with."""

    items: int
    failed: int
    notes: tuple[str, ...] = ()


def write_group(run: PlayedRun, agent: Mapping[str, Any], folder: Path) -> Written:
    """Write the group's files into a folder, each whole or not at all. Raises StorageError, RunDirectoryError."""
    cell, name = run.cell(agent), agent["name"]
    prompts = None if run.is_imported else prompts_for(run.compared.get("language") or "en")
    is_probed = any(episode.probes for episode, _, _ in run.episodes(name)) if run.compared["probe"] else False
    results, items = run.gathering(agent), 0
    with json_array(folder / PREDICT) as predict, json_array(folder / DETAILS) as details:
        for episode, scenario, first in run.episodes(name):
            counted = _by_place(cells_of([episode], run.bounds[name], {scenario.id: scenario}))
            for exam in sorted(episode.exams, key=lambda exam: (exam.period, exam.question)):
                key = {"test_idx": first + exam.period * len(scenario.qas) + exam.question, "dataset": cell.set_name}
                predict({**key, **_prediction(episode, exam, scenario, prompts)})
                metrics = _metrics(counted.get((exam.period, exam.question)), is_probed)
                details({**key, "metrics": metrics, **_place(episode, exam), "status": exam.status})
                items += 1
            results.episode(episode, scenario)
    found = results.results()
    scores, notes = run.scores(agent, found), run.notes(agent)
    own = {
        "format": FORMAT,
        "run": run.manifest["fingerprint"],
        "data": {**run.manifest["data"], **run.compared["data"]},
    }
    files.write_atomically(folder / RUN_CONFIG, files.pretty_json(redacted(run_config(cell, agent, run.compared, own))))
    files.write_atomically(folder / SUMMARY, files.pretty_json(clean(_summary(name, found, scores, notes))))
    return Written(items, scores["agents"][name]["failed"], tuple(notes))


def _by_place(cells: Sequence[ExamCell]) -> dict[tuple[int, int], ExamCell]:
    return {(cell.period, cell.exam.question): cell for cell in cells}


def _prediction(
    episode: EpisodeResult, exam: ExamResult, scenario: Scenario, prompts: Prompts | None
) -> dict[str, Any]:
    """What was asked, what came back, and what had been read from memory. Without `prompts` it is not known how it was
    asked, nor what was read: then the question alone is given, and null."""
    asked = scenario.qas[exam.question]
    message = Message("user", asked.query)
    if prompts is not None:
        options = tuple(asked.answer_choices[index].answer for index in exam.order)
        message = ChooseOption(asked.query, options, Context(), scenario.periods[exam.period].end).messages(prompts)[-1]
    return {
        "messages": [message.as_chat()],
        # no reply and an empty one are two things
        "response": exam.reply if exam.counts else None,
        "retrieved_memories": None if prompts is None else [episode.texts[item] for item in exam.items],
        **_place(episode, exam),
        "option": exam.option,
        "status": exam.status,
        "guessed": exam.guessed,
        "error": exam.error,
    }


def _place(episode: EpisodeResult, exam: ExamResult) -> dict[str, Any]:
    """Whose item it is, and which: those of one user are not independent."""
    return {"user": episode.user_id, "trial": episode.trial, "period": exam.period, "question": exam.question}


def _metrics(cell: ExamCell | None, is_probed: bool) -> dict[str, float | None]:
    """An item's metrics; all null where the exam counts in no score."""
    names = [ACCURACY, RANDOM, UPPER_BOUND, *([*FAILURES.values(), UNDIAGNOSED] if is_probed else [])]
    if cell is None:
        return dict.fromkeys(names)
    found = {
        ACCURACY: float(cell.exam.correct),
        RANDOM: cell.random,
        UPPER_BOUND: None if cell.upper_bound is None else float(cell.upper_bound),
        **{name: float(cell.failure == kind) for kind, name in FAILURES.items()},
        UNDIAGNOSED: float(not cell.exam.correct and cell.failure is None),
    }
    return {name: found[name] for name in names}


def _summary(name: str, results: Results, scores: Mapping[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """The published shape of one data set's summary, and our own part."""
    agent = scores["agents"][name]
    cells = results.answers()
    score, bound = agent["memory_score"], upper_bound_accuracy(cells)
    # value, n, interval
    found: dict[str, tuple[float | None, int, Any]] = {
        ACCURACY: (agent["overall"], agent["n"], agent["interval"]),
        MEMORY_SCORE: (score["ratio_of_means"], score["n"], score["intervals"]["ratio_of_means"]),
        MEAN_OF_RATIOS: (score["mean_of_ratios"], score["n"], score["intervals"]["mean_of_ratios"]),
        UPPER_BOUND: (bound.value, bound.n, bound.interval),
        RANDOM: (random_accuracy(cells), len(cells), None),
    }
    if agent["diagnosis"] is not None:
        for kind, metric in FAILURES.items():
            share, interval = agent["diagnosis"][str(kind)], agent["diagnosis_intervals"][str(kind)]
            found[metric] = share, agent["diagnosis_n"], interval
        n = agent["diagnosis_n"]
        found[UNDIAGNOSED] = (agent["undiagnosed"] / n if n else None), n, None
    return {
        "summary": {metric: value for metric, (value, _, _) in found.items()},
        OWN_KEY: {
            "format": FORMAT,
            "n": {metric: n for metric, (_, n, _) in found.items()},
            "intervals": {metric: interval for metric, (_, _, interval) in found.items()},
            "intervals_are": INTERVALS,
            "why_no_interval": agent["why_no_interval"],
            "why_undefined": score["why_undefined"],
            "users": agent["users"],
            "episodes": {what: agent["episodes"][what] for what in ("finished", "planned")},
            "finished": scores["finished"],
            **{what: agent[what] for what in ("invalid", "guessed", "failed", "reference")},
            **{what: scores[what] for what in ("protocol", "first_score", "seed", "trials", "user_model")},
            "run": scores["fingerprint"],
            "warnings": [*notes, *scores["warnings"], *agent["warnings"]],
        },
    }
