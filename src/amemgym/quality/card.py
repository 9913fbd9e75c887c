"""The data set card: what a data set holds, how it is worded, and whether it leaks its answers.

Users are taken one at a time, counted and let go, so a set of any size is described in the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from amemgym.evaluate.watch import RunWatcher
from amemgym.llm import Embedder
from amemgym.quality.advice import advice
from amemgym.quality.alike import Alike, AlikeCounter
from amemgym.quality.blind import Bill, BlindModel
from amemgym.quality.change import Change, ChangeCounter
from amemgym.quality.gates import Gate, GateCounter, Place, Verdict, corrected, family, places
from amemgym.quality.size import Size, SizeCounter
from amemgym.quality.wording import Wording, WordingCounter
from amemgym.scenario import Scenario
from amemgym.version import __version__


@dataclass(frozen=True)
class Card:
    """Everything a card says. `model` is the no-context model; `level` that of each gate's interval;
    `sha256` that of the file the data is in, or would be saved as."""

    name: str
    seed: int
    model: str
    size: Size
    change: Change
    wording: Wording
    alike: Alike
    gates: tuple[Gate, ...]
    level: float
    bill: Bill
    sha256: str | None = None
    amemgym: str = __version__

    def __repr__(self) -> str:
        failing = ", ".join(gate.label for gate in self.failing) or "none"
        return f"Card({self.name!r}, {self.size.users} users, {self.size.exams} exams, failing gates: {failing})"

    @property
    def failing(self) -> tuple[Gate, ...]:
        """The gates that fail."""
        return tuple(gate for gate in self.gates if gate.verdict is Verdict.FAILS)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where gold stands in the data's order."""
        return places(self.gates)

    @property
    def advice(self) -> list[str]:
        """What the gates mean, in words."""
        return advice(self.gates)

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON, with what is derived."""
        told = asdict(self)
        told["gates"] = [
            {**asdict(gate), "accuracy": gate.accuracy, "chance": gate.chance, "difference": gate.difference}
            for gate in self.gates
        ]
        told["change"]["unchanged_share"] = self.change.unchanged_share
        for name, reading in self.wording.reading.items():
            told["wording"]["reading"][name] |= {
                "coleman_liau": reading.coleman_liau,
                "characters_a_sentence": reading.characters_a_sentence,
            }
        return told | {"places": [asdict(place) for place in self.places], "advice": self.advice}


async def describe(
    name: str,
    users: Iterable[Scenario],
    embedder: Embedder,
    embedder_name: str,
    model_name: str,
    model: BlindModel,
    seed: int,
    watcher: RunWatcher,
) -> Card:
    """Count the users one after the other. Raises ModelError where the no-context model gives no reply."""
    size, change, wording = SizeCounter(), ChangeCounter(), WordingCounter()
    alike, gates = AlikeCounter(embedder_name), GateCounter(seed)
    for number, user in enumerate(users):
        asked = embedder.embed([question.query for question in user.qas])
        options = [embedder.embed([option.answer for option in question.answer_choices]) for question in user.qas]
        size.add(user)
        change.add(user)
        wording.add(number, user)
        alike.add(number, user, options)
        gates.add(user, asked, options, await model.choose(user))
        watcher.finished("card", user.id)
    judged = gates.result()
    return Card(
        name=name,
        seed=seed,
        model=model_name,
        size=size.result(),
        change=change.result(),
        wording=wording.result(),
        alike=alike.result(),
        gates=judged,
        level=corrected(len(family(judged))),
        bill=model.bill,
    )
