"""`amemgym memorybench table` and `show`: what is printed and where, files, filters and bad input."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.cli.helpers import inside, sentence, strict_json, succeeded
from tests.cli.warm import warm
from tests.report.hostile import EVIL
from tests.support.archive import STATISTICS, Group, normalization_of, write_archive

KEY = "sk-archived-0123456789"
VALUES = {"Alpha": [1.0, 4.0, 2.0, 8.0, 6.0, 3.0, 7.0, 5.0], "Beta&Gamma": [0.3, 0.5, 0.2, 0.6, 0.4, 0.7]}
BETTER = {"Alpha": [3.0, 6.0, 5.0, 9.0, 8.0, 6.0, 9.0, 6.0], "Beta&Gamma": [0.5, 0.6, 0.5, 0.7, 0.6, 0.9]}


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and two sets; mem0 has none for one of each. A line of the manifest is damaged."""
    root = tmp_path_factory.mktemp("archive") / "results"
    config = {"api_key": KEY, "nested": {"openai_api_key": KEY}}
    groups = [
        Group(model, name, values, set_name=set_name, run_config=config)
        for model in ("m-8b", "m-32b")
        for set_name in ("Legal", "Open-Domain")
        for name, values in (("wo_memory", VALUES), ("bm25_message", BETTER), ("mem0", VALUES))
        if (model, set_name, name) != ("m-8b", "Legal", "mem0")
    ]
    write_archive(root, groups)
    with (root / "manifest.jsonl").open("a", encoding="utf-8") as manifest:
        manifest.write("no json\n")
    statistics = {**normalization_of(STATISTICS, "domain", "Legal")["domain"]}
    statistics |= normalization_of(STATISTICS, "domain", "Open-Domain")["domain"]
    (root / "normalization.json").write_text(json.dumps({"domain": statistics}), encoding="utf-8")
    return root


def test_a_table_is_printed_and_problems_are_not_in_it(archive: Path) -> None:
    printed = succeeded(warm("memorybench", "table", archive))
    lines = printed.out.splitlines()
    assert lines[1].split() == ["model", "type", "set", "wo_memory", "bm25_message", "mem0", "n"]
    assert lines[4].split()[:3] == ["m-8b", "domain", "Legal"] and lines[4].split()[-2:] == ["–", "14"]
    assert "gain over" not in printed.out and "intervals need the items: --gains" in printed.out
    assert printed.err.startswith("note: ") and "manifest.jsonl" in printed.err and "line 12" in printed.err
    assert "manifest" not in printed.out


def test_gains_say_their_interval(archive: Path) -> None:
    printed = succeeded(inside("memorybench", "table", archive, "--gains", "--metric", "average")).out
    assert "gain over wo_memory (± or [low, high]: 95% interval)" in printed and "▲" in printed
    found = json.loads(succeeded(inside("memorybench", "table", archive, "--gains", "--format", "json")).out)
    gain = found["rows"][0]["cells"][1]["gain"]
    assert gain["n"] == 14 and gain["interval"][0] < gain["value"] < gain["interval"][1]
    assert gain["value"] == pytest.approx(gain["of_summaries"])


@pytest.mark.parametrize("format", ["md", "latex", "csv", "json"])
def test_what_can_be_piped_is_the_same_as_the_file(archive: Path, tmp_path: Path, format: str) -> None:
    printed = succeeded(inside("memorybench", "table", archive, "--format", format)).out
    out = tmp_path / "table"
    told = succeeded(inside("memorybench", "table", archive, "--format", format, "--out", out)).out
    assert told == f"{out}\n"
    assert out.read_bytes().decode("utf-8") == printed


def test_the_files_name_says_the_format(archive: Path, tmp_path: Path) -> None:
    for name, begins in (("t.html", b"<!DOCTYPE"), ("t.tex", b"% needs"), ("t.svg", b"<?xml"), ("t.csv", b"exp,")):
        succeeded(inside("memorybench", "table", archive, "--out", tmp_path / name))
        assert (tmp_path / name).read_bytes().startswith(begins)
    named = succeeded(inside("memorybench", "table", archive, "--format", "html")).out
    other = write_archive(tmp_path / "results", [Group("m", "a", VALUES)])
    assert named.startswith("memorybench-table-results-") and named.endswith(".html\n")
    assert succeeded(inside("memorybench", "table", other, "--format", "html")).out != named
    ended = inside("memorybench", "table", archive, "--format", "md", "--out", "t.html")
    assert "add --format html" in sentence(ended, 2)


