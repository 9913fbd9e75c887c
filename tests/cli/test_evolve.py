"""`amemgym evolve` by its real command line: bad input ends in one sentence with exit code 2 and nothing written; an
evolution is no run and a run no evolution; v1 files of agents that evolve are taken here, and pointed here by a run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from amemgym.errors import RunDirectoryError
from amemgym.evolving import resume_evolution
from tests.cli.data import user, users, write
from tests.cli.helpers import contents, inside, sentence, strict_json, succeeded

FOUR = ("Ann", "Ben", "Cleo", "Dora")
SMALL = ("--feedback", "complete", "--rounds-later", "1", "--no-probe", "--no-upper-bound")
WHICH = r"holds an evolution, not a run; name one of the runs in it: \S*/heldout, \S*/training$"


@pytest.fixture(scope="session")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "four.json", [user(name) for name in FOUR])


@pytest.fixture(scope="session")
def _evolution(tmp_path_factory: pytest.TempPathFactory, four: Path) -> Path:
    out = tmp_path_factory.mktemp("evolution") / "evo"
    succeeded(inside("evolve", "--data", four, *SMALL, "--agent", "awi-2-0", "--out", out))
    return out


@pytest.fixture
def evolution(_evolution: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(_evolution, tmp_path / "evo"))


WRONG: dict[str, str] = {
    # what an evolution is told
    "evolve --nope": r"--nope.*amemgym evolve --help",
    "evolve --training 0": r"'training'.*greater than 0",
    "evolve --training -1": r"'training'",
    "evolve --training nan": r"'training'",
    "evolve --training 1.5": r"'training'.*neither a share below 1 nor a whole number",
    "evolve --data FOUR --training 100": r"100.*4 in .*from 1 to 3",
    "evolve --data FOUR --training 4": r"4.*from 1 to 3",
    "evolve --data ONE": r"has 1 user.*takes 2",
    "evolve --data FOUR --users 1": r"has 1 user.*takes 2",
    "evolve --data FOUR --users 9": r"--users 9.*4 users",
    "evolve --data FOUR --periods 9": r"9",
    "evolve --data none.json": r"none\.json",
    "evolve --feedback all": r"unknown kind of feedback 'all'.*none, question, complete",
    "evolve --feedback complete,qestion": r"'qestion'. Did you mean 'question'",
    "evolve --feedback ,": r"'feedback' names no kind",
    "evolve --room -1": r"'room'",
    "evolve --room many": r"--room.*integer",
    "evolve --language xx": r"'xx'.*\ben\b",
    "evolve --embedder nope": r"unknown embedder 'nope'",
    "evolve --model gpt-5": r"unknown model 'gpt-5'",
    "evolve --user-model gpt-5": r"unknown model 'gpt-5'",
    "evolve --data FOUR --model openai:m": r"OPENAI_API_KEY.*--base-url",
    "evolve --data FOUR --base-url http://localhost:1/v1": r"nothing is asked there",
    "evolve --data FOUR --choice rotate": r"rotate",
    # who cannot evolve
    "evolve --agent native": r"'native' has no prompt or query of its own.*awi, awe and rag",
    "evolve --agent oracle": r"'oracle' has no prompt or query of its own",
    "evolve --agent awi-schema": r"'awi-schema' has no prompt",
    "evolve --agent http://localhost:1/chat": r"has no prompt or query of its own",
    "evolve --agent mine.py:Mine": r"'mine\.py:Mine' has no prompt or query of its own",
    "evolve --agent nope": r"unknown agent 'nope'",
    "evolve --agent none.json": r"none\.json",
    # what it begins with
    "evolve --policy none.txt": r"cannot read the policy none\.txt",
    "evolve --policy binary.txt": r"binary\.txt is not UTF-8 text \(byte 0\)",
    "evolve --policy empty.txt": r"--policy empty\.txt.*it is empty",
    "evolve --policy form.txt": r"--policy form\.txt.*a form of the reply",
    "evolve --policy query.txt": r"the placeholder \$query",
    "evolve --agent rag --policy good.txt": r"should hold \$query once",
    # the same of a run
    "run --agents awi --policy none.txt": r"cannot read the policy none\.txt",
    "run --agents awi --policy .": r"cannot read the policy \.",
    "run --agents awi --policy binary.txt": r"binary\.txt is not UTF-8 text",
    "run --agents awe --policy empty.txt": r"--policy empty\.txt, agent 'awe': it is empty",
    "run --agents rag,awi --policy query.txt": r"agent 'awi'.*\$query",
    "run --agents native,oracle --policy good.txt": r"none of the agents can be told.*awi, awe, rag",
    "run --agents rag,native --room 5": r"--room 5.*awi, awe",
    "run --agents awi --room 0": r"'room'.*1\b.*0",
    "run --agents awi --room -3": r"'room'",
    "run --data FOUR --agents oracle --only Zoe-1": r"unknown user 'Zoe-1'.*Ann-1",
    "run --data FOUR --agents oracle --only Ann-1,An-1": r"unknown user 'An-1'. Did you mean 'Ann-1'",
    "run --data FOUR --agents oracle --only ,": r"'only' names no user",
    "run --agents evolves.json": r"'awi-evolve' learns from its exams.*amemgym evolve --agent evolves\.json",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_name_value_or_file(words: str, four: Path, tmp_path: Path) -> None:
    places = {"FOUR": four, "ONE": write(tmp_path / "one.json", users()[:1])}
    (tmp_path / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "form.txt").write_text('Reply with {"facts": []}')
    (tmp_path / "query.txt").write_text("of $query")
    (tmp_path / "good.txt").write_text("What matters.")
    mine = "from amemgym import Memory\nclass Mine(Memory):\n def write(self, m, now): pass\n"
    (tmp_path / "mine.py").write_text(f"{mine} def read(self, q, now, k): return []\n")
    (tmp_path / "evolves.json").write_text('{"type": "awi-evolve", "name": "x"}')
    before = contents(tmp_path)
    said = sentence(inside(*(places.get(word, word) for word in words.split(" "))), 2)
    assert re.search(WRONG[words], said)
    assert contents(tmp_path) == before and not [
        p for p in tmp_path.iterdir() if p.is_dir() and p.name != "__pycache__"
    ]


def test_an_evolution_is_no_run_and_a_run_no_evolution(evolution: Path, four: Path, tmp_path: Path) -> None:
    before = contents(evolution)
    evolve = ("evolve", "--data", four, *SMALL, "--agent", "awi-2-0", "--out")
    for command, why in {
        ("run", "--data", four, "--agents", "oracle", "--out", evolution): WHICH,
        ("score", evolution): WHICH,
        ("compare", evolution, evolution / "heldout"): WHICH,
        (*evolve, evolution / "heldout"): "holds no evolution, but something else",
        (*evolve, tmp_path): "is not empty and holds no evolution",
        (*evolve[:-1], "--room", "3", "--out", evolution): r"room is 16 there, 3 here",
        (*evolve[:-1], "--seed", "3", "--out", evolution): r"there.*here",
        ("resume", evolution / "training"): rf"a part of the evolution in {evolution}.*amemgym resume {evolution}$",
        ("resume", evolution / "heldout"): rf"amemgym resume {evolution}$",
    }.items():
        assert re.search(why, sentence(inside(*command), 2)), command
    assert contents(evolution) == before
    succeeded(inside("score", evolution / "heldout"))
    assert contents(evolution) == before


def test_the_last_policy_is_one_that_a_run_takes(evolution: Path, four: Path, tmp_path: Path) -> None:
    """And with it scores as the arm that played by it from the beginning."""
    summary = strict_json(evolution / "evolution.json")
    [policy] = evolution.glob("policies/*.txt")
    assert policy.read_text() == summary["arms"]["awi-2-0+complete"]["revisions"][-1]["policy"] + "\n"
    only = ",".join(summary["data"]["held_out_users"])
    words = ("run", "--data", four, "--agents", "awi-2-0", "--policy", policy, "--room", "12", "--only", only)
    succeeded(inside(*words, *SMALL[2:], "--out", "run"))
    scores = strict_json(tmp_path / "run/scores.json")["agents"]["awi-2-0"]
    policy.unlink()  # a run keeps what it was told
    (tmp_path / "run/scores.json").unlink()
    ended = succeeded(inside("resume", "run"))
    assert strict_json(tmp_path / "run/scores.json")["agents"]["awi-2-0"] == scores
    assert "told what to remember" in ended.out and "room for 12 lines" in ended.out
    last = summary["arms"]["awi-2-0+complete"]["last"]
    assert {name: scores[name] for name in ("overall", "n", "by_period", "calls")} == {
        name: last[name] for name in ("overall", "n", "by_period", "calls")
    }


def test_a_damaged_manifest_is_told(evolution: Path) -> None:
    (evolution / "manifest.json").write_text('{"what": "evolution", "format": 1}')
    assert "manifest.json is damaged" in sentence(inside("resume", evolution), 2)
    (evolution / "manifest.json").write_text('{"what": "evolution", "format": 7}')
    assert "has format 7" in sentence(inside("resume", evolution), 2)
    with pytest.raises(RunDirectoryError, match="holds no evolution; begin one with"):
        resume_evolution("nowhere")


def test_it_is_resumed_from_any_folder(four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though data, policy and agent were given by a path from another one."""
    place = tmp_path / "here"
    place.mkdir()
    shutil.copyfile(four, place / "data.json")
    (place / "policy.txt").write_text("What matters.\n")
    (place / "agent.json").write_text('{"type": "awi-evolve", "agent_config": {"update_bsz": 2, "local_length": 0}}')
    monkeypatch.chdir(place)
    words = ("--data", "data.json", "--policy", "policy.txt", "--agent", "agent.json")
    succeeded(inside("evolve", *words, *SMALL, "--periods", "1", "--out", "evo"))
    summary = (place / "evo/evolution.json").read_bytes()
    (place / "evo/evolution.json").unlink()
    monkeypatch.chdir(tmp_path)
    succeeded(inside("resume", "here/evo"))
    assert (place / "evo/evolution.json").read_bytes() == summary
    # what it begins with is the same for who learns nothing
    found = json.loads(summary)
    assert found["arms"]["agent+complete"]["start"] == "What matters."
    assert found["arms"]["agent+complete"]["training"]["by_period"][0] == found["none"]["training"]["by_period"][0]
    [described, *_] = strict_json(place / "evo/heldout/manifest.json")["compared"]["agents"]
    assert described["name"] == "agent" and "policies" in described


