"""What the page shows of scores.json: agents in their order and looks, and the charts that are made of their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amemgym.report import charts
from amemgym.report.charts import MARKERS, Look, Scale, Series, Svg
from amemgym.scores.recall import MOST
from amemgym.scores.warnings import OFFLINE

#: colours there are for agents that play, and dashes for reference agents
COLOURS = 8


@dataclass(frozen=True)
class AgentView:
    """One agent: how it is called and drawn, what it is (from the manifest), and its scores."""

    name: str
    look: Look
    about: Mapping[str, Any]
    scores: Mapping[str, Any]

    @property
    def reference(self) -> bool:
        return bool(self.scores["reference"])

    @property
    def named(self) -> tuple[str, Mapping[str, Any]]:
        return self.name, self.scores

    @property
    def swatch(self) -> Svg:
        return self.look.swatch()


@dataclass(frozen=True)
class RowChart:
    """A row for each agent (None where there is nothing to draw), below a head and above an axis."""

    rows: Sequence[tuple[AgentView, Svg | None]]
    head: Svg | None
    axis: Svg | None


@dataclass(frozen=True)
class Curve:
    """One number's course, as a line chart and as a table."""

    title: str
    across: str
    chart: Svg
    y_axis: Svg
    places: Sequence[str]
    rows: Sequence[tuple[AgentView, Sequence[Mapping[str, Any]]]]


def agent_views(manifest: Mapping[str, Any], scores: Mapping[str, Any]) -> list[AgentView]:
    """Agents, best first, those that play before reference agents. Looks go by the manifest's order."""
    about = {agent["name"]: agent for agent in manifest["compared"]["agents"]}
    found, seen = [], {True: 0, False: 0}
    for name, told in scores["agents"].items():
        reference = bool(told["reference"])
        place = seen[reference]
        seen[reference] += 1
        marker = (place + (4 if reference else 0)) % len(MARKERS)
        look = Look(f"{'reference' if reference else 'agent'}-{place % COLOURS}", marker)
        found.append(AgentView(name, look, about.get(name, {}), told))
    return sorted(found, key=lambda agent: (agent.reference, -(_or(agent.scores["overall"], -1))))


def overall_chart(agents: Sequence[AgentView], scores: Mapping[str, Any]) -> RowChart:
    """Each agent's accuracy between random and the upper bound."""
    marks = {"random": scores["random"], "upper bound": scores["upper_bound"]}
    return _interval_chart(
        agents, lambda agent: (agent.scores["overall"], agent.scores["interval"]), _known(marks), Scale()
    )


def memory_chart(agents: Sequence[AgentView], scores: Mapping[str, Any]) -> RowChart:
    """Each agent's memory score, by the definition that comes first."""
    first = scores["first_score"]

    def score(agent: AgentView) -> tuple[float | None, Sequence[float] | None]:
        found = agent.scores["memory_score"]
        return found[first], found["intervals"][first]

    values = [end for agent in agents for end in (score(agent)[0], *(score(agent)[1] or ()))]
    return _interval_chart(agents, score, {"as random": 0.0, "as the upper bound": 1.0}, Scale.around(values))


def _interval_chart(
    agents: Sequence[AgentView],
    score: Callable[[AgentView], tuple[float | None, Sequence[float] | None]],
    marks: Mapping[str, float],
    scale: Scale,
) -> RowChart:
    rows = [(a, charts.interval_row(a.name, *score(a), a.look, scale, marks.values())) for a in agents]
    return RowChart(rows, charts.marks_head(marks, scale) if marks else None, charts.axis(scale))


def failure_chart(agents: Sequence[AgentView]) -> RowChart:
    """Right answers, and each failure's share of all answers."""

    def shares(agent: AgentView) -> dict[str, float] | None:
        found = agent.scores["diagnosis"]
        if found is None or not agent.scores["n"]:
            return None
        unknown = agent.scores["undiagnosed"] / agent.scores["diagnosis_n"]
        return {"right": agent.scores["overall"], **found, "undiagnosed": unknown}

    return _stacked_chart(agents, shares)


def mistake_chart(agents: Sequence[AgentView]) -> RowChart:
    """Right answers, and what the wrong ones were instead."""

    def shares(agent: AgentView) -> dict[str, float] | None:
        if not agent.scores["n"]:
            return None
        known = {"right": agent.scores["overall"], **agent.scores["errors"]}
        return {**known, "none": max(0.0, 1 - sum(known.values()))}

    return _stacked_chart(agents, shares)


def _stacked_chart(agents: Sequence[AgentView], shares: Callable[[AgentView], dict[str, float] | None]) -> RowChart:
    rows = [(agent, charts.stacked_row(agent.name, found) if (found := shares(agent)) else None) for agent in agents]
    return RowChart(rows, None, charts.axis(Scale()))


def recall_curves(agents: Sequence[AgentView]) -> list[Curve]:
    """Corrected recall by age, changes and life, and how soon changes are known. Empty where nothing was probed."""
    probed = [agent for agent in agents if agent.scores["recall"] is not None]
    if not probed:
        return []

    def curve(title: str, across: str, of: Callable[[AgentView], Sequence[Mapping[str, Any]]], low: int) -> Curve:
        rows = [(agent, list(of(agent))[low:]) for agent in probed]
        places = max((len(means) for _, means in rows), default=0)
        names = [f"{MOST}+" if number == MOST else str(number) for number in range(low, low + places)]
        series = [Series(agent.name, agent.look, means) for agent, means in rows]
        scale = Scale.around(mean["value"] for _, means in rows for mean in means)
        return Curve(title, across, charts.line_chart(title, series, scale, names), charts.y_axis(scale), names, rows)

    return [
        curve("Recall by age", "periods since the state was last given a value", _recall("by_age"), 0),
        curve("Changes known in time", "within so many periods", lambda a: a.scores["update_lag"]["by_lag"], 0),
        curve("Recall by changes", "changes of the state so far", _recall("by_changes"), 0),
        curve("Recall by life", "periods its present value lasts in all", _recall("by_life"), 1),
    ]


def _recall(what: str) -> Callable[[AgentView], Sequence[Mapping[str, Any]]]:
    return lambda agent: agent.scores["recall"][what]


def warnings(scores: Mapping[str, Any], notes: Iterable[str]) -> list[tuple[str | None, str]]:
    """What a reader must know: (agent or None for the run as a whole, sentence), each once. That the model is a
    stand-in is not among them, for it stands at the top."""
    found = [(None, sentence) for sentence in scores.get("warnings", []) if sentence != OFFLINE]
    of_agents = [(name, said) for name, agent in scores["agents"].items() for said in agent.get("warnings", [])]
    noted = [
        (name, note.removeprefix(f"{name}: "))
        for name in scores["agents"]
        for note in notes
        if note.startswith(f"{name}: ")
    ]
    return list(dict.fromkeys([*found, *of_agents, *noted]))


def _known(marks: Mapping[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in marks.items() if value is not None}


def _or(value: float | None, other: float) -> float:
    return other if value is None else value
