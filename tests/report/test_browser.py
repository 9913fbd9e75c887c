"""The report in a browser: traces open, filters filter, links lead, and nothing from data or a model runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import Browser, Page, expect

import amemgym
from amemgym.evaluate import EpisodeResult, RunDirectory
from amemgym.report import trace
from amemgym.report.html import html_report
from amemgym.scores.diagnosis import diagnose, mistake
from tests.report import hostile

PHONE = {"width": 360, "height": 740}
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"
#: what is opened is filled soon after, and may hold what can be opened
OPEN_ALL = """() => {
  for (const details of document.querySelectorAll("details:not([open])")) details.open = true;
  return !document.querySelector("details:not([open]), details:has(> summary:only-child)");
}"""


@dataclass
class Report:
    """A report as a file, and the run it is of."""

    path: Path
    directory: RunDirectory
    scores: dict[str, Any]

    @property
    def url(self) -> str:
        return self.path.as_uri()

    def episode(self, agent: str, user: str) -> EpisodeResult:
        found = self.directory.episode(agent, user, 0)
        assert found is not None
        return found


def written(directory: Path, scores: dict[str, Any]) -> Report:
    page = directory.with_suffix(".html")
    page.write_text(html_report(RunDirectory(directory), scores), encoding="utf-8")
    return Report(page, RunDirectory(directory), scores)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Report:
    out = tmp_path_factory.mktemp("run") / "r"
    return written(out, amemgym.run("starter", "rag,uniform", users=2, periods=4, out=out).scores)


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Report:
    folder = tmp_path_factory.mktemp("hostile")
    data = hostile.write_data(folder / "data.json")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("amemgym.llm.doors.open_model", lambda settings, say: hostile.model())
        made = amemgym.run(
            str(data), "native,rag,oracle", hostile.MODEL, base_url="http://localhost:1/v1", out=folder / "r"
        )
    return written(folder / "r", made.scores)


Opener = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a page; at the end, no page may have complained, nor have asked for anything but itself."""
    complaints: list[str] = []
    asked: list[str] = []
    urls: list[str] = []
    contexts = []

    def open_(url: str, **settings: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.goto(url)
        expect(page.locator("#trace .period").first).to_be_attached()
        urls.append(url.partition("#")[0])
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
    assert asked == urls


def users(report: Report) -> list[str]:
    return [scenario.id for scenario in report.directory.dataset()]


def link(agent: str, user: str, period: int, question: int) -> str:
    parts = (agent, user, 0, period, question)
    return "#exam=" + "/".join(quote(str(part), safe="!'()*") for part in parts)  # as encodeURIComponent does


def choose(page: Page, control: str, value: str) -> None:
    page.select_option(f"#{control}", value)


def shown(page: Page) -> int:
    return page.locator("#trace details.exam:visible").count()


def test_a_failed_exam_leads_from_the_table_to_its_trace_and_back(report: Report, opened: Opener) -> None:
    page = opened(report.url)
    choose(page, "agent", "uniform")
    wrong = [exam for exam in report.episode("uniform", users(report)[0]).exams if not exam.correct]
    rows = page.locator("#failed tbody tr:visible")
    expect(rows).to_have_count(len(wrong))
    last = wrong[-1]
    rows.last.locator("a").click()
    target = page.locator("details.exam.target")
    expect(target).to_have_count(1)
    expect(target).to_have_attribute("open", "")
    expect(target).to_be_in_viewport()
    address = link("uniform", users(report)[0], last.period, last.question)
    assert page.evaluate("location.hash") == address
    assert target.locator("a.own-link").get_attribute("href") == address
    options = target.locator("ol.options > li")
    assert options.count() == len(last.order)
    assert "✗ chosen" in options.nth((last.option or 0) - 1).inner_text()
    assert "✓ right" in options.nth(last.gold - 1).inner_text()
    assert target.locator("ol.options .is").count() == 2
    # another exam, and back
    rows.first.locator("a").click()
    expect(target.locator("a.own-link")).to_have_attribute(
        "href", link("uniform", users(report)[0], wrong[0].period, wrong[0].question)
    )
    page.go_back()
    expect(target.locator("a.own-link")).to_have_attribute("href", address)
    choose(page, "user", users(report)[1])
    expect(target).to_have_count(0)
    page.go_back()
    expect(page.locator("#user")).to_have_value(users(report)[0])
    expect(target.locator("a.own-link")).to_have_attribute("href", address)
    page.go_forward()
    expect(page.locator("#user")).to_have_value(users(report)[1])


def test_an_address_opens_its_exam_on_a_fresh_load(report: Report, opened: Opener) -> None:
    user = users(report)[1]
    exam = report.episode("rag", user).exams[-2]
    page = opened(report.url + link("rag", user, exam.period, exam.question))
    target = page.locator("details.exam.target")
    expect(target).to_be_in_viewport()
    expect(target.locator("summary").first).to_be_focused()
    assert (page.locator("#user").input_value(), page.locator("#agent").input_value()) == (user, "rag")
    section = page.locator("section.period", has=target)
    assert section.locator("h3").inner_text().startswith(f"Period {exam.period} ")
    scenario = report.directory.dataset().scenarios[1]
    for variable in scenario.qas[exam.question].required_info:
        row = target.locator("tbody tr", has=page.locator("th", has_text=variable))
        assert scenario.periods[exam.period].state[variable] in row.inner_text()
    items = target.locator("details", has_text="read from memory").first
    items.locator("summary").click()
    expect(items.locator("li").first).to_be_visible()
    kept = report.episode("rag", user)
    told = items.locator("li .text").all_text_contents()
    assert told == [kept.texts[place] for place in exam.items]


@pytest.mark.parametrize("hash_", ["#exam=rag/nobody/0/0/0", "#exam=none/%E0%A4%A/0", "#exam=", "#trace=rag"])
def test_an_address_of_nothing_says_so(report: Report, opened: Opener, hash_: str) -> None:
    page = opened(report.url + hash_)
    expect(page.locator("#trace .period")).to_have_count(4)
    expect(page.locator("#missing")).to_have_text("There is no such trace in this file.")
    choose(page, "agent", "uniform")
    expect(page.locator("#missing")).to_be_hidden()


def test_a_user_that_is_left_out_is_named_for_it(
    report: Report, opened: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "BUDGET", 1)
    page_file = tmp_path / "short.html"
    page_file.write_text(html_report(report.directory, report.scores), encoding="utf-8")
    first, last = users(report)
    page = opened(page_file.as_uri() + link("rag", last, 0, 0))
    expect(page.locator("#missing")).to_contain_text("is left out of this file")
    expect(page.locator("#user")).to_have_value(first)
    assert page.locator("#user option[disabled]").get_attribute("value") == last


def test_filters_show_what_they_name_and_nothing_else(report: Report, opened: Opener) -> None:
    user = users(report)[0]
    page = opened(report.url + link("uniform", user, 0, 0))
    scenario = report.directory.dataset().scenarios[0]
    episode = report.episode("uniform", user)
    wrong = [exam for exam in episode.exams if not exam.correct]
    assert shown(page) == len(episode.exams) > len(wrong) > 0
    page.check("#wrong")
    assert shown(page) == len(wrong)
    page.uncheck("#wrong")
    failures = Counter(str(failure) for failure in diagnose(episode, scenario).values())
    mistakes = Counter(str(mistake(exam, scenario)) for exam in wrong)
    assert len(failures) > 1 and len(mistakes) > 1
    for control, counts in (("failure", failures), ("mistake", mistakes)):
        for kind, count in counts.items():
            choose(page, control, kind)
            assert shown(page) == page.locator("#failed tbody tr:visible").count() == count
            assert page.locator(f"#trace details.exam:visible .kind-{kind}").count() == count
            assert f"{count} of {len(episode.exams)} exams" in page.locator("#said").inner_text()
        choose(page, control, "")
    choose(page, "period", "2")
    assert shown(page) == len(scenario.qas)
    assert page.locator("section.period:visible").count() == 1
    choose(page, "question", "3")
    assert shown(page) == 1
    # a link leads to its exam whatever is filtered
    page.evaluate(f"location.hash = {json.dumps(link('uniform', user, 1, 1))}")
    expect(page.locator("details.exam.target")).to_be_visible()
    assert shown(page) == len(episode.exams)


def test_conversation_persona_and_states_are_there_turn_by_turn(report: Report, opened: Opener) -> None:
    user = users(report)[0]
    page = opened(report.url + link("rag", user, 1, 0))
    kept, scenario = report.episode("rag", user), report.directory.dataset().scenarios[0]
    for period, sessions in enumerate(kept.conversation):
        talk = page.locator("section.period").nth(period).locator("details", has_text="conversation").first
        talk.locator("summary").click()
        expect(talk.locator(".session")).to_have_count(len(sessions))
        assert talk.locator(".turn .text").all_text_contents() == [m["content"] for s in sessions for m in s]
        held = page.locator("section.period").nth(period).locator("details", has_text="memory: held").first
        assert held.locator("summary").inner_text() == f"memory: held {kept.held[period]} items"
    page.get_by_text("persona of the user").click()
    expect(page.locator("#trace > details").first.locator(".text")).to_have_text(scenario.user_profile.text)
    page.get_by_text("states over time").click()
    changes = sum(len(period.updates) for period in scenario.periods[1:])
    expect(page.locator(".timeline td.changed")).to_have_count(changes)
    choose(page, "agent", "uniform")
    expect(page.locator("#trace")).to_contain_text("takes no part in the conversation")
    assert page.get_by_text("conversation:").count() == 0


def brightness(page: Page, selector: str = "body") -> float:
    colour = page.evaluate(f"getComputedStyle(document.querySelector({selector!r})).backgroundColor")
    return sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3


@pytest.mark.parametrize(("viewport", "dark"), [({"width": 1200, "height": 900}, False), (PHONE, True)])
def test_light_dark_and_a_phone(report: Report, opened: Opener, viewport: dict[str, int], dark: bool) -> None:
    failed = next(exam for exam in report.episode("rag", users(report)[1]).exams if not exam.correct)
    address = report.url + link("rag", users(report)[1], failed.period, failed.question)
    page = opened(address, viewport=viewport, color_scheme="dark" if dark else "light")
    assert (brightness(page) < 50) == dark
    page.wait_for_function(OPEN_ALL)
    assert page.locator(".session:visible").count() > 0
    assert page.evaluate(OVERFLOW) <= 0
    toggle = page.locator("#theme")
    for bright in (dark, not dark):
        toggle.click()
        assert (brightness(page) > 200) == bright
    assert toggle.inner_text() == ("light" if dark else "dark")


def test_paper_is_light_has_charts_and_tables_and_no_controls(report: Report, opened: Opener) -> None:
    page = opened(report.url, color_scheme="dark")
    assert page.locator("#controls").is_visible()
    page.click("#theme", click_count=2)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(media="print", color_scheme="dark")
    assert brightness(page) == 255
    for gone in ("#controls", "#theme", "nav.contents", "#failed", "#traces"):
        assert not page.locator(gone).is_visible(), gone
    assert page.locator("figure.rows svg.chart:visible").count() > 10
    assert page.locator("#periods ~ .wide table").is_visible()
    page.emulate_media(media="screen")
    page.locator("details.exam").first.locator("summary").click()
    page.emulate_media(media="print")
    expect(page.locator("details.exam:visible")).to_have_count(1)
    closed = "document.querySelectorAll('details.printed:not([open])').length"
    assert page.evaluate(closed) == 5
    assert page.evaluate(f"dispatchEvent(new Event('beforeprint')), {closed}") == 0
    assert page.evaluate(f"dispatchEvent(new Event('afterprint')), {closed}") == 5


def test_it_can_be_used_by_keyboard(report: Report, opened: Opener) -> None:
    page = opened(report.url)
    summary = page.locator("details.exam summary").first
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("details.exam .body").first).to_be_visible()
    boxes = page.locator(".wide:not([tabindex='0'])")
    assert boxes.count() == 0


