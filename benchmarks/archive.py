"""How long the table of a MemoryBench archive takes, and how much memory: as ratios to reading the summaries plainly,
to loading the predictions whole, and to a tenth of the predictions.

    python benchmarks/archive.py [PREDICTIONS]

The archive has 4 models, 7 sets and 8 memory systems; one group has all the predictions.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

#: what a process does to the archive; it prints its seconds and the most memory it had, in kilobytes
CHILD = """
import json, resource, sys, time
from pathlib import Path
from amemgym import MemoryBenchResults
what, root = sys.argv[1], Path(sys.argv[2])
begun = time.perf_counter()
if what == "plain":
    for path in root.rglob("summary.json"):
        json.loads(path.read_text("utf-8"))
elif what == "whole":
    json.loads(next(root.rglob("predict.json")).read_text("utf-8"))
else:
    results = MemoryBenchResults.from_local(root)
    if what == "table":
        results.summary_table("average", as_pandas=False)
    else:
        cell = next(cell for cell in results.select() if results.has_file(cell, "predict.json"))
        for _ in results.join(cell) if what == "join" else results.iter_predict(cell):
            pass
print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write(root: Path, predictions: int) -> None:
    """An archive with a manifest; only the first group has predictions. Holds none of them, as a process that is
    started begins with the memory of its parent."""
    with (root / "manifest.jsonl").open("w", encoding="utf-8") as manifest:
        for number, (model, name, baseline) in enumerate(product(range(4), range(7), range(8))):
            n = predictions if number == 0 else 100
            folder = f"off-policy-model{model}/domain/set{name}/baseline{baseline}"
            (root / folder).mkdir(parents=True)
            scores = {"average": 0.5, "weighted_average": 0.4, "z_score": 0.1}
            with (root / folder / "summary.json").open("w", encoding="utf-8") as file:
                file.write(f'{{"summary": {json.dumps(scores)}, "average": {{"A": 0.5}}, "details": {{"A": [0.5')
                file.writelines(", 0.25" for _ in range(n - 1))
                file.write("]}}")
            if number == 0:
                line = {"messages": [{"role": "user", "content": "x" * 800}], "response": "y" * 400, "dataset": "A"}
                array(root / folder / "predict.json", line, n)
                array(root / folder / "evaluate_details.json", {"metrics": {"score": 0.25}, "dataset": "A"}, n)
            entry = {"exp": "off-policy", "model": f"model{model}", "dataset_type": "domain", "set_name": f"set{name}"}
            entry |= {"baseline": f"baseline{baseline}", "run_id": "start_at_2026-01-01-00-00-00"}
            files = sorted(path.name for path in (root / folder).iterdir())
            manifest.write(json.dumps(entry | {"relative_dir": folder, "files": files}) + "\n")


def array(path: Path, line: dict[str, object], n: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        file.writelines((", " if at else "") + json.dumps({"test_idx": at, **line}) for at in range(n))
        file.write("]")


def measured(what: str, root: str) -> tuple[float, float]:
    """(seconds, megabytes) of a process that does it."""
    done = subprocess.run([sys.executable, "-c", CHILD, what, root], capture_output=True, check=True, text=True)
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def main() -> None:
    predictions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        write(Path(few), predictions // 10)
        write(Path(many), predictions)
        size = sum(path.stat().st_size for path in Path(many).rglob("predict.json")) / 1e6
        plain, table, less = (measured(*how) for how in (("plain", many), ("table", many), ("table", few)))
        print(
            f"224 groups listed and tabled in {table[0]:.2f} s, {table[0] / plain[0]:.1f} x reading their summaries;"
            f" {table[1]:.0f} MB, {table[1] / less[1]:.2f} x with a tenth of the predictions"
        )
        whole, streamed, joined, less = (
            measured(*how) for how in (("whole", many), ("stream", many), ("join", many), ("stream", few))
        )
        print(
            f"{predictions} predictions ({size:.0f} MB) streamed in {streamed[0]:.2f} s,"
            f" {streamed[0] / whole[0]:.1f} x loading them whole; {streamed[1]:.0f} MB against {whole[1]:.0f},"
            f" {streamed[1] / less[1]:.2f} x that of a tenth"
        )
        print(f"joined with their details in {joined[0]:.2f} s; {joined[1]:.0f} MB")


if __name__ == "__main__":
    main()
