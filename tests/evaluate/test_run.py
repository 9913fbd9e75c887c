"""The run as a whole: whose upper bound counts, what is another run, and what one failure does to the rest."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.api import run_spec
from amemgym.errors import ContentFiltered, EndpointUnavailable, RunDirectoryError, RunFailed, UsageError
from amemgym.evaluate import RunDirectory, make_spec
from amemgym.llm import ModelSettings, Request
from amemgym.memory import Memory, fingerprint
from amemgym.tasks import ChooseKnowing, ChooseOption, Reply
from tests.evaluate.echo import Diary
from tests.support.models import Scripted, sensible

SMALL = {"users": 2, "periods": 2}


def scripted(monkeypatch: pytest.MonkeyPatch, make: Callable[[ModelSettings], Scripted]) -> None:
    """Every model of a run is made by `make`."""
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: make(settings))


def own_model(tmp_path: Path, name: str = "own", **llm: Any) -> str:
    """A v1 agent file whose model is its own."""
    path = tmp_path / f"{name}.json"
    config = {"type": "native", "name": name, "llm_config": {"llm_model": "m", **llm}}
    path.write_text(json.dumps(config))
    return str(path)


def knows(share: float) -> Scripted:
    """A model that is right about what it is told in that share of the questions: always or never."""

    def answer(request: Request) -> str:
        if isinstance(request.task, ChooseKnowing) and request.labels:
            right = [dict(label) for label in request.labels].index(dict(request.task.known)) + 1
            return json.dumps({"answer": right if share else right % len(request.labels) + 1})
        return sensible(request)

    return Scripted(answer)


@pytest.mark.parametrize("own_first", [True, False])
def test_each_agent_is_held_against_its_own_model_s_upper_bound(
    own_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = own_model(tmp_path, temperature=0.7, base_url="http://localhost:1/v1")
    scripted(monkeypatch, lambda settings: knows(0.0 if settings.temperature == 0.7 else 1.0))
    agents = [own, "native"] if own_first else ["native", own]
    report = amemgym.run(
        "starter", [*agents, "oracle"], "openai:m", base_url="http://localhost:1/v1", out=tmp_path / "r", **SMALL
    )
    assert report.scores["upper_bound"] == 1.0
    assert report["oracle"]["memory_score"]["ratio_of_means"] == 1.0
    assert report["native"]["memory_score"]["ratio_of_means"] is not None
    assert report["own"]["memory_score"]["ratio_of_means"] is None
    assert "upper bound" in report["own"]["memory_score"]["why_undefined"]


def test_two_keys_of_one_address_are_two_doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[ModelSettings] = []
    scripted(monkeypatch, lambda settings: opened.append(settings) or Scripted())  # type: ignore[func-returns-value]
    url = "http://localhost:1/v1"
    files = [own_model(tmp_path, name, base_url=url, api_key=f"sk-key-{name}") for name in ("one", "two")]
    amemgym.run("starter", files, out=tmp_path / "r", **SMALL)
    keys = {settings.api_key.get_secret_value() for settings in opened if settings.api_key}
    assert keys == {"sk-key-one", "sk-key-two"}
    assert not [p for p in (tmp_path / "r").rglob("*") if p.is_file() and b"sk-key" in p.read_bytes()]


def test_the_key_in_the_environment_goes_to_its_own_address_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-run")
    opened: dict[str | None, ModelSettings] = {}
    scripted(monkeypatch, lambda settings: opened.setdefault(settings.base_url, settings) and Scripted())
    spec = {"model": "openai:m", "base_url": "http://a.test/v1", "user_base_url": "http://b.test/v1", **SMALL}
    run_spec(
        make_spec({"agents": f"native,{own_model(tmp_path, base_url='http://c.test/v1')}", **spec}), out=tmp_path / "r"
    )
    variables = {url: settings.key_variables for url, settings in opened.items()}
    assert variables == {
        "http://a.test/v1": ("OPENAI_API_KEY",),
        "http://b.test/v1": ("AMEMGYM_USER_API_KEY",),
        "http://c.test/v1": (),
    }


def test_another_setting_is_another_run(tmp_path: Path) -> None:
    first = amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, **SMALL)
    again = amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, concurrency=1, **SMALL)
    assert first.scores == again.scores
    other: list[tuple[dict[str, Any], str]] = [
        ({"seed": 1}, "seed is 0 there, 1 here"),
        ({"protocol": "v1"}, "protocol.name is amemgym there, v1 here"),
        ({"users": 1}, "data.users is 2 there, 1 here"),
        ({"periods": 1}, "data.periods is 2 there, 1 here"),
        ({"trials": 2}, "trials is 1 there, 2 here"),
        ({"agents": "oracle"}, "agents[0].name is uniform there, oracle here"),
        ({"agents": "uniform,oracle"}, "agents is uniform there, uniform,oracle here"),
        ({"rounds_later": 3}, "protocol.rounds_later is 2 there, 3 here"),
    ]
    for change, difference in other:
        settings: dict[str, Any] = {"agents": "uniform", "upper_bound": False, **SMALL, **change}
        with pytest.raises(RunDirectoryError) as caught:
            amemgym.run("starter", out=tmp_path / "r", **settings)
        assert difference in str(caught.value)
    assert amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, **SMALL).scores == first.scores


def test_a_memory_class_that_was_edited_is_another(tmp_path: Path) -> None:
    def made(body: str) -> type[Memory]:
        """As in an interactive session: no source to read."""
        code = f"from amemgym import Memory\nclass Mine(Memory):\n def write(self, messages, now): pass\n {body}"
        space: dict[str, Any] = {"__name__": "__main__"}
        exec(code, space)
        found: type[Memory] = space["Mine"]
        return found

    one, same, two = (made(f"def read(self, query, now, k): return [{text!r}]") for text in ("a", "a", "b"))
    assert fingerprint(one) == fingerprint(same) != fingerprint(two)


def test_a_memory_file_that_was_edited_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    body = "from amemgym import Memory\nclass M(Memory):\n def write(self, messages, now): pass\n"
    for number, text in enumerate(("first", "second")):
        path.write_text(f"{body} def read(self, query, now, k): return [{text!r}]\n")
        out = tmp_path / f"r{number}"
        amemgym.run("starter", f"{path}:M", out=out, users=1, periods=1)
        (episode,) = (out / "episodes").rglob("*.json")
        assert json.loads(episode.read_text())["texts"] == [text]


def test_an_address_that_nothing_would_ask_is_refused(tmp_path: Path) -> None:
    for flag in ("base_url", "user_base_url"):
        with pytest.raises(UsageError, match="the model is offline"):
            amemgym.run("starter", "native", out=tmp_path / "r", **{flag: "http://localhost:1/v1"})


def test_a_name_that_holds_the_key_is_refused_without_repeating_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-name-9031")
    with pytest.raises(UsageError, match="an agent's name holds an API key") as caught:
        amemgym.run("starter", own_model(tmp_path, "mine sk-name-9031"), out=tmp_path / "r", **SMALL)
    assert "sk-name-9031" not in str(caught.value)
    assert not (tmp_path / "r").exists()


def test_a_loaded_data_set_can_be_played(tmp_path: Path) -> None:
    report = amemgym.run(amemgym.load_dataset("starter"), "uniform", out=tmp_path / "r", upper_bound=False, **SMALL)
    assert report["uniform"]["n"] == 32


@pytest.mark.parametrize(
    ("imported", "used"),
    [("import keeper_of_numbers", "keeper_of_numbers.KEEP"), ("from keeper_of_numbers import KEEP", "KEEP")],
)
def test_a_module_beside_a_memory_is_part_of_it(imported: str, used: str, tmp_path: Path) -> None:
    (tmp_path / "keeper_of_numbers.py").write_text("KEEP = 1\n")
    (tmp_path / "mine.py").write_text(
        f"{imported}\nfrom amemgym import Memory\nclass M(Memory):\n"
        f" def write(self, messages, now): pass\n def read(self, query, now, k): return [str({used})]\n"
    )
    code = f"""if True:
        import os, pathlib
        from amemgym.agents import parse_agent
        for keep in (1, 1, 222):
            pathlib.Path({str(tmp_path / "keeper_of_numbers.py")!r}).write_text(f"KEEP = {{keep}}\\n")
            if not (process := os.fork()):  # in a process of its own, which has read neither before
                print(parse_agent({str(tmp_path / "mine.py")!r} + ":M").described(), flush=True)
                os._exit(0)
            os.waitpid(process, 0)
    """
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 3 and said[0] == said[1] != said[2]


def test_one_call_that_never_passes_ends_one_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, Reply) and "13.1 miles" in request.messages[-1].content:
            raise EndpointUnavailable("It is busy.")
        return sensible(request)

    scripted(monkeypatch, lambda settings: Scripted(answer))
    with pytest.raises(RunFailed, match="did not finish"):
        amemgym.run("starter", "native,rag", out=tmp_path / "r", attempts=1, upper_bound=False)
    assert amemgym.score(tmp_path / "r")["rag"]["episodes"]["finished"] >= 1


def test_an_outage_stops_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> str:
        raise EndpointUnavailable("Nobody is there.")

    provider = Scripted(answer)
    scripted(monkeypatch, lambda settings: provider)
    with pytest.raises(EndpointUnavailable, match=r"Nobody is there.* amemgym resume"):
        amemgym.run("starter", "native,rag,awe,awi", out=tmp_path / "r", attempts=1, concurrency=1)
    assert len(provider.requests) < 40  # one job's questions, not those of all


def test_exam_errors_count_in_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ChooseOption) and "cello" in request.task.question:
            raise ContentFiltered("Not this one.")
        return sensible(request)

    scripted(monkeypatch, lambda settings: Scripted(answer))
    report = amemgym.run("starter", "native", out=tmp_path / "r", users=1, periods=2)
    assert report["native"]["failed"] == 2
    assert report["native"]["n"] == 14
    assert report["native"]["invalid"] == 0


def test_unreadable_replies_are_counted_apart_and_not_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(
        monkeypatch, lambda settings: Scripted(lambda r: "maybe" if isinstance(r.task, ChooseOption) else sensible(r))
    )
    report = amemgym.run("starter", "native", out=tmp_path / "ours", users=1, periods=2)
    assert (report["native"]["overall"], report["native"]["invalid"], report["native"]["n"]) == (0.0, 16, 16)
    assert report["native"]["guessed"] == 0
    theirs = amemgym.run("starter", "native", out=tmp_path / "theirs", users=1, periods=2, protocol="v1")
    assert (theirs["native"]["invalid"], theirs["native"]["guessed"]) == (16, 16)


def test_trials_are_repetitions(tmp_path: Path) -> None:
    report = amemgym.run("starter", "uniform,oracle", trials=3, out=tmp_path / "r", upper_bound=False, **SMALL)
    assert report["uniform"]["n"] == 3 * 32
    assert len(set(report["uniform"]["by_trial"])) > 1
    assert report["oracle"]["by_trial"] == [1.0] * 3
    assert report.scores["data"]["exams"] == 32


def test_scores_do_not_depend_on_how_many_play_at_once(tmp_path: Path) -> None:
    texts = []
    for concurrency in (1, 3, 24):
        out = tmp_path / str(concurrency)
        amemgym.run("starter", "native,rag,awe", out=out, concurrency=concurrency, **SMALL)
        texts.append((out / "scores.json").read_bytes())
    assert texts[0] == texts[1] == texts[2]


def test_a_link_keeps_its_name_when_resumed(tmp_path: Path) -> None:
    dataset = amemgym.load_dataset("starter")
    amemgym.save_dataset(dataset.scenarios[:1], tmp_path / "real.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    amemgym.run(tmp_path / "link.json", "uniform", out=tmp_path / "r", upper_bound=False)
    before = (tmp_path / "r" / "scores.json").read_bytes()
    assert amemgym.resume(tmp_path / "r").scores["data"]["name"] == "link"
    assert (tmp_path / "r" / "scores.json").read_bytes() == before


def test_a_start_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".manifest.json.999999999.tmp").write_text('{"format"')
    amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, **SMALL)
    assert not list((tmp_path / "r").glob(".manifest*"))


def test_a_class_handed_over_cannot_be_resumed_without_it(tmp_path: Path) -> None:
    amemgym.run("starter", [Diary], out=tmp_path / "r", users=1, periods=1)
    with pytest.raises(UsageError, match=r"'Diary' was handed over as a Python class"):
        amemgym.resume(tmp_path / "r")
    assert amemgym.run("starter", [Diary], out=tmp_path / "r", users=1, periods=1)["Diary"]["n"] == 8


def test_a_run_inside_an_event_loop(tmp_path: Path) -> None:
    async def notebook() -> int:
        return int(amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, **SMALL)["uniform"]["n"])

    assert asyncio.run(notebook()) == 32


def test_resume_says_what_differs(tmp_path: Path) -> None:
    amemgym.run("starter", "uniform", out=tmp_path / "r", upper_bound=False, **SMALL)
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["compared"]["amemgym"], manifest["fingerprint"] = "0.0.9", "0"
    path.write_text(json.dumps(manifest))
    with pytest.raises(RunDirectoryError, match=r"cannot be continued.*amemgym is 0\.0\.9 there.*Restore"):
        amemgym.resume(tmp_path / "r")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 99}', "{"])
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(RunDirectoryError, match=r"manifest\.json"):
        RunDirectory(tmp_path).manifest()
