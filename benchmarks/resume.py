"""What it takes to go on with a run: to take a finished run's journals again, and to play the half that is missing.

python benchmarks/resume.py [--quick]
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

from support import Row, main, serving, timed_run

AGENTS = ["native", "rag", "awe", "awi"]


def forget_results(out: Path) -> None:
    """As if the run had been killed before it wrote any."""
    for folder in ("episodes", "upper-bound"):
        shutil.rmtree(out / folder, ignore_errors=True)


def halve_journals(out: Path) -> None:
    """As if it had been killed half way: of every journal the first half is left, not compressed yet."""
    for journal in [path for path in (out / "journal").rglob("*.jsonl*") if path.is_file()]:
        packed = journal.suffix == ".gz"
        data = gzip.decompress(journal.read_bytes()) if packed else journal.read_bytes()
        lines = data.splitlines(keepends=True)
        (journal.with_suffix("") if packed else journal).write_bytes(b"".join(lines[: len(lines) // 2]))
        if packed:
            journal.unlink()


def measure(quick: bool) -> list[Row]:
    settings = {"users": 4 if quick else None, "periods": 3 if quick else None, "concurrency": 64}
    with tempfile.TemporaryDirectory() as folder, serving(0.05) as server:
        out = Path(folder) / "run"
        run = timed_run(AGENTS, out, server, **settings)
        forget_results(out)
        again = timed_run(AGENTS, out, server, **settings)
        forget_results(out)
        halve_journals(out)
        half = timed_run(AGENTS, out, server, **settings)
    return [
        ("taking a finished run's journals again", f"{again.wall / run.wall:.2f} × the run, {again.calls} calls"),
        (
            "going on with half of every journal",
            f"{half.wall / run.wall:.2f} × the run, {half.calls / run.calls:.2f} × its calls",
        ),
    ]


if __name__ == "__main__":
    main(measure)
