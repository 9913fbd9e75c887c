"""What the benchmarks share: the mock server in a process of its own, the data, and tables.

A benchmark is a file with `measure(quick)`, which gives rows (what, figure); run as a script it prints them as a table.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import amemgym
from amemgym.evaluate import RunWatcher
from amemgym.llm import Usage

ROOT = Path(__file__).resolve().parents[1]
V1_BASE = ROOT.parent / "shared" / "data" / "amemgym-v1.base" / "data.json"

Row = tuple[str, str]


def most_memory() -> int:
    """Kilobytes that this process had at most. The system's count would begin with those of who started it."""
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def data() -> str:
    """v1.base from ../shared where it is, else the bundled data."""
    return str(V1_BASE) if V1_BASE.is_file() else "starter"


@dataclass
class Server:
    """A mock endpoint at `url`."""

    url: str
    _peak: Path

    @property
    def most_at_once(self) -> int:
        """The greatest number of calls that were under way."""
        return int(self._peak.read_text() or 0) if self._peak.is_file() else 0


@contextmanager
def serving(delay: float = 0.0) -> Iterator[Server]:
    """A mock endpoint that takes `delay` seconds to answer, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        peak = Path(folder) / "peak"
        command = [sys.executable, "-m", "tests.support.mock_openai", "--delay", str(delay)]
        process = subprocess.Popen(
            [*command, "--max-in-flight-file", str(peak)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            yield Server(process.stdout.readline().rpartition(" ")[2].strip(), peak)
        finally:
            process.terminate()
            process.wait()


class Counting(RunWatcher):
    """Counts the calls that a run makes, without those that it has from a journal."""

    calls = 0

    def called(self, usage: Usage, replayed: bool) -> None:
        self.calls += not replayed


@dataclass(frozen=True)
class Timed:
    """What a run took: wall and CPU seconds of this process, and calls."""

    wall: float
    cpu: float
    calls: int


def timed_run(agents: Sequence[str], out: Path, server: Server, played: str | None = None, **settings: Any) -> Timed:
    """Run against a server."""
    os.environ.pop("OPENAI_BASE_URL", None)
    watcher = Counting()
    wall, cpu = perf_counter(), process_time()
    amemgym.run(
        played or data(), list(agents), model="openai:mock", base_url=server.url, out=out, watcher=watcher, **settings
    )
    return Timed(perf_counter() - wall, process_time() - cpu, watcher.calls)


def markdown(rows: Sequence[Row]) -> str:
    """A Markdown table of what was measured."""
    return "\n".join(["| measured | figure |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)])


def main(measure: Callable[[bool], list[Row]]) -> None:
    """Run one benchmark as a script; `--quick` takes less of everything."""
    rows = measure("--quick" in sys.argv[1:])
    width = max(len(what) for what, _ in rows)
    print("\n".join(f"{what:<{width}}  {figure}" for what, figure in rows))
