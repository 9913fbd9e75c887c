"""The users that are played stay in the run directory: whole, written once, without keys; what is not them is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import files, secrets
from amemgym.api import RunReport
from amemgym.errors import RunDirectoryError, UsageError
from amemgym.evaluate import RunDirectory
from amemgym.memorybench.exporting.export import export_runs
from amemgym.scenario import load_dataset
from tests.scenario.build import as_bytes, edited, put, small_user

SMALL: dict[str, Any] = {"users": 2, "periods": 3}


def quick(out: Path, **settings: Any) -> RunReport:
    return amemgym.run(**{"data": "starter", "agents": "lag-1", "upper_bound": False, **SMALL, **settings}, out=out)


def test_the_played_users_are_kept_once(tmp_path: Path) -> None:
    report = quick(tmp_path / "r")
    path = tmp_path / "r" / "data.json"
    kept, played = RunDirectory(tmp_path / "r").dataset(), load_dataset("starter").limited(2, 3)
    assert kept.scenarios == played.scenarios
    assert (kept.name, kept.sha256) == (played.name, played.sha256)
    before = path.stat()
    assert quick(tmp_path / "r").scores == amemgym.resume(tmp_path / "r").scores == report.scores
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)
    path.unlink()
    amemgym.resume(tmp_path / "r")
    assert RunDirectory(tmp_path / "r").dataset().scenarios == played.scenarios


def test_keys_are_struck_out_of_the_data_that_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-the-data-7")
    said = edited(
        put("periods.0.sessions.0.query", "My key is sk-in-the-data-7, keep it."),
        put("user_profile.formatted_str", "key: sk-in-the-data-7"),
    )
    (tmp_path / "data.json").write_bytes(as_bytes(said))
    report = quick(tmp_path / "r", data=tmp_path / "data.json", users=1)
    (kept,) = RunDirectory(tmp_path / "r").dataset().scenarios
    assert kept.periods[0].sessions[0].query == "My key is [key], keep it."
    assert not [p for p in (tmp_path / "r").rglob("*") if p.is_file() and b"sk-in-the-data" in p.read_bytes()]
    assert amemgym.score(tmp_path / "r", write=False).scores == report.scores


def test_keys_are_struck_out_of_names_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-the-data-7")
    named = json.loads(json.dumps(small_user()).replace('"home"', '"home_sk-in-the-data-7"'))
    (tmp_path / "data.json").write_bytes(as_bytes(named))
    quick(tmp_path / "r", data=tmp_path / "data.json", users=1)
    assert not [p for p in (tmp_path / "r").rglob("*") if p.is_file() and b"sk-in-the-data" in p.read_bytes()]
    amemgym.score(tmp_path / "r", write=False)


def damaged(whole: str, how: str) -> bytes:
    users = json.loads(whole)
    texts = {
        "empty": "",
        "cut": whole[:3000],
        "no list": "{}",
        "no users": "[]",
        "a user less": json.dumps(users[:1]),
        "no user": json.dumps([users[0], {"id": "x"}]),
        "no periods": json.dumps([users[0], {**users[1], "periods": []}]),
        "no questions": json.dumps([users[0], {**users[1], "qas": []}]),
        "a period less": json.dumps([users[0], {**users[1], "periods": users[1]["periods"][:1]}]),
        "another user": json.dumps([users[0], {**users[1], "id": "x"}]),
        "an edited state": whole.replace('"half_marathon_race"', '"canal_towpath"', 3),
    }
    return b"\xff\xfe\x00" if how == "no text" else texts[how].encode()


def refused(directory: Path) -> None:
    """The data cannot be read, in one sentence that names the file and a way out."""
    with pytest.raises(RunDirectoryError, match=r"r/data\.json.*put the file back") as caught:
        amemgym.score(directory, write=False)
    assert "\n" not in str(caught.value)
    for again in (lambda: RunDirectory(directory).dataset(), lambda: amemgym.run(off_policy=str(directory))):
        with pytest.raises(RunDirectoryError, match=r"data\.json"):
            again()


@pytest.mark.parametrize("how", ["empty", "cut", "no list", "no users", "a user less", "no user", "no text"])
def test_damaged_data_is_told_in_one_sentence(how: str, tmp_path: Path) -> None:
    quick(tmp_path / "r")
    path = tmp_path / "r" / "data.json"
    path.write_bytes(damaged(path.read_text(), how))
    refused(tmp_path / "r")


def test_missing_data_is_told_in_one_sentence(tmp_path: Path) -> None:
    quick(tmp_path / "r")
    (tmp_path / "r" / "data.json").unlink()
    refused(tmp_path / "r")
    (tmp_path / "r" / "data.json").mkdir()
    refused(tmp_path / "r")


@pytest.mark.parametrize("how", ["no periods", "no questions", "a period less", "another user", "an edited state"])
def test_data_that_is_not_what_was_played_is_told_in_one_sentence(how: str, tmp_path: Path) -> None:
    quick(tmp_path / "r")
    path = tmp_path / "r" / "data.json"
    path.write_bytes(damaged(path.read_text(), how))
    refused(tmp_path / "r")


def as_before(run: Path, out: Path, **changed: str) -> Path:
    """A copy as a version before 0.7 kept it: the same users (but for what is `changed` of them) in another form, and
    its hash."""
    shutil.copytree(run, out)
    users = [{**scenario.model_dump(), **changed} for scenario in RunDirectory(run).dataset()]
    kept = files.pretty_json(users).encode()
    (out / "data.json").write_bytes(kept)
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    manifest["data"]["played"] = files.sha256(kept)
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return out


def test_the_same_users_are_the_same_in_an_earlier_version_s_form(tmp_path: Path) -> None:
    new = quick(tmp_path / "new").directory
    old = as_before(new, tmp_path / "old")
    assert amemgym.score(old, write=False).scores == amemgym.score(new, write=False).scores
    for runs in ((old, new), (new, old)):
        (agent,) = amemgym.compare(*runs).agents
        assert agent.users == 2 and agent.overall.value == 0
    before = as_before(quick(tmp_path / "seed", seed=1).directory, tmp_path / "before")
    export_runs([before], tmp_path / "archive")
    assert export_runs([new], tmp_path / "archive").total == 2
    other = as_before(new, tmp_path / "other", note="another")
    for runs in ((other, new), (new, other)):
        with pytest.raises(UsageError, match="play other users"):
            amemgym.compare(*runs)
