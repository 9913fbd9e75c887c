"""Rules of copies: a snapshot is the whole content, goes its own way, and means the same in another process."""

from __future__ import annotations

from collections.abc import Sequence

from amemgym.errors import MemoryFailed
from amemgym.kit.bench import Bench
from amemgym.kit.process import elsewhere
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, facts_of, found_in, quoted
from amemgym.kit.verdicts import RuleBroken
from amemgym.memory import Item

#: what was read for one query after the other
Reading = Sequence[Sequence[Item]]


@rule("snapshot-round-trip", "what is restored from a snapshot reads and exports as the original did")
async def snapshot_round_trip(bench: Bench) -> None:
    subject, facts = bench.make(), facts_of(0)
    for fact in facts[:4]:
        await subject.tell(fact)
    reads, held = await subject.read_all(facts, LATER), await subject.held()
    snapshot = await subject.snapshot()
    for time in ("", " a second time"):
        copy = await bench.copy_of(snapshot)
        _same(reads, await copy.read_all(facts, LATER), f"in a new memory restored{time} from its snapshot")
        if await copy.held() != held:
            raise RuleBroken(f"a new memory restored{time} from a snapshot exports other items than the original")
    full = bench.make()
    await full.tell(facts_of(1)[0])
    await full.restore(snapshot)
    items = [item for found in await full.read_all([*facts, *facts_of(1)], LATER) for item in found]
    if left := found_in([*items, *(await full.held() or [])], facts_of(1)):
        raise RuleBroken(f"restore left {', '.join(sorted(left))}, which was held before, in place")


@rule("snapshot-detached", "later writes do not change a snapshot, and what is restored from it goes its own way")
async def snapshot_detached(bench: Bench) -> None:
    bench.needs_copies()
    subject, facts, more = bench.make(), facts_of(0), facts_of(1)
    for fact in facts[:4]:
        await subject.tell(fact)
    snapshot = await subject.snapshot()
    first = await bench.copy_of(snapshot)
    reads = await first.read_all(facts, LATER)
    for fact in facts[4:]:
        await subject.tell(fact)
    original = await subject.read_all(facts, LATER)
    _same(reads, await first.read_all(facts, LATER), "in a copy after the original was written to")
    second = await bench.copy_of(snapshot)
    _same(reads, await second.read_all(facts, LATER), "restored from a snapshot after the original was written to")
    try:
        for fact in more[:2]:
            await first.tell(fact)
        await first.clear()
    except MemoryFailed as refused:
        if refused.__cause__ is not None:
            raise  # its code fell; a copy that is there to be read alone says so of its own accord
    _same(
        original, await subject.read_all(facts, LATER), "in the original after a copy of it was written to and cleared"
    )
    _same(reads, await second.read_all(facts, LATER), "in one copy after another was written to and cleared")
    third = await bench.copy_of(snapshot)
    _same(reads, await third.read_all(facts, LATER), "restored from a snapshot after a copy was written to and cleared")


@rule("snapshot-new-process", "a snapshot can be pickled, and reads the same when restored in a new process")
async def snapshot_new_process(bench: Bench) -> None:
    bench.needs_keeping()
    bench.needs_copies()
    done = await elsewhere(bench)
    if isinstance(done.read_there, str):
        raise RuleBroken(done.read_there)
    _same(done.read_here.reads, done.read_there.reads, "when its pickled snapshot is restored in a new process")
    if done.read_here.held != done.read_there.held:
        raise RuleBroken("other items are exported when its pickled snapshot is restored in a new process")


def _same(before: Reading, after: Reading, where: str) -> None:
    if (found := first_change(before, after)) is not None:
        raise RuleBroken(f"other items are read {where}: {found}")


def first_change(before: Reading, after: Reading) -> str | None:
    """The first item that is read otherwise, as a phrase, or None."""
    for one, other in zip(before, after, strict=True):
        one, other = list(one), list(other)
        if one == other:
            continue
        gone = next((item for item in one if item not in other), None)
        come = next((item for item in other if item not in one), None)
        if gone is None and come is None:
            return f"{quoted(one[0].text if one else other[0].text)} and others in another order or number"
        parts = [f"{_said(gone)} is gone"] if gone else []
        return " and ".join([*parts, *([f"{_said(come)} has come"] if come else [])])
    return None


def _said(item: Item) -> str:
    return quoted(item.text) + (f" of {item.time}" if item.time else "")
