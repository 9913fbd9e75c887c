"""How long the scores and the report of a run of many users take, and how much memory: as ratios to reading the episode
files plainly, and to a tenth of the users.

    python benchmarks/archive_of_runs.py [USERS …]

Runs of 4 agents are made without playing them (by default of 10, 100 and 1000 users): about 0.5 MB a user on the disk.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: what a process does to the run; it prints its processor seconds and the most memory it had, in kilobytes
CHILD = """
import json, sys, time
from pathlib import Path
what, run = sys.argv[1], Path(sys.argv[2])
if what == "make":
    from tests.support.many_users import write_run
    write_run(run, int(sys.argv[3]))
elif what == "plain":
    for path in run.rglob("*.json"):
        json.loads(path.read_text("utf-8"))
else:
    import amemgym
    amemgym.score(run) if what == "score" else amemgym.write_report(run, what)
sys.path.insert(0, "benchmarks")
from support import most_memory
print(time.process_time(), most_memory())
"""


def measured(what: str, run: Path, *more: str) -> tuple[float, float]:
    """(processor seconds, megabytes) of a process that does it."""
    command = [sys.executable, "-c", CHILD, what, str(run), *more]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [10, 100, 1000]
    before: tuple[int, float] | None = None
    for users in sizes:
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            measured("make", run, str(users))
            plain = measured("plain", run)[0]
            first, memory = measured("score", run)
            again, memory_again = measured("score", run)
            kept = sum(path.stat().st_size for path in run.glob("columns/*")) / 1e6
            report, memory_report = measured("html", run)
            size = (run / "report.html").stat().st_size / 1e6
            shutil.rmtree(run)
        # from a size on, pyarrow is loaded once, whatever the users
        grew = before is not None and kept > 0
        more = f", {(memory - before[1]) * 1e3 / (users - before[0]):.0f} kB a user more" if grew and before else ""
        print(
            f"{users} users × 4 agents: scored in {first:.1f} s ({first / plain:.1f} x parsing the files) and"
            f" {memory:.0f} MB{more}; again in {again:.1f} s ({again / first:.2f} x the first) and"
            f" {memory_again:.0f} MB (columns: {kept:.1f} MB); report of {size:.1f} MB in {report:.1f} s and"
            f" {memory_report:.0f} MB"
        )
        before = (users, memory) if kept else None


if __name__ == "__main__":
    main()
