"""Prices: a user's file goes before what is known, with its date; what nobody knows has no price; and the rates that a
run began with come back as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amemgym.errors import UsageError
from amemgym.llm import ModelSettings
from amemgym.llm.prices import PriceList

HERE, THERE = "https://here.example/v1", "https://there.example/v1"
YAML = f"""
date: 2025-07-01
models:
  mine: {{input: 2, cached: 0.5, output: 8}}
  openai:mine: {{input: 3, output: 9}}
  gpt-4.1-mini: {{input: 7, output: 7}}
  far:
    endpoints:
      {THERE}: {{input: 1, output: 4}}
"""
TOML = """
date = 2025-07-01
[models.mine]
input = 2
cached = 0.5
output = 8
"""
JSON = json.dumps({"date": "2025-07-01", "models": {"mine": {"input": 2, "cached": 0.5, "output": 8}}})


@pytest.fixture(autouse=True)
def _no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def written(tmp_path: Path, text: str = YAML, name: str = "prices.yaml") -> PriceList:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return PriceList.read(tmp_path / name)


@pytest.mark.parametrize(("text", "name"), [(YAML, "p.yaml"), (TOML, "p.toml"), (JSON, "p.json")])
def test_a_file_has_a_date_and_prices_a_million_tokens(text: str, name: str, tmp_path: Path) -> None:
    prices = written(tmp_path, text, name)
    assert (prices.date, prices.source) == ("2025-07-01", name)
    rate = prices.of("plug-in:mine", None)
    assert rate and (rate.source, rate.date) == (name, "2025-07-01")
    assert rate.of(1_000_000, 0) == pytest.approx(2) and rate.of(0, 1_000_000) == pytest.approx(8)
    # a million read before in place of a million that were not
    assert rate.of(1_000_000, 0, 1_000_000) == pytest.approx(0.5)


def test_the_name_with_its_kind_goes_before_the_bare_one_and_an_endpoint_before_the_rest(tmp_path: Path) -> None:
    prices = written(tmp_path)
    (named, bare, known) = (prices.of(name, None) for name in ("openai:mine", "mine", "openai:gpt-4.1-mini"))
    assert named and named.of(1_000_000, 0) == pytest.approx(3)
    assert bare and bare.of(1_000_000, 0) == pytest.approx(2)
    assert known and known.of(1_000_000, 0) == pytest.approx(7), "the file goes before what is known"
    assert prices.of("openai:far", HERE) is None
    far = prices.rate(ModelSettings(model="openai:far", base_url=f"{THERE.upper().replace('HTTPS', 'https')}/"))
    assert far and far.of(0, 1_000_000) == pytest.approx(4)
    # without a cached price, what was read before costs what the rest does
    assert named.of(1000, 0, 1000) == named.of(1000, 0)


def test_what_the_file_does_not_have_is_looked_up_and_then_not_known(tmp_path: Path) -> None:
    prices = written(tmp_path)
    known = prices.of("openai:gpt-4.1", None)
    assert known and known.source.startswith("genai-prices ") and known.date is None
    assert known.cached is not None and known.cached < known.input
    assert prices.of("openai:gpt-4.1", HERE) is None and prices.of("openai:of-my-own", None) is None
    assert PriceList.read(None).of("http://localhost:1/agent", "http://localhost:1/agent") is None


@pytest.mark.parametrize("model", ["offline", "local:/somewhere/a.gguf"])
def test_what_runs_on_this_machine_costs_nothing_unless_the_file_says_so(model: str, tmp_path: Path) -> None:
    rate = PriceList.read(None).rate(ModelSettings(model=model))
    assert rate and rate.free and rate.of(10**9, 10**9, 10**9) == 0
    text = "date: 2025-07-01\nmodels: {offline: {input: 1, output: 1}, 'local:a.gguf': {input: 1, output: 1}}"
    paid = written(tmp_path, text).rate(ModelSettings(model=model))
    assert paid and not paid.free and paid.of(1_000_000, 0) == pytest.approx(1)


def test_recorded_rates_are_what_they_were_and_nothing_else_is_known(tmp_path: Path) -> None:
    models = [("openai:mine", None), ("offline", None), ("openai:nobody", HERE), ("openai:gpt-4.1", None)]
    described = written(tmp_path).described(models)
    read = PriceList.recorded(json.loads(json.dumps(described)))
    assert read.described(models) == described and (read.source, read.date) == ("prices.yaml", "2025-07-01")
    assert described["models"][0]["rate"]["input"] == 3
    assert described["models"][2] == {"model": "openai:nobody", "base_url": HERE, "rate": None}
    assert read.of("openai:gpt-4.1-mini", None) is None, "the run did not know it"
    assert PriceList.recorded(None).of("openai:gpt-4.1", None) is None


BAD = {
    "no date": ("models: {a: {input: 1, output: 1}}", "'date' is missing"),
    "a number for a date": ("date: 2025\nmodels: {a: {input: 1, output: 1}}", "'date' should be a date"),
    "no day": ("date: tomorrow\nmodels: {a: {input: 1, output: 1}}", "'date' should be a date"),
    "no models": ("date: 2025-07-01", "'models' is missing"),
    "a slip": ("date: 2025-07-01\nmodels: {a: {input: 1, outptu: 1}}", "'models.a.outptu' is unknown"),
    "half a price": ("date: 2025-07-01\nmodels: {a: {input: 1}}", "both an input and an output"),
    "less than nothing": ("date: 2025-07-01\nmodels: {a: {input: -1, output: 1}}", "'models.a.input'"),
    "endless": ("date: 2025-07-01\nmodels: {a: {input: .inf, output: 1}}", "'models.a.input'"),
    "a word": ("date: 2025-07-01\nmodels: {a: {input: cheap, output: 1}}", "a number of US dollars"),
    "no address": (
        "date: 2025-07-01\nmodels: {a: {endpoints: {nowhere: {input: 1, output: 1}}}}",
        "'nowhere' is no address",
    ),
    "a list": ("- a", "should hold names and values"),
    "no YAML": ("a: [", "cannot be read as YAML"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_ends_in_a_sentence_that_names_the_place(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        written(tmp_path, text)
    sentence = str(raised.value)
    assert said in sentence and "prices.yaml" in sentence and "\n" not in sentence and len(sentence) < 300


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read price file .*none\.yaml"):
        PriceList.read(tmp_path / "none.yaml")
