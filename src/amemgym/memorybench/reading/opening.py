"""Archives by where they are: folders, and repositories of the hub; several are read as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym import files
from amemgym.errors import DataError, UsageError
from amemgym.memorybench.entry import MANIFEST
from amemgym.memorybench.reading.hub import PUBLISHED
from amemgym.memorybench.reading.results import MemoryBenchResults
from amemgym.memorybench.reading.table import frame, rows

if TYPE_CHECKING:
    import pandas

HUB = "hub:"


def open_results(sources: Sequence[str | Path] | str | Path, choose: str = "latest") -> MemoryBenchResults:
    """The archives as one: each a folder, `hub:OWNER/NAME[@REVISION]`, or `hub:` for the published one.

    `choose` says which of several runs of a cell counts, within an archive and among them: "latest" (by the times in
    their ids), "first", "last" or "error".

    Raises UsageError where none is given, DataError where one cannot be read, UnknownName for another `choose`.
    """
    several = [sources] if isinstance(sources, str | Path) else list(sources)
    if not several:
        raise UsageError("no archive is given; give a folder, or hub:OWNER/NAME on Hugging Face")
    opened = [_open(source, choose) for source in several]
    return opened[0] if len(opened) == 1 else MemoryBenchResults.combined(opened, choose)


def load_result_summary_table(
    metric: str,
    exp: str | None = None,
    models: str | Sequence[str] | None = None,
    dataset_type: str | None = None,
    set_name: str | None = None,
    baselines: str | Sequence[str] | None = None,
    repo_id: str = PUBLISHED,
    revision: str | None = None,
    cache_dir: str | Path | None = None,
    root_dir: str | Path | Sequence[str | Path] | None = None,
    missing_value: Any = None,
    choose: str = "latest",
) -> pandas.DataFrame:
    """The published results as a table, in one line; or those of another repository, or of the folder `root_dir`
    (several folders are read as one).

    Of an archive with several experiments it is that of "off-policy", unless `exp` names another. One row for each
    model and set, one column for each baseline, NaN where there is none; the other arguments and the errors are those
    of `MemoryBenchResults.summary_table` and `from_hf`. Of a cell with several runs of which `choose` cannot say which
    counts, the table has none: name another rule.
    """
    if root_dir is not None:
        results = open_results(root_dir, choose)
    else:
        results = MemoryBenchResults.from_hf(repo_id, revision=revision, cache_dir=cache_dir, choose=choose)
    filters: dict[str, Any] = {"dataset_type": dataset_type, "set_name": set_name, "baselines": baselines}
    found, columns = rows(results, metric, exp=exp, models=models, missing_value=missing_value, **filters)
    return frame(found, columns, missing_value)


def _open(source: str | Path, choose: str) -> MemoryBenchResults:
    text = str(source)
    if isinstance(source, str) and text.startswith(HUB):
        repository, at, revision = text.removeprefix(HUB).partition("@")
        if at and not revision:
            raise UsageError(f"{text}: the revision after the @ is missing")
        owner, _, name = (repository or PUBLISHED).partition("/")
        if not (owner and name) or "/" in name:
            raise UsageError(f"{text}: a repository on Hugging Face is written {HUB}OWNER/NAME")
        return MemoryBenchResults.from_hf(repository or PUBLISHED, revision=revision or None, choose=choose)
    if not text.strip():
        raise UsageError("an archive's folder is an empty text; give its path, or hub:OWNER/NAME on Hugging Face")
    root = files.at_home(source)
    if root.name == MANIFEST:
        root = root.parent
    try:
        is_there = root.exists()
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {text}: {getattr(error, 'strerror', None) or error}") from error
    if not is_there:
        hint = f"; on Hugging Face it would be {HUB}{text}" if text.count("/") == 1 and text[0] not in "./~" else ""
        raise DataError(f"no results archive at {root}{hint}")
    if not root.is_dir():
        summary = "; of a summary over several baselines, amemgym memorybench verify reads the file"
        raise DataError(f"{root} is a file, and an archive is a folder{summary if root.suffix == '.json' else ''}")
    return MemoryBenchResults.from_local(root, repo_id=str(root), choose=choose)
