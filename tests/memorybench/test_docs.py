"""docs/memorybench.md: its example points are points, its Python runs on them as it stands, and so do its steps from
replies to a table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from amemgym.memorybench import load_points
from tests.cli.helpers import inside, succeeded

DOCS = Path(__file__).resolve().parents[2] / "docs" / "memorybench.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    [points], [script] = (re.findall(rf"```{kind}\n(.*?)```", text, re.S) for kind in ("json", "python"))
    *train, test = points.splitlines()
    folder = tmp_path / "data" / "JRE-L"
    folder.mkdir(parents=True)
    (folder / "train.jsonl").write_text("\n".join(train), encoding="utf-8")
    (folder / "test.jsonl").write_text(test, encoding="utf-8")
    read = load_points(folder)
    assert [sorted(point.actions) for point in read] == [[], ["copy", "like"], ["dislike"]] and not read.problems
    monkeypatch.chdir(tmp_path)
    exec(compile(script, str(DOCS), "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("2 points, 0 problems\n2024-01-01 JRE-L ") and "rag 1 replies in off-policy-offline/" in out

    [predicted] = (tmp_path / "predictions").rglob("rag/*/predict.json")
    scored = [{"test_idx": 3, "dataset": "JRE-L", "metrics": {"rouge": 0.25}}]
    (predicted.parent / "evaluate_details.json").write_text(json.dumps(scored), encoding="utf-8")
    (predicted.parent / "summary.json").write_text(json.dumps({"summary": {"rouge": 0.25}}), encoding="utf-8")
    (tmp_path / "predictions" / "manifest.jsonl").unlink()
    assert "0.250" in succeeded(inside("memorybench", "table", "predictions", "--metric", "rouge")).out
