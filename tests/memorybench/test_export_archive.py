"""The archive that runs are written to: what is in it stays whole, whenever the writing ends; nothing is written
outside it, over somebody else's files or over another run's group; and the command says what it did."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amemgym.api import score
from amemgym.errors import DataError, RunDirectoryError, UsageError
from amemgym.files import held
from amemgym.memorybench import Cell, MemoryBenchResults, export_runs
from amemgym.memorybench.exporting.folders import folder_name, group_folder
from tests.cli.helpers import inside, sentence, succeeded
from tests.cli.warm import die_at_write, warm
from tests.memorybench.exporting import contents, data, laid_out, played, read


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs called one and two, over the same data with other seeds, and three, over other data of the same name."""
    folder = tmp_path_factory.mktemp("runs")
    other = tmp_path_factory.mktemp("other")
    played(data(folder), folder / "one", upper_bound=False)
    played(data(folder), folder / "two", upper_bound=False, seed=1)
    played(data(other, change=lambda users: users.pop()), folder / "three", upper_bound=False)
    return folder


#: the writes of an export of two groups: four files each, then the manifest
WRITES = 9


@pytest.mark.parametrize("replace", [False, True], ids=["added", "replaced"])
def test_an_export_that_is_killed_leaves_the_archive_whole(replace: bool, runs: Path, tmp_path: Path) -> None:
    """At its first write, among its groups, and at the last: all that the old manifest names is as it was."""
    export_runs(runs / "one", tmp_path / "archive")
    before = read(tmp_path / "archive")
    exported, flags = (runs / "one", ["--replace"]) if replace else (runs / "two", [])
    for write in (0, 5, WRITES - 1) if replace else (WRITES - 1,):
        archive = Path(shutil.copytree(tmp_path / "archive", tmp_path / f"killed-{write}"))
        command = ("memorybench", "export", exported, *flags, "--out", archive)
        assert warm(*command, before=partial(die_at_write, write)).code == -signal.SIGKILL
        assert read(archive) == before
        export_runs(exported, archive, replace=replace)  # and can be made again
        assert len(read_all(archive)) == (2 if replace else 4)
        assert not [*archive.rglob("*.tmp")]


def test_a_first_export_that_is_killed_can_be_made_again(runs: Path, tmp_path: Path) -> None:
    for writes in (0, 4):
        archive = tmp_path / f"killed-{writes}"
        command = ("memorybench", "export", runs / "one", "--out", archive)
        assert warm(*command, before=partial(die_at_write, writes)).code == -signal.SIGKILL
        assert not (archive / "manifest.jsonl").exists() or read(archive) == {}
        export_runs(runs / "one", archive)
        assert len(read(archive)) == 2


