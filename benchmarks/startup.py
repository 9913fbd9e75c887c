"""How long it takes until something happens: to import the package, and to run commands that only tell something.

    python benchmarks/startup.py [--quick]

Each as the best of several starts, without the interpreter's own.
"""

from __future__ import annotations

import subprocess
import sys
from time import perf_counter

from support import Row, main

COMMANDS = {
    "import amemgym": ["-c", "import amemgym"],
    "amemgym --version": ["-m", "amemgym", "--version"],
    "amemgym list agents": ["-m", "amemgym", "list", "agents"],
}
MODULES = "import sys, amemgym; print(len(sys.modules))"


def best(arguments: list[str], times: int) -> float:
    """Seconds."""
    found = []
    for _ in range(times):
        begun = perf_counter()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        found.append(perf_counter() - begun)
    return min(found)


def measure(quick: bool) -> list[Row]:
    times = 3 if quick else 10
    bare = best(["-c", "pass"], times)
    rows = [(name, f"{best(arguments, times) - bare:.2f} s") for name, arguments in COMMANDS.items()]
    loaded = subprocess.run([sys.executable, "-c", MODULES], capture_output=True, check=True, text=True).stdout
    return [*rows, ("modules loaded by import amemgym", loaded.strip())]


if __name__ == "__main__":
    main(measure)
