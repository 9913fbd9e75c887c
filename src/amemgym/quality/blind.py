"""The no-context model: asked each question of the data through the door, with its options and nothing else.

It is asked once a question, in the data's order of options and without a date, and its choice stands for every period:
nothing in the request differs between them. An offline model gets the options' labels as in an exam; without a context
it believes in every value alike, so its choice is a draw. Replies are kept in a journal a user, under a folder that is
the model's alone, so that what was asked is never asked again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from amemgym import files
from amemgym.errors import ContentFiltered, ContextOverflow, RequestRefused
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import (
    Doors,
    Journal,
    Limits,
    Line,
    Model,
    ModelSettings,
    RoleCount,
    at,
    describe_model,
    estimate_tokens,
)
from amemgym.llm.prices import rate_of
from amemgym.quality.gates import Blind
from amemgym.scenario import Question, Scenario
from amemgym.tasks import ChooseOption, Context, Prompts
from amemgym.together import side_by_side

#: tokens of a reply in the form that is asked for; a model that thinks first writes more
REPLY = 10
ROLE = "no-context"


@dataclass(frozen=True)
class Bill:
    """Calls, tokens (`estimated`: not all were counted by the endpoint) and US dollars at the model's list price, None
    where that is not known."""

    calls: int
    input: int
    output: int
    estimated: bool
    dollars: float | None

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        if self.dollars is None:
            cost = "at a price that is not known"
        else:
            cost = f"{about}${self.dollars:.2f} at list price" if self.dollars >= 0.01 else "under $0.01 at list price"
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}"
        return f"{calls}, {about}{self.input:,} tokens in, {about}{self.output:,} out, {cost}"


class BlindModel:
    """One model for the users of a data set.

    Args:
        settings: how it is reached.
        prompts: the language it is asked in.
        folder: where replies are kept; None keeps none.
        concurrency, attempts: as in a run.
        watcher: is told of calls and remarks.
    """

    def __init__(
        self,
        settings: ModelSettings,
        prompts: Prompts,
        folder: Path | None,
        *,
        concurrency: int,
        attempts: int,
        watcher: RunWatcher,
    ) -> None:
        self._settings = settings
        self._prompts = prompts
        self._folder = folder
        self._doors = Doors(Limits(concurrency, attempts), watcher)
        self._doors.to(settings)  # a model that cannot be called is told before anything is done
        self._used = RoleCount()

    def estimate(self, users: Iterable[Scenario]) -> Bill:
        """What asking about all of them costs, as far as it can be known before."""
        calls = tokens = 0
        for user in users:
            for question in user.qas:
                calls += 1
                tokens += estimate_tokens(message.content for message in _task(question).messages(self._prompts))
        return Bill(calls, tokens, calls * REPLY, True, self._price(tokens, calls * REPLY))

    async def choose(self, user: Scenario) -> list[Blind]:
        """Its choice for each question. Raises ModelError where no reply can be had."""
        journal = Journal(self._folder / f"{files.slug(user.id)}.jsonl" if self._folder else None)
        line = Line(journal, self._prompts)
        model = line.model(self._doors.to(self._settings), ROLE)
        try:
            chosen = await side_by_side(_ask(model, number, asked) for number, asked in enumerate(user.qas))
        finally:
            journal.close()
            for count in line.ledger.values():
                self._used.add_all(count)
        return chosen

    @property
    def bill(self) -> Bill:
        """What was used, replies from a journal included."""
        used = self._used
        dollars = self._price(used.input, used.output, used.cached or 0)
        return Bill(used.calls, used.input, used.output, used.estimated > 0, dollars)

    def _price(self, input: int, output: int, cached: int = 0) -> float | None:
        """US dollars, or None where the model's price is not known."""
        rate = rate_of(self._settings)
        return None if rate is None else rate.of(input, output, cached)

    async def aclose(self) -> None:
        await self._doors.aclose()


def _task(question: Question) -> ChooseOption:
    return ChooseOption(question.query, tuple(option.answer for option in question.answer_choices), Context())


async def _ask(model: Model, number: int, question: Question) -> Blind:
    labels = tuple(dict(zip(question.required_info, o.state, strict=True)) for o in question.answer_choices)
    try:
        with at(f"q{number}", "exam", labels):
            answer = await model.ask(_task(question))
    except (ContentFiltered, ContextOverflow, RequestRefused):
        return Blind(None, missing=True)
    return Blind(None if answer.value is None else answer.value - 1)


def folder_of(settings: ModelSettings, work: Path) -> Path:
    """Where one model's replies are kept under `work`: another model, address or temperature has another folder."""
    described = files.canonical_json(describe_model(settings))
    return work / f"{files.slug(settings.model)}-{files.sha256(described.encode('utf-8'))[:8]}"
