"""The README's examples do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from amemgym.cli.main import main
from amemgym.cli.memorybench import MEMORYBENCH

README = Path(__file__).resolve().parents[2] / "README.md"
AMEMGYM = Path(sys.executable).parent / "amemgym"


def test_your_own_memory(tmp_path: Path) -> None:
    memory, script = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert len(memory.strip().splitlines()) <= 20
    (tmp_path / "diary.py").write_text(memory, encoding="utf-8")
    (command,) = re.findall(r"amemgym (run --agents \S*diary\S*)", README.read_text(encoding="utf-8"))
    done = subprocess.run(
        [str(AMEMGYM), *command.split(), "--users", "2", "--periods", "3"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^Diary ", done.stdout, re.M)
    assert re.search(r"^Diary-4-0-5 ", done.stdout, re.M)
    (tmp_path / "examine.py").write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "examine.py"], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"0\.\d+ \[-?\d.*\]\n", done.stdout)


def test_commands_named_are_commands(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    commands = set(re.findall(r"^\| `amemgym ([\w-]+)", text, re.M))
    made = {"generate", "card", "audit", "check-memory", "evolve", "tune", "memorybench", "estimate", "merge"}
    assert commands == {"run", "resume", "score", "report", "compare", "import", "validate", "list"} | made

    def helped(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        return capsys.readouterr().out

    assert all(re.search(rf"^\s+{command}\s", helped(), re.M) for command in commands)
    flags = set(re.findall(r"--[a-z][a-z-]+", text)) - {"--help"}
    subs = "".join(helped("memorybench", sub) for sub in MEMORYBENCH)
    assert flags <= set(re.findall(r"--[a-z][a-z-]+", "".join(map(helped, commands)) + subs))
    named = re.search(r"^\| `amemgym memorybench ([\w\\|]+)", text, re.M)
    assert named is not None and set(named[1].split("\\|")) == set(MEMORYBENCH)
