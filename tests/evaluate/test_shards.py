"""Shards: what each plays, that together they are the run, and what is no run together."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.api import run_spec
from amemgym.errors import AuthenticationFailed, DataError, RunDirectoryError, UsageError
from amemgym.evaluate import RunDirectory, RunWatcher, Shard, default_directory, make_spec
from tests.cli.helpers import contents, inside, scores, sentence, succeeded
from tests.evaluate.echo import copied, every_model, until

RUN: dict[str, Any] = {"data": "starter", "agents": "native,awe,oracle", "users": 3, "periods": 2}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`whole`, and `one` and `two`: the same run, and its two shards."""
    folder = tmp_path_factory.mktemp("shards")
    with pytest.MonkeyPatch.context() as patch:
        every_model(patch)
        for name, more in {"whole": {}, "one": {"shard": "1/2"}, "two": {"shard": "2/2"}}.items():
            amemgym.run(out=folder / name, **RUN, **more)
    return folder


class Heard(RunWatcher):
    def __init__(self) -> None:
        self.sentences: list[str] = []

    def said(self, sentence: str) -> None:
        self.sentences.append(sentence)


def test_a_shard_plays_its_users_under_their_numbers(played: Path) -> None:
    told = {name: json.loads(scores(played / name)) for name in ("one", "two", "whole")}
    assert [told[name].get("shard") for name in told] == [{"number": 1, "of": 2}, {"number": 2, "of": 2}, None]
    users = {name: [one["user"] for one in told[name]["agents"]["native"]["by_user"]] for name in told}
    assert users == {"one": [0, 2], "two": [1], "whole": [0, 1, 2]}
    for name, count in {"one": 2, "two": 1, "whole": 3}.items():
        assert told[name]["finished"]
        assert told[name]["agents"]["awe"]["episodes"] == {"finished": count, "planned": count, "failed": []}
    # its data is the whole's, and so are the users' results
    whole, one = contents(played / "whole"), contents(played / "one")
    assert one["data.json"] == whole["data.json"]
    own = {name for name in one if name.startswith("episodes/native")}
    assert own < {name for name in whole if name.startswith("episodes/native")} and len(own) == 2


def test_shards_merged_are_the_run(played: Path, tmp_path: Path) -> None:
    heard = Heard()
    amemgym.merge([played / "one", played / "two"], out=tmp_path / "m", watcher=heard)
    assert scores(tmp_path / "m") == scores(played / "whole") and heard.sentences == []
    merged, whole = contents(tmp_path / "m"), contents(played / "whole")
    assert set(merged) == set(whole)
    assert {name: merged[name] for name in ("manifest.json", "data.json")} == {
        name: whole[name] for name in ("manifest.json", "data.json")
    }
    # again, and with a copy of one among them, nothing changes
    amemgym.merge([played / "two", copied(played / "one", tmp_path / "c"), played / "one"], out=tmp_path / "m")
    assert contents(tmp_path / "m") == merged


def test_the_default_directory_says_which_shard_it_is_of_which_run(played: Path) -> None:
    names = [default_directory(RunDirectory(played / name).manifest()).name for name in ("whole", "one", "two")]
    assert names[1:] == [f"{names[0]}-shard-1-of-2", f"{names[0]}-shard-2-of-2"]
    prints = {RunDirectory(played / name).manifest()["fingerprint"] for name in ("whole", "one", "two")}
    assert len(prints) == 3
    with pytest.raises(RunDirectoryError, match="shard is not set there"):
        amemgym.run(out=played / "whole", **RUN, shard="1/2")


