"""`amemgym import` on the command line: where results are looked for, what they are called, whose directory they go to,
and what can be done with that directory afterwards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.cli.data import users
from tests.cli.helpers import amemgym, contents, inside, said, scores, sentence, strict_json, succeeded
from tests.cli.importing import notes
from tests.cli.warm import warm
from tests.support.v1_results import edit, exams, put, upper_bound, write_results

ANN, BEN = "Ann-1", "Ben-1"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two agents' results of two users; `awi` is right about everything."""
    folder = tmp_path / "results"
    for user in users():
        write_results(folder / "native", user)
        place = write_results(folder / "awi", user)
        edit(place / "overall_results.json", _all_right)
    return folder


def _all_right(periods: Any) -> None:
    for entry in (entry for row in periods for entry in row):
        # the published files count `answer` from 0 and `response` from 1
        number = entry["answer"] + 1
        entry |= {"raw_response": f'{{"answer": {number}}}', "response": number}
        entry["response_choice"] = entry["answer_choice"]


@pytest.fixture
def bound(tmp_path: Path) -> Path:
    return put(tmp_path / "upperbound_results.json", upper_bound(users()))


def agents(directory: Path) -> list[str]:
    return list(strict_json(directory / "scores.json")["agents"])


# --- what comes out ---


def test_as_a_process(results: Path, bound: Path, small: Path, tmp_path: Path) -> None:
    ended = succeeded(
        amemgym("import", results, "--data", small, "--upper-bound", bound, "--model", "big", cwd=tmp_path)
    )
    assert notes(ended) == []
    (directory,) = (tmp_path / "runs").iterdir()
    assert directory.name == f"small-imported-{strict_json(directory / 'manifest.json')['fingerprint'][:8]}"
    found = strict_json(directory / "scores.json")
    assert (found["protocol"], found["model"], found["finished"]) == (
        {"name": "v1-imported", "version": 1},
        "big",
        True,
    )
    native, awi = found["agents"]["native"], found["agents"]["awi"]
    assert (native["overall"], native["n"], awi["overall"]) == (8 / 12, 12, 1.0)
    assert native["diagnosis"] == {"write": 4 / 12, "read": 0, "utilization": 0, "unparsed": 0}
    assert (native["reference"], native["episodes"]) == (False, {"finished": 2, "planned": 2, "failed": []})
    assert (found["upper_bound"], awi["memory_score"]["ratio_of_means"]) == (1.0, 1.0)
    # the table, and below it each user's numbers
    lines = ended.out.splitlines()
    assert lines[1].startswith("awi ") and lines[2].startswith("native ") and "offline" not in ended.out
    ends = "random .333, upper bound 1.000"
    assert lines[-4:] == [
        f"  awi, user Ann-1: overall 1.000 (n 6), write .000, read .000, utilization .000, {ends}",
        f"  awi, user Ben-1: overall 1.000 (n 6), write .000, read .000, utilization .000, {ends}",
        f"  native, user Ann-1: overall .667 (n 6), write .333, read .000, utilization .000, {ends}",
        f"  native, user Ben-1: overall .667 (n 6), write .333, read .000, utilization .000, {ends}",
    ]


def test_no_more_than_ten_users_are_listed(small: Path, tmp_path: Path) -> None:
    crowd = [{**users()[0], "id": f"user-{number:02d}"} for number in range(11)]
    for user in crowd:
        write_results(tmp_path / "native", user)
    data = put(tmp_path / "crowd.json", crowd)
    assert "user-03" not in succeeded(inside("import", "native", "--data", data)).out
    shutil.rmtree(tmp_path / "native/user-10")
    assert "native, user user-03: overall .667" in succeeded(inside("import", "native", "--data", data)).out


def test_without_an_upper_bound_there_is_no_memory_score(results: Path, small: Path) -> None:
    ended = succeeded(inside("import", results, "--data", small, "--out", "run"))
    score = strict_json(Path("run/scores.json"))["agents"]["native"]["memory_score"]
    assert (score["ratio_of_means"], score["why_undefined"]) == (None, "no upper bound was measured")
    assert "no upper bound was measured" in ended.out


