"""A budget: how it is written, and that never more is spent than it allows.

Promised: where what is expected is what a call takes, the sum never passes the budget, whatever is under way at once;
and when it stops, every reply that was paid for is in a journal.
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path

import pytest

from amemgym.errors import BudgetSpent, EndpointUnavailable, NoContent, UsageError
from amemgym.llm import Completion, Door, Journal, Line, Request, Usage, at, estimate_tokens
from amemgym.llm.budget import Budget, Expected
from amemgym.llm.doors import Doors
from amemgym.llm.limiter import Limiter
from amemgym.llm.limits import Limits
from amemgym.llm.models import ModelSettings
from amemgym.llm.prices import Rate
from tests.llm.helpers import PROMPTS, Heard, reply_to, request_for
from tests.support.clock import FakeClock

READ = {
    "2000000": (2_000_000, False),
    "2M": (2_000_000, False),
    "1.5m": (1_500_000, False),
    "500k tokens": (500_000, False),
    "2,000,000 tokens": (2_000_000, False),
    "3000 tok": (3000, False),
    "5usd": (5, True),
    "$5": (5, True),
    "0.5 USD": (0.5, True),
    " .25$ ": (0.25, True),
    "1k usd": (1000, True),
    "US$ 1,250.50": (1250.5, True),
    "10 dollars": (10, True),
}


@pytest.mark.parametrize("text", READ)
def test_how_it_may_be_written(text: str) -> None:
    budget = Budget.parse(text)
    assert (budget.most, budget.dollars) == READ[text]


@pytest.mark.parametrize(
    "text",
    ["", "five", "5 eur", "-5", "0", "0usd", "0.5", "nan", "inf", "$", "1,00", "5 usd tokens", "$5usd", "9" * 40],
)
def test_what_it_may_not_be(text: str) -> None:
    with pytest.raises(UsageError, match=r"5usd.*2M"):
        Budget.parse(text)


class Exact:
    """Takes what is expected: the input by characters, the output the same each time. Fails at times."""

    def __init__(self, clock: FakeClock, chance: random.Random, output: int) -> None:
        self._clock, self._chance, self._output = clock, chance, output
        self.used = 0

    async def complete(self, request: Request) -> Completion:
        usage = Usage(estimate_tokens(m.content for m in request.messages), self._output)
        await self._clock.sleep(self._chance.random())
        kind = self._chance.random()
        if kind < 0.1:
            raise EndpointUnavailable("Again.", None, 409)
        self.used += usage.input + usage.output
        if kind < 0.2:
            raise NoContent("It said nothing.", usage, "length")
        return Completion("Very well.", usage)

    async def aclose(self) -> None:
        return None


@pytest.mark.parametrize("seed", range(8))
def test_never_more_than_it_allows(seed: int, tmp_path: Path) -> None:
    chance, clock = random.Random(seed), FakeClock()
    budget = Budget(chance.randint(2_000, 20_000), dollars=False)
    provider = Exact(clock, chance, output=50)
    limiter = Limiter(Limits(chance.choice([1, 5, 40])), clock=clock)
    line = Line(Journal(tmp_path / "j"), PROMPTS)
    model = line.model(Door(provider, limiter, budget=budget, max_tokens=200), "assistant")

    async def one(number: int) -> None:
        with at(f"p0/q{number}"):
            await model.ask(reply_to("word " * chance.randint(1, 400)))

    async def all_of() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(300):
                group.create_task(one(number))

    with pytest.raises(BaseExceptionGroup) as caught:
        clock.run(all_of())
    line.journal.close()
    assert {type(error) for error in caught.value.exceptions} == {BudgetSpent}
    assert provider.used == budget.spent <= budget.most
    assert budget.most - provider.used < 700  # and what is left is less than a call takes
    kept = [json.loads(line) for line in (tmp_path / "j").read_text("ascii").splitlines()]
    assert sum(entry["input"] + entry["output"] for entry in kept) == provider.used


def test_what_a_journal_has_costs_nothing(tmp_path: Path) -> None:
    clock = FakeClock()

    def play(most: int) -> tuple[float, int]:
        budget, provider = Budget(most, dollars=False), Exact(clock, random.Random(3), 50)
        line = Line(Journal(tmp_path / "j"), PROMPTS)
        model = line.model(Door(provider, Limiter(Limits(1), clock=clock), budget=budget, max_tokens=200), "user")

        async def all_of() -> None:
            for number in range(30):
                with at(f"p0/q{number}"):
                    await model.ask(reply_to("word " * 20))

        try:
            clock.run(all_of())
        finally:
            line.journal.close()
        return budget.spent, provider.used

    with pytest.raises(
        BudgetSpent, match=r"the budget is spent: [\d,]+ of 1,000 tokens in this go, and the next .* 1\d\d tokens"
    ):
        play(1000)
    goes = 1
    for _ in range(5):
        try:
            spent, used = play(1000)
        except BudgetSpent:
            goes += 1
    assert goes == 3 and spent == used == 0  # after the go that ends it, all is there


def test_dollars_count_input_output_and_what_was_cached() -> None:
    budget, rate = Budget(1.0, dollars=True), Rate(2e-6, 8e-6, 5e-7)
    budget.spend(Usage(100_000, 10_000, cached=60_000), rate)
    assert budget.spent == pytest.approx(0.04 * 2 + 0.06 * 0.5 + 0.01 * 8)

    async def reserve(usage: Usage) -> None:
        budget.release(await budget.reserve(usage, rate))

    asyncio.run(reserve(Usage(400_000, 1000)))
    with pytest.raises(BudgetSpent, match=r"US\$ 0\.1900 of US\$ 1\.00 in this go.* about US\$ 0\.8160"):
        asyncio.run(reserve(Usage(400_000, 2000)))


def test_a_call_that_does_not_fit_waits_for_those_under_way() -> None:
    async def play() -> list[str]:
        told: list[str] = []
        budget = Budget(100, dollars=False)
        first = await budget.reserve(Usage(60, 30), None)

        async def other() -> None:
            second = await budget.reserve(Usage(40, 20), None)
            told.append("fits")
            budget.release(second)

        waiting = asyncio.create_task(other())
        for _ in range(5):
            await asyncio.sleep(0)
        told.append("waits")
        budget.spend(Usage(30, 10), None)  # less than was expected
        budget.release(first)
        await waiting
        return told

    assert asyncio.run(play()) == ["waits", "fits"]


def test_once_it_is_spent_no_smaller_call_is_made() -> None:
    """It would be ended with all the others before its reply is kept."""

    async def play() -> list[type[BaseException]]:
        budget = Budget(100, dollars=False)
        first = await budget.reserve(Usage(90, 0), None)
        waiting = [asyncio.create_task(budget.reserve(Usage(size, 0), None)) for size in (60, 20)]
        await asyncio.sleep(0)
        budget.spend(Usage(70, 0), None)
        budget.release(first)
        results = await asyncio.gather(*waiting, return_exceptions=True)
        return [type(result) for result in results if isinstance(result, BaseException)]

    assert asyncio.run(play()) == [BudgetSpent, BudgetSpent]


def test_what_is_expected_is_learned_by_role() -> None:
    expected = Expected(max_tokens=400)
    assert expected.usage("user", 50) == Usage(50, 100, estimated=True)
    expected.learn("user", 100, Usage(150, 10))
    expected.learn("user", 100, Usage(150, 21))
    assert expected.usage("user", 50) == Usage(75, 16, estimated=True)
    assert expected.usage("exam", 50) == Usage(75, 100, estimated=True)
    expected.learn("exam", 100, Usage(7, 3, estimated=True))  # counted by characters, which tells nothing of them
    assert expected.usage("exam", 50) == Usage(75, 3, estimated=True)


def test_a_budget_for_less_than_a_call_is_called_too_small() -> None:
    with pytest.raises(BudgetSpent, match=r"of 5 tokens is too small for one call, .* 621 tokens; .*5 is tokens"):
        asyncio.run(Budget.parse("5").reserve(Usage(600, 21), None))


def test_dollars_need_a_price_and_what_runs_here_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    doors = Doors(Limits(), Heard(), budget=Budget.parse("5usd"))
    assert doors.rate(ModelSettings("offline")) == Rate(0.0, 0.0)
    assert doors.rate(ModelSettings("openai:gpt-4.1-mini")) is not None
    with pytest.raises(UsageError, match=r"openai:nobodys-own is not known.*--prices.*--budget in tokens"):
        doors.to(ModelSettings("openai:nobodys-own"))
    with pytest.raises(UsageError, match=r"gpt-4.1-mini at http://127.0.0.1:9/v1 is not known"):
        doors.to(ModelSettings("openai:gpt-4.1-mini", base_url="http://127.0.0.1:9/v1"))
    assert Doors(Limits(), Heard(), budget=Budget.parse("5M")).rate(ModelSettings("openai:nobodys-own")) is None


def test_tokens_a_minute_are_kept_at_the_door() -> None:
    clock = FakeClock()
    provider = Exact(clock, random.Random(5), output=50)
    door = Door(provider, Limiter(Limits(50, tpm=2000), clock=clock), max_tokens=200)

    async def play() -> None:
        await asyncio.gather(*(door.complete(request_for(), "user") for _ in range(100)), return_exceptions=True)

    clock.run(play())
    assert provider.used / 2000 - 1.2 < clock.now() / 60 < provider.used / 2000 + 1.2
