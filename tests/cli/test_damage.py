"""Damaged files of a run are named, change no score and end in no traceback; a damaged journal is asked anew."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amemgym.evaluate import RunDirectory
from tests.cli.conftest import AGENTS, Endpoint, Whole
from tests.cli.helpers import (
    asked,
    contents,
    inside,
    journaled,
    scores,
    sentence,
    succeeded,
)
from tests.support.journals import unpacked

# --- whose directory it is ---


def damaged(text: str) -> Callable[[Path], None]:
    return lambda path: (path.write_text(text), None)[1]


def without(*names: str) -> Callable[[Path], None]:
    """Take a field away."""

    def damage(path: Path) -> None:
        value = json.loads(path.read_text())
        inner = value
        for name in names[:-1]:
            inner = inner[name]
        del inner[names[-1]]
        path.write_text(json.dumps(value))

    return damage


def halved(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def not_text(path: Path) -> None:
    path.write_bytes(b"\xff\xfe\x00 not UTF-8")


DAMAGES = {
    "empty": damaged(""),
    "halved": halved,
    "not text": not_text,
    "a list": damaged("[1]"),
    "null": damaged("null"),
    "an empty object": damaged("{}"),
}


@pytest.mark.parametrize(
    "damage",
    [
        *DAMAGES.values(),
        damaged('{"format": 99}'),
        damaged('{"format": 1}'),
        damaged('{"format": 1, "compared": {}, "settings": {}}'),
        without("fingerprint"),
        without("data"),
        without("compared", "agents"),
        without("settings", "agents"),
        without("compared", "trials"),
    ],
    ids=[
        *DAMAGES,
        "a later format",
        "format alone",
        "hollow",
        *("no fingerprint", "no data", "no agents", "no settings", "no trials"),
    ],
)
def test_a_damaged_manifest_is_named(damage: Callable[[Path], None], whole: Whole, tmp_path: Path) -> None:
    """Whatever a command can still do with it (a run and its resume need not read all of it), none ends in a traceback,
    and none makes other scores of it."""
    directory = whole.copy(tmp_path / "run")
    damage(directory / "manifest.json")
    before = contents(directory)
    refused = 0
    for command in (["resume", directory], ["score", directory], [*whole.arguments, "--out", directory]):
        ended = inside(*command)
        if ended.code != 0:
            assert str(directory) in sentence(ended, 2)
            refused += 1
        assert contents(directory) == before
    assert refused


@pytest.mark.parametrize(
    ("place", "damage"),
    [*(("episodes/native-*/ann*.json", damage) for damage in DAMAGES.values()), ("upper-bound/*/ben*.json", halved)],
    ids=[*DAMAGES, "an upper bound"],
)
def test_a_damaged_result_is_named_and_mended(
    place: str, damage: Callable[[Path], None], endpoint: Endpoint, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(endpoint.directory, tmp_path / "run"))
    path = next(directory.glob(place))
    damage(path)
    before = contents(directory)
    for command in (["resume", directory], ["score", directory]):
        said = sentence(inside(*command), 2)
        assert str(path) in said and "delete it" in said
        assert contents(directory) == before
    path.unlink()
    arrived = endpoint.server.arrived
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)
    assert endpoint.server.arrived == arrived, "the journal has it all"


def test_a_run_is_read_and_scored_once(whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = whole.copy(tmp_path / "run")
    (directory / "scores.json").unlink()
    reads: list[Path] = []
    read = RunDirectory._read
    monkeypatch.setattr(RunDirectory, "_read", lambda self, path: (reads.append(path), read(self, path))[1])
    succeeded(inside("score", directory))
    assert scores(directory) == scores(whole.directory)
    results = [path for path in reads if path.name != "manifest.json"]
    assert len(results) == len(set(results)) > len(AGENTS.split(","))


def changed(path: Path, *place: str | int, to: Any) -> None:
    """Give another value to what stands at a place of a JSON file."""
    value = json.loads(path.read_text())
    spot = value
    for key in place[:-1]:
        spot = spot[key]
    spot[place[-1]] = to
    path.write_text(json.dumps(value))


MANIFESTS: list[tuple[tuple[str | int, ...], Any]] = [
    (("data",), {}),
    (("compared", "trials"), "two"),
    (("compared", "agents", 0), {}),
    (("compared", "model"), {}),
    (("compared", "protocol", "first_score"), "best"),
    (("upper_bound",), {"run": None}),
]
EPISODES: list[tuple[tuple[str | int, ...], Any]] = [
    (("user_id",), "Zoe-1"),
    (("user",), 1),
    (("agent",), "oracle"),
    (("trial",), 1),
    (("conversation", 0), 3),
    (("conversation", 0, 0, 0), {"role": "user"}),
    (("exams", 0, "period"), 9),
    (("exams", 0, "question"), -1),
    (("exams", 0, "option"), 9),
    (("exams", 0, "gold"), 0),
    (("exams", 0, "order"), [0]),
    (("exams", 0, "variant"), []),
    (("exams", 0), None),
    (("exams", 0, "items"), [10**6]),
    (("probes", 0, "period"), 9),
    (("probes", 0, "question"), 9),
    (("probes", 0, "values"), []),
    (("ledger", "exam"), {}),
]


@pytest.mark.parametrize(("place", "value"), MANIFESTS, ids=str)
def test_a_manifest_of_another_shape_is_named(
    place: tuple[str | int, ...], value: Any, whole: Whole, tmp_path: Path
) -> None:
    directory = whole.copy(tmp_path / "run")
    changed(directory / "manifest.json", *place, to=value)
    for command in every_reader(directory, whole):
        assert f"{directory / 'manifest.json'} is damaged ({place[0]}" in sentence(inside(*command), 2)


@pytest.mark.parametrize(("place", "value"), EPISODES, ids=str)
def test_an_episode_of_another_shape_or_place_is_named(
    place: tuple[str | int, ...], value: Any, whole: Whole, tmp_path: Path
) -> None:
    directory = whole.copy(tmp_path / "run")
    path = next(directory.glob("episodes/native-*/ann*.json"))
    changed(path, *place, to=value)
    for command in every_reader(directory, whole):
        assert f"{path} is damaged (" in sentence(inside(*command), 2)


def test_an_upper_bound_of_another_shape_or_place_is_named(whole: Whole, tmp_path: Path) -> None:
    for number, (place, value) in enumerate(
        [(("user_id",), "Zoe-1"), (("model",), "big"), (("answers", 0, "order"), [7]), (("answers", 0, "question"), 9)]
    ):
        directory = whole.copy(tmp_path / str(number))
        path = next(directory.glob("upper-bound/*/ann*.json"))
        changed(path, *place, to=value)
        for command in (["score", directory], ["report", directory], ["resume", directory]):
            assert f"{path} is damaged (" in sentence(inside(*command), 2)


def every_reader(directory: Path, whole: Whole) -> list[list[str | Path]]:
    """The commands that read what is finished in a directory, native's conversations too."""
    off_policy: list[str | Path] = ["run", "--off-policy", directory, "--agents", "native", "--out", f"{directory}-off"]
    return [["score", directory], ["report", directory], ["compare", whole.directory, directory], off_policy]