def test_a_group_is_replaced_only_on_request(runs: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    export_runs([runs / "one", runs / "two"], archive)
    before = contents(archive)
    with pytest.raises(UsageError, match=r"has on-policy/offline/single/small/uniform of .*one already.*--replace"):
        export_runs(runs / "one", archive)
    assert contents(archive) == before
    groups = read_all(archive)
    exported = export_runs(runs / "one", archive, replace=True)
    assert (exported.total, len(exported.groups), exported.rivals) == (4, 2, 4)
    assert read_all(archive) == groups  # in the same order, with the same files
    assert len([*archive.rglob("summary.json")]) == 4  # what was replaced is gone
    with pytest.raises(UsageError, match="hold the same run"):
        export_runs([runs / "one", runs / "one"], tmp_path / "twice")


def test_between_runs_of_one_cell_the_reader_chooses(runs: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert export_runs([runs / "one", runs / "two"], archive).rivals == 4
    cell = Cell("on-policy", "offline", "single", "small", "uniform")
    with pytest.raises(DataError, match="choose"):
        MemoryBenchResults.from_local(archive).summary(cell)
    for choose, run in (("first", "one"), ("last", "two")):
        overall = score(runs / run, write=False)["uniform"]["overall"]
        results = MemoryBenchResults.from_local(archive, choose=choose)
        assert results.summary(cell).scores["accuracy"] == overall


def read_all(archive: Path) -> list[Any]:
    """Each line's names and files, in order."""
    lines = [json.loads(line) for line in (archive / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        (
            line["run_id"],
            line["baseline"],
            *((archive / line["relative_dir"] / name).read_bytes() for name in line["files"]),
        )
        for line in lines
    ]


def test_other_data_of_the_same_name_is_another_set(runs: Path, tmp_path: Path) -> None:
    """Their items have the same numbers, and would be compared with each other."""
    archive = tmp_path / "archive"
    export_runs(runs / "one", archive)
    for named in (runs / "three", [runs / "two", runs / "three"]):
        with pytest.raises(UsageError, match=r"other users or periods of 'small'.*--set-name"):
            export_runs(named, archive)
    with pytest.raises(UsageError, match="--set-name"):
        export_runs([runs / "one", runs / "three"], tmp_path / "new")
    export_runs(runs / "three", archive, set_name="small-1")
    assert {cell[3] for cell in read(archive)} == {"small", "small-1"}
    assert {item["dataset"] for item in of_set(archive, "small-1")["predict.json"]} == {"small-1"}


def of_set(archive: Path, name: str) -> dict[str, Any]:
    return next(files for cell, files in read(archive).items() if cell[3] == name)


def test_what_others_wrote_into_an_archive_stays(runs: Path, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    export_runs(runs / "one", archive)
    lines = ["{not JSON", '{"setting": "off-policy-m", "set_name": "S"}', '{"exp": "off-policy", "weird": "\u2028"}']
    manifest = archive / "manifest.jsonl"
    manifest.write_text(manifest.read_text(encoding="utf-8") + "\n".join(lines), encoding="utf-8")
    export_runs(runs / "two", archive)
    assert manifest.read_text(encoding="utf-8").split("\n")[2:5] == lines
    exported = export_runs(runs / "one", archive, replace=True)
    assert (exported.total, exported.rivals, exported.faulty) == (4, 4, 3), "as a reader counts"
    manifest.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"cannot read .*manifest\.jsonl.*--out"):
        export_runs(runs / "two", archive)


def test_a_folder_of_something_else_is_refused(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "mine", runs / "one"):
        before = contents(out)
        with pytest.raises(RunDirectoryError, match="holds no archive of results"):
            export_runs(runs / "one", out)
        assert contents(out) == before
    sentence(inside("memorybench", "export", runs / "one", "--out", tmp_path / "file"), 2)
    with held(tmp_path / "used"), pytest.raises(RunDirectoryError, match="in use by another process"):
        export_runs(runs / "one", tmp_path / "used")


def test_a_manifest_of_somebody_else_has_nothing_removed(runs: Path, tmp_path: Path) -> None:
    """A line that names a folder of ours outside the archive, or through a link."""
    archive, outside = tmp_path / "archive", tmp_path / "outside"
    export_runs(runs / "one", archive)
    shutil.copytree(archive, outside)
    manifest = archive / "manifest.jsonl"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('"relative_dir":"', '"relative_dir":"../outside/'), encoding="utf-8")
    before = contents(outside)
    export_runs(runs / "one", archive, replace=True)
    assert contents(outside) == before
    shutil.rmtree(archive / "on-policy-offline")
    (archive / "on-policy-offline").symlink_to(outside / "on-policy-offline")
    with pytest.raises(DataError, match="leads out of"):
        export_runs(runs / "two", archive)
    assert contents(outside) == before


HOSTILE = [
    "..",
    ".",
    "../../evil",
    "/etc/passwd",
    "a\\b",
    "C:",
    "con",
    "NUL.txt",
    "a\x00b",
    "~root",
    ".hidden",
    "x" * 300,
]


@given(st.one_of(st.sampled_from(HOSTILE), st.text(min_size=1)), st.text(min_size=1), st.text(min_size=1))
@example("a.", "b ", "-c")
@settings(max_examples=50, deadline=None)
def test_a_name_never_leads_out_of_its_folder(model: str, data_set: str, baseline: str) -> None:
    cell = Cell("off-policy", model, "single", data_set, baseline)
    parts = group_folder(cell, "start_at_0", ()).split("/")
    assert len(parts) == 5 and parts[0].startswith("off-policy-") and parts[1] == "single"
    for part in parts:
        assert part.isascii() and part.isprintable() and len(part) < 120 and not set(part) & set('\\:*?"<>|~')
        assert part.strip(". ") == part and part.casefold() not in ("con", "nul", "nul.txt")


def test_safe_names_stay_and_no_two_share_a_folder() -> None:
    for name in ("Qwen3-8B", "Academic&Knowledge", "bm25_message", "v1.base", "awe-2-4-30", "a model"):
        assert folder_name(name) == name
    taken: set[str] = set()
    for baseline in ("RAG", "rag", "r/a", folder_name("r/a")):
        folder = group_folder(Cell("on-policy", "m", "single", "s", baseline), "start_at_0", taken)
        assert folder.casefold() not in taken
        taken.add(folder.casefold())


def test_hostile_names_of_agents_and_data(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"type": "native", "name": "../../../evil"}), encoding="utf-8")
    (tmp_path / "deep").mkdir()
    of_data = data(tmp_path / "deep", "..%2f..\x07\u202e&`$(x)`.json")
    played(of_data, tmp_path / "run", f"{own},oracle", upper_bound=False)
    before = {path for path in tmp_path.rglob("*")}
    export_runs(tmp_path / "run", tmp_path / "archive")
    new = {path for path in tmp_path.rglob("*")} - before
    assert all(path.is_relative_to(tmp_path / "archive") for path in new)
    groups = read(tmp_path / "archive")
    assert {cell[-1] for cell in groups} == {"../../../evil", "oracle"}
    results = MemoryBenchResults.from_local(tmp_path / "archive")
    assert {entry.cell for entry in results.entries} == set(groups) and list(results.problems) == []
    assert [len([*results.items(entry.cell)]) for entry in results.entries] == [12, 12]
    assert {cell[3] for cell in groups} == {"..%2f..\ufffd\u202e&`$(x)`"}
    assert len(laid_out(tmp_path / "archive")) == 2


