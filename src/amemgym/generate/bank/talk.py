"""What a person says in a period: one session for each group of news, and those that tell nothing of themselves.

Statements come from shuffled decks, so that a person does not repeat a sentence before all others of its kind are used
up. A value that is told wrongly first is in `retracted_states`, and a later session of the same period tells it right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Generic, TypeVar

from amemgym.generate.bank.chosen import Chosen
from amemgym.generate.bank.pack import LEVELS, Pack
from amemgym.generate.bank.people import Person, fill
from amemgym.generate.course import Change, Kind, Turn
from amemgym.generate.shape import Shape

T = TypeVar("T")

#: how often a lead stands before a first statement, and before a change
LEAD_FIRST, LEAD_CHANGED = 0.35, 0.6


@dataclass(frozen=True)
class Draft:
    """A session before it has its time."""

    query: str
    kind: str
    event: str | None = None
    exposed: Mapping[str, str] = field(default_factory=dict)
    retracted: Mapping[str, str] = field(default_factory=dict)


class Deck(Generic[T]):
    """Deals shuffled cards; when all are dealt, all over again."""

    def __init__(self, cards: Sequence[T], random: Random) -> None:
        self._cards, self._random = list(cards), random
        self._left: list[T] = []

    def deal(self) -> T:
        if not self._left:
            self._left = self._random.sample(self._cards, len(self._cards))
        return self._left.pop()


class Talker:
    """One person's way of telling things, over all periods; periods have to be asked for in order."""

    def __init__(self, pack: Pack, shape: Shape, person: Person, chosen: Chosen, random: Random) -> None:
        self._pack = pack
        self._shape = shape
        self._person = person
        self._domains = chosen.domains
        self._variables = chosen.variables
        self._value = chosen.value
        self._random = random
        self._decks: dict[tuple[str, ...], Deck[str]] = {}
        self._friends = Deck(person.friends[1:], random)

    def drafts(self, turn: Turn) -> list[Draft]:
        """The sessions of a period, in order."""
        groups: dict[tuple[str, Kind], list[Change]] = {}
        for change in turn.changes:
            groups.setdefault((self._variables[change.variable].domain, change.kind), []).append(change)
        drafts = [self._news(domain, kind, changes) for (domain, kind), changes in groups.items()]
        told_wrongly = [draft for draft in drafts if draft.retracted]
        quiet = max(1, self._shape.distractors) if turn.is_quiet else self._shape.distractors
        drafts += [self._distractor() for _ in range(quiet)]
        drafts += [self._about_another(turn) for _ in range(self._shape.others)]
        self._random.shuffle(drafts)
        for mistake in told_wrongly:
            for change in (c for c in turn.changes if c.variable in mistake.retracted):
                after = drafts.index(mistake) + 1
                drafts.insert(self._random.randint(after, len(drafts)), self._mended(change))
        return drafts

    def _news(self, domain: str, kind: Kind, changes: Sequence[Change]) -> Draft:
        """A session that tells changes of one domain, those to be taken back later with the wrong value."""
        unchanged = all(change.wrong is not None and change.wrong == change.old for change in changes)
        parts = [] if unchanged else self._lead(kind)
        parts += [self._statement(change.variable, change.wrong or change.new) for change in changes]
        parts.append(self._deal((domain, "requests"), self._domains[domain].requests))
        events = [self._event(change) for change in changes if change.kind != "first"]
        retracted = {change.variable: change.wrong for change in changes if change.wrong is not None}
        return Draft(
            query=self._joined(parts),
            kind="mistake" if retracted else "update",
            event=self._joined(events) if events else None,
            exposed={change.variable: change.new for change in changes if change.wrong is None},
            retracted=retracted,
        )

    def _mended(self, change: Change) -> Draft:
        domain = self._variables[change.variable].domain
        lead = [self._deal(("corrected",), self._pack.words.leads.corrected)] if change.admitted else []
        request = self._deal((domain, "requests"), self._domains[domain].requests)
        query = self._joined([*lead, self._statement(change.variable, change.new), request])
        return Draft(query, "correction" if change.admitted else "contradiction", None, {change.variable: change.new})

    def _distractor(self) -> Draft:
        if self._random.random() < 0.5:
            return Draft(self._deal(("chats",), self._pack.words.chats), "distractor")
        domain = self._random.choice(list(self._domains))
        return Draft(self._deal((domain, "chats"), self._domains[domain].chats), "distractor")

    def _about_another(self, turn: Turn) -> Draft:
        """A fact about somebody else, of a variable the user has as well, with a value that is not the user's."""
        name = self._random.choice(list(self._variables))
        variable = self._variables[name]
        value = self._random.choice([v for v in variable.values if v != turn.state[name]])
        relative = fill(self._random.choice(self._pack.words.relatives), {"friend": self._friends.deal()})
        words = {**self._person.words, "other": relative, "Other": relative[0].upper() + relative[1:]}
        line = self._random.choice(self._value(name, value).others)
        chat = self._deal((variable.domain, "chats"), self._domains[variable.domain].chats)
        return Draft(self._joined([fill(line, words), chat]), "other")

    def _lead(self, kind: Kind) -> list[str]:
        leads = self._pack.words.leads
        lines, often = {
            "first": (leads.first, LEAD_FIRST),
            "lasting": (leads.changed, LEAD_CHANGED),
            "temporary": (leads.temporary, 1.0),
            "reverted": (leads.reverted, 1.0),
        }[kind]
        return [self._deal((kind,), lines)] if self._random.random() < often else []

    def _statement(self, name: str, value: str) -> str:
        level = self._shape.explicitness if self._shape.explicitness != "mixed" else self._random.choice(LEVELS)
        return self._deal((name, value, level), self._value(name, value).statements(level))

    def _event(self, change: Change) -> str:
        return fill(self._random.choice(self._value(change.variable, change.new).events), self._person.words)

    def _deal(self, key: tuple[str, ...], lines: Sequence[str]) -> str:
        if key not in self._decks:
            self._decks[key] = Deck(lines, self._random)
        return fill(self._decks[key].deal(), self._person.words)

    def _joined(self, parts: Sequence[str]) -> str:
        return self._pack.words.space.join(parts)
