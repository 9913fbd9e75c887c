"""All benchmarks of runs, as one Markdown table (for CHANGELOG).

python benchmarks/all.py [--quick]
"""

from __future__ import annotations

import os
import platform
import sys

import alone
import critical_path
import report_size
import resume
import startup

import amemgym
import memory
from support import markdown

PARTS = (critical_path, alone, memory, resume, startup, report_size)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    rows = [row for part in PARTS for row in part.measure(quick)]
    print(f"amemgym {amemgym.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
