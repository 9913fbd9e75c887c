"""What can be wrong with what a model proposes for a life, as sentences that the model is given to repair it.

Only rules stand here; whether a text says what it should is found out by asking the judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from amemgym.tasks import DraftQuestion, LifeEvent, Merging, alike
from amemgym.tasks.making import place

#: longest name of a variable or a value, in characters
LONGEST_NAME = 60
#: longest question, utterance or answer, in characters
LONGEST_TEXT = 2000
#: an answer may be so many times as long as the shortest of its question: length must not tell options apart
LENGTH_RATIO = 1.6

Schema = Mapping[str, tuple[str, ...]]


def question_faults(
    drafts: Sequence[DraftQuestion], earlier: Sequence[str], count: int, states: int, values: int
) -> Iterator[str]:
    if len(drafts) != count:
        yield f"there are {len(drafts)} questions; there should be {count}"
    yield from _repeated("question", [*earlier, *(draft.text for draft in drafts)])
    for number, draft in enumerate(drafts, start=1):
        if len(draft.variables) != states:
            yield f"question {number} has {len(draft.variables)} variables; it should have {states}"
        yield from text_faults(f"question {number}", draft.text, {})
        yield from _alike_faults(f"question {number}: the variables", list(draft.variables))
        for name, listed in draft.variables.items():
            yield from _name_faults(f"question {number}: the variable", name)
            yield from _value_faults(f"question {number}: '{name}'", listed, values)


def merged_schema(
    drafts: Sequence[DraftQuestion], merging: Merging, values: int
) -> tuple[dict[str, tuple[str, ...]], list[list[str]], list[str]]:
    """The schema, each question's required info, and what is wrong (where that is anything, they do not count)."""
    places = {place(n, name): (n, name) for n, draft in enumerate(drafts, start=1) for name in draft.variables}
    faults = list(_merging_faults(places, merging, values))
    names = {one: merging.renamed.get(one, name) for one, (_, name) in places.items()}
    given = {one: drafts[n - 1].variables[name] for one, (n, name) in places.items()}
    owners: dict[str, list[str]] = {}
    for merged in merging.merged:
        for member in merged.members:
            names[member] = merged.name
            given[member] = merged.values
    schema: dict[str, tuple[str, ...]] = {}
    together = {member: index for index, merged in enumerate(merging.merged) for member in merged.members}
    for one in places:
        name = names[one]
        schema.setdefault(name, given[one])
        owner = f"merged {together[one]}" if one in together else one
        owners.setdefault(name, [])
        if owner not in owners[name]:
            owners[name].append(owner)
    for name, several in owners.items():
        if len(several) > 1:
            told = ", ".join(one for one in places if names[one] == name)
            faults.append(f"the name '{name}' is that of {told}, which are not made one; give them different names")
    faults += _alike_faults("the variables", list(schema))
    required = [[names[place(n, name)] for name in draft.variables] for n, draft in enumerate(drafts, start=1)]
    for number, needed in enumerate(required, start=1):
        for name, count in Counter(needed).items():
            if count > 1:
                faults.append(f"{count} variables of question {number} would become '{name}'; each must stay its own")
    return schema, required, faults


def state_faults(state: Mapping[str, str], schema: Schema) -> Iterator[str]:
    for name, value in state.items():
        if name not in schema:
            yield f"'{name}' is no variable"
        elif value not in schema[name]:
            yield f"'{name}' cannot be '{value}'; its values are {', '.join(schema[name])}"
    if missing := [name for name in schema if name not in state]:
        yield f"without a value: {', '.join(missing)}"


def event_faults(events: Sequence[LifeEvent], changed: Sequence[str], most: int) -> Iterator[str]:
    explained = Counter(name for event in events for name in event.variables)
    for name, count in explained.items():
        if name not in changed:
            yield f"'{name}' does not change in this period; those that do: {', '.join(changed)}"
        elif count > 1:
            yield f"'{name}' is in {count} events; it should be in exactly one"
    if missing := [name for name in changed if name not in explained]:
        yield f"no event explains {', '.join(missing)}"
    for number, event in enumerate(events, start=1):
        if len(event.variables) > most:
            yield f"event {number} explains {len(event.variables)} changes; at most {most} are allowed"


