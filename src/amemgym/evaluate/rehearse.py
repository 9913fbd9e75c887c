"""A rehearsal of a run: its episodes and upper bounds are played by the run's own code, and only counted.

Who opens the doors decides who replies: stand-ins, or a model that is sampled. There is no run directory and no result;
of each call are kept its place and role, of each episode what its roles used and its longest chain of calls.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_hex

from amemgym.agents import Agent, AgentSpec
from amemgym.env import Episode, Rules
from amemgym.errors import ModelError
from amemgym.evaluate.examine import Seat
from amemgym.evaluate.failed import said
from amemgym.evaluate.offpolicy import Recorded
from amemgym.evaluate.play import play
from amemgym.evaluate.players import Players, in_play
from amemgym.evaluate.spec import RunSpec
from amemgym.evaluate.upperbound import measure
from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Doors, Journal, Line, ModelSettings, RoleCount
from amemgym.llm.journal import Address, Entry
from amemgym.scenario import Scenario
from amemgym.tasks import prompts_for

_PERIOD = re.compile(r"p(\d+)/")


@dataclass(frozen=True)
class Played:
    """What one episode used by role, or what one user's upper bound did; `chain` is the longest chain of calls in it,
    each of which needs the one before."""

    ledger: dict[str, RoleCount]
    chain: int


class Notes(Journal):
    """A journal that keeps nothing of a reply; it notes where calls were made."""

    def __init__(self) -> None:
        super().__init__(None)
        self.places: Counter[str] = Counter()

    def append(self, address: Address, entry: Entry) -> Entry:
        self.places[address.place] += 1
        return entry

    def chain(self, waits: bool) -> int:
        """The calls of the conversation wait for each other, those of one question too; an exam goes on beside the
        conversation, but where it `waits`."""
        spoken: Counter[int] = Counter()
        asked: Counter[int] = Counter()
        for place, calls in self.places.items():
            period = int(found[1]) if (found := _PERIOD.match(place)) else 0
            if "/s" in place:
                spoken[period] += calls
            else:
                asked[period] = max(asked[period], calls)
        longest = done = 0
        for period in sorted({*spoken, *asked}):
            done += spoken[period]
            longest = max(longest, done + asked[period])
            done += asked[period] if waits else 0
        return longest


class Rehearsal:
    """Plays episodes and upper bounds as `Run` does.

    Args:
        spec, model, user_model, rules, recorded: as a run has them.
        doors: to whoever replies.
    """

    def __init__(
        self,
        spec: RunSpec,
        model: ModelSettings,
        user_model: ModelSettings,
        rules: Rules,
        doors: Doors,
        recorded: Recorded | None = None,
    ) -> None:
        self._spec = spec
        self._model = model
        self._user_model = user_model
        self._rules = rules
        self._doors = doors
        self._recorded = recorded
        self._prompts = prompts_for(spec.language)
        self._players = Players(spec, model, doors)
        self._players.run_name = f"rehearsal-{token_hex(4)}"

    async def episode(self, agent: AgentSpec, scenario: Scenario) -> Played:
        """Play an episode. Raises as `play` does."""
        notes = Notes()
        line = Line(notes, self._prompts)
        player: Agent = await self._players.seat(agent, scenario, 0, line)
        async with in_play(player, line):
            user_model = (agent.model or self._model) if self._recorded else self._user_model
            await play(
                Seat(agent.name, 0, 0),
                scenario,
                player,
                Episode(line.model(self._doors.to(user_model), "user"), self._rules),
                line,
                self._spec.seed,
                RunWatcher(),
                probing=self._spec.probe,
                recorded=self._recorded.of(scenario.id, 0) if self._recorded else None,
            )
            waits = player.waits_for_exams
        return Played(line.ledger, notes.chain(waits))

    async def upper_bound(self, model: ModelSettings, scenario: Scenario) -> Played:
        """Measure a user's upper bound. Raises a ModelError."""
        notes = Notes()
        line = Line(notes, self._prompts)
        asked = line.model(self._doors.to(model), "upper bound")
        await measure("", 0, scenario, asked, line, self._rules, self._spec.seed, RunWatcher())
        return Played(line.ledger, notes.chain(False))

    async def aclose(self) -> None:
        await self._players.aclose()
        await self._doors.aclose()


async def try_agent(rehearsal: Rehearsal, agent: AgentSpec, scenarios: Sequence[Scenario]) -> list[Played] | str:
    """The agent's episodes of these users, one after the other, or why they cannot be rehearsed (a sentence).

    Raises a ModelError, where a model that is sampled gives no reply.
    """
    try:
        return [await rehearsal.episode(agent, scenario) for scenario in scenarios]
    except ModelError:
        raise
    except Exception as error:  # also code from elsewhere: a memory's, a plug-in's
        return said(error)
