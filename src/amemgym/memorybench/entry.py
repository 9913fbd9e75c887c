"""One group of results: one memory system (baseline) with one model on one set, and the four files that tell of it.

An archive is many of them. A cell is what a table has one number for; where an archive holds several runs of a cell,
each is an entry of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SUMMARY, DETAILS, PREDICT, RUN_CONFIG = "summary.json", "evaluate_details.json", "predict.json", "run_config.json"
#: the files of a group, in the order of the published manifest
GROUP_FILES = (RUN_CONFIG, PREDICT, DETAILS, SUMMARY)
MANIFEST = "manifest.jsonl"
#: what a set may be: one data set, all of a domain, all of a kind of task
DATASET_TYPES = ("single", "domain", "task")
#: the baseline that others are compared with: the model without any memory
WITHOUT_MEMORY = "wo_memory"


class Cell(NamedTuple):
    """What a table has one number for."""

    exp: str
    model: str
    dataset_type: str
    set_name: str
    baseline: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True)
class ResultEntry:
    """A line of the manifest. `relative_dir` is the group's folder from the archive's root, with `/`; `files` are the
    names of the files that should lie in it."""

    exp: str
    model: str
    dataset_type: str
    set_name: str
    baseline: str
    run_id: str
    relative_dir: str
    files: list[str]

    @property
    def cell(self) -> Cell:
        return Cell(self.exp, self.model, self.dataset_type, self.set_name, self.baseline)
