"""An estimate is near what a generation without repairs takes, grows with what is asked for, and prices only what has
a price."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from amemgym.generate.estimate import Cost, estimate, priced
from amemgym.generate.shape import make_shape
from amemgym.generate.stage import JUDGE
from amemgym.llm import ModelSettings, RoleCount
from amemgym.llm.prices import Rate, rate_of
from amemgym.tasks import prompts_for
from tests.generate.helpers import make_user
from tests.support.generator import InProcess, well

NOISE: dict[str, Any] = {"distractors": 2, "others": 1, "corrections": 1, "contradictions": 1, "gaps": 1}


def costs(**settings: Any) -> dict[str, Cost]:
    shape = make_shape({"users": 1, **settings})
    return {cost.stage: cost for cost in estimate(shape, ["x" * 300], prompts_for("en"), None, None)}


@pytest.mark.parametrize("more", [{}, NOISE, {"states": 3, "periods": 21, "max_changes": 6}, {"periods": 1}])
def test_it_expects_about_the_calls_that_are_made(more: dict[str, Any]) -> None:
    provider = InProcess(well)
    make_user(provider=provider, shape=make_shape({"users": 1, **more}))
    made = Counter(call.task.name for call in provider.calls)
    told = costs(**more)
    exact = {"questions": "make_questions", "schema": "merge_schema", "initial state": "choose_state"}
    exact |= {"updates": "choose_updates", "events": "explain_updates", "topics": "list_topics"}
    exact |= {"distractors": "write_distractor", "others": "write_about_other", "answers": "write_answers"}
    for stage, task in exact.items():
        assert (told[stage].calls if stage in told else 0) == made[task], stage
    assert told["utterances"].calls == pytest.approx(made["write_utterance"], rel=0.35)
    assert told[f"{JUDGE}answers"].calls == pytest.approx(made["recover_variant"], rel=0.45)
    whole = sum(cost.calls for cost in told.values())
    assert whole == pytest.approx(sum(made.values()), rel=0.25)


def test_it_grows_with_the_users_and_the_profiles() -> None:
    one, many = costs(), costs(users=7)
    assert {stage: (7 * cost.calls, 7 * cost.input) for stage, cost in one.items()} == {
        stage: (cost.calls, cost.input) for stage, cost in many.items()
    }
    longer = estimate(make_shape({"users": 1}), ["x" * 900, "x" * 1100], prompts_for("en"), None, None)
    assert sum(cost.input for cost in longer) > sum(cost.input for cost in one.values())


def test_what_is_judged_costs_what_the_judge_does_and_an_unknown_price_is_none() -> None:
    counts = [("answers", RoleCount(2, 1000, 100)), (f"{JUDGE}answers", RoleCount(2, 1000, 100, 1))]
    [answers, judged] = priced(counts, Rate(0.001, 0.01), None)
    assert answers.price == pytest.approx(2.0) and judged.price is None
    assert judged.estimated and not answers.estimated


def test_a_known_model_at_its_own_address_has_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    rate = rate_of(ModelSettings(model="openai:gpt-4.1-mini"))
    assert rate is not None
    assert rate.of(1_000_000, 0) == pytest.approx(0.4) and rate.of(0, 1_000_000) == pytest.approx(1.6)


@pytest.mark.parametrize(
    "settings",
    [
        ModelSettings(model="openai:a-model-of-my-own"),
        ModelSettings(model="openai:gpt-4.1-mini", base_url="http://localhost:8000/v1"),
        ModelSettings(model="openai:"),
    ],
)
def test_an_unknown_model_or_address_has_none(settings: ModelSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert rate_of(settings) is None
