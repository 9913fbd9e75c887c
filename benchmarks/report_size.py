"""How large a run's directory and report are, and how long scoring and the report take, a user.

    python benchmarks/report_size.py [--quick]

Played with the embedded model, four agents.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter

import amemgym
from support import Row, main

AGENTS = ["native", "rag", "awe", "awi"]


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(quick: bool) -> list[Row]:
    users = 2 if quick else 20
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        amemgym.run(f"bank:base?users={users}", AGENTS, out=out)
        begun = perf_counter()
        amemgym.score(out)
        scoring = perf_counter() - begun
        parts = {name: size(out / name) for name in ("journal", "episodes")}
        begun = perf_counter()
        (page,) = amemgym.write_report(out)
        writing = perf_counter() - begun
        html = page.stat().st_size
    rows = [(f"{name} of {len(AGENTS)} agents", f"{parts[name] / 1e6 / users:.2f} MB a user") for name in parts]
    return [
        *rows,
        ("report.html", f"{html / 1e6 / users:.2f} MB a user"),
        ("amemgym score", f"{scoring / users:.2f} s a user"),
        ("amemgym report", f"{writing / users:.2f} s a user"),
    ]


if __name__ == "__main__":
    main(measure)
