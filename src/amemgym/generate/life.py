"""The structure of one life from a persona, stage by stage: questions, the schema they share, the initial state, what
changes in each period, and the events that explain it. No word of it is what a user says; that comes after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from amemgym.generate.calendar import months_later
from amemgym.generate.checks import (
    Schema,
    event_faults,
    merged_schema,
    question_faults,
    state_faults,
    topic_faults,
)
from amemgym.generate.course import Course, Turn
from amemgym.generate.shape import Shape
from amemgym.generate.stage import Maker
from amemgym.generate.telling import MOST_TOLD, how
from amemgym.scenario import parse_time
from amemgym.tasks import (
    ChooseState,
    ChooseUpdates,
    DraftQuestion,
    ExplainUpdates,
    LifeEvent,
    ListTopics,
    MakeQuestions,
    MergeSchema,
    Merging,
    Updates,
)

#: so many questions or topics are asked for at once; more would not fit a reply
BATCH = 10
#: so many summaries of earlier periods are told, and so many earlier topics
RECENT = 12
RECENT_TOPICS = 100


@dataclass(frozen=True)
class Plot:
    """What a life is about: the questions with their required info, and the schema."""

    questions: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    schema: Schema


def span(shape: Shape, period: int) -> tuple[str, str]:
    """The days on which a period begins and ends."""
    start = parse_time(shape.start).date()
    first, last = (months_later(start, number * shape.months) for number in (period - 1, period))
    return first.isoformat(), last.isoformat()


async def make_plot(profile: str, shape: Shape, maker: Maker) -> Plot:
    """Questions and their common schema. Raises GenerationFailed, ModelError."""
    drafts = await _questions(profile, shape, maker)
    found: list[tuple[dict[str, tuple[str, ...]], list[list[str]]]] = []

    async def check(merging: Merging) -> Sequence[str]:
        schema, required, faults = merged_schema(drafts, merging, shape.values)
        found.append((schema, required))
        return faults

    await maker.make("schema", "schema", MergeSchema(questions=tuple(drafts), values=shape.values), check)
    schema, required = found[-1]
    return Plot(tuple(draft.text for draft in drafts), tuple(map(tuple, required)), schema)


async def _questions(profile: str, shape: Shape, maker: Maker) -> list[DraftQuestion]:
    drafts: list[DraftQuestion] = []
    while len(drafts) < shape.questions:
        drafts += await _more_questions(profile, shape, drafts, maker)
    return drafts


async def _more_questions(
    profile: str, shape: Shape, drafts: Sequence[DraftQuestion], maker: Maker
) -> tuple[DraftQuestion, ...]:
    count = min(BATCH, shape.questions - len(drafts))
    earlier = tuple(draft.text for draft in drafts)

    async def check(new: tuple[DraftQuestion, ...]) -> list[str]:
        return list(question_faults(new, earlier, count, shape.states, shape.values))

    task = MakeQuestions(profile=profile, count=count, states=shape.states, values=shape.values, earlier=earlier)
    return await maker.make("questions", f"questions/{len(drafts)}", task, check)


async def choose_state(profile: str, plot: Plot, maker: Maker) -> dict[str, str]:
    """The initial state. Raises GenerationFailed, ModelError."""

    async def check(state: Mapping[str, str]) -> list[str]:
        return list(state_faults(state, plot.schema))

    return await maker.make("initial state", "state", ChooseState(profile=profile, schema=plot.schema), check)


async def move_on(
    profile: str, plot: Plot, course: Course, shape: Shape, summaries: Sequence[str], maker: Maker
) -> tuple[Turn, str | None]:
    """The next period of the course and its summary, if it has one. Raises GenerationFailed, ModelError."""
    period, demand = course.period, course.demand()
    if not demand.count:
        return course.move(demand, {}), None

    async def check(updates: Updates) -> list[str]:
        return course.faults(demand, updates.new)

    task = ChooseUpdates(
        profile=profile,
        schema=plot.schema,
        state=course.turns[-1].state,
        changeable=demand.changeable,
        reverting=demand.reverting,
        count=demand.count,
        span=_told(shape, period),
        before=tuple(summaries[-RECENT:]),
    )
    updates = await maker.make("updates", f"p{period}/updates", task, check)
    return course.move(demand, updates.new), updates.summary


async def explain(
    profile: str, period: int, turn: Turn, summary: str | None, shape: Shape, maker: Maker
) -> tuple[LifeEvent, ...]:
    """The events behind a period's changes, of which there are some. Raises GenerationFailed, ModelError."""
    changed = [change.variable for change in turn.changes]

    async def check(events: Sequence[LifeEvent]) -> list[str]:
        return list(event_faults(events, changed, MOST_TOLD))

    task = ExplainUpdates(
        profile=profile,
        span=_told(shape, period),
        summary=summary or "",
        changes=tuple((one.variable, one.old or "", one.new, how(one)) for one in turn.changes),
        most=MOST_TOLD,
    )
    return await maker.make("events", f"p{period}/events", task, check)


async def list_topics(
    profile: str, plot: Plot, count: int, maker: Maker, place: str = "topics", earlier: Sequence[str] = ()
) -> list[str]:
    """So many different topics, none of the earlier ones, that have nothing to do with the user's states.

    Raises GenerationFailed, ModelError.
    """
    topics: list[str] = []
    while len(topics) < count:
        before, number = (*earlier, *topics), len(topics)
        topics += await _more_topics(profile, plot, min(BATCH, count - number), before, f"{place}/{number}", maker)
    return topics


async def _more_topics(
    profile: str, plot: Plot, count: int, earlier: tuple[str, ...], place: str, maker: Maker
) -> tuple[str, ...]:
    async def check(new: tuple[str, ...]) -> list[str]:
        return list(topic_faults(new, earlier, count))

    task = ListTopics(profile=profile, count=count, schema=plot.schema, earlier=earlier[-RECENT_TOPICS:])
    return await maker.make("topics", place, task, check)


def _told(shape: Shape, period: int) -> str:
    return " – ".join(span(shape, period))
