"""The journals of a run as they were written, whichever of them are at rest."""

from __future__ import annotations

import gzip
from pathlib import Path


def unpacked(path: Path) -> bytes:
    """A file's bytes; what is compressed is read as `zcat` would."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def journals_of(directory: Path) -> dict[str, bytes]:
    """Every journal of a run directory, by its name while it grows."""
    found = sorted((directory / "journal").rglob("*.jsonl*"))
    return {path.relative_to(directory).as_posix().removesuffix(".gz"): unpacked(path) for path in found}
