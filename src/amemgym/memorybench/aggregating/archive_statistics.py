"""The statistics that lie in an archive's own folder, beside its groups or in its configs/."""

from __future__ import annotations

from pathlib import Path

from amemgym.memorybench.aggregating.normalization import Normalization, read_normalizations

#: where they may be, from the archive's root: statistics alone, or in the summary over several baselines
STATISTICS = tuple(
    folder + name
    for name in ("normalization.json", "final_evaluate_summary_wo_details.json")
    for folder in ("", "configs/")
)


def archive_statistics(root: Path) -> tuple[Path | None, dict[tuple[str, str], Normalization]]:
    """The first of the files that is there, and its statistics by (type, set); None and nothing where none is.

    A link that leads out of the archive is none of its files. Raises DataError where the file cannot be read.
    """
    for name in STATISTICS:
        path = root / name
        if path.is_file() and path.resolve().is_relative_to(root.resolve()):
            return path, read_normalizations(path)
    return None, {}
