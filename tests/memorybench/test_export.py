"""Our runs as an archive: it gives their scores, item by item too, to whoever reads the published layout; what is
missing stays missing; and the same item has the same number in every run over the same data."""

from __future__ import annotations

import json
import math
import shutil
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym import secrets
from amemgym.api import RunReport
from amemgym.errors import ContentFiltered, RunDirectoryError
from amemgym.evaluate import EpisodeResult, RunDirectory
from amemgym.llm import Request
from amemgym.memorybench import Cell, MemoryBenchResults, export_runs
from amemgym.tasks import ChooseOption
from tests.cli.helpers import inside, succeeded
from tests.memorybench.exporting import AGENTS, contents, data, laid_out, of, played, read
from tests.support import v1_results
from tests.support.models import Scripted, sensible

KEY = "sk-proj-Zq7_kR2-vN9xT4"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    folder = tmp_path_factory.mktemp("run")
    return played(data(folder), folder / "run", AGENTS, probe=True)


@pytest.fixture(scope="module")
def archive(run: RunReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("archive") / "archive"
    export_runs(run.directory, out)
    return out


def scripted(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setattr("amemgym.llm.doors.open_model", lambda settings, say: Scripted(answer))


def memory_score(details: Sequence[dict[str, Any]]) -> float:
    """As the summary's metrics say it can be had from the items'."""
    bounded = [item["metrics"] for item in details if item["metrics"]["upper_bound"] is not None]
    gained = math.fsum(metrics["accuracy"] - metrics["random"] for metrics in bounded)
    return gained / math.fsum(metrics["upper_bound"] - metrics["random"] for metrics in bounded)


def mean(details: Sequence[dict[str, Any]], metric: str) -> float:
    values = [value for item in details if (value := item["metrics"][metric]) is not None]
    return math.fsum(values) / len(values)


@pytest.mark.parametrize("reader", [read, laid_out], ids=["manifest", "folders"])
def test_the_scores_of_a_run_are_read_back(run: RunReport, archive: Path, reader: Any) -> None:
    groups = reader(archive)
    assert {cell[:4] for cell in groups} == {("on-policy", "offline", "single", "small")}
    assert {cell[-1] for cell in groups} == set(AGENTS.split(","))
    for name in AGENTS.split(","):
        scores, group = run[name], of(groups, name)
        summary, told = group["summary.json"]["summary"], group["summary.json"]["amemgym"]
        assert summary["accuracy"] == scores["overall"]
        assert summary["memory_score"] == scores["memory_score"]["ratio_of_means"]
        assert summary["memory_score_mean_of_ratios"] == scores["memory_score"]["mean_of_ratios"]
        assert summary["upper_bound"] == scores["upper_bound"]
        assert summary["random"] == run.scores["random"]
        assert {kind: summary[f"{kind}_failure"] for kind in ("write", "read", "utilization")} | {
            "unparsed": summary["unparsed"]
        } == scores["diagnosis"]
        assert told["n"]["accuracy"] == scores["n"] == 12 and told["users"] == 2
        assert told["intervals"]["accuracy"] == scores["interval"]
        assert told["intervals"]["memory_score"] == scores["memory_score"]["interval"]
        assert told["protocol"] == {"name": "amemgym", "version": 1}
        assert all(told["intervals"][metric] for metric in ("accuracy", "memory_score", "write_failure"))
    assert "offline" in of(groups, "rag")["summary.json"]["amemgym"]["warnings"][0]


def test_the_scores_are_recomputed_from_the_items(run: RunReport, archive: Path) -> None:
    for name in AGENTS.split(","):
        group = of(read(archive), name)
        details, summary = group["evaluate_details.json"], group["summary.json"]["summary"]
        assert memory_score(details) == pytest.approx(summary["memory_score"], abs=1e-15)
        for metric in set(summary) - {"memory_score", "memory_score_mean_of_ratios"}:
            assert mean(details, metric) == pytest.approx(summary[metric], abs=1e-15), metric
        shares = ("accuracy", "write_failure", "read_failure", "utilization_failure", "unparsed", "undiagnosed")
        assert all(sum(item["metrics"][share] for share in shares) == 1 for item in details)


def test_an_item_is_an_exam(run: RunReport, archive: Path) -> None:
    directory = RunDirectory(run.directory)
    group = of(read(archive), "rag")
    predicted, details = group["predict.json"], group["evaluate_details.json"]
    exams = [(episode, exam) for episode in directory.episodes_of("rag") for exam in episode.exams]
    exams.sort(key=lambda pair: (pair[0].user, pair[1].period, pair[1].question))
    keys = [(item["dataset"], item["test_idx"]) for item in predicted]
    assert keys == [(item["dataset"], item["test_idx"]) for item in details] == [("small", i) for i in range(12)]
    for (episode, exam), item in zip(exams, predicted, strict=True):
        asked = directory.dataset().scenarios[episode.user].qas[exam.question]
        (message,) = item["messages"]
        shown = "\n".join(f"{n}: {asked.answer_choices[i].answer}" for n, i in enumerate(exam.order, 1))
        assert message["role"] == "user" and asked.query in message["content"] and shown in message["content"]
        assert item["response"] == exam.reply and item["option"] == exam.option
        assert item["retrieved_memories"] == [episode.texts[i] for i in exam.items]
        assert (item["user"], item["period"]) == (episode.user_id, exam.period)
    assert any(item["retrieved_memories"] for item in predicted)
    assert all(text.startswith("[2") for item in predicted for text in item["retrieved_memories"]), "with their dates"
    assert not any("gold" in item for item in [*predicted, *details])


def test_an_error_is_missing_and_an_unreadable_reply_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(request: Request) -> str:
        if isinstance(request.task, ChooseOption) and "tonight" in request.task.question:
            raise ContentFiltered("Not this one.")
        if isinstance(request.task, ChooseOption) and "Where" in request.task.question:
            return "maybe"
        return sensible(request)

    scripted(monkeypatch, answer)
    report = played(data(tmp_path), tmp_path / "run", "native")
    exported = export_runs(tmp_path / "run", tmp_path / "archive")
    group = of(read(tmp_path / "archive"), "native")
    predicted, details = group["predict.json"], group["evaluate_details.json"]
    for asked, item in zip(predicted, details, strict=True):
        text, metrics = asked["messages"][0]["content"], item["metrics"]
        if "tonight" in text:
            assert set(metrics) == {"accuracy", "random", "upper_bound"} and set(metrics.values()) == {None}
            assert (asked["response"], asked["status"], asked["error"]) == (None, "error", "Not this one.")
        elif "Where" in text:
            assert (metrics["accuracy"], asked["response"], asked["option"]) == (0.0, "maybe", None)
            assert item["status"] not in ("ok", "error")
        else:
            assert metrics["accuracy"] in (0.0, 1.0) and item["status"] == "ok"
    told = group["summary.json"]["amemgym"]
    assert [group.failed for group in exported.groups] == [4] == [told["failed"]]
    assert (told["n"]["accuracy"], told["invalid"], len(details)) == (8, 4, 12)
    assert mean(details, "accuracy") == group["summary.json"]["summary"]["accuracy"] == report["native"]["overall"]


def test_what_was_not_measured_is_null(tmp_path: Path) -> None:
    played(data(tmp_path), tmp_path / "run", "uniform", upper_bound=False)
    export_runs(tmp_path / "run", tmp_path / "archive")
    group = of(read(tmp_path / "archive"), "uniform")
    summary, told = group["summary.json"]["summary"], group["summary.json"]["amemgym"]
    assert summary["memory_score"] is summary["upper_bound"] is None and "write_failure" not in summary
    assert (told["n"]["memory_score"], told["why_undefined"]) == (0, "no upper bound was measured")
    assert {item["metrics"]["upper_bound"] for item in group["evaluate_details.json"]} == {None}


def test_runs_over_the_same_data_share_their_items(run: RunReport, tmp_path: Path) -> None:
    """Off-policy, with another seed and with more trials: an item's number is its place in the data."""
    of_data = data(tmp_path)
    other = {
        "off": {"off_policy": run.directory, "off_policy_agent": "rag"},
        "seed": {"seed": 1},
        "more": {"trials": 2},
    }
    for name, settings in other.items():
        given = {} if name == "off" else {"data": of_data}
        amemgym.run(agents="native,uniform", out=tmp_path / name, probe=False, **given, **settings)
    archive = tmp_path / "archive"
    export_runs([run.directory, tmp_path / "off"], archive)
    exported = export_runs([tmp_path / "seed", tmp_path / "more"], archive)
    assert (exported.total, exported.rivals) == (4 + 2 + 2 + 2, 6)
    assert {cell[0] for cell in read(archive)} == {"on-policy", "off-policy"}

    def asked(item: dict[str, Any]) -> tuple[Any, ...]:
        text = item["messages"][0]["content"]
        options = sorted(line.partition(": ")[2] for line in text.splitlines() if line[:1].isdigit() and ": " in line)
        return item["user"], item["period"], item["question"], *options

    places: dict[tuple[str, int], set[Any]] = {}
    numbers = []
    for path in archive.rglob("predict.json"):
        items = json.loads(path.read_text(encoding="utf-8"))
        numbers.append([item["test_idx"] for item in items])
        for item in items:
            if item["trial"] == 0:
                places.setdefault((item["dataset"], item["test_idx"]), set()).add(asked(item))
    assert sorted(numbers) == sorted([[*range(12)]] * 8 + [[*range(24)]] * 2)
    assert len(places) == 12 and all(len(same) == 1 for same in places.values())


def test_a_part_of_a_run_is_exported_on_request(tmp_path: Path) -> None:
    played(data(tmp_path), tmp_path / "run", AGENTS, probe=True)
    first, *_ = sorted((tmp_path / "run" / "episodes").glob("rag-*/*.json"))
    gone = json.loads(first.read_text(encoding="utf-8"))
    first.unlink()
    for path in (tmp_path / "run" / "episodes").glob("native-*/*.json"):
        path.unlink()
    with pytest.raises(RunDirectoryError, match=r"lacks the episode of agent 'native', .*\(and 2 more\).*--partial"):
        export_runs(tmp_path / "run", tmp_path / "archive")
    assert not (tmp_path / "archive").exists()
    export_runs(tmp_path / "run", tmp_path / "archive", partial=True)
    groups = read(tmp_path / "archive")
    assert {cell[-1] for cell in groups} == {"rag", "uniform", "oracle"}
    told = of(groups, "rag")["summary.json"]["amemgym"]
    assert (told["finished"], told["episodes"]) == (False, {"finished": 1, "planned": 2})
    assert any("not finished" in warning for warning in told["warnings"])
    kept = [item["test_idx"] for item in of(groups, "rag")["predict.json"]]
    assert kept == ([*range(6)] if gone["user"] == 1 else [*range(6, 12)])


def test_an_upper_bound_that_is_missing_is_told(tmp_path: Path) -> None:
    played(data(tmp_path), tmp_path / "run")
    next((tmp_path / "run" / "upper-bound").rglob("*.json")).unlink()
    with pytest.raises(RunDirectoryError, match="lacks the upper bound of offline"):
        export_runs(tmp_path / "run", tmp_path / "archive")
    export_runs(tmp_path / "run", tmp_path / "archive", partial=True)
    details = of(read(tmp_path / "archive"), "oracle")["evaluate_details.json"]
    assert {item["metrics"]["upper_bound"] is None for item in details} == {True, False}


def test_imported_results_are_exported(tmp_path: Path) -> None:
    users = json.loads(data(tmp_path).read_text(encoding="utf-8"))
    for user in users:
        v1_results.write_results(tmp_path / "results" / "awi", user)
    report = amemgym.import_run(tmp_path / "results", tmp_path / "small.json", model="a model", out=tmp_path / "run")
    export_runs(tmp_path / "run", tmp_path / "archive")
    ((cell, group),) = read(tmp_path / "archive").items()
    assert cell == ("imported", "a model", "single", "small", "awi")
    (tmp_path / "archive" / "manifest.jsonl").unlink()
    assert [entry.cell for entry in MemoryBenchResults.from_local(tmp_path / "archive").entries] == [cell]
    # how it was asked and what was read are not recorded
    asked = [question["query"] for user in users for _ in user["periods"] for question in user["qas"]]
    predicted = group["predict.json"]
    assert [item["messages"] for item in predicted] == [[{"role": "user", "content": query}] for query in asked]
    assert {item["retrieved_memories"] for item in predicted} == {None}
    assert group["summary.json"]["summary"]["accuracy"] == report["awi"]["overall"]
    assert group["summary.json"]["summary"]["write_failure"] == report["awi"]["diagnosis"]["write"]
    assert group["run_config.json"]["amemgym"]["protocol"]["name"] == "v1-imported"


def test_of_an_evolution_s_training_part_it_is_told_that_agents_learned(tmp_path: Path) -> None:
    evolved = amemgym.evolve(
        "awi-2-0", str(data(tmp_path)), "complete", out=tmp_path / "evolved", probe=False, upper_bound=False
    )
    archive = tmp_path / "archive"
    ended = succeeded(inside("memorybench", "export", evolved.training.directory, "--out", archive))
    lines = ended.out.splitlines()
    assert "awi-2-0+complete: " in lines[1] and "note: the agent learned from" in lines[2]
    assert ended.out.count("note: ") == 1
    export_runs(evolved.held_out.directory, tmp_path / "held-out")
    told = {
        (folder.name, cell[-1])
        for folder in (archive, tmp_path / "held-out")
        for cell, group in read(folder).items()
        if any("learned from" in warning for warning in group["summary.json"]["amemgym"]["warnings"])
    }
    assert told == {("archive", "awi-2-0+complete")}


def test_the_configuration_tells_what_was_run(run: RunReport, archive: Path) -> None:
    config = of(read(archive), "rag")["run_config.json"]
    assert (config["memory_system"], config["dataset_type"], config["set_name"]) == ("rag", "single", "small")
    assert config["memory_system_config"]["llm_config"]["model"] == "offline"
    assert config["memory_system_config"]["topk"] == 30
    ours, manifest = config["amemgym"], RunDirectory(run.directory).manifest()
    assert ours["run"] == manifest["fingerprint"] and ours["run"][:16] in of(read(archive), "rag")["run_id"]
    assert ours["data"]["sha256"] == manifest["data"]["sha256"] and ours["seed"] == 0


def test_an_agent_of_another_model_is_in_that_model_s_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, sensible)
    own = tmp_path / "own.json"
    config = {
        "type": "native",
        "name": "own",
        "llm_config": {"llm_model": "org/m-2", "base_url": "http://localhost:1/v1"},
    }
    own.write_text(json.dumps(config), encoding="utf-8")
    played(data(tmp_path), tmp_path / "run", f"uniform,{own}")
    export_runs(tmp_path / "run", tmp_path / "archive")
    models = {cell[-1]: cell[1] for cell in read(tmp_path / "archive")}
    assert models == {"uniform": "offline", "own": "openai:org/m-2"}
    assert {cell[-1] for cell in laid_out(tmp_path / "archive")} == {"uniform", "own"}


def test_no_key_and_no_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", set())
    played(data(tmp_path), tmp_path / "run", "rag")
    for path in (tmp_path / "run" / "episodes").rglob("*.json"):
        episode = json.loads(path.read_text(encoding="utf-8"))
        episode["texts"] = [f"{text} {KEY}" for text in episode["texts"]]
        for exam in episode["exams"]:
            exam["reply"] = f"My key is {KEY}, \ud83d and \u2028."
        path.write_text(json.dumps(episode), encoding="utf-8")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    export_runs(tmp_path / "run", tmp_path / "archive")
    assert "[key]" in of(read(tmp_path / "archive"), "rag")["predict.json"][0]["response"]
    for name, text in contents(tmp_path / "archive").items():
        assert KEY.encode() not in text and str(tmp_path).encode() not in text, name


def test_the_same_run_gives_the_same_bytes(run: RunReport, archive: Path, tmp_path: Path) -> None:
    export_runs([run.directory], tmp_path / "again")
    assert contents(tmp_path / "again") == contents(archive)


def test_episodes_are_read_one_at_a_time(run: RunReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole: list[weakref.ref[EpisodeResult]] = []
    load, most = RunDirectory.episode, 0

    def counted(self: RunDirectory, agent: str, user_id: str, trial: int) -> EpisodeResult | None:
        nonlocal most
        found = load(self, agent, user_id, trial)
        assert found is not None
        whole.append(weakref.ref(found))
        most = max(most, sum(ref() is not None for ref in whole))
        return found

    monkeypatch.setattr(RunDirectory, "episode", counted)
    export_runs(run.directory, tmp_path / "archive")
    assert len(whole) >= 8 and most <= 2


@pytest.mark.parametrize("with_manifest", [True, False])
def test_our_reader_gives_the_scores(run: RunReport, archive: Path, with_manifest: bool, tmp_path: Path) -> None:
    if not with_manifest:
        archive = Path(shutil.copytree(archive, tmp_path / "folders"))
        (archive / "manifest.jsonl").unlink()
    results = MemoryBenchResults.from_local(archive)
    assert list(results.problems) == []
    for name in AGENTS.split(","):
        cell = Cell("on-policy", "offline", "single", "small", name)
        summary, scores = results.summary(cell), run[name]
        assert summary.form == "scores"
        assert summary.scores["accuracy"] == scores["overall"]
        assert summary.scores["memory_score"] == scores["memory_score"]["ratio_of_means"]
        details = [{"metrics": item.metrics} for item in results.items(cell)]
        assert memory_score(details) == pytest.approx(summary.scores["memory_score"], abs=1e-15)
        joined = [*results.join(cell)]
        assert len(joined) == 12 and all(pair.predict and pair.details for pair in joined)
    config = results.run_config(Cell("on-policy", "offline", "single", "small", "rag"))
    assert config == of(read(archive) if with_manifest else laid_out(archive), "rag")["run_config.json"]
    assert config["memory_system_config"]["context_tokens"] == 128_000  # no key, though it is called a token
    (row,) = results.summary_table("accuracy", baselines=["oracle", "rag"], as_pandas=False)
    assert (row["oracle"], row["rag"], row["model"]) == (1.0, run["rag"]["overall"], "offline")
    assert list(results.problems) == []