def test_what_is_missing_is_told_and_played_by_a_resume(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard()
    amemgym.merge([played / "one"], out=tmp_path / "m", watcher=heard)
    assert heard.sentences == [
        "4 of 12 episodes and upper bounds are not there, among them all of shard 2/2; merge the shards that have them"
        f" too, or play them with: amemgym resume {tmp_path / 'm'}"
    ]
    model = every_model(monkeypatch)
    amemgym.resume(tmp_path / "m")
    assert scores(tmp_path / "m") == scores(played / "whole") and model.requests


def test_an_unfinished_shard_is_merged_with_its_journals(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch, until(25))
    with pytest.raises(AuthenticationFailed):
        amemgym.run(out=tmp_path / "two", **RUN, shard="2/2")
    amemgym.merge([played / "one", tmp_path / "two"], out=tmp_path / "m")
    rest = every_model(monkeypatch)
    amemgym.resume(tmp_path / "m")
    assert scores(tmp_path / "m") == scores(played / "whole")
    # as many calls as the shard alone would have had left
    resumed = every_model(monkeypatch)
    amemgym.resume(tmp_path / "two")
    assert len(rest.requests) == len(resumed.requests) > 0


def test_of_two_that_did_not_finish_an_episode_the_one_with_more_replies_counts(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its journal is at rest, and so the smaller file."""
    ended, begun = copied(played / "two", tmp_path / "ended"), copied(played / "two", tmp_path / "begun")
    for run in (ended, begun):
        next(run.glob("episodes/native-*/*.json")).unlink()
    (packed,) = begun.glob("journal/native-*/*.gz")
    lines = gzip.decompress(packed.read_bytes()).splitlines(keepends=True)
    packed.unlink()
    packed.with_suffix("").write_bytes(b"".join(lines[: len(lines) // 2]))
    assert packed.with_suffix("").stat().st_size > next(ended.glob("journal/native-*/*.gz")).stat().st_size
    amemgym.merge([played / "one", begun], out=tmp_path / "m")
    amemgym.merge([played / "one", begun, ended], out=tmp_path / "m")
    model = every_model(monkeypatch)
    amemgym.resume(tmp_path / "m")
    assert scores(tmp_path / "m") == scores(played / "whole") and model.requests == []


def test_a_merge_that_was_killed_is_made_again(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contents(played / "whole")
    for files in (1, 3, 8, 14):
        with pytest.MonkeyPatch.context() as patch:
            _end_after(patch, files)
            with pytest.raises(KeyboardInterrupt):
                amemgym.merge([played / "one", played / "two"], out=tmp_path / "m")
        amemgym.merge([played / "one", played / "two"], out=tmp_path / "m")
        assert scores(tmp_path / "m") == scores(played / "whole") and set(contents(tmp_path / "m")) == set(whole)
        shutil.rmtree(tmp_path / "m")


def _end_after(patch: pytest.MonkeyPatch, files: int) -> None:
    from amemgym import files as module

    write, made = module.write_bytes_atomically, []

    def ending(path: Path, data: bytes) -> None:
        made.append(path)
        if len(made) > files:
            raise KeyboardInterrupt
        write(path, data)

    patch.setattr(module, "write_bytes_atomically", ending)


def test_only_shards_of_one_run_are_merged(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_model(monkeypatch)
    amemgym.run(out=tmp_path / "other", **{**RUN, "seed": 1}, shard="2/2")
    with pytest.raises(UsageError, match="are shards of different runs: seed is 0 there, 1 here; merge those of one"):
        amemgym.merge([played / "one", tmp_path / "other"], out=tmp_path / "m")
    with pytest.raises(UsageError, match="is no shard, but a whole run"):
        amemgym.merge([played / "one", played / "whole"], out=tmp_path / "m")
    with pytest.raises(RunDirectoryError, match="does not exist"):
        amemgym.merge([played / "one", tmp_path / "nowhere"], out=tmp_path / "m")
    with pytest.raises(UsageError, match="is one of the shards"):
        amemgym.merge([played / "one"], out=played / "one")
    with pytest.raises(UsageError, match="no shard is named"):
        amemgym.merge([], out=tmp_path / "m")
    with pytest.raises(RunDirectoryError, match="holds a run with other settings: seed"):
        amemgym.run(out=tmp_path / "s", **{**RUN, "seed": 2})
        amemgym.merge([played / "one"], out=tmp_path / "s")
    assert not (tmp_path / "m").exists()


def test_a_shard_s_conversations_are_given_to_its_users_alone(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_model(monkeypatch)
    ids = [scenario.id for scenario in RunDirectory(played / "one").dataset()]
    with pytest.raises(UsageError, match=f"no whole conversation with user {ids[1]}; it is a shard; bring all"):
        amemgym.run(off_policy=played / "one", agents="rag", out=tmp_path / "r")
    report = amemgym.run(off_policy=played / "one", agents="rag", only=(ids[0], ids[2]), out=tmp_path / "r")
    assert report["rag"]["users"] == 2


def test_shards_that_count_by_other_prices_are_told_of(played: Path, tmp_path: Path) -> None:
    heard, other = Heard(), copied(played / "two", tmp_path / "two")
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["prices"]["source"] = "prices.yaml"
    (other / "manifest.json").write_text(json.dumps(manifest))
    merged = amemgym.merge([played / "one", other], out=tmp_path / "m", watcher=heard)
    assert heard.sentences == [
        f"the shards were begun with different prices; those of {played / 'one'} count. Others: amemgym score"
        f" {tmp_path / 'm'} --prices FILE"
    ]
    assert merged.scores["cost"]["prices"] == RunDirectory(played / "one").manifest()["prices"]


def test_two_results_of_one_episode_are_an_error(played: Path, tmp_path: Path) -> None:
    other = copied(played / "two", tmp_path / "other")
    path = next(other.glob("episodes/native-*/*.json"))
    episode = json.loads(path.read_text())
    episode["ledger"]["user"]["seconds"] += 1.0
    path.write_text(json.dumps(episode))
    amemgym.merge([played / "one", played / "two", other], out=tmp_path / "m")
    episode["exams"][0]["reply"] = "another"
    path.write_text(json.dumps(episode))
    with pytest.raises(RunDirectoryError, match="are different results of agent 'native', user 1, trial 0; leave one"):
        amemgym.merge([played / "one", played / "two", other], out=tmp_path / "n")
    path.write_text("{")
    with pytest.raises((RunDirectoryError, DataError), match="damaged"):
        amemgym.merge([played / "one", played / "two", other], out=tmp_path / "o")


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", ""])
def test_what_is_no_part_of_a_whole_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="shard"):
        make_spec({"shard": text})


def test_a_shard_without_a_user_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--shard 4/4: there is no user for it, as 3 are played; make no more than 3"):
        run_spec(make_spec({**RUN, "shard": "4/4"}), out=tmp_path / "r")
    assert not (tmp_path / "r").exists()
    assert {user for part in range(1, 4) for user in range(10) if Shard(part, 3).has(user)} == set(range(10))


def test_the_command_merges_and_shows_the_table(played: Path, tmp_path: Path) -> None:
    ended = succeeded(inside("merge", played / "one", played / "two", "--out", tmp_path / "m", "--no-report"))
    assert "native" in ended.out and f"written to {tmp_path / 'm'}" in ended.out
    assert scores(tmp_path / "m") == scores(played / "whole")
    assert "no shard" in sentence(inside("merge", played / "whole", "--out", tmp_path / "n"), 2)
    shown = succeeded(inside("score", copied(played / "one", tmp_path / "c")))
    assert "shard 1 of 2: the scores are of its users alone" in shown.out
