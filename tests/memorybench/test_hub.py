"""An archive on the hub is read file by file as it is asked for, from one commit, and from the cache without a network.

A small server on this machine stands in for the hub; the client reads its settings once, so each test has processes of
its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from amemgym.errors import UsageError
from amemgym.memorybench import MemoryBenchResults
from tests.support.archive import Group, write_archive
from tests.support.fake_hub import COMMIT, FakeHub, in_new_process, nobody_there, served

REPOSITORY = "THUIR/MemoryBench-Results"
GROUPS = [
    Group("Q", "mem0", {"Alpha": [5.0]}, set_name="Academic&Knowledge", run_config={"api_key": "very-secret"}),
    Group("Q", "wo_memory", {"Alpha": [1.0]}, set_name="Academic&Knowledge"),
]


def hub_of(folder: Path, layout: str = "manifest") -> FakeHub:
    write_archive(folder, GROUPS, layout)
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return FakeHub(REPOSITORY, files)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    with served(hub_of(tmp_path / "archive")) as server:
        yield server


@pytest.fixture
def nobody() -> Iterator[str]:
    with nobody_there() as address:
        yield address


START = """
import json, sys
from amemgym.errors import DataError
from amemgym.memorybench import MemoryBenchResults, open_results
try:
    {}
except DataError as error:
    print(type(error).__name__, error, file=sys.stderr)
    sys.exit(error.exit_code)
"""
TABLE = START.format(
    "results = open_results('hub:'); "
    "print(json.dumps([results.summary_table('average', as_pandas=False), list(map(str, results.problems))]))"
)
LIST = START.format("print(len(MemoryBenchResults.from_hf().entries))")
REFUSED = """
import json
from amemgym.errors import DataError
from amemgym.memorybench import open_results
said = []
for source in SOURCES:
    try:
        open_results(source)
    except DataError as error:
        said.append(str(error))
