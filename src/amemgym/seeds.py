"""Randomness with an address: a generator for each place in a run, the same on every machine and in every order."""

from __future__ import annotations

import hashlib
import random


def generator(seed: int, *address: str | int) -> random.Random:
    """A generator that depends on the run's seed and the address alone, never on what was drawn elsewhere."""
    text = "\x1f".join([str(seed), *(str(part) for part in address)])
    return random.Random(int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16], "big"))


def permutation(n: int, seed: int, *address: str | int) -> tuple[int, ...]:
    """A permutation of range(n) drawn at that address."""
    order = list(range(n))
    generator(seed, *address).shuffle(order)
    return tuple(order)
