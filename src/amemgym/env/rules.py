"""The protocol's rules: what a run may not change without changing what its numbers mean.

`amemgym` is ours. `v1` keeps what changes published numbers: options in the data's order, a simulated user who is told
the initial profile only, a seeded guess in place of an unreadable reply, and the mean of ratios as the first memory
score. The name and version stand in every result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from amemgym.errors import UnknownName


@dataclass(frozen=True)
class Rules:
    """One protocol. `rounds_initial` is the number of rounds of a session in period 0, `rounds_later` in the others."""

    name: str
    version: int
    shuffles_options: bool
    user_knows_state: bool
    guesses_unreadable: bool
    first_score: Literal["ratio_of_means", "mean_of_ratios"]
    rounds_initial: int = 1
    rounds_later: int = 2

    def rounds(self, period: int) -> int:
        return self.rounds_initial if period == 0 else self.rounds_later


PROTOCOLS = {
    "amemgym": Rules("amemgym", 1, True, True, False, "ratio_of_means"),
    "v1": Rules("v1", 1, False, False, True, "mean_of_ratios"),
}
DEFAULT = PROTOCOLS["amemgym"]
#: what the original benchmark's own results are read by (no run can choose it): options stand in the data's order, and
#: an unreadable reply is not guessed for, so these numbers are neither protocol's
IMPORTED = Rules("v1-imported", 1, False, False, False, "ratio_of_means")


def find_rules(name: str, rounds_initial: int = 1, rounds_later: int = 2) -> Rules:
    """A protocol by name. Raises UnknownName."""
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return replace(PROTOCOLS[name], rounds_initial=rounds_initial, rounds_later=rounds_later)