def test_nothing_that_was_said_runs_and_all_of_it_is_shown(evil: Report, opened: Opener) -> None:
    page = opened(evil.url)
    scenario = evil.directory.dataset().scenarios[0]
    trace_script = page.locator("script").count()
    for agent in ("native", "rag", "oracle"):
        choose(page, "agent", agent)
        expect(page.locator("#agent")).to_have_value(agent)
        page.wait_for_function(OPEN_ALL)
        shown = page.locator("#trace").text_content() or ""
        kept = evil.episode(agent, hostile.USER)
        wanted = [question.query for question in scenario.qas] + [scenario.user_profile.text]
        wanted += [option.answer for question in scenario.qas for option in question.answer_choices]
        wanted += [m["content"] for p in kept.conversation for s in p for m in s if len(m["content"]) < 2000]
        wanted += [text for text in kept.texts if len(text) < 2000]
        assert any(hostile.EVIL in text for text in wanted)
        for text in wanted:
            assert text in shown
        for variable, values in scenario.state_schema.items():
            assert variable in shown and values[0] in shown
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, #trace b").count() == 0
        assert page.locator("script").count() == trace_script
    header = page.locator("header").inner_text()
    assert hostile.MODEL in header


def test_a_long_text_is_clipped_until_it_is_wanted(evil: Report, opened: Opener) -> None:
    page = opened(evil.url + link("native", hostile.USER, 1, 0), viewport=PHONE)
    target = page.locator("details.exam.target")
    reply = target.locator("details", has_text="reply as it was given")
    reply.locator("summary").click()
    text = reply.locator(".text")
    expect(text).to_be_visible()
    assert len(text.text_content() or "") == 2000
    assert page.evaluate(OVERFLOW) <= 0
    reply.get_by_role("button").click()
    assert text.text_content() == evil.episode("native", hostile.USER).exams[2].reply
    assert hostile.LONG in (text.text_content() or "")
    assert reply.get_by_role("button").count() == 0
    assert page.evaluate(OVERFLOW) <= 0
    # text of another direction stays in its own place
    isolated = page.evaluate("getComputedStyle(document.querySelector('.text')).unicodeBidi")
    assert isolated in ("isolate", "plaintext")
    address = page.evaluate("location.hash")
    assert hostile.USER not in address and hostile.USER in unquote(address)
