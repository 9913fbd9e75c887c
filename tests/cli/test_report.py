"""The report command: each format where it belongs, of finished and unfinished runs, and one sentence where it cannot
be. The page itself has tests of its own."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest

import amemgym
from amemgym import secrets
from tests.cli.conftest import Whole
from tests.cli.data import EXAMS
from tests.cli.helpers import (
    KEY,
    contents,
    finished,
    inside,
    sentence,
    succeeded,
    untouched,
    without_override,
)
from tests.cli.helpers import (
    amemgym as process,
)
from tests.cli.warm import warm

TWO = ("Ann-1", "Ben-1")
AGENTS = ("native", "awe", "uniform", "oracle")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_as_a_process(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    before = untouched(directory)
    ended = succeeded(process("report", directory, "--format", "csv"))
    assert ended.out == f"{directory / 'results.csv'}\n"
    assert [row["agent"] for row in rows(directory / "results.csv")] == [a for a in AGENTS for _ in range(EXAMS)]
    assert "unknown format 'cvs'" in sentence(warm("report", directory, "--format", "cvs"), 2)
    assert {n: s for n, s in untouched(directory).items() if not n.endswith("results.csv")} == before


def test_each_format_in_its_place(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    figures = [f"figures/{name}.svg" for name in ("scores", "periods", "failures", "recall", "positions")]
    (directory / "report.html").unlink(missing_ok=True)
    for format, names in (
        ([], ["report.html"]),
        (["--format", "md"], ["report.md"]),
        (["--format", "parquet"], ["results.parquet"]),
        (["--format", "svg"], figures),
    ):
        ended = succeeded(inside("report", directory, *format))
        assert ended.out.splitlines() == [str(directory / name) for name in names]
        assert all((directory / name).is_file() for name in names)
    assert (directory / "report.md").read_text(encoding="utf-8").startswith("# Memory scores: small, offline\n")
    assert pyarrow.parquet.read_table(directory / "results.parquet").num_rows == 4 * EXAMS
    added = set(contents(directory)) - set(contents(whole.directory))
    assert added == {"report.md", "results.parquet", *figures}


def test_out_names_the_file_or_the_folder(whole: Whole, tmp_path: Path) -> None:
    before = untouched(whole.directory)
    commands = [("md", "new/mine.md", "new/mine.md"), ("csv", "new", "new/results.csv")]
    for format, out, name in commands:
        assert succeeded(inside("report", whole.directory, "--format", format, "--out", out)).out == f"{name}\n"
        assert (tmp_path / name).is_file()
    assert untouched(whole.directory) == before


def test_only_some_users(whole: Whole, tmp_path: Path) -> None:
    succeeded(inside("report", whole.directory, "--format", "csv", "--out", "r.csv", "--user", "Ben-1"))
    assert {row["user_id"] for row in rows(tmp_path / "r.csv")} == {"Ben-1"}
    both = ["--user", "Ben-1", "--user", "Ann-1"]
    succeeded(inside("report", whole.directory, "--format", "csv", "--out", "r.csv", *both))
    assert {row["user_id"] for row in rows(tmp_path / "r.csv")} == {"Ann-1", "Ben-1"}


def test_some_users_do_not_take_the_place_of_all(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    succeeded(inside("report", directory, "--format", "csv"))
    before = untouched(directory)
    for format, start in (("html", "report-ben-1-"), ("csv", "results-ben-1-")):
        path = Path(succeeded(inside("report", directory, "--format", format, "--user", "Ben-1")).out.strip())
        assert path.parent == directory and path.name.startswith(start) and path.suffix == f".{format}"
        assert path.is_file()
    both = [inside("report", directory, "--format", "csv", "--user", a, "--user", b) for a, b in (TWO, TWO[::-1])]
    assert both[0].out == both[1].out
    after = untouched(directory)
    assert {name: after[name] for name in before} == before and len(after) == len(before) + 3


def test_what_ends_in_a_slash_is_a_folder(whole: Whole, tmp_path: Path) -> None:
    succeeded(inside("report", whole.directory, "--format", "csv", "--out", "new/"))
    succeeded(inside("report", whole.directory, "--format", "csv", "--out", "v1.html/"))
    succeeded(inside("compare", whole.directory, whole.directory, "--out", "compared/"))
    for name in ("new/results.csv", "v1.html/results.csv", "compared/comparison.html"):
        assert (tmp_path / name).is_file()


def test_an_unfinished_run_is_reported_and_marked(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    episode = next(name for name in finished(directory) if name.startswith("episodes/awe"))
    (directory / episode).unlink()
    ended = inside("report", directory, "--format", "md")
    assert ended.code == 0
    assert ended.err == f"note: {directory} is not finished; the report is of what is there\n"
    report = (directory / "report.md").read_text(encoding="utf-8")
    assert "**Unfinished run:** 7 of 8 episodes are there" in report
    assert "| awe (unfinished) |" in report
    succeeded(inside("report", directory, "--format", "csv"))
    assert sum(row["agent"] == "awe" for row in rows(directory / "results.csv")) == EXAMS // 2


def test_in_python(whole: Whole, tmp_path: Path) -> None:
    assert amemgym.write_report(whole.directory, "csv", tmp_path / "r.csv", users=["Ann-1"]) == [tmp_path / "r.csv"]
    assert len(rows(tmp_path / "r.csv")) == 4 * EXAMS // 2


def test_a_key_is_in_no_report(whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was written before the key was known."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    directory = whole.copy(tmp_path / "run")
    manifest = (directory / "manifest.json").read_text(encoding="utf-8")
    (directory / "manifest.json").write_text(manifest.replace('"small"', f'"{KEY}"'), encoding="utf-8")
    succeeded(inside("report", directory, "--format", "md"))
    report = (directory / "report.md").read_text(encoding="utf-8").replace("\\", "")
    assert KEY not in report and f"# Memory scores: {secrets.STRUCK_OUT}, offline" in report


def test_what_is_no_run(whole: Whole, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    other = whole.copy(tmp_path / "other")
    manifest = (other / "manifest.json").read_text(encoding="utf-8")
    (other / "manifest.json").write_text(manifest.replace('"format": 2', '"format": 1'), encoding="utf-8")
    bare = whole.copy(tmp_path / "bare")
    shutil.rmtree(bare / "episodes")
    for directory, why in (
        ("nowhere", "nowhere does not exist"),
        ("empty", "empty holds no run"),
        ("other", "has format 1 and was written by amemgym"),
        ("bare", "bare holds no finished episode yet"),
    ):
        assert why in sentence(inside("report", directory, "--format", "csv"), 2)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--format cvs", "unknown format 'cvs'. Did you mean 'csv'? Known: html, md, csv, parquet, png, svg."),
        ("--format csv --user Bob-1", "unknown user 'Bob-1'. Did you mean 'Ben-1'? Known: Ann-1, Ben-1."),
        ("--format md --user Ben-1", "--user goes with html, csv, parquet; md is about all users"),
        ("--out r.csv", "--out r.csv ends in .csv, but the format is html; add --format csv"),
        ("--format png --out f.png", "--out f.png: png writes several figures, so --out names the folder for them"),
    ],
)
def test_bad_input(words: str, why: str, whole: Whole, tmp_path: Path) -> None:
    before = untouched(whole.directory)
    assert sentence(inside("report", whole.directory, *words.split()), 2) == why
    assert untouched(whole.directory) == before
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_to(whole: Whole, tmp_path: Path) -> None:
    directory = whole.copy(tmp_path / "run")
    for path in [*directory.rglob("*"), directory]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        ended = [warm("report", directory, "--format", format, before=without_override) for format in ("md", "csv")]
    finally:
        for path in [directory, *directory.rglob("*")]:
            path.chmod(0o755)
    for end, name in zip(ended, ("report.md", "results.csv"), strict=True):
        said = sentence(end, 1)
        assert str(directory / name) in said and "no permission" in said and "--out" in said
    assert contents(directory) == contents(whole.directory)