@pytest.mark.parametrize(("kind", "base", "purpose"), [("awi-evolve", "awi", "record"), ("awe-evolve", "awe", "facts")])
def test_a_v1_file_of_an_agent_that_evolves(kind: str, base: str, purpose: str, four: Path, tmp_path: Path) -> None:
    config = {
        "type": kind,
        "name": "mine",
        "agent_config": {"update_bsz": 4, "local_length": 0, "top_k": 7},
        "evolution_config": {"feedback": "all", "steps": 3},
    }
    (tmp_path / "mine.json").write_text(json.dumps(config))
    said = sentence(inside("run", "--data", four, "--agents", "mine.json"), 2)
    assert (
        said == f"mine.json: agent type '{kind}' learns from its exams; let it with: amemgym evolve --agent mine.json"
    )
    words = ("evolve", "--data", four, "--agent", "mine.json", "--feedback", "none", *SMALL[2:], "--periods", "1")
    ended = succeeded(inside(*words, "--out", "evo"))
    assert len(re.findall("evolution_config is not used", ended.err)) == 1
    summary = strict_json(tmp_path / "evo/evolution.json")
    assert (summary["agent"], summary["purpose"], summary["arms"]) == ("mine", purpose, {})
    [described] = strict_json(tmp_path / "evo/heldout/manifest.json")["compared"]["agents"]
    assert (described["freq"], described["n_s"], described["topk"]) == (4, 0, 7)
    assert described["memory"] == {"awi": "in-context", "awe": "extract"}[base]
