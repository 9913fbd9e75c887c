"""The same bound without the rest of the machine: the model is a timer in the run's own process, and a second in which
nothing is to be done takes no time.

    python benchmarks/alone.py [--quick]

The event loop's clock is the CPU time of this process and whatever was waited for, so neither other processes nor the
HTTP client are in it: what is left is the harness and its schedule. (critical_path.py has all of it, on a real clock.)
"""

from __future__ import annotations

import asyncio
import hashlib
import selectors
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from critical_path import CONCURRENCY, LATENCY, longest_chain

import amemgym
from amemgym.llm import Completion, Request, Usage, doors
from support import Counting, Row, data, main

AGENTS = ("native", "rag", "awe", "awi", "bm25_message", "a_mem")


class Waiting(selectors.DefaultSelector):
    """Waits by moving the clock on."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> Any:
        found = super().select(timeout if timeout is None else 0)
        if not found and timeout:
            Waiting.waited += timeout
        return found


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        super().__init__(Waiting())

    def time(self) -> float:
        return process_time() + Waiting.waited


class Policy(asyncio.DefaultEventLoopPolicy):
    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return Loop()


class Timer:
    """A model that replies after a while."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(LATENCY)
        said = request.messages[-1].content
        name = hashlib.sha256(said.encode()).hexdigest()[:12]
        replies = {
            "extract_facts": f'{{"facts": ["Fact {name}."]}}',
            "reconcile_facts": f'{{"operations": [{{"event": "add", "text": "Fact {name}."}}]}}',
            "describe_note": f'{{"keywords": ["{name}"], "tags": [], "context": "Said {name}."}}',
            "evolve_notes": '{"links": [0], "tags": [], "updates": []}',
        }
        reply = '{"answer": 1}' if '"answer"' in said else replies.get(request.task.name, f"Reply {name}. " * 5)
        return Completion(reply, Usage(100, 20))

    async def aclose(self) -> None:
        return None


def measure(quick: bool) -> list[Row]:
    kept = doors.open_model, asyncio.get_event_loop_policy()
    doors.open_model = lambda settings, say: Timer()  # type: ignore[assignment]
    asyncio.set_event_loop_policy(Policy())
    try:
        return [row for agent in (AGENTS[:2] if quick else AGENTS) for row in _measure(agent, quick)]
    finally:
        doors.open_model = kept[0]
        asyncio.set_event_loop_policy(kept[1])


def _measure(agent: str, quick: bool) -> list[Row]:
    watcher = Counting()
    with tempfile.TemporaryDirectory() as folder:
        out, begun, waited = Path(folder) / "run", process_time(), Waiting.waited
        amemgym.run(
            data(),
            [agent],
            model="openai:timer",
            base_url="http://127.0.0.1:9/v1",
            out=out,
            watcher=watcher,
            concurrency=CONCURRENCY,
            periods=3 if quick else None,
        )
        cpu = process_time() - begun
        wall = cpu + Waiting.waited - waited
        work, chain = watcher.calls * LATENCY / CONCURRENCY, longest_chain(out, agent) * LATENCY
    bound = "" if agent not in ("native", "rag", "bm25_message") else f" = {wall / max(work, chain):.2f} × bound"
    return [(f"harness alone, {agent}", f"{wall:.1f} s{bound}, {1000 * cpu / watcher.calls:.2f} ms CPU a call")]


if __name__ == "__main__":
    main(measure)
