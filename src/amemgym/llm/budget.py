"""What an undertaking may spend: US dollars or tokens, counted before a call is made and again when its reply is there.

A call reserves what it is expected to take and is only made where that still fits beside what is spent and what is
under way. Where it does not, it waits for those under way; when none is left and it still does not fit, the budget is
spent and the undertaking stops. By then every reply that was paid for is in a journal, so nothing of it is lost. What a
journal has costs nothing, so a budget is that of one go.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from dataclasses import dataclass

from amemgym.errors import BudgetSpent, UsageError
from amemgym.llm.prices import Rate
from amemgym.llm.provider import Usage

EXAMPLES = "write US dollars as 5usd, $5 or 0.50usd, tokens as 2000000, 2M or 500k"

#: parts of a dollar that are counted, whole, so that a sum depends on no order
_PARTS = 10**12
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_AMOUNT = re.compile(
    r"(?P<sign>us\$|\$|usd)?\s*(?P<number>\d{1,3}(?:[,_]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s*(?P<times>[kmb])?\s*"
    r"(?P<unit>usd|us\$|\$|us dollars?|dollars?|tokens?|tok)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Reserved:
    """What a call under way is expected to take, in the budget's own unit."""

    amount: int


class Budget:
    """One undertaking's, for all its models.

    Args:
        amount: US dollars where `dollars`, else tokens (those of the input and the output alike).
    """

    def __init__(self, amount: float, dollars: bool) -> None:
        self.dollars = dollars
        self._most = round(amount * _PARTS) if dollars else int(amount)
        self._spent = 0
        self._reserved = 0
        self._is_over = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    @classmethod
    def parse(cls, text: str) -> Budget:
        """From what a person writes. Raises UsageError, with examples."""
        found = _AMOUNT.fullmatch(text.strip())
        if found is None:
            raise UsageError(f"budget '{text}' cannot be read; {EXAMPLES}")
        sign, unit = (found["sign"] or "").lower(), (found["unit"] or "").lower()
        counts_tokens = unit.startswith("tok")
        amount = float(re.sub("[,_]", "", found["number"])) * _TIMES[(found["times"] or "").lower()]
        if sign and unit:
            raise UsageError(f"budget '{text}' has two units; {EXAMPLES}")
        dollars = bool(sign or unit) and not counts_tokens
        if amount <= 0 or (not dollars and amount < 1) or amount > 10**15:
            raise UsageError(f"budget '{text}' allows nothing, or has no end; {EXAMPLES}")
        return cls(amount, dollars)

    @property
    def spent(self) -> float:
        """In US dollars or tokens, in this go."""
        return self._spent / _PARTS if self.dollars else float(self._spent)

    @property
    def most(self) -> float:
        """In US dollars or tokens."""
        return self._most / _PARTS if self.dollars else float(self._most)

    async def reserve(self, expected: Usage, rate: Rate | None) -> Reserved:
        """Wait until a call fits. Raises BudgetSpent where it will not."""
        amount = self._amount(expected, rate)
        while self._is_over or self._spent + self._reserved + amount > self._most:
            if not self._reserved:
                self._is_over = True  # a smaller call would be made, and ended with all others before it is kept
                if not self._spent:  # the next go would stop here as well
                    raise BudgetSpent(
                        f"the budget of {self._told(self._most)} is too small for one call, which would take about"
                        f" {self._told(amount)}; give more with --budget (5usd is US dollars, 5 is tokens)"
                    )
                spent = self._told(self._spent).removesuffix(" tokens")
                raise BudgetSpent(
                    f"the budget is spent: {spent} of {self._told(self._most)} in this go, and the"
                    f" next call would take about {self._told(amount)}. The next go may spend as much again, or what"
                    " --budget says"
                )
            ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            await ended
        self._reserved += amount
        return Reserved(amount)

    def spend(self, usage: Usage, rate: Rate | None) -> None:
        """So much was used."""
        self._spent += self._amount(usage, rate)

    def release(self, reserved: Reserved) -> None:
        """The call is not under way any more; what it used is counted by `spend`, before this."""
        self._reserved -= reserved.amount
        waiting, self._waiting = self._waiting, deque()
        for ended in waiting:
            if not ended.done():
                ended.set_result(None)

    def _amount(self, usage: Usage, rate: Rate | None) -> int:
        if not self.dollars:
            return usage.input + usage.output
        if rate is None:
            raise UsageError("a budget in US dollars needs the price of every model")
        return round(rate.of(usage.input, usage.output, usage.cached or 0) * _PARTS)

    def _told(self, amount: int) -> str:
        if not self.dollars:
            return f"{amount:,} tokens"
        dollars = amount / _PARTS
        return f"US$ {dollars:,.2f}" if dollars >= 1 else f"US$ {dollars:.4f}"


class Expected:
    """What a model's calls are expected to use, learned from those it made.

    The input is counted by characters and corrected by what the model's own counts were so far; the output is the mean
    of the role's so far, and a quarter of the longest reply before there is one.
    """

    def __init__(self, max_tokens: int | None) -> None:
        self._first = (max_tokens or 2048) // 4
        self._estimated = 0
        self._counted = 0
        self._outputs: dict[str, tuple[int, int]] = {}

    def usage(self, role: str, input: int) -> Usage:
        """Of a call whose input is estimated at so many tokens."""
        if self._estimated and self._counted:
            input = -(-input * self._counted // self._estimated)
        calls, tokens = self._outputs.get(role, (0, 0))
        return Usage(input, -(-tokens // calls) if calls else self._first, estimated=True)

    def learn(self, role: str, input: int, usage: Usage) -> None:
        """A call whose input was estimated at so many tokens used so much."""
        if input and usage.input and not usage.estimated:
            self._estimated += input
            self._counted += usage.input
        calls, tokens = self._outputs.get(role, (0, 0))
        self._outputs[role] = calls + 1, tokens + usage.output
