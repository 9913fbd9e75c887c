"""What docs/memories.md says of memories, adapters and plug-ins is so."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import amemgym
from amemgym.agents import ASSISTANTS, parse_agent
from amemgym.errors import UsageError
from amemgym.memory import known_memories
from amemgym.memory.adapters import ADAPTERS
from amemgym.plugins import plug_ins

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "fact_store.py"
GUIDE = (ROOT / "docs" / "memories.md").read_text(encoding="utf-8")


def test_an_adapter_in_60_lines_is_played_and_asks_its_model_through_the_gateway(tmp_path: Path) -> None:
    written = EXAMPLE.read_text(encoding="utf-8").split('"""', 2)[2]
    assert len([line for line in written.splitlines() if line.strip()]) <= 60
    report = amemgym.run("starter", f"{EXAMPLE}:FactStore", out=tmp_path / "r", users=1, periods=2)
    assert report["FactStore"]["memory_calls"] > 0 and report["FactStore"]["memory_empty"] == 0
    (episode,) = (tmp_path / "r" / "episodes").rglob("*.json")
    assert len(json.loads(episode.read_text("utf-8"))["texts"]) > 3


def test_every_adapter_and_baseline_stands_in_the_guide() -> None:
    named = set(re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\|([^|]*)\|", GUIDE, re.M))))
    assert named >= {*ADAPTERS, *(name for name in ASSISTANTS if name != "awi-schema")}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package with a memory, and one that does not load."""
    site = tmp_path / "site"
    info = site / "my_package-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1.2\n", encoding="utf-8")
    points = "[amemgym.memories]\ndiary = my_package_diary:Diary\ngone = my_package_gone:Gone\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (diary,) = re.findall(r"```python\n(from amemgym import Item, Memory.*?)```", readme, re.S)
    (site / "my_package_diary.py").write_text(diary, encoding="utf-8")
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "my_package_diary", raising=False)
    assert "diary" in plug_ins("memories")


@pytest.mark.usefixtures("package")
def test_a_plug_in_has_a_name_everywhere_and_its_version_is_part_of_the_run() -> None:
    with pytest.warns(UserWarning, match="plug-in 'gone' .* does not load"):
        known = known_memories()["diary"]
    assert known.origin == "my-package-1.2" and known.about.startswith("Keeps what the user says")
    assert parse_agent("diary-4-0-5").described()["memory_version"] == "my-package-1.2"
    assert amemgym.check_memory("diary", ["k-respected"]).passed
    with pytest.raises(UsageError, match="plug-in 'gone'"):
        parse_agent("gone").memory_type()