@pytest.mark.parametrize(
    ("damage", "is_plain"),
    [
        *((damage, False) for damage in DAMAGES.values()),
        *((damaged(text), True) for text in ('{"at": 1}\n', '["at"]\n"x"\n')),
    ],
)
def test_a_damaged_journal_is_asked_anew(
    damage: Callable[[Path], None], is_plain: bool, endpoint: Endpoint, tmp_path: Path
) -> None:
    """Only for what it has no more."""
    directory = Path(shutil.copytree(endpoint.directory, tmp_path / "run"))
    whole_journal = journaled(directory)
    shutil.rmtree(directory / "episodes")
    path = next(directory.glob("journal/awe-*/ben*.jsonl.gz"))
    lines = unpacked(path).splitlines(keepends=True)
    if is_plain:
        path = path.rename(path.with_suffix(""))
        path.write_bytes(b"".join(lines))
    damage(path)
    # what comes before a cut can be read
    kept = zlib.decompressobj(wbits=31).decompress(path.read_bytes()).count(b"\n") if damage is halved else 0
    arrived = endpoint.server.arrived
    succeeded(inside("resume", directory))
    assert scores(directory) == scores(endpoint.directory)
    assert endpoint.server.arrived - arrived == len(lines) - kept > 0
    assert journaled(directory) == whole_journal == asked(endpoint.requests)
