"""A memory in a new Python process, with other hashes of texts: restored from a pickled snapshot, or told everything.

The process is started with the import path of this one and imports the memory's class as this one did, so a class that
only exists in this process (made in a function) cannot be tried there.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from anyio.to_thread import run_sync

from amemgym.kit.bench import Bench, Subject
from amemgym.kit.talk import LATER, facts_of
from amemgym.kit.verdicts import DoesNotFit, RuleBroken
from amemgym.memory import Item, Memory


@dataclass(frozen=True)
class Told:
    """What a memory gave and asked: its reads, its export, and the requests to its model (in no order)."""

    reads: list[list[Item]]
    held: list[Item] | None
    asked: list[str]

    def as_json(self) -> dict[str, Any]:
        reads = [_plain(items) for items in self.reads]
        return {"reads": reads, "held": None if self.held is None else _plain(self.held), "asked": self.asked}

    @classmethod
    def of_json(cls, told: dict[str, Any]) -> Told:
        held = None if told["held"] is None else _items(told["held"])
        return cls([_items(items) for items in told["reads"]], held, told["asked"])


async def read_out(subject: Subject) -> Told:
    """What is read of the first person, and what was asked for it."""
    reads = await subject.read_all(facts_of(0), LATER)
    return Told(reads, await subject.held(), sorted(subject.hearing.asked))


async def tell_and_read(subject: Subject) -> Told:
    """Everything the first person has to say, with a read after each."""
    reads = []
    for fact in facts_of(0):
        await subject.tell(fact)
        reads.append(await subject.read(fact.asked, fact.time))
    out = await read_out(subject)
    return Told([*reads, *out.reads], out.held, out.asked)


@dataclass(frozen=True)
class Elsewhere:
    """The same done here and in a new process: a memory's `read_out`, there after it was restored from its pickled
    snapshot, and `tell_and_read` of a memory of the same name. Text is what went wrong instead."""

    read_here: Told
    read_there: Told | str
    told_here: Told
    told_there: Told | str


async def elsewhere(bench: Bench) -> Elsewhere:
    """Do it, once for all rules of one check. Raises DoesNotFit where the class cannot be had in another process,
    RuleBroken where that process has no answer."""
    if bench.kept.get("elsewhere") is None:
        bench.kept["elsewhere"] = await _do_elsewhere(bench)
    done = bench.kept["elsewhere"]
    assert isinstance(done, Elsewhere)
    return done


async def _do_elsewhere(bench: Bench) -> Elsewhere:
    reference = reference_to(bench.cls, bench.name)
    if reference is None:
        raise DoesNotFit(f"{bench.cls.__qualname__} is defined where no other process can import it from")
    first = bench.make("again")
    told_here = await tell_and_read(first)
    await first.close()  # the one of the same name there comes after it
    subject = bench.make()
    await tell_and_read(subject)
    read_here = replace(await read_out(subject), asked=[])
    pickled, problem = await _pickled(bench, subject)
    job = {
        "reference": reference,
        "main": bench.cls.__module__ == "__main__",
        "name": bench.name,
        "token": bench.token,
        "snapshot": None if pickled is None else base64.b64encode(pickled).decode("ascii"),
    }
    answer: dict[str, Any] = await run_sync(lambda: _run(job, bench.seconds))
    if "missing" in answer:
        raise DoesNotFit(str(answer["missing"]))
    if "failure" in answer:
        raise RuleBroken(f"in a new process: {answer['failure']}")
    read_there = problem if pickled is None else _of_json(answer["read"])
    return Elsewhere(read_here, read_there, told_here, _of_json(answer["told"]))


async def _pickled(bench: Bench, subject: Subject) -> tuple[bytes | None, str]:
    if bench.is_view:
        return None, "its snapshot is a view"
    try:
        return pickle.dumps(await subject.snapshot()), ""
    except (pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError) as error:
        return None, f"its snapshot cannot be pickled: {type(error).__name__}: {error}"


def _of_json(told: dict[str, Any] | str) -> Told | str:
    return told if isinstance(told, str) else Told.of_json(told)


def reference_to(cls: type[Memory], name: str) -> str | None:
    """How another process gets the class: a registered name, `file.py:Class` or `module:Class`; None if it cannot."""
    if ":" in name or name != cls.__name__:
        return name
    module = sys.modules.get(cls.__module__)
    if module is None or getattr(module, cls.__qualname__, None) is not cls:
        return None
    if cls.__module__ == "__main__" or cls.__module__.startswith("amemgym_memory_"):
        file = getattr(module, "__file__", None)
        return f"{file}:{cls.__qualname__}" if file else None
    return f"{cls.__module__}:{cls.__qualname__}"


def _run(job: dict[str, Any], seconds: float) -> dict[str, Any]:
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    path = os.pathsep.join(str(Path(folder).resolve()) for folder in sys.path)
    with tempfile.TemporaryDirectory(prefix="amemgym-kit-") as folder:
        given, made = Path(folder) / "job.json", Path(folder) / "told.json"
        given.write_text(json.dumps(job), encoding="ascii")
        try:
            done = subprocess.run(  # noqa: S603 - this interpreter, and a module of this package
                [sys.executable, "-m", "amemgym.kit.child", str(given), str(made)],
                env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
                capture_output=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return {"failure": f"it did not come to an end within {seconds:g} s"}
        if not made.exists():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            return {"failure": f"it ended with code {done.returncode}{': ' + said[-1] if said else ''}"}
        answer: dict[str, Any] = json.loads(made.read_text(encoding="ascii"))
        return answer


def _plain(items: Sequence[Item]) -> list[list[str | None]]:
    return [[item.text, item.time.isoformat() if item.time else None] for item in items]


def _items(plain: list[list[str | None]]) -> list[Item]:
    return [Item(str(text), datetime.fromisoformat(time) if time else None) for text, time in plain]
