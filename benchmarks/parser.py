"""How the time of reading a reply grows with its length: the ratio of twice the text to once should stay near 2.

python benchmarks/parser.py
"""

from __future__ import annotations

from time import process_time

from amemgym.tasks import parse_choice

UNITS = [
    "{",
    "{}",
    "{{}",
    '{"a":1},',
    "{'answer':",
    '{"answer": 1',
    "answer: ",
    "pick ",
    "<think>",
    "```",
    "\u0301",
    '\\"',
]
OPTIONS = ["Plan a dinner.", "Book a venue.", "Go for a walk.", "Stay in."]


def seconds(reply: str) -> float:
    """The least of three timings."""
    times = []
    for _ in range(3):
        start = process_time()
        parse_choice(reply, OPTIONS)
        times.append(process_time() - start)
    return min(times)


def main() -> None:
    print(f"{'repeated text':<20} {'100 KB, s':>10} {'200 KB / 100 KB':>16}")
    for unit in UNITS:
        once, twice = (seconds(unit * (length // len(unit))) for length in (100_000, 200_000))
        print(f"{unit!r:<20} {once:>10.3f} {twice / max(once, 1e-6):>16.2f}")


if __name__ == "__main__":
    main()
