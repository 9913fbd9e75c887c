"""A run's wall time against its bound, max(longest chain of calls, calls × latency / concurrency); its CPU a call.

python benchmarks/critical_path.py [--quick]
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from amemgym.evaluate import RunDirectory
from support import Row, main, serving, timed_run

LATENCY = 0.05
CONCURRENCY = 64


def longest_chain(out: Path, agent: str) -> int:
    """Calls of the longest conversation, each of which waited for the one before, and the exam that followed it. Only
    a session's opening is no call."""
    talks = (episode.conversation for episode in RunDirectory(out).episodes_of(agent))
    return 1 + max(sum(len(session) - 1 for period in talk for session in period) for talk in talks)


def measure(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, serving(LATENCY) as server:
        out = Path(folder) / "run"
        timed_run(["native"], Path(folder) / "warm", server, "starter", users=1, periods=1)  # what is loaded once
        run = timed_run(["native"], out, server, concurrency=CONCURRENCY, periods=3 if quick else None)
        chain = longest_chain(out, "native") * LATENCY
        work = run.calls * LATENCY / CONCURRENCY
        bound = max(chain, work)
        users = len(RunDirectory(out).dataset())
        played = f"{users} users, native, {run.calls} calls, {LATENCY * 1000:.0f} ms, {CONCURRENCY} at once"
        return [
            (f"wall time ({played})", f"{run.wall:.1f} s = {run.wall / bound:.2f} × bound"),
            ("its bound: longest chain, calls × latency / concurrency", f"{chain:.1f} s, {work:.1f} s"),
            ("CPU a call, HTTP client, scores and all", f"{1000 * run.cpu / run.calls:.2f} ms"),
            ("most calls under way", f"{server.most_at_once} of {CONCURRENCY}"),
        ]


if __name__ == "__main__":
    main(measure)
