"""Where a report goes, and that a file is written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from amemgym import files
from amemgym.errors import StorageError, UsageError
from amemgym.report.write import check_report, place_of


def test_a_file_is_there_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    files.write_bytes_atomically(path, b"old\x00\xff")
    assert path.read_bytes() == b"old\x00\xff"
    with pytest.raises(LookupError), files.whole_file(path) as file:
        file.write(b"half")
        raise LookupError("lost")
    assert path.read_bytes() == b"old\x00\xff"
    with files.whole_file(path) as file:
        file.write(b"ne")
        assert path.read_bytes() == b"old\x00\xff"
        file.write(b"w")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]
    with pytest.raises(StorageError, match="--out"):
        files.write_bytes_atomically(path / "under a file", b"")


def test_where_a_file_goes(tmp_path: Path) -> None:
    run, folder = tmp_path / "run", tmp_path / "folder"
    folder.mkdir()
    assert place_of(None, run, "report.md") == run / "report.md"
    assert place_of(folder, run, "report.md") == folder / "report.md"
    assert place_of(str(tmp_path / "x.md"), run, "report.md") == tmp_path / "x.md"


@pytest.mark.parametrize(
    ("format", "out", "users", "why"),
    [
        ("htm", None, None, "unknown format 'htm'.*'html'.*Known: html, md, csv, parquet, png, svg"),
        ("html", "r.csv", None, r"r\.csv ends in \.csv, but the format is html; add --format csv"),
        ("csv", "r.PARQUET", None, "add --format parquet"),
        ("png", "f.png", None, "png writes several figures, so --out names the folder"),
        ("svg", "f.md", None, "svg writes several figures"),
        ("md", None, ["u"], "--user goes with html, csv, parquet; md is about all users"),
        ("png", None, ["u"], "png is about all users"),
    ],
)
def test_what_does_not_go_together(format: str, out: str | None, users: list[str] | None, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        check_report(format, out, users)


def test_what_goes_together(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").mkdir()
    for format, out in (("csv", "r.csv"), ("csv", "r.txt"), ("html", "r"), ("png", "figures"), ("md", "v1.2")):
        check_report(format, out, None)
    check_report("png", tmp_path / "odd.csv", None)
    check_report("csv", None, ["u"])
