"""What a card's gates mean, in words: which fail, why that matters, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amemgym.quality.gates import Gate, Kind, Verdict

#: an arm of an interval longer than this leaves room for a leak that matters
WIDE = 0.1
#: a difference from chance smaller than this is no more than a remark
SLIGHT = 0.01
_SMALL = f"The difference is slight, under {SLIGHT}; it is seen as the users are many."


def advice(gates: Sequence[Gate]) -> list[str]:
    """A sentence or two for each kind of failing gate, then what the rest stands on."""
    found = []
    for kind, says in _SAYS.items():
        failing = [gate for gate in gates if gate.kind is kind and gate.verdict is Verdict.FAILS]
        if failing:
            small = f" {_SMALL}" if all(abs(gate.difference or 0) < SLIGHT for gate in failing) else ""
            found.append(says(failing) + small)
    told = [gate for gate in gates if gate.verdict is not Verdict.UNTOLD]
    if told and not found:
        found.append("No gate fails: no rule that knows nothing of the user can be told from chance with these users.")
    wide = [gate for gate in told if gate.verdict is Verdict.PASSES and _arm(gate) > WIDE]
    if wide:
        reach = (
            f"The interval of {_named(wide)} reaches" if len(wide) == 1 else f"The intervals of {_named(wide)} reach"
        )
        found.append(f"{reach} more than {WIDE} to a side: a leak of that size would not be seen with so few users.")
    for why in dict.fromkeys(gate.why for gate in gates if gate.verdict is Verdict.UNTOLD):
        untold = [gate for gate in gates if gate.why == why]
        pass_ = "passes" if len(untold) == 1 else "pass"
        found.append(f"It cannot be told whether {_named(untold)} {pass_}: {why}.")
    return found


def _order(gates: Sequence[Gate]) -> str:
    more = [gate for gate in gates if (gate.difference or 0) > 0]
    less = [gate for gate in gates if (gate.difference or 0) < 0]
    sides = [f"more often than by chance at {_standing(more)}"] if more else []
    sides += [f"less often at {_standing(less)}"] if less else []
    return (
        f"The order of the options is biased: gold stands {' and '.join(sides)}. An agent that likes a place gains or"
        " loses by it without any memory. Shuffle the options: the protocol amemgym does, for each user, question and"
        " period; the protocol v1 does not, so its scores hold this bias."
    )


def _length(gates: Sequence[Gate]) -> str:
    return (
        f"The length of an option tells whether it is right ({_sides(gates)}). No order of options mends that;"
        " write the options of a question anew, alike in length."
    )


def _wording(gates: Sequence[Gate]) -> str:
    return (
        f"How near an option's words are to its question's tells whether it is right ({_sides(gates)}). Write options"
        " so that each takes up the question as much as the others."
    )


def _likeness(gates: Sequence[Gate]) -> str:
    return (
        f"How much an option shares with the others tells whether it is right ({_sides(gates)}): what was true for long"
        " shares values with what was true before and after it. Add options that were never true and share as much."
    )


def _model(gates: Sequence[Gate]) -> str:
    return (
        f"A model that knows nothing of the user does other than chance ({_sides(gates)}): the question and its options"
        " alone, or their order where that is biased too, tell what is right. Scores on this data are not of memory"
        " alone; look for options that suit anybody best, and write them anew."
    )


def _chance(gates: Sequence[Gate]) -> str:
    return (
        f"Drawing at random lies outside its own interval ({_sides(gates)}). It knows nothing, so that is an accident,"
        " which with all gates together happens to one data set in twenty; another --seed should show it."
    )


_SAYS: dict[Kind, Callable[[Sequence[Gate]], str]] = {
    Kind.ORDER: _order,
    Kind.LENGTH: _length,
    Kind.WORDING: _wording,
    Kind.LIKENESS: _likeness,
    Kind.MODEL: _model,
    Kind.CHANCE: _chance,
}


def _sides(gates: Sequence[Gate]) -> str:
    return ", ".join(f"{gate.label} {gate.difference or 0:+.3f}".replace("-0.", "−0.") for gate in gates)


def _standing(gates: Sequence[Gate]) -> str:
    return _listed([f"place {place}" if (place := _place(gate)) else "the last place" for gate in gates])


def _place(gate: Gate) -> str:
    return gate.name.removeprefix("always-") if gate.name.startswith("always-") else ""


def _named(gates: Sequence[Gate]) -> str:
    return _listed([gate.label for gate in gates])


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _arm(gate: Gate) -> float:
    low, high = gate.interval or (0.0, 0.0)
    middle = gate.difference or 0.0
    return max(high - middle, middle - low)
