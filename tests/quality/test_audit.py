"""The audit: planted faults are found where they are, by a scripted judge over real HTTP and by the offline one; what
is kept is not asked again; what goes wrong is one sentence and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import amemgym
from amemgym.auditing import AuditReport
from amemgym.errors import (
    AuthenticationFailed,
    DataError,
    RunDirectoryError,
    RunFailed,
    UnknownName,
    UsageError,
)
from tests.cli.data import users, write
from tests.quality.judge import judge, parts
from tests.support.mock_openai import (
    MockOpenAI,
    Request,
    Response,
    content_filter,
    context_overflow,
    error,
    none_content,
    ok,
    sequence,
)

#: of the small data: utterances, and answers of both users
UTTERANCES, ANSWERS = 6, 22
Edit = Callable[[list[dict[str, Any]]], None]


def data(tmp_path: Path, edit: Edit = lambda people: None) -> Path:
    people = users()
    edit(people)
    return write(tmp_path / "small.json", people)


def audited(server: MockOpenAI, subject: Path, out: Path, **settings: Any) -> AuditReport:
    settings = {"temperature": None, "attempts": 1, **settings}
    return amemgym.audit(subject, "openai:judge", base_url=server.base_url, out=out, **settings)


def asked(server: MockOpenAI) -> int:
    return sum(request.is_chat for request in server.requests)


def found(report: AuditReport) -> set[tuple[str, str, Any, Any, Any, str, str | None]]:
    return {(f.kind, f.user_id, f.period, f.session, f.round, f.variable, f.found) for f in report.findings}


def session(people: list[dict[str, Any]], user: int, period: int, number: int) -> dict[str, Any]:
    chosen: dict[str, Any] = people[user]["periods"][period]["sessions"][number]
    return chosen


def test_sound_data_has_no_findings(tmp_path: Path) -> None:
    with MockOpenAI(judge()) as server:
        report = audited(server, data(tmp_path), tmp_path / "out")
        assert asked(server) == UTTERANCES + ANSWERS
    assert report.findings == () and report.failures == ()
    exposure, answers = report.summary["exposure"], report.summary["answers"]["answers"]
    assert (exposure["states"]["value"], exposure["states"]["n"]) == (1.0, UTTERANCES)
    assert (exposure["utterances"]["value"], answers["value"], answers["n"]) == (1.0, 1.0, ANSWERS)
    assert report.summary["integrity"]["turns"]["value"] is None
    assert "no later turns" in report.summary["integrity"]["turns"]["why_undefined"]


def test_planted_faults_are_found_where_they_are(tmp_path: Path) -> None:
    def plant(people: list[dict[str, Any]]) -> None:
        session(people, 0, 0, 0)["query"] = "The waves are loud, and I gave up milk; what next?"  # a leak
        session(people, 0, 1, 0)["query"] = "What shall I cook?"  # says nothing
        session(people, 1, 0, 1)["query"] = "I have begun to eat herring; how do I cook it?"  # another value
        session(people, 1, 0, 0)["query"] = "The waves are loud, and snow is at my door."  # told is the later of two
        session(people, 1, 1, 0)["query"] = "There is herring, and snow at my door."  # is not so
        people[1]["qas"][0]["answer_choices"][0]["answer"] = "What suits mountains, again."  # another variant

    with MockOpenAI(judge()) as server:
        report = audited(server, data(tmp_path, plant), tmp_path / "out")
    assert found(report) == {
        ("leak", "Ann-1", 0, 0, 0, "daily_diet", "vegan"),
        ("missing", "Ann-1", 1, 0, 0, "daily_diet", None),
        ("wrong", "Ben-1", 0, 0, 0, "home_town", "mountains"),
        ("wrong", "Ben-1", 0, 1, 0, "daily_diet", "fish"),
        ("contradiction", "Ben-1", 1, 0, 0, "home_town", "mountains"),
        ("answer", "Ben-1", None, None, None, "home_town", "mountains"),
    }
    answer = next(f for f in report.findings if f.kind == "answer")
    assert (answer.question, answer.option, answer.text) == (0, 0, "What suits mountains, again.")
    lines = [json.loads(line) for line in (tmp_path / "out" / "findings.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 6 and lines[0]["text"] == "The waves are loud, and I gave up milk; what next?"
    assert json.loads((tmp_path / "out" / "audit.json").read_text("utf-8")) == report.summary
    assert report.summary["findings"] == {"missing": 1, "wrong": 2, "leak": 1, "contradiction": 1, "answer": 1}
    assert report.summary["exposure"]["states"]["value"] == pytest.approx(3 / 6)
    assert report.summary["exposure"]["utterances"]["value"] == pytest.approx(1 / 6)


# ---- of a run


@pytest.fixture
def played(tmp_path: Path) -> Path:
    """A finished offline run of the small data."""
    report = amemgym.run(data=data(tmp_path), agents=["native", "rag", "oracle"], out=tmp_path / "run")
    return report.directory


def says(run: Path, agent: str, user: str, period: int, number: int, text: str) -> None:
    """Let the user say this as the first later turn of a session."""
    (path,) = run.glob(f"episodes/{agent}-*/{user.lower()}-*.json")
    episode = json.loads(path.read_text("utf-8"))
    turn = episode["conversation"][period][number][2]
    assert turn["role"] == "user"
    turn["content"] = text
    path.write_text(json.dumps(episode), encoding="utf-8")


def test_later_turns_of_a_run_are_judged_with_what_was_said_before(tmp_path: Path, played: Path) -> None:
    says(played, "rag", "Ann-1", 1, 0, "And with snow at my door?")
    says(played, "native", "Ben-1", 1, 0, "I hear the waves while I eat my herring.")
    with MockOpenAI(judge()) as server:
        report = audited(server, played, tmp_path / "out")
        prompts = [str(request.messages[0]["content"]) for request in server.requests]
    later = [f for f in report.findings if f.quality == "integrity"]
    assert [(f.kind, f.user_id, f.agent, f.trial, f.period, f.session, f.round, f.variable) for f in later] == [
        ("contradiction", "Ann-1", "rag", 0, 1, 0, 1, "home_town"),
        ("leak", "Ben-1", "native", 0, 1, 0, 1, "home_town"),
    ]
    assert later[1].told_before and report.summary["leaks_told_before"] == 1
    turns = report.summary["integrity"]
    assert (turns["turns"]["n"], turns["turns"]["value"]) == (4, 0.5)  # one later turn a user, agent and period 1
    assert set(turns["by_agent"]) == {"native", "rag"} and turns["by_agent"]["rag"]["n"] == 2
    (asked_about,) = [prompt for prompt in prompts if "And with snow" in prompt]
    assert "USER: [Current Time: " in asked_about and "ASSISTANT: " in asked_about
    assert report.summary["exposure"]["utterances"]["n"] == UTTERANCES  # the data's, judged once


def test_off_policy_the_one_conversation_is_judged_once(tmp_path: Path, played: Path) -> None:
    other = amemgym.run(agents=["awe", "rag"], off_policy=str(played), out=tmp_path / "off").directory
    with MockOpenAI(judge()) as server:
        report = audited(server, other, tmp_path / "out")
    assert list(report.summary["integrity"]["by_agent"]) == ["native"]
    assert report.summary["integrity"]["turns"]["n"] == 2


def test_a_run_of_reference_agents_has_no_conversation(tmp_path: Path) -> None:
    run = amemgym.run(data=data(tmp_path), agents=["oracle"], out=tmp_path / "run").directory
    with pytest.raises(RunDirectoryError, match=r"holds no conversation.*audit its data alone"):
        amemgym.audit(run, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# ---- what goes wrong


def test_unreadable_replies_count_in_no_share_and_are_no_findings(tmp_path: Path) -> None:
    garbled = {
        "The waves are loud at my window since I moved; how do I sleep? (Ann)": "I would say the seaside.",
        "I have begun to eat herring again; how do I cook it? (Ann)": '{"revealed": {"daily_diet": "tofu"}}',
        "The waves are loud at my window since I moved; how do I sleep? (Ben)": '{"revealed": {"home_town": "seas',
    }
    with MockOpenAI(judge(garbled)) as server:
        report = audited(server, data(tmp_path), tmp_path / "out")
    exposure = report.summary["exposure"]
    assert (exposure["unreadable"], exposure["errors"], exposure["utterances"]["n"]) == (3, 0, 3)
    assert exposure["utterances"]["value"] == 1.0 and report.findings == ()


@pytest.mark.parametrize("refusal", [content_filter(), context_overflow()], ids=["filter", "overflow"])
def test_a_request_that_is_refused_for_good_is_an_error_and_not_asked_again(tmp_path: Path, refusal: Response) -> None:
    def respond(request: Request) -> Response | None:
        return refusal if request.is_chat and "herring" in parts(request)[0] else judge()(request)

    with MockOpenAI(respond) as server:
        report = audited(server, data(tmp_path), tmp_path / "out")
        before = asked(server)
        for path in (tmp_path / "out").glob("verdicts/*.json"):
            path.unlink()  # so that only the journal is left
        again = audited(server, data(tmp_path), tmp_path / "out")
        assert asked(server) == before
    assert (report.summary["exposure"]["errors"], report.summary["exposure"]["utterances"]["n"]) == (2, 4)
    assert again.summary == report.summary and report.findings == ()


def test_a_reply_without_text_is_unreadable(tmp_path: Path) -> None:
    def respond(request: Request) -> Response | None:
        return none_content() if request.is_chat and "milk" in parts(request)[0] else judge()(request)

    with MockOpenAI(respond) as server:
        report = audited(server, data(tmp_path), tmp_path / "out")
    assert report.summary["exposure"]["unreadable"] == 2


def test_a_user_who_cannot_be_judged_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    def respond(request: Request) -> Response | None:
        return (
            error(400, "No.")
            if request.is_chat and "herring" in parts(request)[0] and "(Ben)" in parts(request)[0]
            else judge()(request)
        )

    with MockOpenAI(respond) as server:
        with pytest.raises(
            RunFailed, match=r"1 user could not be judged whole: user 1 \(Ben-1\): .*run the same"
        ) as end:
            audited(server, data(tmp_path), tmp_path / "out")
        report = end.value.report
        assert isinstance(report, AuditReport)
        assert report.summary["users"] == {"finished": 1, "planned": 2}
        assert report.summary["exposure"]["utterances"]["n"] == UTTERANCES // 2
        (tmp_path / "labels.csv").write_text("user,period,session,round,label\nBen-1,0,0,0,ok\n")
        with pytest.raises(RunFailed, match="1 user could not be judged whole"):  # not that the label is of nobody
            audited(server, data(tmp_path), tmp_path / "out", labels=tmp_path / "labels.csv")
        before = asked(server)
        server.responder = judge()
        whole = audited(server, data(tmp_path), tmp_path / "out")
        assert asked(server) - before == 1
    assert whole.summary["users"] == {"finished": 2, "planned": 2}


def test_a_wrong_key_stops_the_audit_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    with MockOpenAI(sequence(*[ok('{"revealed": {}}')] * 4, then=error(401, "Wrong key."))) as server:
        with pytest.raises(AuthenticationFailed, match="is kept; run the same command again"):
            audited(server, data(tmp_path), tmp_path / "out", concurrency=1)
        server.responder, before = judge(), asked(server)
        audited(server, data(tmp_path), tmp_path / "out")
        assert asked(server) - before == UTTERANCES + ANSWERS - 4


def test_a_finished_audit_needs_no_network(tmp_path: Path) -> None:
    with MockOpenAI(judge()) as server:
        first = audited(server, data(tmp_path), tmp_path / "out")
        files = {path: path.read_bytes() for path in (tmp_path / "out").glob("*.json*")}
    again = audited(server, data(tmp_path), tmp_path / "out")  # nobody answers there any more
    assert again.summary == first.summary
    assert {path: path.read_bytes() for path in files} == files


def test_other_settings_go_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subject = data(tmp_path)
    places = {amemgym.audit(subject).directory, amemgym.audit(subject, users=1).directory}
    assert len(places) == 2 and all(place.parent == Path("audits") for place in places)
    assert amemgym.audit(subject).directory in places
    with pytest.raises(RunDirectoryError, match=r"holds an audit of something else: data\.judged is"):
        amemgym.audit(subject, users=1, out=amemgym.audit(subject).directory)


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path, played: Path) -> None:
    with pytest.raises(RunDirectoryError, match="holds no audit, but something else"):
        amemgym.audit(played, out=played)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(RunDirectoryError, match="is not empty and holds no audit"):
        amemgym.audit(data(tmp_path), out=tmp_path / "mine")


def test_damaged_verdicts_are_named(tmp_path: Path) -> None:
    out = tmp_path / "out"
    amemgym.audit(data(tmp_path), out=out)
    path = next(out.glob("verdicts/*.json"))
    for text in ("[", "{}", '[{"at": "p0/s0/r0", "status": "ok", "found": {}}]'):
        path.write_text(text)
        with pytest.raises(RunDirectoryError, match=r"is damaged .*delete it and audit again"):
            amemgym.audit(data(tmp_path), out=out)
    path.unlink()
    assert amemgym.audit(data(tmp_path), out=out).failures == ()


def test_bad_calls(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="setting of an audit 'agents'"):
        amemgym.audit(data(tmp_path), agents="rag")
    with pytest.raises(UnknownName, match="unknown model"):
        amemgym.audit(data(tmp_path), "gpt")
    with pytest.raises(UsageError, match="nothing is asked there"):
        amemgym.audit(data(tmp_path), base_url="http://localhost:1/v1")
    with pytest.raises(DataError, match="no data file"):
        amemgym.audit(tmp_path / "none.json")
    with pytest.raises(UsageError, match="at least 1 turn"):
        amemgym.sample_labels(data(tmp_path), tmp_path / "t.csv", 0)


# ---- the offline judge


def test_the_offline_judge_finds_planted_faults_of_the_starter_set(tmp_path: Path) -> None:
    """Each in an utterance in which it finds none as it is."""
    people = json.loads(Path(amemgym.load_dataset("starter").path or "").read_text("utf-8"))
    clean = amemgym.audit(write(tmp_path / "clean.json", people), out=tmp_path / "clean", users=1)
    sound = {(f.period, f.session) for f in clean.findings if f.quality == "exposure"}
    place = next(
        (p, s)
        for p, period in enumerate(people[0]["periods"])
        for s in range(len(period["sessions"]))
        if (p, s) not in sound
    )
    chosen = session(people, 0, *place)
    assert not {"commute_travel", "home_type"} & set(chosen["exposed_states"])
    chosen["query"] += " By the way, my commute is now by city bus, on the top deck."
    report = amemgym.audit(write(tmp_path / "leaky.json", people), out=tmp_path / "leaky", users=1)
    new = found(report) - found(clean)
    assert ("commute_travel", "city_bus_top_deck") in {(variable, value) for *_, variable, value in new}
    assert {(period, number) for _, _, period, number, *_ in new} == {place}