def test_a_reply_is_read_by_our_parser_and_never_guessed(results: Path, small: Path) -> None:
    """What the original took for an answer does not matter; a remark says that it was another."""

    def reply(periods: Any) -> None:
        periods[0][0] |= {"raw_response": "I would rather not say.", "json_error": True}
        periods[0][1]["raw_response"] = "Final answer: option 2"
        periods[0][2] |= {"raw_response": "", "response": None}

    edit(results / "native" / ANN / "overall_results.json", reply)
    ended = succeeded(inside("import", results, "--data", small, "--out", "run"))
    (line,) = notes(ended)
    assert line == (
        "native/Ann-1/overall_results.json: 2 of 6 replies are read otherwise here than was recorded"
        " (first: period 0, question 0)"
    )
    native = strict_json(Path("run/scores.json"))["agents"]["native"]
    assert (native["n"], native["invalid"], native["guessed"]) == (12, 2, 0)
    assert native["overall"] == 5 / 12
    assert native["diagnosis"]["unparsed"] == 2 / 12
    assert native["diagnosis"]["utilization"] == 1 / 12
    assert "native, user Ann-1: overall .167 (n 6), write .333, read .000, utilization .167, unparsed .333" in ended.out


def test_what_no_probe_explains_is_undiagnosed(results: Path, small: Path) -> None:
    (results / "native" / ANN / "diagnosis_results.json").unlink()
    ended = succeeded(inside("import", results, "--data", small, "--out", "run"))
    assert "native, user Ann-1: overall .667 (n 6), undiagnosed .333, random .333\n" in ended.out
    assert "native, user Ben-1: overall .667 (n 6), write .333, read .000, utilization .000, random .333\n" in ended.out


def test_a_state_required_twice_is_one_state(tmp_path: Path) -> None:
    (ann,) = twice = users()[:1]
    ann["qas"] = ann["qas"][:1]
    ann["qas"][0]["required_info"] *= 2
    for option in ann["qas"][0]["answer_choices"]:
        option["state"] *= 2
    write_results(tmp_path / "native", ann)
    succeeded(inside("import", "native", "--data", put(tmp_path / "twice.json", twice), "--out", "run"))
    (episode,) = Path("run/episodes").rglob("*.json")
    assert [probe["values"] for probe in strict_json(episode)["probes"]] == [{"home_town": "seaside"}] * 2


# --- where results are looked for, and what agents are called ---


def test_an_agent_is_called_by_the_path_to_it(results: Path, small: Path) -> None:
    shutil.move(results / "awi", results / "2024/05/awi")
    succeeded(inside("import", results, "--data", small, "--out", "run"))
    assert agents(Path("run")) == ["2024/05/awi", "native"]


@pytest.mark.parametrize("given", ["native", "native/", f"native/{ANN}", "native/../native"])
def test_a_folder_of_one_agent_or_one_user(given: str, results: Path, small: Path) -> None:
    succeeded(inside("import", f"{results}/{given}", "--data", small, "--out", "run"))
    assert agents(Path("run")) == ["native"]
    users_there = strict_json(Path("run/scores.json"))["data"]["users"]
    assert users_there == (1 if given.endswith(ANN) else 2)


