"""The report of a run as one HTML file: scores with their intervals, why answers are wrong, and every exam's trace.

It needs no network and no server. Scores are drawn here; traces are packed into the file and shown by its script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from amemgym.evaluate import RunDirectory
from amemgym.report import costs, view
from amemgym.report.page import render
from amemgym.report.table import SCORES, notes
from amemgym.report.trace import FAILURES, packed_traces
from amemgym.scores import OFFLINE, models_played
from amemgym.scores.diagnosis import Mistake

#: users without a trace who are named
NAMED = 50
SCRIPTS = ("dom.js", "unpack.js", "exam.js", "period.js", "explorer.js")


def html_report(directory: RunDirectory, scores: Mapping[str, Any], users: Sequence[str] | None = None) -> str:
    """The page for a run's scores (as in scores.json); `users` (ids) are those whose traces are wanted, else all that
    fit. Raises RunDirectoryError, or UsageError where there is no such user."""
    manifest = directory.manifest()
    agents = view.agent_views(manifest, scores)
    traces = packed_traces(directory, users or None)
    index = {
        "agents": [{"name": agent.name, "reference": agent.reference} for agent in agents],
        "users": traces.index,
        "left_out": traces.left_out,
    }
    return render(
        "report.html",
        SCRIPTS,
        manifest=manifest,
        compared=manifest["compared"],
        scores=scores,
        agents=agents,
        offline=OFFLINE if "offline" in models_played(scores) else None,
        warnings=view.warnings(scores, notes(scores)),
        score_names=SCORES,
        overall_chart=view.overall_chart(agents, scores),
        memory_chart=view.memory_chart(agents, scores),
        failure_chart=view.failure_chart(agents),
        mistake_chart=view.mistake_chart(agents),
        costs=costs,
        priced=costs.costs_something(scores),
        curves=view.recall_curves(agents),
        failures=FAILURES,
        mistakes=tuple(map(str, Mistake)),
        traces=traces,
        named=NAMED,
        asked_for=bool(users),
        index=index,
    )
