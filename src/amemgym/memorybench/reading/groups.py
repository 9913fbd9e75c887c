"""The groups of an archive: which names there are, and which cells a choice of names means.

A name that the archive does not have is an error that lists those it has, whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amemgym.errors import ResultNotFound, UnknownName
from amemgym.memorybench.entry import DATASET_TYPES, DETAILS, SUMMARY, Cell, ResultEntry
from amemgym.memorybench.problems import Problem, Problems, some
from amemgym.memorybench.reading.listing import file_of
from amemgym.memorybench.reading.runs import Run, one_a_cell

#: what the words of a cell are called in errors
_KINDS = ("experiment", "model", "dataset type", "set", "baseline")
#: what a group without scores holds, and who gives them
_PREDICTIONS = "predictions alone, to which MemoryBench's evaluators give scores"
#: the experiment that a table is of, where an archive has it
OFF_POLICY = "off-policy"


class Groups:
    """The groups of an archive, one a cell: `entries`, in the archive's order. A cell of several runs that the rule
    cannot decide is there by name, and an error where it is read."""

    def __init__(self, runs: Iterable[Run], problems: Problems, choose: str = "latest") -> None:
        self._told = problems
        self._runs, self._undecided = one_a_cell(runs, choose, problems)
        self.entries: list[ResultEntry] = [run.entry for cell, run in self._runs.items() if cell not in self._undecided]

    @property
    def problems(self) -> list[Problem]:
        """What was wrong and where, none of which stopped the reading. It grows as files are read."""
        return self._told

    def list_exps(self) -> list[str]:
        """The experiments, sorted."""
        return self._names(0)

    def list_models(self, exp: str | None = None) -> list[str]:
        """The models (of an experiment), sorted. Raises UnknownName, as the other lists do."""
        return self._names(1, exp)

    def list_set_names(
        self, exp: str | None = None, model: str | None = None, dataset_type: str | None = None
    ) -> list[str]:
        """The sets, sorted."""
        return self._names(3, exp, model, dataset_type)

    def list_baselines(
        self,
        exp: str | None = None,
        model: str | None = None,
        dataset_type: str | None = None,
        set_name: str | None = None,
    ) -> list[str]:
        """The memory systems, sorted."""
        return self._names(4, exp, model, dataset_type, set_name)

    def get_entry(
        self, exp: str | Cell, model: str = "", dataset_type: str = "", set_name: str = "", baseline: str = ""
    ) -> ResultEntry:
        """The group of a cell. Raises ResultNotFound (a KeyError) where there is none, DataError
        where it cannot be decided which of several runs counts."""
        return self._run(cell_of(exp, model, dataset_type, set_name, baseline)).entry

    def experiment(self, exp: str | None = None) -> str:
        """The experiment that a table is of: the one given, else "off-policy", else the only one there is.

        Raises UnknownName.
        """
        exps = self.list_exps()
        if exp is None:
            exp = exps[0] if len(exps) == 1 else OFF_POLICY
        if exp not in exps:
            raise UnknownName(_KINDS[0], exp, exps, "Say which with exp.")
        return exp

    def select(
        self,
        exp: str | None = None,
        models: str | Sequence[str] | None = None,
        dataset_type: str | None = None,
        set_names: str | Sequence[str] | None = None,
        baselines: str | Sequence[str] | None = None,
    ) -> list[Cell]:
        """The cells of these names, sorted; None is all there are, so `exp=None` is every experiment.

        Raises UnknownName for a name that the archive does not have anywhere.
        """
        wanted = [_given(names) for names in (exp, models, dataset_type, set_names, baselines)]
        for at, names in enumerate(wanted):
            self._check(at, names)
        return sorted(cell for cell in self._runs if _fits(cell, wanted))

    def has(self, cell: Cell) -> bool:
        """Whether there is a group for the cell."""
        return cell in self._runs

    def has_file(self, cell: Cell, name: str) -> bool:
        """Whether the cell's group has the file: listed and, where that is known without fetching it, there."""
        run = None if cell in self._undecided else self._runs.get(cell)
        return run is not None and (at := file_of(run.entry, name)) is not None and run.place.may_have(at)

    def is_unscored(self, cell: Cell) -> bool:
        """Whether its group lists neither scores nor judged items, as where there are predictions alone."""
        run = None if cell in self._undecided else self._runs.get(cell)
        return run is not None and not {SUMMARY, DETAILS} & set(run.entry.files)

    def no_scores(self, cells: Sequence[Cell]) -> str:
        """A sentence about cells that have none yet."""
        one = len(cells) == 1
        told = f"{cells[0]} has" if one else f"{len(cells)} cells ({some(list(map(str, cells)), 1)}) have"
        return f"{told} no scores yet: {'it holds' if one else 'they hold'} {_PREDICTIONS}"

    def place_of(self, cell: Cell) -> str:
        """The archive that the cell's group is in, as messages name it. Raises ResultNotFound."""
        return self._found(cell).place.name

    def _names(self, at: int, *given: str | None) -> list[str]:
        wanted = [_given(name) for name in given]
        for place, names in enumerate(wanted):
            if place != 2 or not set(names or ()) <= set(DATASET_TYPES):  # a type that no set has is no wrong name
                self._check(place, names)
        return sorted({cell[at] for cell in self._runs if _fits(cell, wanted)})

    def _check(self, at: int, names: Sequence[str] | None) -> None:
        known = sorted({cell[at] for cell in self._runs})
        for name in names or ():
            if name not in known:
                raise UnknownName(_KINDS[at], name, known)

    def _run(self, cell: Cell) -> Run:
        if cell in self._undecided:
            raise self._undecided[cell][0]
        return self._found(cell)

    def _found(self, cell: Cell) -> Run:
        if (run := self._runs.get(cell)) is None:
            known = list(self._runs)
            for at, word in enumerate(cell):
                names = sorted({other[at] for other in known})
                if word in {other[at] for other in self._runs} - set(names):
                    before = "/".join(cell[:at])
                    raise ResultNotFound(
                        f"no results for {cell}: {before} has no results for {_KINDS[at]} '{word}', but for"
                        f" {', '.join(names)}"
                    )
                if word not in names:
                    raise ResultNotFound(f"no results for {cell}: {UnknownName(_KINDS[at], word, names)}")
                known = [other for other in known if other[at] == word]
            raise ResultNotFound(f"no results for {cell}")
        return run


def cell_of(exp: str | Cell, *words: str) -> Cell:
    """The cell of five words, or the one given."""
    return exp if isinstance(exp, Cell) else Cell(exp, *words)


def _given(names: str | Sequence[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _fits(cell: Cell, wanted: Sequence[Sequence[str] | None]) -> bool:
    return all(names is None or word in names for word, names in zip(cell, wanted, strict=False))
