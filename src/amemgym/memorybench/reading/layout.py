"""An archive without a manifest: its groups are recognised by where they lie.

Three layouts are in use, each below any folder, and each also opened at a folder within it:

    <exp>-<model>/<type>/<set>/<baseline>[/<run>]
    <exp>/<model>/<type>/<set>/<baseline>[/<run>]
    <exp>/results/<type>/<set>/<baseline>/<run>        the model stands in run_config.json

A run that examines its memory as it goes has a folder for each step (`step_3`, `begin`, `[200,300)`). Its last step is
the group, since that is the memory after everything it was told; the steps before are stages of the same run, not
rivals of it. `run_id` then names the step, and the step shares its run's run_config.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from amemgym.memorybench.entry import DATASET_TYPES, DETAILS, PREDICT, RUN_CONFIG, SUMMARY, ResultEntry
from amemgym.memorybench.problems import Problems
from amemgym.memorybench.reading.manifest import EXPERIMENTS, split_setting
from amemgym.memorybench.reading.paths import name_fault
from amemgym.memorybench.reading.runs import step_number

#: what a step has in place of predict.json
STEP_PREDICT = "test_predicts.json"
#: any of these makes a folder a group
_RESULTS = (SUMMARY, DETAILS, PREDICT, STEP_PREDICT)
#: the model of a group whose run_config.json names none
UNKNOWN_MODEL = "unknown-model"
_MODEL_KEYS = ("model", "llm_model", "model_name", "llm")
#: parts of a configuration whose models are not the one that answers
_OTHER_MODELS = ("embed", "judge", "eval", "rerank", "feedback", "user")


class _Where(NamedTuple):
    """What a folder's path tells; no model where run_config.json has it."""

    exp: str
    model: str | None
    dataset_type: str
    set_name: str
    baseline: str
    run_id: str


def find_groups(
    listed: Sequence[str],
    around: Sequence[str],
    place: str,
    problems: Problems,
    run_configs: Callable[[Sequence[str]], Iterable[Any]],
) -> list[ResultEntry]:
    """The groups among an archive's files, in the order of their paths.

    `listed` are relative paths, `around` the folders that the root lies in (itself last), `place` names the archive in
    problems, `run_configs` reads the files at some relative paths (None for one that it cannot).
    """
    folders: dict[str, list[str]] = {}
    for path in listed:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, []).append(name)
    found = []
    for folder in _last_steps([folder for folder, names in folders.items() if any(name in names for name in _RESULTS)]):
        if (where := _where(folder.split("/") if folder else [], around)) is None:
            problems.tell(f"{place}/{folder}", "it holds results, but in no known layout; it is passed over")
            continue
        if where.model is not None and where.exp not in EXPERIMENTS:
            said = f"its experiment is taken to be '{where.exp}' and its model '{where.model}', by its folders alone"
            problems.tell(f"{place}/{folder.partition(f'/{where.dataset_type}/')[0]}", said)
        found.append((folder, where))
    asked = {folder: config_of(folder, folders[folder]) for folder, where in found if where.model is None}
    everything = set(listed)
    there = [path for path in asked.values() if path in everything]
    models = dict(zip(there, map(model_in, run_configs(there)), strict=True))
    entries = []
    for folder, where in found:
        model = where.model or models.get(asked[folder])
        if model is None:
            model = UNKNOWN_MODEL
            problems.tell(f"{place}/{asked[folder]}", f"no model is named in it; the group is listed under '{model}'")
        files = sorted(folders[folder])
        entries.append(ResultEntry(**{**where._asdict(), "model": model}, relative_dir=folder or ".", files=files))
    return entries


def config_of(folder: str, files: Sequence[str]) -> str:
    """The path of a group's run_config.json, which a step shares with its run."""
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    if RUN_CONFIG not in files and parts and step_number(parts[-1]) is not None:
        parts.pop()
    return "/".join([*parts, RUN_CONFIG])


def _last_steps(folders: Sequence[str]) -> Iterator[str]:
    """The folders without those steps that are not the last of their run, or whose run has results of its own."""
    found, last = set(folders), dict[str, tuple[int, str]]()
    for folder in folders:
        run, _, name = folder.rpartition("/")
        if (step := step_number(name)) is not None:
            last[run] = max(last.get(run, (-1, "")), (step, folder))
    for folder in sorted(folders):
        run, _, name = folder.rpartition("/")
        if step_number(name) is None or (run not in found and last[run][1] == folder):
            yield folder


def _where(parts: Sequence[str], around: Sequence[str]) -> _Where | None:
    """What the path tells: by its own parts, else with the folders around the root before them."""
    if any(name_fault(part) for part in parts):
        return None
    for before in ((), tuple(around)):
        path = [*before, *parts]
        for at in range(max(len(before) - 5, 0), len(path)):
            if path[at] in DATASET_TYPES and (tail := _tail(path[at + 1 :])) and (head := _head(path[:at], before)):
                return _Where(*head, path[at], *tail)
    return None


def _head(parts: Sequence[str], before: Sequence[str]) -> tuple[str, str | None] | None:
    """(experiment, model) of the folders above the type. Around the archive only known experiments count, since any
    folder may be called anything."""
    if not parts:
        return None
    if (found := split_setting(parts[-1])) is not None:
        return found
    if len(parts) < 2:
        return None
    if parts[-1] in ("results", "result"):
        return parts[-2], None
    if parts[-2] in EXPERIMENTS or len(parts) - 2 >= len(before):
        return parts[-2], parts[-1]
    return None


def _tail(parts: Sequence[str]) -> tuple[str, str, str] | None:
    """(set, baseline, run id) of the folders below the type."""
    set_and_baseline, run = parts[:2], list(parts[2:])
    is_step = bool(run) and step_number(run[-1]) is not None
    if len(set_and_baseline) < 2 or len(run) > 1 + is_step:
        return None
    return parts[0], parts[1], "/".join(run)


def model_in(config: Any) -> str | None:
    """The model that answers, by a run's configuration: where one of an `llm_config` is named, else the nearest to the
    top; None where none is."""
    found = [(not in_llm, depth, at, model) for at, (in_llm, depth, model) in enumerate(_models(config))]
    return min(found)[3] if found else None


def _models(config: Any, depth: int = 0, in_llm: bool = False) -> Iterator[tuple[bool, int, str]]:
    if not isinstance(config, Mapping) or depth > 8:
        return
    for key in _MODEL_KEYS:
        model = config.get(key)
        if isinstance(model, str) and name_fault(model) is None:
            yield in_llm, depth, model.strip()
    for key, value in config.items():
        if not any(other in str(key).lower() for other in _OTHER_MODELS):
            yield from _models(value, depth + 1, in_llm or str(key).lower() in ("llm_config", "llm"))
