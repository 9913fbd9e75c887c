"""What a generation will take, before it is made: calls and tokens by stage, from the shape and the templates.

Each stage's request is rendered with names, values and texts of usual length, and its reply is taken to be as long as
such replies are. Repairs are not counted, since nobody knows how many there will be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from amemgym.generate.life import BATCH, RECENT
from amemgym.generate.shape import Shape
from amemgym.generate.stage import JUDGE
from amemgym.generate.telling import MOST_TOLD
from amemgym.llm import RoleCount, estimate_tokens
from amemgym.llm.prices import Rate
from amemgym.tasks import (
    ChooseState,
    ChooseUpdates,
    DraftQuestion,
    ExplainUpdates,
    ListTopics,
    MakeQuestions,
    MergeSchema,
    Prompts,
    RecoverVariant,
    RevealedStates,
    Task,
    Telling,
    WriteAboutOther,
    WriteAnswers,
    WriteDistractor,
    WriteUtterance,
)

#: usual lengths in characters
_QUESTION, _NAME, _VALUE, _SUMMARY, _EVENT, _UTTERANCE, _ANSWER, _TOPIC, _SPAN = 110, 26, 18, 200, 260, 240, 330, 30, 23
#: changes that one event explains
_CHANGES_AN_EVENT = 1.6
#: variants that a change of a question's required info adds (in the published data; some changes go back or coincide)
_NEW_VARIANTS = 0.8
#: options beyond the minimum, or beyond what was true, that hide which were true for long (mean over bank:base)
_HIDING = 1

#: a stage, its calls for one user, one of its requests, and something as long as its reply
_Stage = tuple[str, int, Task[Any], Any]


@dataclass(frozen=True)
class Cost:
    """One stage's calls and tokens, and US dollars where the model's price is known."""

    stage: str
    calls: int
    input: int
    output: int
    price: float | None
    estimated: bool = False
    #: of the input, what the endpoint had read before; None where it does not say
    cached: int | None = None


def priced(counts: Iterable[tuple[str, RoleCount]], model: Rate | None, judge: Rate | None) -> list[Cost]:
    """Stages and what they used, with what that costs."""
    costs: list[Cost] = []
    for stage, used in counts:
        rate = judge if stage.startswith(JUDGE) else model
        price = rate.of(used.input, used.output, used.cached or 0) if rate else None
        costs.append(Cost(stage, used.calls, used.input, used.output, price, used.estimated > 0, used.cached))
    return costs


def estimate(
    shape: Shape, profiles: Sequence[str], prompts: Prompts, model: Rate | None, judge: Rate | None
) -> list[Cost]:
    """What all users take, stage by stage, without repairs."""
    mean = round(sum(map(len, profiles)) / len(profiles))
    counts = _Counts(shape, _text(mean), prompts).of_a_user()
    users = shape.users
    many = ((stage, RoleCount(calls * users, i * users, o * users, calls * users)) for stage, calls, i, o in counts)
    return priced(many, model, judge)


class _Counts:
    def __init__(self, shape: Shape, profile: str, prompts: Prompts) -> None:
        self._shape = shape
        self._profile = profile
        self._prompts = prompts
        values = tuple(_text(_VALUE, n) for n in range(shape.values))
        names = [_text(_NAME, n) for n in range(shape.questions * shape.states)]
        self._schema = {name: values for name in names}
        self._required = {name: values for name in names[: shape.states]}
        self._state = {name: values[0] for name in names}
        #: periods with changes, and the changes in one
        self._moving = -(-(shape.periods - 1) // (shape.gaps + 1)) if shape.changes else 0
        self._changed = names[: shape.changes]

    def of_a_user(self) -> list[tuple[str, int, int, int]]:
        """(stage, calls, tokens in, tokens out)."""
        stages = [*self._structure(), *self._words(), *self._answers()]
        return [
            (stage, calls, calls * self._input(task), calls * estimate_tokens([json.dumps(said)]))
            for stage, calls, task, said in stages
            if calls
        ]

    def _structure(self) -> Iterator[_Stage]:
        shape, profile, schema = self._shape, self._profile, self._schema
        draft = DraftQuestion(_text(_QUESTION), self._required)
        asked, changes = min(BATCH, shape.questions), len(self._changed)
        batches = -(-shape.questions // BATCH)
        questions = MakeQuestions(profile=profile, count=asked, states=shape.states, values=shape.values)
        yield "questions", batches, questions, [[draft.text, self._required]] * asked
        merging = MergeSchema(questions=(draft,) * shape.questions, values=shape.values)
        yield "schema", 1, merging, [list(self._required), self._required]
        yield "initial state", 1, ChooseState(profile=profile, schema=schema), self._state
        updates = ChooseUpdates(
            profile=profile,
            schema=schema,
            state=self._state,
            changeable=tuple(schema),
            reverting={},
            count=changes,
            span=_text(_SPAN),
            before=(_text(_SUMMARY),) * (min(RECENT, self._moving) // 2),
        )
        yield "updates", self._moving, updates, [_text(_SUMMARY), self._changed, [_text(_VALUE)] * changes]
        events = ExplainUpdates(
            profile=profile,
            span=_text(_SPAN),
            summary=_text(_SUMMARY),
            changes=tuple((name, _text(_VALUE), _text(_VALUE), "lasting") for name in self._changed),
            most=MOST_TOLD,
        )
        yield "events", self._moving, events, [[_text(_EVENT)] * self._events, self._changed]

    @property
    def _events(self) -> int:
        return math.ceil(len(self._changed) / _CHANGES_AN_EVENT)

    def _words(self) -> Iterator[_Stage]:
        shape, profile, schema = self._shape, self._profile, self._schema
        wrong = min(len(schema), shape.corrections + shape.contradictions)
        wrong += min(len(self._changed), shape.corrections + shape.contradictions) * self._moving
        told = shape.questions * -(-shape.states // MOST_TOLD) + self._events * self._moving + wrong
        tell = tuple(Telling(name, _text(_VALUE), "lasting", _text(_VALUE)) for name in list(schema)[:2])
        writing = WriteUtterance(profile=profile, event=_text(_EVENT), tell=tell, level="explicit", others=schema)
        yield from self._judged("utterances", told, writing)
        # a quiet period without one of its own is given one, whose topic is asked for alone
        quiet = 0 if shape.distractors else shape.periods - 1 - self._moving
        distractors = shape.distractors * shape.periods + quiet
        topics = ListTopics(profile=profile, count=BATCH, schema=schema)
        yield "topics", quiet or -(-distractors // BATCH), topics, [_text(_TOPIC)] * (1 if quiet else BATCH)
        distractor = WriteDistractor(profile=profile, topic=_text(_TOPIC), schema=schema)
        yield from self._judged("distractors", distractors, distractor)
        [name, *_] = schema
        other = WriteAboutOther(profile=profile, variable=name, value=_text(_VALUE), level="explicit", schema=schema)
        yield from self._judged("others", shape.others * shape.periods, other)

    def _judged(self, stage: str, calls: int, task: Task[Any]) -> Iterator[_Stage]:
        yield stage, calls, task, {"utterance": _text(_UTTERANCE)}
        found = dict(list(self._state.items())[:2])
        yield f"{JUDGE}{stage}", calls, RevealedStates(message=_text(_UTTERANCE), variables=self._schema), found

    def _answers(self) -> Iterator[_Stage]:
        shape, question, required = self._shape, _text(_QUESTION), self._required
        often = min(shape.max_changes, self._moving * len(self._changed) / len(self._schema))
        lived = round(1 + _NEW_VARIANTS * shape.states * often)
        options = min(shape.values**shape.states, max(shape.options, lived) + _HIDING)
        variant = tuple(values[0] for values in required.values())
        answers = WriteAnswers(question=question, variables=required, variants=(variant,) * options)
        yield "answers", shape.questions, answers, [_text(_ANSWER)] * options
        judged = RecoverVariant(question=question, answer=_text(_ANSWER), variables=required)
        yield f"{JUDGE}answers", shape.questions * options, judged, dict(zip(required, variant, strict=True))

    def _input(self, task: Task[Any]) -> int:
        return estimate_tokens(message.content for message in task.messages(self._prompts))


def _text(length: int, number: int = 0) -> str:
    """A text of that length; equal numbers give equal texts."""
    return str(number).rjust(length, "x")