def test_filters_and_data_sets(archive: Path) -> None:
    words = ("--models", "m-8b", "--sets", "Legal", "--baselines", "bm25_message,wo_memory", "--dataset-type", "domain")
    more = ("--exp", "off-policy", "--by-dataset", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(succeeded(inside("memorybench", "table", archive, *words, *more)).out)))
    assert [(row["dataset"], row["baseline"], row["metric"], row["n"]) for row in rows] == [
        ("Alpha", "bm25_message", "own_mean", "8"),
        ("Alpha", "wo_memory", "own_mean", "8"),
        ("Beta&Gamma", "bm25_message", "own_mean", "6"),
        ("Beta&Gamma", "wo_memory", "own_mean", "6"),
    ]
    assert [float(row["value"]) for row in rows] == pytest.approx([6.5, 4.5, 3.8 / 6, 0.45])


def test_several_archives_are_one_table(archive: Path, tmp_path: Path) -> None:
    mine = write_archive(tmp_path / "mine", [Group("m-8b", "ours", BETTER, set_name="Legal")])
    printed = succeeded(inside("memorybench", "table", archive, mine, "--models", "m-8b", "--gains")).out
    assert printed.splitlines()[1].split()[3:] == ["wo_memory", "bm25_message", "mem0", "ours", "n"]
    assert printed.count("▲") >= 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--metric", "weighted"), "unknown metric 'weighted'"),
        (("--models", "m-8"), "Did you mean 'm-8b'?"),
        (("--baselines", "memo"), "Known: bm25_message, mem0, wo_memory"),
        (("--sets", "legal"), "Did you mean 'Legal'?"),
        (("--format", "pdf"), "unknown format 'pdf'. Known: text, md, latex"),
        (("--out", "x.pdf"), "Known: text, md, latex, csv, json, html, png, svg. --out x.pdf ends in .pdf"),
        (("--metric", ""), "--metric is empty"),
        (("--models", ","), "--models is empty"),
        (("--against", "mem0"), "--against goes with --gains"),
        (("--gains", "--item-metric", "a=,b"), "--item-metric a=,b: write one name"),
        (("--gains", "--item-metric", "scores"), "unknown metric 'scores'. Did you mean 'score'?"),
        (("--gains", "--item-metric", "Alfa=score"), "unknown data set 'Alfa'. Did you mean 'Alpha'?"),
        (("--gains", "--normalization", "nowhere.json"), "nowhere.json"),
        (("--models", "m-8b", "--sets", "Legal", "--baselines", "mem0"), ""),
    ],
)
def test_bad_input_is_one_sentence(archive: Path, words: tuple[str, ...], said: str) -> None:
    ended = inside("memorybench", "table", archive, *words)
    if said:
        assert said in sentence(ended, 2)
    else:  # a set that others have results for is a row, and what was asked for is missing in it
        assert ended.code == 0 and ended.out.splitlines()[2].split()[-2:] == ["–", "–"]


def test_show_lists_what_there_is(archive: Path) -> None:
    printed = succeeded(inside("memorybench", "show", archive)).out
    for said in (
        "results: 11 cells",
        "models: m-32b 6, m-8b 5",
        "domain sets: Legal 5, Open-Domain 6",
        "baselines: wo_memory 4, bm25_message 4, mem0 3",
        "metrics: average 11, weighted_average 11, z_score 11",
        "missing: 1 cell\n  off-policy/m-8b/domain/Legal: mem0",
        "problems: 1\n",
    ):
        assert said in printed
    assert "models: m-8b 5" in succeeded(inside("memorybench", "show", archive, "--models", "m-8b")).out


CELL = ("--models", "m-8b", "--sets", "Legal", "--baselines", "bm25_message")


def test_show_one_cell(archive: Path) -> None:
    printed = succeeded(inside("memorybench", "show", archive, *CELL, "--items", "2")).out
    assert printed.splitlines()[0] == "off-policy/m-8b/domain/Legal/bm25_message"
    assert "run start_at_2026-01-02-03-04-05, in off-policy-m-8b/domain/Legal/bm25_message" in printed
    assert "summary (legacy): average 0.758" in printed
    rows = {line.split()[0]: line.split()[1:] for line in printed.splitlines() if line.startswith(("Alpha ", "Beta"))}
    assert rows["Beta&Gamma"] == ["0.633", "0.867", "1.333", "6", "6", "6"]
    assert KEY not in printed and '"api_key": "[key]"' in printed
    assert 'Alpha 0\n  prompt: Alpha 0?\n  reply: r0\n  metrics: {"score": 3.0}\n' in printed
    assert printed.count("prompt: ") == 2
    assert "name one with --models" in sentence(inside("memorybench", "show", archive, "--items", "1"), 2)
    assert "prompt" not in succeeded(inside("memorybench", "show", archive, *CELL)).out