def test_the_command(runs: Path, tmp_path: Path) -> None:
    ended = succeeded(inside("memorybench", "export", runs / "one", "--out", tmp_path / "an archive"))
    assert ended.out.splitlines() == [
        "on-policy/offline/single/small/uniform: 12 items",
        "on-policy/offline/single/small/oracle: 12 items",
        f"2 groups written; {tmp_path / 'an archive'} has 2 now",
        f"next: amemgym memorybench table '{tmp_path / 'an archive'}' --metric accuracy",
    ]
    again = succeeded(inside("memorybench", "export", runs / "two", "--out", tmp_path / "an archive"))
    assert "has 4 now\n4 of the 4 share their cell with other runs" in again.out and "--choose last" in again.out
    said = sentence(inside("memorybench", "export", runs / "one", "--out", tmp_path / "an archive"), 2)
    assert "--replace" in said
    succeeded(inside("memorybench", "export", runs / "one", "--replace", "--out", tmp_path / "an archive"))
    # what an earlier export made rivals of is told by the next of anything
    later = succeeded(
        inside("memorybench", "export", runs / "three", "--set-name", "other", "--out", tmp_path / "an archive")
    )
    [command] = re.findall(r"next: amemgym (.*)", later.out)
    assert "--choose last" in command
    succeeded(inside(*shlex.split(command)))
    assert "holds no run" in sentence(inside("memorybench", "export", tmp_path, "--out", tmp_path / "a"), 2)
    assert "does not exist" in sentence(inside("memorybench", "export", tmp_path / "no", "--out", tmp_path / "a"), 2)
    assert "--out" in sentence(inside("memorybench", "export", runs / "one"), 2)
    assert not (tmp_path / "a").exists()
