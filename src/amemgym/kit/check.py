"""Trying the rules on a memory, each in a thread of its own, so that one that never ends can be left behind."""

from __future__ import annotations

import asyncio
import platform
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from amemgym.agents import ASSISTANTS
from amemgym.errors import AMemGymError, UnknownName, UsageError, raised
from amemgym.kit.bench import Bench, Kept
from amemgym.kit.rule import Rule
from amemgym.kit.rules import RULES
from amemgym.kit.verdicts import DoesNotFit, KitReport, Outcome, RuleBroken, Verdict
from amemgym.memory import Memory, checked_memory, find_memory, fingerprint, has_memory, import_memory, memory_version
from amemgym.version import __version__

#: seconds that a rule may take
SECONDS = 60.0


def check_memory(
    memory: str | type[Memory], rules: Sequence[str] | None = None, *, seconds: float = SECONDS
) -> KitReport:
    """Try the rules on a memory: does it keep what it is told, keep users apart, cheat, lose or invent anything?

    Args:
        memory: a registered name, an agent's name (`rag`), `file.py:Class`, `module:Class`, or a class.
        rules: ids of the rules to try; all of them where None.
        seconds: how long a rule may take. One that takes longer has failed, and no rule is tried after it, since it
            cannot be ended and may disturb them.

    Raises UnknownName, or UsageError where the memory cannot be used here.
    """
    cls, name = _found(memory)
    chosen = _chosen(rules)
    try:
        cls.check()
    except UsageError as error:
        raise UsageError(f"memory '{name}' cannot be used here: {error}") from error
    verdicts: list[Verdict] = []
    hung, kept = "", Kept()
    for rule in chosen:
        if hung:
            reason = f"not tried, as {hung} has not ended and still runs"
            verdicts.append(Verdict(rule.id, rule.meaning, Outcome.NOT_APPLICABLE, reason))
            continue
        verdict = _try(rule, lambda: Bench(cls, name, seconds, kept=kept), seconds)
        hung = rule.id if verdict is None else ""
        late = f"it has not come to an end within {seconds:g} s (its thread cannot be ended, and is left behind)"
        verdicts.append(verdict or Verdict(rule.id, rule.meaning, Outcome.FAILED, late))
    return KitReport(name, _version(cls, name), _versions(), tuple(verdicts), bool(hung))


def _found(memory: str | type[Memory]) -> tuple[type[Memory], str]:
    if isinstance(memory, str) and ":" in memory:
        return import_memory(memory), memory
    if isinstance(memory, str):
        # an agent's name says which memory it has
        known = ASSISTANTS[memory][0] if memory in ASSISTANTS else memory
        return find_memory(known), known
    name = getattr(memory, "__name__", repr(memory))
    return checked_memory(memory, name), name


def _chosen(rules: Sequence[str] | None) -> list[Rule]:
    if rules is None:
        return list(RULES.values())
    for id in rules:
        if id not in RULES:
            raise UnknownName("rule", id, RULES)
    return [rule for rule in RULES.values() if rule.id in rules]


def _version(cls: type[Memory], name: str) -> str:
    if not has_memory(name) or find_memory(name) is not cls:
        return fingerprint(cls)
    found = memory_version(name, cls) or f"amemgym {__version__}"
    return found if isinstance(found, str) else ", ".join(f"{package} {number}" for package, number in found.items())


def _versions() -> str:
    return f"amemgym {__version__}, Python {platform.python_version()}"


@dataclass
class _Ending:
    verdict: Verdict | None = None


def _try(rule: Rule, new_bench: Callable[[], Bench], seconds: float) -> Verdict | None:
    """The verdict, or None where there is none in time."""
    ending = _Ending()

    def work() -> None:
        outcome, sentence = Outcome.PASSED, ""
        try:
            asyncio.run(_trial(rule, new_bench))
        except DoesNotFit as reason:
            outcome, sentence = Outcome.NOT_APPLICABLE, str(reason)
        except (RuleBroken, AMemGymError) as error:
            outcome, sentence = Outcome.FAILED, str(error)
        except (Exception, SystemExit) as error:  # the memory's own
            outcome, sentence = Outcome.FAILED, f"its code raised {raised(error)}"
        ending.verdict = Verdict(rule.id, rule.meaning, outcome, sentence)

    # a daemon: what hangs in there must not keep the process from its end
    thread = threading.Thread(target=work, name=f"amemgym kit {rule.id}", daemon=True)
    thread.start()
    thread.join(seconds)
    return ending.verdict


async def _trial(rule: Rule, new_bench: Callable[[], Bench]) -> None:
    async with new_bench() as bench:
        await rule.trial(bench)
