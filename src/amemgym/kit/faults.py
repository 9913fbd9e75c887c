"""Rules of faults: an error is an error, never a memory that quietly keeps nothing; an unreadable reply is none."""

from __future__ import annotations

from collections.abc import AsyncIterator

from amemgym.kit.bench import Bench, Subject
from amemgym.kit.rule import rule
from amemgym.kit.talk import LATER, facts_of, quoted
from amemgym.kit.verdicts import DoesNotFit, RuleBroken

#: failures are tried from each of the first calls on
CALLS = 4
UNREADABLE = ("", "I cannot do that. {", '{"facts": "none", "operations": 7}', "[[]]", "</think> null")


@rule("errors-are-errors", "when its model or embedder fails, write or read raises, and does not quietly keep nothing")
async def errors_are_errors(bench: Bench) -> None:
    usual = bench.make()
    async for _ in _steps(usual):
        continue
    asked, embeddings = len(usual.hearing.asked), usual.hearing.embeddings
    await usual.close()
    if not asked and not embeddings:
        raise DoesNotFit("it asks neither a model nor an embedder")
    for call in range(1, min(asked, CALLS) + 1):
        subject = bench.make()
        subject.hearing.model_fails = call
        await _expect_error(subject, "model", call)
    for call in range(1, min(embeddings, CALLS) + 1):
        subject = bench.make()
        subject.hearing.embedder_fails = call
        await _expect_error(subject, "embedder", call)


@rule("unreadable-replies", "a model's reply that cannot be read ends in no error")
async def unreadable_replies(bench: Bench) -> None:
    facts = facts_of(0)
    for reply in UNREADABLE:
        subject = bench.make()
        await subject.tell(facts[0])
        subject.hearing.reply = reply
        try:
            await subject.tell(facts[1])
            await subject.read(facts[0].asked, LATER)
            await subject.held()
        except Exception as error:
            raise RuleBroken(f"when its model says {quoted(reply)}, it ends in an error: {error}") from error
        if not subject.hearing.asked:
            raise DoesNotFit("it asks no model")
        await subject.close()


async def _steps(subject: Subject) -> AsyncIterator[str]:
    """Two writes and two reads; after each, its name."""
    for fact in facts_of(0)[:2]:
        await subject.tell(fact)
        yield "write"
        await subject.read(fact.asked, LATER)
        yield "read"


async def _expect_error(subject: Subject, what: str, call: int) -> None:
    try:
        async for step in _steps(subject):
            if subject.hearing.failures:
                raise RuleBroken(f"its {what} failed at call {call}, in {step}, which ended as if nothing had happened")
    except RuleBroken:
        raise
    except Exception:
        return  # said, as it should be
    raise DoesNotFit(f"its {what} is not asked as often when asked again")  # which `deterministic` looks at
