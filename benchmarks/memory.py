"""How much memory a run takes, by the number of users: the most that its process had.

    python benchmarks/memory.py [--quick | --full]

Users are the bank's, each of a length of v1.base. --full plays 1000 of them too, which takes minutes.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

from support import ROOT, Row, main, serving

CHILD = """
import sys, tempfile
from support import most_memory
import amemgym
with tempfile.TemporaryDirectory() as folder:
    amemgym.run(f"bank:base?users={sys.argv[1]}", ["native"], model="openai:mock", base_url=sys.argv[2],
                out=folder + "/run", concurrency=int(sys.argv[3]))
print(most_memory())
"""
CONCURRENCY = 64


def peak(users: int, url: str) -> float:
    """Megabytes."""
    command = [sys.executable, "-c", CHILD, str(users), url, str(CONCURRENCY)]
    said = subprocess.run(command, cwd=ROOT / "benchmarks", capture_output=True, check=True, text=True).stdout
    return int(said.split()[-1]) / 1024


def measure(quick: bool) -> list[Row]:
    numbers = [1, 10] if quick else [1, 10, 100, 1000] if "--full" in sys.argv else [1, 10, 100]
    with serving() as server:
        peaks = {users: peak(users, server.url) for users in numbers}
    rows = [
        (f"most memory, {users} user{'s' if users > 1 else ''}, native", f"{peaks[users]:.0f} MB") for users in peaks
    ]
    for fewer, more in pairwise(numbers):
        grown = (peaks[more] - peaks[fewer]) / (more - fewer)
        rows.append((f"it grows from {fewer} to {more} users by", f"{grown:.2f} MB a user"))
    return rows


if __name__ == "__main__":
    main(measure)
