"""An evolution that is killed at any moment, in training or with its held-out users, and goes on by the same command or
by resume, ends with the same bytes as an unbroken one; Ctrl-C names the directory of the whole."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.data import user, write
from tests.cli.helpers import contents, inside, sentence, succeeded
from tests.cli.test_kill import check_whole_or_absent, signalled, wait_for, written
from tests.cli.warm import WarmProcess, warm

#: how much of all that is written is there when a kill is sent
MOMENTS = (0.08, 0.25, 0.55, 0.85)
#: how often a signal is sent again that came too late, because this process was not let run in time
TRIES = 20


@dataclass(frozen=True)
class Unbroken:
    arguments: list[str | Path]
    results: dict[str, bytes]
    size: int


def results(directory: Path) -> dict[str, bytes]:
    """What came out: the summary, both runs' scores and what was played, and the policies."""
    wanted = r"evolution\.json|policies/.*|(training|heldout)/(scores|manifest|data)\.json|.*/episodes/.*"
    # an episode's ledger has the seconds that it took
    return {
        name: re.sub(rb'"seconds":[0-9.]+', b"", data)
        for name, data in contents(directory).items()
        if re.fullmatch(wanted, name)
    }


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Unbroken:
    folder = tmp_path_factory.mktemp("unbroken")
    data = write(folder / "data.json", [user(name) for name in ("Ann", "Ben", "Cleo", "Dora")])
    words: list[str | Path] = ["evolve", "--data", data, "--agent", "awe-2-0", "--room", "3", "--no-probe"]
    succeeded(warm(*words, "--out", folder / "evo"))
    found = results(folder / "evo")
    assert {"evolution.json", "training/scores.json", "heldout/scores.json"} <= set(found)
    assert len([name for name in found if name.startswith("policies/")]) == 4
    return Unbroken(words, found, written(folder / "evo"))


def test_killed_at_some_moments(unbroken: Unbroken, tmp_path: Path) -> None:
    landed: set[str] = set()
    for attempt in range(TRIES):
        directory = tmp_path / str(attempt)
        for number, moment in enumerate(MOMENTS):
            again = number % 2 and (directory / "manifest.json").exists()
            process = (
                WarmProcess("resume", directory) if again else WarmProcess(*unbroken.arguments, "--out", directory)
            )
            goal = moment * unbroken.size
            wait_for(process, lambda goal=goal, directory=directory: written(directory) > goal)
            killed = signalled(process, signal.SIGKILL)
            if killed is None or killed.code != -signal.SIGKILL:
                succeeded(killed or process.end())
            # where the kill came after all was written, while the report was drawn, it interrupted nothing
            elif not (directory / "evolution.json").exists():
                landed.add("held out" if (directory / "heldout").exists() else "training")
            check_whole_or_absent(directory)
        succeeded(inside("resume", directory))
        assert results(directory) == unbroken.results
        if landed == {"held out", "training"}:
            break
    assert landed == {"held out", "training"}


def test_ctrl_c_names_the_whole(unbroken: Unbroken, tmp_path: Path) -> None:
    for attempt in range(TRIES):
        directory = tmp_path / str(attempt)
        process = WarmProcess(*unbroken.arguments, "--out", directory)
        wait_for(process, lambda directory=directory: written(directory) > unbroken.size / 5)
        ended = signalled(process, signal.SIGINT)
        if ended is not None and not (directory / "evolution.json").exists():
            break
    else:
        raise AssertionError("no signal came in time")
    said = sentence(ended, 130)
    assert said.startswith("interrupted") and said.endswith(f"amemgym resume {directory}")
    succeeded(warm("resume", directory))
    assert results(directory) == unbroken.results
