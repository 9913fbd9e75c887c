"""Nothing outside an archive's folder can be read, whatever its manifest says and whatever links lie in it."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amemgym.errors import DataError, ResultFileMissing
from amemgym.memorybench import MemoryBenchResults
from amemgym.memorybench.reading.paths import joined_path, path_fault
from amemgym.memorybench.reading.places import Folder
from tests.memorybench.test_manifest import GOOD, OTHER

CRAFTED = [
    "../secret",
    "a/../../secret",
    "a/..",
    " ../secret",
    "/etc",
    "//server/share",
    "C:/Windows",
    "c:secret",
    "a/C:/b",
    "a\\..\\..\\secret",
    "\\\\server\\share",
    "~/secret",
    "~root",
    "a\0b",
    "",
    " ",
    "a\nb",
]


@pytest.mark.parametrize("crafted", CRAFTED)
@pytest.mark.parametrize("key", ["relative_dir", "files"])
def test_a_crafted_path_is_told_and_its_entry_left_out(tmp_path: Path, key: str, crafted: str) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    (tmp_path / "secret").write_text("{}", encoding="utf-8")
    line = GOOD | {key: crafted if key == "relative_dir" else ["summary.json", crafted]}
    (root / "manifest.jsonl").write_text(f"{json.dumps(OTHER)}\n{json.dumps(line)}\n", encoding="utf-8")
    results = MemoryBenchResults.from_local(root)
    assert [entry.baseline for entry in results.entries] == ["wo_memory"]
    problem, absent = results.problems
    assert absent.place.endswith("/wo_memory") and "has no file summary.json, though it is listed" in absent.text
    assert problem.place.endswith("manifest.jsonl, line 2")
    assert key in problem.text


@pytest.mark.parametrize("crafted", CRAFTED)
def test_and_again_where_it_is_opened(tmp_path: Path, crafted: str) -> None:
    root = tmp_path / "archive"
    root.mkdir()
    (tmp_path / "secret").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="not opened"):
        Folder(root).path(crafted)
    assert not Folder(root).may_have(crafted)


_PART = st.one_of(st.sampled_from(["..", ".", "", "~", "C:", "a", " ..", "..."]), st.text(max_size=3))


@given(st.lists(_PART, max_size=6), st.sampled_from(["/", "\\"]))
def test_what_passes_stays_within_on_every_system(parts: list[str], separator: str) -> None:
    path = separator.join(parts)
    if path_fault(path) is not None:
        return
    assert not PurePosixPath(path).is_absolute()
    windows = PureWindowsPath("X:/archive", path)
    assert windows.parts[:2] == ("X:\\", "archive")
    for pure in (PurePosixPath(joined_path(path, "summary.json")), windows):
        assert ".." not in pure.parts


@pytest.mark.parametrize("good", ["a", "Academic&Knowledge/b c", "a/./b", "a//b", "..a", "a..b", "qwen:7b", "a~"])
def test_what_is_an_ordinary_path(good: str) -> None:
    assert path_fault(good) is None


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "archive", tmp_path / "outside"
    for folder in (root / "group", outside):
        folder.mkdir(parents=True)
    (outside / "summary.json").write_text('{"summary": {"average": 0.5}}', encoding="utf-8")
    (root / "group" / "summary.json").symlink_to(outside / "summary.json")
    (root / "out").symlink_to(outside)
    for name, at in (("out", "out"), ("group", "group")):
        line = GOOD | {"relative_dir": at, "baseline": name}
        (root / "manifest.jsonl").write_text(f"{json.dumps(OTHER)}\n{json.dumps(line)}\n", encoding="utf-8")
        results = MemoryBenchResults.from_local(root)
        with pytest.raises(DataError, match="leads out of the archive by a symbolic link"):
            results.load_summary(results.select(baselines=name)[0])
        assert results.summary_table("average", as_pandas=False)[0][name] is None
        assert any("symbolic link" in problem.text for problem in results.problems)
    with pytest.raises(DataError, match="symbolic link"):
        Folder(root).path("out/summary.json")


def test_nor_where_folders_are_searched(tmp_path: Path) -> None:
    """An archive without a manifest, and a link to results that lie outside of it."""
    place = "off-policy-Q/domain/S"
    for folder in (tmp_path / "archive" / place / "mem0", tmp_path / "outside"):
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text('{"summary": {"average": 0.5}}', encoding="utf-8")
    (tmp_path / "archive" / place / "bm25").symlink_to(tmp_path / "outside")
    (tmp_path / "archive" / place / "mem0" / "predict.json").symlink_to(tmp_path / "outside" / "summary.json")
    results = MemoryBenchResults.from_local(tmp_path / "archive")
    (entry,) = results.entries
    assert (entry.baseline, entry.files) == ("mem0", ["summary.json"])
    told = [(problem.place.rpartition("/")[2], "symbolic link" in problem.text) for problem in results.problems]
    assert told == [("bm25", True), ("predict.json", True)]


def test_a_link_that_comes_later_is_not_followed_either(tmp_path: Path) -> None:
    root = tmp_path / "archive"
    folder = root / "group"
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text('{"summary": {"average": 0.5}}', encoding="utf-8")
    (root / "manifest.jsonl").write_text(json.dumps(GOOD | {"relative_dir": "group"}), encoding="utf-8")
    results = MemoryBenchResults.from_local(root)
    (folder / "summary.json").rename(tmp_path / "moved.json")
    (folder / "summary.json").symlink_to(tmp_path / "moved.json")
    with pytest.raises(DataError, match="symbolic link"):
        results.load_summary(results.select()[0])
    assert results.summary_table("average", as_pandas=False)[0]["bm25_message"] is None


def test_links_within_the_archive_and_round_it(tmp_path: Path) -> None:
    """One that leads elsewhere in it is followed, one that leads to a folder it lies in is not gone round."""
    real = tmp_path / "off-policy-Q" / "domain" / "S" / "mem0"
    real.mkdir(parents=True)
    (real / "summary.json").write_text('{"summary": {"average": 0.5}}', encoding="utf-8")
    (real / "round").symlink_to(tmp_path)
    (tmp_path / "round").symlink_to(tmp_path)
    (real.parent / "again").symlink_to(real)
    results = MemoryBenchResults.from_local(tmp_path)
    assert results.list_baselines() == ["again", "mem0"] and results.problems == []
    assert results.summary_table("average", as_pandas=False)[0]["again"] == 0.5


def test_a_snapshot_in_the_hubs_cache_is_an_archive(tmp_path: Path) -> None:
    """There, files are links to where the cache keeps them, which is beside the snapshot."""
    blobs, snapshot = tmp_path / "repo" / "blobs", tmp_path / "repo" / "snapshots" / "c0ffee"
    blobs.mkdir(parents=True)
    (snapshot / "group").mkdir(parents=True)
    (blobs / "1").write_text(json.dumps(GOOD | {"relative_dir": "group"}), encoding="utf-8")
    (blobs / "2").write_text('{"summary": {"average": 0.5}}', encoding="utf-8")
    (snapshot / "manifest.jsonl").symlink_to("../../blobs/1")
    (snapshot / "group" / "summary.json").symlink_to("../../../blobs/2")
    results = MemoryBenchResults.from_local(snapshot)
    assert results.load_summary(results.select()[0])["summary"] == {"average": 0.5}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Who opened it would wait for ever."""
    os.mkfifo(tmp_path / "summary.json")
    with pytest.raises(ResultFileMissing):
        Folder(tmp_path).path("summary.json")


@pytest.mark.parametrize("root", ["absent", "file", "\0", "x" * 5000])
def test_no_folder_is_one_sentence(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        MemoryBenchResults.from_local(tmp_path / root)
    assert "\n" not in str(caught.value)