print(json.dumps(said))
"""
ROWS = [{"model": "Q", "dataset_type": "domain", "set_name": "Academic&Knowledge", "mem0": 0.5, "wo_memory": 0.1}]


def of_files(hub: FakeHub) -> list[str]:
    """What was asked about files; the client asks for things of its own too."""
    return [asked for asked in hub.asked if "/resolve/" in asked]


def said(done: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a process that ended with a DataError."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = done.stderr.splitlines()
    return line


def test_listing_fetches_the_manifest_alone(hub: FakeHub, tmp_path: Path) -> None:
    done = in_new_process(LIST, tmp_path, hub.address)
    assert done.stdout == "2\n", done.stderr
    assert {asked.rpartition("/")[2] for asked in of_files(hub)} == {"manifest.jsonl"}


def test_a_table_fetches_summaries_once_and_nothing_else(hub: FakeHub, nobody: str, tmp_path: Path) -> None:
    first = in_new_process(TABLE, tmp_path, hub.address)
    assert first.returncode == 0, first.stderr
    assert json.loads(first.stdout) == [ROWS, []]
    manifest, *got = [asked for asked in of_files(hub) if asked.startswith("GET")]
    assert manifest == f"GET {hub.file_at('manifest.jsonl')}"
    assert sorted(asked.rpartition("/")[2] for asked in got) == ["summary.json", "summary.json"]
    assert all(f"/resolve/{COMMIT}/" in asked for asked in got)  # one state, whatever the branch does meanwhile
    hub.asked.clear()
    again = in_new_process(TABLE, tmp_path, hub.address)
    assert again.stdout == first.stdout
    assert [asked for asked in of_files(hub) if asked.startswith("GET")] == []
    rows, problems = json.loads(in_new_process(TABLE, tmp_path, nobody).stdout)
    assert rows == ROWS
    assert len(problems) == 1 and "the hub could not be asked" in problems[0]
    rows, problems = json.loads(in_new_process(TABLE, tmp_path, hub.address, HF_HUB_OFFLINE="1").stdout)
    assert (rows, len(problems)) == (ROWS, 1)


def test_files_a_cache_folder_and_a_revision(hub: FakeHub, tmp_path: Path) -> None:
    code = START.format(
        f"results = MemoryBenchResults.from_hf(revision={COMMIT!r}, cache_dir={str(tmp_path / 'own')!r});"
        " cell = results.select()[0];"
        " print(json.dumps([results.run_config(cell), results.load_predict(cell)[0]['response'],"
        " [results.repo_id, results.revision, results.local_root], len(list(results.join(cell)))]))"
    )
    done = in_new_process(code, tmp_path, hub.address)
    assert done.returncode == 0, done.stderr
    config, response, where, n = json.loads(done.stdout)
    assert "very-secret" not in done.stdout and config["memory_system_config"]["llm_config"]["api_key"] == "[key]"
    assert (response, where, n) == ("r0", [REPOSITORY, COMMIT, None], 1)
    assert next((tmp_path / "own").rglob("predict.json")).is_file()
    assert not (tmp_path / "hub").exists()


def test_a_file_that_is_listed_but_absent(hub: FakeHub, tmp_path: Path) -> None:
    del hub.files[next(name for name in hub.files if "mem0" in name and name.endswith("summary.json"))]
    code = (
        "r = open_results('hub:'); print(r.summary_table('average', as_pandas=False)[0]['mem0'], *r.problems);"
        " r.load_summary(r.select()[0])"
    )
    done = in_new_process(START.format(code), tmp_path, hub.address)
    assert done.stdout.startswith("None off-policy/Q/domain/Academic&Knowledge/mem0: no summary: ")
    assert done.stderr.startswith("ResultFileMissing off-policy/Q/domain/Academic&Knowledge/mem0: ")
    assert len(done.stderr.splitlines()) == 1 and "though it is listed" in done.stderr


def test_without_a_manifest_the_repository_is_listed(tmp_path: Path) -> None:
    with served(hub_of(tmp_path / "archive", "results")) as hub:
        done = in_new_process(TABLE, tmp_path, hub.address)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == [ROWS, []]
        assert not [asked for asked in hub.asked if "predict.json" in asked or "evaluate_details.json" in asked]


def test_what_the_hub_does_not_have_is_one_sentence(hub: FakeHub, tmp_path: Path) -> None:
    sources = ["hub:nobody/nothing", f"hub:{REPOSITORY}@no-such-branch", "hub:a b/c"]
    done = in_new_process(f"SOURCES = {sources!r}\n{REFUSED}", tmp_path, hub.address)
    absent, revision, name = json.loads(done.stdout)
    assert "there is no such dataset repository, or it is private" in absent
    assert "it has no revision 'no-such-branch'" in revision
    assert "that is no name of a repository" in name


def test_a_gated_repository_is_one_sentence(hub: FakeHub, tmp_path: Path) -> None:
    hub.is_gated = True
    assert "it is gated: ask for access" in said(in_new_process(LIST, tmp_path, hub.address))


def test_nobody_at_the_hub_is_one_sentence(nobody: str, tmp_path: Path) -> None:
    line = said(in_new_process(LIST, tmp_path, nobody))
    assert line.startswith(f"DataError manifest.jsonl could not be fetched from {REPOSITORY} on Hugging Face (")
    assert "go online, or download the archive and give its folder" in line


def test_a_crafted_manifest_asks_the_hub_for_nothing_else(hub: FakeHub, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in hub.files["manifest.jsonl"].splitlines()]
    lines[0]["relative_dir"] = "../../other/repository/resolve/main"
    hub.files["manifest.jsonl"] = "\n".join(map(json.dumps, lines)).encode()
    rows, problems = json.loads(in_new_process(TABLE, tmp_path, hub.address).stdout)
    assert list(rows[0]) == ["model", "dataset_type", "set_name", "wo_memory"]
    assert "leads out of the archive" in problems[0]
    assert not [asked for asked in hub.asked if "other" in asked]


def test_without_the_hubs_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match=r"pip install 'amemgym\[hub\]'") as caught:
        MemoryBenchResults.from_hf()
    assert isinstance(caught.value, UsageError)
