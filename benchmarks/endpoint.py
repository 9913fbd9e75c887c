"""What the run itself costs against an endpoint: runs on a local mock server, compared with each other as ratios.

    python benchmarks/endpoint.py

Prints how much faster a run gets with more calls under way, how many calls it makes a second when the endpoint answers
at once, and how the time of taking a finished run's journal again compares with the time of the run.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.mock_openai import MockOpenAI

import amemgym


def timed(server: MockOpenAI, out: Path, concurrency: int, **settings: object) -> float:
    """Wall seconds of a run of the starter data."""
    start = perf_counter()
    amemgym.run(
        "starter",
        ["native", "rag", "awe", "awi"],
        model="openai:mock",
        base_url=server.base_url,
        out=out,
        concurrency=concurrency,
        **settings,
    )
    return perf_counter() - start


def main() -> None:
    os.environ.pop("OPENAI_BASE_URL", None)
    with tempfile.TemporaryDirectory() as folder, MockOpenAI(delay=0.02) as server:
        server.record = False
        base = None
        print("calls under way   seconds   faster than with 1   greatest number under way")
        for concurrency in (1, 4, 16):
            seconds = timed(server, Path(folder) / str(concurrency), concurrency, periods=3)
            base = base or seconds
            print(f"{concurrency:>15} {seconds:>9.1f} {base / seconds:>20.1f} {server.max_in_flight:>26}")
        out = Path(folder) / "16"
        shutil.rmtree(out / "episodes")
        shutil.rmtree(out / "upper-bound")
        replay = timed(server, out, 16, periods=3)
        print(f"\nplaying it again from the journal takes {replay / seconds:.2f} of the run's time")
    with tempfile.TemporaryDirectory() as folder, MockOpenAI() as server:
        server.record = False
        seconds = timed(server, Path(folder) / "r", 16)
        print(f"an endpoint that answers at once: {server.arrived / seconds:.0f} calls a second")


if __name__ == "__main__":
    main()