def topic_faults(topics: Sequence[str], earlier: Sequence[str], count: int) -> Iterator[str]:
    if len(topics) != count:
        yield f"there are {len(topics)} topics; there should be {count}"
    yield from _repeated("topic", [*earlier, *topics])


def answer_faults(answers: Sequence[str], count: int, schema: Schema) -> Iterator[str]:
    if len(answers) != count:
        yield f"there are {len(answers)} answers; there should be {count}, one for each situation in its order"
    yield from _repeated("answer", answers)
    for number, answer in enumerate(answers, start=1):
        yield from text_faults(f"answer {number}", answer, schema)
    lengths = [len(answer) for answer in answers]
    if lengths and max(lengths) > LENGTH_RATIO * min(lengths):
        long, short = lengths.index(max(lengths)) + 1, lengths.index(min(lengths)) + 1
        yield (
            f"answer {long} has {max(lengths)} characters and answer {short} only {min(lengths)}; they should be"
            " about equally long"
        )


def text_faults(what: str, text: str, schema: Schema) -> Iterator[str]:
    """What no text that people read may hold."""
    if len(text) > LONGEST_TEXT:
        yield f"{what} has {len(text)} characters; at most {LONGEST_TEXT} are allowed"
    for word in dict.fromkeys([*schema, *(value for values in schema.values() for value in values)]):
        if "_" in word and word.casefold() in text.casefold():
            yield f"{what} holds the name '{word}'; say it as people do"


def told_faults(found: Mapping[str, str] | None, meant: Mapping[str, str]) -> Iterator[str]:
    """How what a judge found in a message differs from what it was meant to tell."""
    if found is None:
        yield "what the message tells could not be made out; write it more clearly"
        return
    for name, value in meant.items():
        if name not in found:
            yield f"the message does not let one know that '{name}' is '{value}'"
        elif found[name] != value:
            yield f"one reads in the message that '{name}' is '{found[name]}'; it should be '{value}'"
    for name, value in found.items():
        if name not in meant:
            yield f"the message gives away that '{name}' is '{value}'; it must not"


def _merging_faults(places: Mapping[str, tuple[int, str]], merging: Merging, values: int) -> Iterator[str]:
    used = Counter(member for merged in merging.merged for member in merged.members)
    for one in [*used, *merging.renamed]:
        if one not in places:
            yield f"'{one}' is no variable of a question; they are written like {', '.join(list(places)[:2])}"
    for one, count in used.items():
        if count > 1 or one in merging.renamed:
            yield f"'{one}' is made one with others or renamed more than once"
    for merged in merging.merged:
        yield from _name_faults("the name", merged.name)
        yield from _value_faults(f"'{merged.name}'", merged.values, values)
        if len(merged.members) < 2:
            yield f"'{merged.name}' stands for one variable alone; rename that instead"
    for name in merging.renamed.values():
        yield from _name_faults("the name", name)


def _value_faults(what: str, listed: Sequence[str], values: int) -> Iterator[str]:
    if len(listed) != values:
        yield f"{what} has {len(listed)} values; it should have {values}"
    yield from _alike_faults(f"{what}: the values", listed)
    for value in listed:
        yield from _name_faults(f"{what}: the value", value)


def _alike_faults(what: str, names: Sequence[str]) -> Iterator[str]:
    """Names that a reply's reader could not tell apart."""
    first: dict[str, str] = {}
    for name in names:
        if alike(name) in first:
            yield f"{what} '{first[alike(name)]}' and '{name}' are the same but for their spelling"
        first.setdefault(alike(name), name)


def _name_faults(what: str, name: str) -> Iterator[str]:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        yield f"{what} '{name[:LONGEST_NAME]}' should be one line of at most {LONGEST_NAME} characters"


def _repeated(what: str, texts: Sequence[str]) -> Iterator[str]:
    for text, count in Counter(" ".join(text.casefold().split()) for text in texts).items():
        if count > 1:
            yield f"{count} {what}s are the same: '{text[:60]}'"