def test_show_what_is_damaged_or_odd(tmp_path: Path) -> None:
    """What others wrote is one line each, cut short, and no terminal's command; what cannot be read is said."""
    root = write_archive(tmp_path / "odd", [Group("m", "[bold]a", {"Alpha": [1.0, 2.0]}, run_config={"x": EVIL})])
    folder = next(root.glob("off-policy-m/*/*/*/*"))
    predicts = strict_json(folder / "predict.json")
    predicts[0] |= {"messages": "none", "response": f"\x1b[2J{EVIL}\nnext " + "x" * 5000}
    predicts[1] |= {"messages": [1, {"role": "user", "content": {"a": EVIL}}], "response": None}
    (folder / "predict.json").write_text(json.dumps(predicts), encoding="utf-8")
    (folder / "summary.json").write_text("[1]", encoding="utf-8")
    printed = succeeded(inside("memorybench", "show", root, "--items", "5")).out
    assert "[bold]a" in printed and "\x1b" not in printed and "\u202e" not in printed
    assert max(map(len, printed.splitlines())) < 700
    assert "  reply: –\n" in printed and "characters)" in printed
    assert "summary.json" in printed and "object" in printed
    (folder / "evaluate_details.json").unlink()
    assert "missing: evaluate_details.json" in succeeded(inside("memorybench", "show", root)).out


def test_show_what_is_nested_too_deeply(tmp_path: Path) -> None:
    root = write_archive(tmp_path / "deep", [Group("m", "a", {"Alpha": [1.0]}, form="cases")])
    folder = next(root.glob("off-policy-m/*/*/*/*"))
    for depth in (400, 700, 900):
        deep = "[" * depth + "]" * depth
        item = (
            f'{{"test_idx": 0, "dataset": "Alpha", "metrics": {{"x": {deep}}}, "messages": {deep}, "response": {deep}}}'
        )
        for name in ("evaluate_details.json", "predict.json"):
            (folder / name).write_text(f"[{item}]", encoding="utf-8")
        (folder / "summary.json").write_text(
            f'{{"summary": {{"f1": 0.5}}, "case_statistics": {deep}}}', encoding="utf-8"
        )
        (folder / "run_config.json").write_text(f'{{"a": {deep}}}', encoding="utf-8")
        printed = succeeded(inside("memorybench", "show", root, "--items", "1")).out
    assert "nested too deeply" in printed
    assert "summary (cases)" in printed


def test_predictions_have_no_scores_yet(archive: Path, tmp_path: Path) -> None:
    def without_scores(root: Path, name: str) -> Path:
        write_archive(root, [Group("m-8b", name, VALUES, set_name="Legal")])
        for scored in ("summary.json", "evaluate_details.json"):
            next(root.rglob(scored)).unlink()
        line = json.loads((root / "manifest.jsonl").read_text(encoding="utf-8"))
        (root / "manifest.jsonl").write_text(json.dumps(line | {"files": ["predict.json", "run_config.json"]}) + "\n")
        return root

    root, other = without_scores(tmp_path / "a", "mine"), without_scores(tmp_path / "b", "other")
    shown = succeeded(inside("memorybench", "show", root, other)).out
    assert "2 cells have no scores yet" in shown and "unreadable" not in shown and "problems" not in shown
    assert "no scores yet" in succeeded(inside("memorybench", "show", root)).out
    said = sentence(inside("memorybench", "table", root, other), 2)
    assert "2 cells" in said and "no scores yet" in said and "MemoryBench's evaluators" in said
    beside = succeeded(inside("memorybench", "table", archive, root, "--sets", "Legal"))
    assert "mine has no scores yet" in beside.out and "no summary" not in beside.out + beside.err


def test_a_figure_has_no_gains_and_says_so(archive: Path, tmp_path: Path) -> None:
    words = ("memorybench", "table", archive, "--models", "m-8b", "--gains", "--out")
    assert "no gains" in succeeded(inside(*words, tmp_path / "t.svg")).err
    assert "no gains" not in succeeded(inside(*words, tmp_path / "t.md")).err


def test_show_lists_every_problem_and_the_cases_of_a_cell(tmp_path: Path) -> None:
    groups = [Group("m", name, {"Alpha": [1.0]}, form="cases") for name in ("a", "wo_memory")]
    root = write_archive(tmp_path / "odd", groups)
    with (root / "manifest.jsonl").open("a", encoding="utf-8") as manifest:
        manifest.write("no json\n" * 30)
    note = succeeded(inside("memorybench", "table", root)).err.splitlines()[-1]
    assert note.startswith("note: 30 problems in all; amemgym memorybench show lists them")
    assert succeeded(inside("memorybench", "show", root)).out.count("it is not JSON") == 30
    said = 'case_statistics: {"Alpha": {"total": 1, "failed": 0}}'
    assert said in succeeded(inside("memorybench", "show", root, "--baselines", "a")).out