def test_the_folder_one_stands_in(results: Path, small: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(results / "native")
    succeeded(inside("import", ".", "--data", small, "--out", tmp_path / "run"))
    assert agents(tmp_path / "run") == ["native"]


def test_no_two_agents_share_a_name(results: Path, small: Path) -> None:
    """The folder's own users belong to an agent of its name; a folder of that name inside is another agent."""
    shutil.move(results / "awi", results / "native/native")
    succeeded(inside("import", results / "native", "--data", small, "--out", "run"))
    found = strict_json(Path("run/scores.json"))["agents"]
    assert {name: agent["overall"] for name, agent in found.items()} == {"native": 8 / 12, "native (2)": 1.0}


def test_names_are_never_paths(small: Path, tmp_path: Path) -> None:
    """A user's id and an agent's folder may be called anything; nothing is written outside the run directory."""
    (ann,) = strange = users()[:1]
    ann["id"] = "..%2F..[red]\u202e"
    write_results(tmp_path / "results/..." / "[bold]", ann)
    data, before = put(tmp_path / "strange.json", strange), {*contents(tmp_path)}
    ended = succeeded(inside("import", "results", "--data", data, "--out", "run"))
    assert ".../[bold], user ..%2F..[…: overall .667" in ended.out
    new = {*contents(tmp_path)} - before - {"strange.json"}
    assert new and all(name.startswith("run/") for name in new)


def test_a_name_is_one_line_and_no_short_id_stands_for_two(tmp_path: Path) -> None:
    alike = [{**users()[0], "id": f"0123456789ab-{number}"} for number in range(2)]
    for user in alike:
        write_results(tmp_path / "results" / "my\n agent", user)
    ended = succeeded(inside("import", "results", "--data", put(tmp_path / "alike.json", alike), "--out", "run"))
    assert agents(Path("run")) == ["my agent"]
    assert "my agent, user 0123456789ab-1: overall .667 (n 6)" in ended.out


def test_folders_of_other_users_and_links_are_named(results: Path, small: Path) -> None:
    shutil.copytree(results / "native" / ANN, results / "native/Eve-1")
    links = ["latest", "link-1", "link-2", "link-3", "link-4", "native/loop"]
    for link in links[::-1]:
        (results / link).symlink_to(results, target_is_directory=True)
    ended = succeeded(inside("import", results, "--data", small, "--out", "run"))
    assert notes(ended) == [
        *(f"{link}: a link to a folder is not followed; copy that folder here" for link in links),
        "native/Eve-1: no user of data 'small'; skipped",
    ]
    assert agents(Path("run")) == ["awi", "native"]


def test_users_without_results_are_left_out_and_named(results: Path, small: Path, bound: Path) -> None:
    shutil.rmtree(results / "awi" / ANN)
    ended = succeeded(inside("import", results, "--data", small, "--upper-bound", bound, "--out", "one"))
    assert notes(ended) == ["agent 'awi': nothing to score of user Ann-1"]
    assert "awi: only 1 of 2 episodes are finished" in ended.out
    shutil.rmtree(results / "native" / ANN)
    ended = succeeded(inside("import", results, "--data", small, "--upper-bound", bound, "--out", "other"))
    assert notes(ended) == ["data 'small': nothing to score of 1 of its 2 users (Ann-1); left out"]
    found = strict_json(Path("other/scores.json"))
    assert (found["data"]["users"], found["data"]["exams"], found["finished"]) == (1, 6, True)
    assert found["data"]["sha256"] == strict_json(Path("one/scores.json"))["data"]["sha256"]
    assert [user["id"] for user in json.loads(Path("other/data.json").read_text())] == [BEN]


# --- whose directory it is ---


def test_the_same_again_and_something_else(results: Path, small: Path, tmp_path: Path) -> None:
    command = ["import", results, "--data", small, "--out", "run"]
    succeeded(inside(*command))
    before = contents(Path("run"))
    succeeded(inside(*command))
    shutil.copytree(results, tmp_path / "moved")
    succeeded(inside("import", tmp_path / "moved", "--data", small, "--out", "run"))
    assert contents(Path("run")) == before
    for other in (["--model", "big"], ["--upper-bound", put(tmp_path / "bound.json", upper_bound(users()))]):
        assert "run holds a run with other settings" in sentence(inside(*command, *other), 2)
    edit(results / "native" / ANN / "interactions/period_00.json", lambda said: said[0][1].update(content="No."))
    assert "imported.sha256 is" in sentence(inside(*command), 2)
    assert contents(Path("run")) == before
    succeeded(inside(*command[:-2]))
    assert len(list(Path("runs").iterdir())) == 1


def test_what_was_half_written_is_written_again(results: Path, small: Path) -> None:
    command = ["import", results, "--data", small, "--out", "run"]
    succeeded(inside(*command))
    before = contents(Path("run"))
    first, second, *_ = sorted(Path("run/episodes").rglob("*.json"))
    first.unlink()
    second.write_text("{")
    succeeded(inside(*command))
    assert contents(Path("run")) == before


def test_a_directory_of_something_else_or_in_use_is_left_alone(results: Path, small: Path, whole: Any) -> None:
    (thesis := Path("thesis")).mkdir()
    (thesis / "chapter.tex").write_text("To be written.")
    played = whole.copy(Path("played"))
    before = contents(played)
    for folder, why in ((thesis, "is not empty and holds no run"), (played, "protocol.name is amemgym there")):
        assert why in sentence(inside("import", results, "--data", small, "--out", folder), 2)
    assert (contents(thesis), contents(played)) == ({"chapter.tex": b"To be written."}, before)
    succeeded(inside("import", results, "--data", small, "--out", "run"))
    kept = contents(Path("run"))
    with FileLock("run/.lock"):
        assert "in use by another process" in sentence(warm("import", results, "--data", small, "--out", "run"), 2)
    assert contents(Path("run")) == kept


# --- and afterwards ---


def test_it_is_scored_like_any_run(results: Path, small: Path, bound: Path) -> None:
    succeeded(inside("import", results, "--data", small, "--upper-bound", bound, "--out", "run"))
    written = scores(Path("run"))
    shutil.rmtree(results)
    Path("run/scores.json").unlink()
    succeeded(warm("score", Path("run").absolute()))
    assert scores(Path("run")) == written


def test_there_is_nothing_to_resume(results: Path, small: Path) -> None:
    succeeded(inside("import", results, "--data", small, "--out", "run"))
    before = contents(Path("run"))
    told = sentence(inside("resume", "run"), 2)
    assert told == "run holds imported results, so there is nothing to play; score it with: amemgym score run"
    assert contents(Path("run")) == before


def test_its_conversations_can_be_given_to_others(results: Path, small: Path) -> None:
    succeeded(inside("import", results, "--data", small, "--out", "run"))
    other = ["run", "--off-policy", "run", "--off-policy-agent", "native", "--agents", "native", "--out", "fed"]
    succeeded(inside(*other))
    heard = [strict_json(path)["conversation"] for path in sorted(Path("fed/episodes").rglob("*.json"))]
    said_before = [strict_json(path)["conversation"] for path in sorted(Path("run/episodes").glob("native*/*.json"))]
    assert heard == said_before and len(heard) == 2
    assert heard[0][1][0][0]["time"] == "2021-06-05 10:00:00"


def test_no_run_can_choose_its_rules(small: Path) -> None:
    assert "unknown protocol 'v1-imported'" in sentence(inside("run", "--data", small, "--protocol", "v1-imported"), 2)


def test_calls_that_are_wrong(results: Path, small: Path, tmp_path: Path) -> None:
    assert "--data" in sentence(inside("import", results), 2)
    for label in ("offline", " "):
        assert "--model" in sentence(inside("import", results, "--data", small, "--model", label), 2)
    assert "does not exist" in sentence(inside("import", "nowhere", "--data", small), 2)
    assert "is no folder" in sentence(inside("import", small, "--data", small), 2)
    assert "no data file" in sentence(inside("import", results, "--data", "nothing.json"), 2)
    (empty := tmp_path / "empty").mkdir()
    assert "holds no results of the original benchmark" in sentence(inside("import", empty, "--data", small), 2)
    assert not Path("runs").exists()


def test_keys_are_struck_out(results: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-proj-Zq7_kR2-vN9xT4"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    edit(results / "native" / ANN / "interactions/period_00.json", lambda said: said[0][1].update(content=f"Use {key}"))
    succeeded(inside("import", results, "--data", small, "--out", "run"))
    assert not any(key.encode() in data for data in contents(Path("run")).values())
    shutil.move(results / "native", results / key)
    told = inside("import", results, "--data", small, "--out", "other")
    assert told.code == 2 and "holds an API key" in said(told)[0] and key not in told.err
    assert not Path("other").exists()


def test_exams_of_another_period_are_not_this_one_s(results: Path, small: Path) -> None:
    """Gold is derived for each period: a file whose periods are swapped contradicts the data where they differ."""
    edit(results / "native" / ANN / "overall_results.json", lambda periods: periods[::-1])
    ended = succeeded(inside("import", results, "--data", small, "--out", "run"))
    assert [line.partition(": ")[0] for line in notes(ended)] == [
        "native/Ann-1/overall_results.json, period 0, question 1",
        "native/Ann-1/overall_results.json, period 0, question 2",
        "native/Ann-1/overall_results.json, period 1, question 1",
        "native/Ann-1/overall_results.json, period 1, question 2",
    ]
    native = strict_json(Path("run/scores.json"))["agents"]["native"]
    assert (native["n"], native["overall"]) == (8, 6 / 8)
    assert exams(users()[0], 1)[1]["answer_state"] == ["fish"]


def test_no_name_or_label_commands_the_terminal(results: Path, small: Path, tmp_path: Path) -> None:
    (results / "awi").rename(results / "a\x1b]0;x\x07")
    (results / "native" / "b\x1b[2J").mkdir()
    put(results / "native" / "b\x1b[2J" / "overall_results.json", [])
    data = Path(shutil.copy(small, tmp_path / "d\x1b[31m.json"))
    ended = inside("import", results, "--data", data, "--model", "m\x1b[31m", "--out", "run")
    assert ended.code == 0
    assert not {"\x1b", "\x07"} & set(ended.out + ended.err)
    manifest = strict_json(Path("run/manifest.json"))
    assert "a�]0;x�" in agents(Path("run")) and manifest["compared"]["model"] == {"model": "m�[31m"}
    assert manifest["data"]["name"] == "d�[31m"
    assert any("b�[2J" in remark for remark in manifest["remarks"])


def test_no_error_commands_the_terminal(tmp_path: Path) -> None:
    assert "m�[31m" in sentence(inside("score", tmp_path / "m\x1b[31m"), 2)


def test_what_is_missing_or_damaged_is_imported_again(results: Path, small: Path, whole: Any) -> None:
    arguments = ("import", results, "--data", small, "--out", "run")
    succeeded(inside(*arguments))
    before = scores(Path("run"))
    path = next(Path("run").glob("episodes/awi-*/*.json"))
    path.write_text("{")
    assert sentence(inside("score", "run"), 2).endswith("import it again")
    shutil.rmtree("run/episodes")
    for command in ("score", "report"):
        assert sentence(inside(command, "run"), 2).endswith("holds no finished episode yet; import it again")
    succeeded(inside(*arguments))
    assert scores(Path("run")) == before
    assert "resume" not in sentence(inside(*whole.arguments, "--out", "run"), 2)
