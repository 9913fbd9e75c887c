"""How long the bank takes to make users, and how much memory: as ratios to writing the same users as JSON, and to a
tenth of the users.

    python benchmarks/bank.py [USERS]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

from amemgym.generate import open_users

CHILD = """
import resource, sys
from amemgym.generate import open_users
from amemgym.scenario import dataset_json
size = sum(len(piece) for piece in dataset_json(open_users(sys.argv[1])))
print(size, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(users: int) -> tuple[int, int]:
    """(bytes of the file, most memory in kilobytes) of a process that streams so many users."""
    command = [sys.executable, "-c", CHILD, f"bank:base?users={users}"]
    size, memory = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return int(size), int(memory)


def main() -> None:
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    begun = time.perf_counter()
    made = list(open_users("bank:base"))
    making = time.perf_counter() - begun
    begun = time.perf_counter()
    for user in made:
        json.dumps(user.model_dump(), indent=1)
    writing = time.perf_counter() - begun
    print(f"bank:base: {making:.2f} s for {len(made)} users, the pack included: {making / writing:.1f} x writing them")
    few, many = peak(users // 10), peak(users)
    print(
        f"{users} users: {many[0] / 1e6:.0f} MB of JSON through {many[1] / 1024:.0f} MB of memory,"
        f" {many[1] / few[1]:.2f} x that of {users // 10}"
    )


if __name__ == "__main__":
    main()
