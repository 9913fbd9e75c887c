"""What one episode takes, agent by agent: the table in docs/machines.md that many users are reckoned from.

    python benchmarks/episode.py [USERS]

Plays v1.base from ../shared where it is, else the starter data, against a mock server in a process of its own whose
replies are as long as a chatty assistant's. CPU is the harness's alone.
"""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import re
import resource
import sys
import tempfile
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.mock_openai import MockOpenAI, Request, Response, ok

import amemgym
from amemgym.evaluate import RunWatcher
from amemgym.llm import Usage

AGENTS = ("native", "rag", "awe", "awi")
V1_BASE = Path(__file__).resolve().parents[2] / "shared" / "data" / "amemgym-v1.base" / "data.json"
#: about 300 tokens
REPLY = "Here is what I would suggest for you, given what you have told me so far. " * 16


def answer(request: Request) -> Response | None:
    """A readable reply to any task, as long as such replies are."""
    if not request.is_chat:
        return None
    last = str(request.messages[-1]["content"])
    if '{"facts"' in last:
        return ok(json.dumps({"facts": [f"The user said something, number {request.order}."]}))
    if '{"operations"' in last:
        return ok(json.dumps({"operations": [{"event": "add", "text": f"Something, number {request.order}."}]}))
    if '{"answer"' in last:
        return ok('{"answer": 1}')
    if "<value>" in last and (probed := dict(re.findall(r'(?m)^- (\w+): "(\w+)"', last))):
        return ok(json.dumps(probed))
    return ok(REPLY)


def serve(said: Connection) -> None:
    with MockOpenAI(answer) as server:
        server.record = False
        said.send(server.base_url)
        said.recv()


class Counting(RunWatcher):
    def __init__(self) -> None:
        self.count: Counter[str] = Counter()

    def called(self, usage: Usage, replayed: bool) -> None:
        self.count.update(calls=1, input=usage.input, output=usage.output)


def main() -> None:
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    os.environ.pop("OPENAI_BASE_URL", None)
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    data, url = str(V1_BASE) if V1_BASE.exists() else "starter", ours.recv()
    print(f"{data}, {users} users\n")
    print("| agent | calls | tokens in | tokens out | CPU ms | ms a call | journal KB | at rest KB | episode KB |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        # what is loaded once, and the upper bound, are no part of an episode
        for name in ("warm", "upper bound", *AGENTS):
            watcher, out = Counting(), Path(folder) / name
            agent = name if name in AGENTS else "native" if name == "warm" else "oracle"
            began = process_time()
            amemgym.run(
                data,
                agent,
                model="openai:mock",
                base_url=url,
                out=out,
                users=1 if name == "warm" else users,
                periods=1 if name == "warm" else None,
                upper_bound=name == "upper bound",
                concurrency=16,
                watcher=watcher,
            )
            cpu = 1000 * (process_time() - began) / users
            if name == "warm":
                continue
            count = watcher.count
            journals = [_plain(path) for path in (out / "journal").rglob("*.jsonl*")]
            rest = sum(len(gzip.compress(text)) for text in journals)
            kind = "upper-bound" if name == "upper bound" else "episodes"
            episodes = sum(path.stat().st_size for path in (out / kind).rglob("*.json"))
            sizes = " | ".join(f"{size / users / 1000:,.0f}" for size in (sum(map(len, journals)), rest, episodes))
            calls, tokens = count["calls"] / users, [count[what] / users for what in ("input", "output")]
            print(
                f"| {name} | {calls:,.0f} | {tokens[0]:,.0f} | {tokens[1]:,.0f} | {cpu:,.0f} |"
                f" {cpu / calls:.1f} | {sizes} |",
                flush=True,
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\npeak memory of the process: {peak:,.0f} MB")
    ours.send(None)
    server.join()


def _plain(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


if __name__ == "__main__":
    main()
