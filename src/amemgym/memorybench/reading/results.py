"""An archive of MemoryBench results as an object, with the methods that people know of the published reader.

    results = MemoryBenchResults.from_local("MemoryBench-Results")
    results.summary_table("weighted_average")

Opening reads the list of groups alone; a group's files are read when they are asked for. A method that takes the five
words of a cell (exp, model, dataset_type, set_name, baseline) takes a `Cell` as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amemgym.errors import DataError, ResultFileMissing, ResultUndecided
from amemgym.memorybench.entry import DETAILS, MANIFEST, PREDICT, RUN_CONFIG, SUMMARY, Cell
from amemgym.memorybench.items import Item, ItemKey, Joined, joined, keyed
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.groups import Groups, cell_of
from amemgym.memorybench.reading.hub import PUBLISHED, Hub
from amemgym.memorybench.reading.layout import STEP_PREDICT
from amemgym.memorybench.reading.listing import file_of, list_groups
from amemgym.memorybench.reading.paths import path_fault
from amemgym.memorybench.reading.places import Folder, Place
from amemgym.memorybench.reading.redacted import redacted
from amemgym.memorybench.reading.runs import Run, check_choice
from amemgym.memorybench.reading.stream import read_json, stream
from amemgym.memorybench.summary import Summary, read_summary

if TYPE_CHECKING:
    import pandas

#: files of a group that are results; any other may be a configuration, from which keys are struck out
_RESULTS = {SUMMARY, DETAILS, PREDICT, STEP_PREDICT}
#: around the names of files that a manifest lists and a folder has not
_ABSENT, _LISTED = "it has no file ", ", though it is listed; fetch the archive again, or take it off the manifest"


class MemoryBenchResults(Groups):
    """The groups of an archive, one a cell.

    `entries` are those that count, in the archive's order; `problems` says what was wrong with the archive and where,
    and which of several runs of a cell was taken. `repo_id`, `revision`, `cache_dir` and `local_root` say where it is.
    """

    def __init__(
        self,
        repo_id: str,
        runs: Iterable[Run],
        problems: Problems,
        *,
        choose: str = "latest",
        repo_type: str = "dataset",
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        local_root: Path | None = None,
    ) -> None:
        super().__init__(runs, problems, choose)
        self.repo_id, self.repo_type = repo_id, repo_type
        self.revision, self.cache_dir, self.local_root = revision, cache_dir, local_root
        self._summaries: dict[Cell, Summary | None] = {}

    # --- opening ---

    @classmethod
    def from_hf(
        cls,
        repo_id: str = PUBLISHED,
        repo_type: str = "dataset",
        revision: str | None = None,
        cache_dir: str | Path | None = None,
        choose: str = "latest",
    ) -> MemoryBenchResults:
        """The archive in a repository of the hub (the extra `amemgym[hub]`), as of a branch, a tag or a commit.

        Fetches the manifest alone. Where the hub cannot be reached, what its cache has is read. `choose` says which of
        several runs of a cell counts: "latest" (by the times in their ids), "first", "last" or "error".

        Raises DataError where the archive cannot be fetched or read, UnknownName for another `choose`.
        """
        check_choice(choose)
        problems = Problems()
        place = Hub(repo_id, repo_type, revision, cache_dir, problems)
        runs = [Run(place, entry) for entry in list_groups(place, place.has_manifest, problems)]
        return cls(repo_id, runs, problems, choose=choose, repo_type=repo_type, revision=revision, cache_dir=cache_dir)

    @classmethod
    def from_local(
        cls, root_dir: str | Path, repo_id: str = "local", repo_type: str = "dataset", choose: str = "latest"
    ) -> MemoryBenchResults:
        """The archive in a folder, with a manifest.jsonl or, without one, in one of the layouts in use (`layout`).

        Raises DataError where it is none, UnknownName for another `choose` (see `from_hf`).
        """
        check_choice(choose)
        root, problems = Path(root_dir), Problems()
        place = Folder(root)
        runs = [Run(place, entry) for entry in list_groups(place, os.path.lexists(root / MANIFEST), problems)]
        results = cls(repo_id, runs, problems, choose=choose, repo_type=repo_type, local_root=root)
        for entry in results.entries:
            if lacking := [name for name in entry.files if place.lacks(str(file_of(entry, name)))]:
                problems.tell(str(entry.cell), f"{_ABSENT}{', '.join(lacking)}{_LISTED}")
        return results

    @classmethod
    def combined(
        cls, several: Sequence[MemoryBenchResults | str | Path] | str | Path, choose: str = "latest"
    ) -> MemoryBenchResults:
        """Several archives as one, opened or by where they are (see `open_results`).

        A cell that more than one has is chosen as several runs of it are (see `from_hf`).

        Raises DataError where there are none, or `choose` cannot decide.
        """
        check_choice(choose)
        if not several:
            raise DataError("no archives to combine; give at least one")
        from amemgym.memorybench.reading.opening import open_results  # which opens them as this

        given = [several] if isinstance(several, str | Path) else several
        opened = [one if isinstance(one, MemoryBenchResults) else open_results(one, choose) for one in given]
        problems = Problems(problem for archive in opened for problem in archive.problems)
        runs = [
            run
            for archive in opened
            for cell, chosen in archive._runs.items()
            for run in (archive._undecided[cell][1] if cell in archive._undecided else [chosen])
        ]
        return cls(" + ".join(dict.fromkeys(archive.repo_id for archive in opened)), runs, problems, choose=choose)

    # --- whole files ---

    def load_summary(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> dict[str, Any]:
        """summary.json as it stands (NaN as None). Raises ResultNotFound, ResultFileMissing, DataError (damaged, or of
        no known shape), as the other files do."""
        cell = cell_of(exp, model, dataset_type, set_name, baseline)
        value = self.load_json(*cell, SUMMARY)
        read_summary(value, self._named(cell, SUMMARY), with_details=False)
        return dict(value)

    def load_predict(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> list[dict[str, Any]]:
        """predict.json whole; `iter_predict` holds one line of it at a time."""
        return list(self.load_json(*cell_of(exp, model, dataset_type, set_name, baseline), PREDICT))

    def load_evaluate_details(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> list[dict[str, Any]]:
        """evaluate_details.json whole; `iter_evaluate_details` holds one line of it at a time."""
        return list(self.load_json(*cell_of(exp, model, dataset_type, set_name, baseline), DETAILS))

    def load_run_config(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> dict[str, Any]:
        """run_config.json with keys struck out."""
        return dict(self.load_json(*cell_of(exp, model, dataset_type, set_name, baseline), RUN_CONFIG))

    def load_json(self, exp: str, model: str, dataset_type: str, set_name: str, baseline: str, filename: str) -> Any:
        """A JSON file of the cell's group, by its name there; keys are struck out of what is not results.

        Raises ResultFileMissing (a FileNotFoundError) where it is not listed or absent.
        """
        cell = Cell(exp, model, dataset_type, set_name, baseline)
        value = read_json(self._path(cell, filename), self._named(cell, filename))
        expected = {SUMMARY: dict, RUN_CONFIG: dict, PREDICT: list, DETAILS: list}.get(filename)
        if expected is not None and not isinstance(value, expected):
            kind = "an object" if expected is dict else "a list"
            raise DataError(f"{self._named(cell, filename)} is not {kind}, as it should be")
        return value if filename in _RESULTS else redacted(value)

    def run_config(self, cell: Cell) -> dict[str, Any]:
        """run_config.json with keys struck out."""
        return self.load_run_config(cell)

    def summary(self, cell: Cell, *, with_details: bool = True) -> Summary:
        """summary.json in one type, whichever format it has; without the items' values where they are not asked for.

        Raises ResultNotFound, ResultFileMissing, DataError.
        """
        path, place = self._path(cell, SUMMARY), self._named(cell, SUMMARY)
        summary = read_summary(read_json(path, place), place, with_details=with_details)
        for fault in summary.faults:
            self._told.tell(place, fault)
        return summary

    def summaries(self, cells: Sequence[Cell]) -> dict[Cell, Summary | None]:
        """The summaries of several cells without the items' values; None, and a problem, where a cell's cannot be had
        (no problem where it has no scores yet, see `is_unscored`).

        They are fetched together and kept.
        """
        new = [cell for cell in cells if cell not in self._summaries]
        self._fetch(new, SUMMARY)
        for cell in new:
            try:
                self._summaries[cell] = self.summary(cell, with_details=False)
            except DataError as error:
                told = isinstance(error, ResultUndecided) or self._is_told_absent(cell)
                if not told and not self.is_unscored(cell):
                    self._told.tell(str(cell), f"no summary: {error}")
                self._summaries[cell] = None
        return {cell: self._summaries[cell] for cell in cells}

    # --- line by line ---

    def iter_predict(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> Iterator[dict[str, Any]]:
        """The lines of predict.json, one in memory at a time, each item once (others are told in `problems`).

        Raises ResultNotFound, ResultFileMissing; DataError at the place where the file is damaged.
        """
        records = self._keyed(cell_of(exp, model, dataset_type, set_name, baseline), PREDICT)
        return (record for _, record in records)

    def iter_evaluate_details(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> Iterator[dict[str, Any]]:
        """The lines of evaluate_details.json, as `iter_predict` gives those of predict.json."""
        records = self._keyed(cell_of(exp, model, dataset_type, set_name, baseline), DETAILS)
        return (record for _, record in records)

    def items(self, cell: Cell) -> Iterator[Item]:
        """The items of evaluate_details.json with their metrics, one in memory at a time; see `iter_predict`."""
        for key, record in self._keyed(cell, DETAILS):
            yield Item.of(key, record)

    def join(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> Iterator[Joined]:
        """What was answered to each item and how it was judged; None where one of the files has no line for it.

        The files are read side by side; see `iter_predict` for errors.
        """
        cell = cell_of(exp, model, dataset_type, set_name, baseline)

        def tell(n: int) -> None:
            text = f"{n} of its items would be joined if test_idx were a text in both files, or a number in both"
            self._told.tell(str(cell), text)

        return joined(self._keyed(cell, PREDICT), self._keyed(cell, DETAILS), tell)

    # --- tables ---

    def summary_table(
        self,
        metric: str,
        exp: str | None = None,
        dataset_type: str | None = None,
        set_name: str | None = None,
        baselines: str | Sequence[str] | None = None,
        models: str | Sequence[str] | None = None,
        missing_value: Any = None,
        as_pandas: bool = True,
    ) -> pandas.DataFrame | list[dict[str, Any]]:
        """A metric of the summaries, one row for each model and set, one column for each baseline.

        Before them stand `model` and, unless both are given, `dataset_type` and `set_name`; rows are sorted, baselines
        in the order given, else sorted. `exp=None` is "off-policy", else the only experiment there is. What is missing
        is `missing_value`, else NaN in a DataFrame and None in plain rows (`as_pandas=False`, which needs no pandas).

        Raises UnknownName for a metric, model, set, type, baseline or experiment that there is not, with those there
        are; MissingPackage (an ImportError) without pandas.
        """
        from amemgym.memorybench.reading.table import frame, rows

        found, columns = rows(
            self,
            metric,
            exp=exp,
            dataset_type=dataset_type,
            set_name=set_name,
            baselines=baselines,
            models=models,
            missing_value=missing_value,
        )
        return frame(found, columns, missing_value) if as_pandas else found

    # --- inside ---

    def _path(self, cell: Cell, name: str) -> Path:
        run = self._run(cell)
        if path_fault(name) or (at := file_of(run.entry, name)) is None:
            listed = ", ".join(run.entry.files) or "none"
            raise ResultFileMissing(f"{cell}: its group has no file '{name}'; listed are: {listed}")
        try:
            return run.place.path(at)
        except ResultFileMissing as error:
            raise ResultFileMissing(f"{cell}: {error}{_LISTED}") from error

    def _is_told_absent(self, cell: Cell) -> bool:
        """Whether it was told at opening that its summary is listed but absent."""
        told = (problem.text for problem in self._told if problem.place == str(cell))
        return any(text.startswith(_ABSENT) and text.endswith(_LISTED) and SUMMARY in text for text in told)

    def _fetch(self, cells: Sequence[Cell], name: str) -> None:
        """Have a file of several cells at hand."""
        wanted: dict[int, tuple[Place, list[str]]] = {}
        for cell in cells:
            run = self._found(cell)
            if (at := file_of(run.entry, name)) is not None:
                wanted.setdefault(id(run.place), (run.place, []))[1].append(at)
        for place, paths in wanted.values():
            place.fetch(paths)

    def _named(self, cell: Cell, name: str) -> str:
        run = self._run(cell)
        return f"{run.place.name}/{file_of(run.entry, name) or name}"

    def _keyed(self, cell: Cell, name: str) -> Iterator[tuple[ItemKey, dict[str, Any]]]:
        path, named = self._path(cell, name), self._named(cell, name)
        only = cell.set_name if cell.dataset_type == "single" else None
        return keyed(stream(path, named), named, self._told, only)
