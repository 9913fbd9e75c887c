"""What is said of dependencies in several places is the same in all of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

from amemgym.memory import find_memory
from amemgym.memory.adapters import ADAPTERS

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {extra: set(map(Requirement, lines)) for extra, lines in PROJECT["optional-dependencies"].items()}


def test_an_adapter_wants_what_its_extra_brings() -> None:
    for cls in map(find_memory, ADAPTERS):
        assert {Requirement(name + versions) for name, versions in cls.packages.items()} == EXTRAS.get(cls.extra, set())


def test_what_the_tests_need_is_in_the_versions_of_its_extra() -> None:
    known = {
        wanted.name: wanted for extra, lines in EXTRAS.items() if extra not in ("dev", "mem0-v1") for wanted in lines
    }
    assert [wanted for wanted in EXTRAS["dev"] if known.get(wanted.name, wanted) != wanted] == []


def test_what_is_installed_for_the_tests_is_pinned() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == sorted(lines, key=str.lower)
    pinned = dict(re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups() for line in lines)  # type: ignore[union-attr,misc]
    names = {name.lower().replace("_", "-") for name in pinned}
    wanted = {*map(Requirement, PROJECT["dependencies"]), *EXTRAS["dev"]}
    assert {requirement.name.lower().replace("_", "-") for requirement in wanted} <= names
